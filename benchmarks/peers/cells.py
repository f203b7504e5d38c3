"""Which data sets are attacked in which way, and how strongly: one cell each.

A budget is a share of all rows or, as the paper's "rho=0.75", of the smallest class. Without an attack every
label is right: the cell "clean", with the budget 0. Attacks that do not affect every class alike flip fewer
rows than the smallest class has: with more, the class could be emptied, or most rows with its label could be
wrong, and then nothing in the table shows which of the two is the truth. Cells that would need more are left
out, and `list_skipped` names them. Directed flips need two classes.
"""

import zlib
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.peers.data import SIZES
from benchmarks.quality import FEATURES
from subsvms import adversaries

KINDS = {  # name of the attack, and its direction
    "clean": (None, None),
    "uniform": ("uniform", None),
    "directed, alpha=1": ("directed", 1.0),
    "directed, alpha=0.5": ("directed", 0.5),
    "directed, alpha=0": ("directed", 0.0),
    "class-conditional": ("class-conditional", None),
    "boundary": ("boundary", None),
    "surest": ("surest", None),
    "region": ("region", None),
    "greedy": ("greedy", None),
}
EVEN = ("uniform", "class-conditional")  # affect every class alike
MANY_CLASSES = ("digits", "made: five classes")
RHO = "rho=0.75"
BUDGETS = ("0.01", "0.05", "0.1", "0.2", RHO)


class Cell(NamedTuple):
    """One data set under one attack."""

    data: str
    rows: int
    kind: str  # of `KINDS`
    budget: str
    seed: int = 0


@dataclass(frozen=True)
class Part:
    """Some data sets under some attacks."""

    data: tuple[str, ...]
    kinds: tuple[str, ...]  # besides "clean", which every data set has
    budgets: tuple[str, ...]
    most_rows: int | None = None  # larger data sets are sampled

    def list_all(self, seed):
        """Return all cells, including those that are left out."""
        sizes = {name: min(SIZES[name][0], self.most_rows or SIZES[name][0]) for name in self.data}
        return [
            cell
            for name, rows in sizes.items()
            for cell in (
                Cell(name, rows, "clean", "0", seed),
                *(Cell(name, rows, kind, budget, seed) for kind in self.kinds for budget in self.budgets),
            )
        ]


@dataclass(frozen=True)
class Preset:
    """Some parts, and how long one method may take in one cell."""

    parts: tuple[Part, ...]
    limit: float  # seconds
    n_seeds: int = 1


def is_allowed(cell):
    """Say if an attack can spend its budget and still leave a truth to be found."""
    name = KINDS[cell.kind][0]
    if name == "directed" and cell.data in MANY_CLASSES:
        return False
    n_rows, n_smallest = SIZES[cell.data]
    return name is None or name in EVEN or cell.budget == RHO or float(cell.budget) < n_smallest / n_rows


def cost(cell):
    """Return roughly how long a cell takes; only the order matters. Greedy flips train up to 90 SVMs."""
    return cell.rows**2 * (3 if cell.kind == "greedy" else 1)


def list_cells(preset, with_files=True):
    """Return the cells of a preset, cheap ones first; without files, only those that need none."""
    cells = {
        cell: None  # a set that keeps the order
        for seed in range(preset.n_seeds)
        for part in preset.parts
        for cell in part.list_all(seed)
        if is_allowed(cell) and (with_files or cell.data not in FEATURES)
    }
    return sorted(cells, key=lambda cell: (cell.seed, cost(cell)))


def list_skipped(preset):
    """Return the cells that are left out."""
    return sorted({cell for part in preset.parts for cell in part.list_all(0) if not is_allowed(cell)})


def seed_of(*words):
    """Return a seed that depends on these words alone."""
    return zlib.crc32("/".join(map(str, words)).encode()) >> 1


def corrupt(cell, X, clean):
    """Return the labels after the attack of a cell."""
    name, alpha = KINDS[cell.kind]
    if name is None:
        return clean.copy()
    share = {"rho": 0.75} if cell.budget == RHO else {"error_rate": float(cell.budget)}
    return adversaries.attack(
        name, X, clean, alpha=alpha, random_state=seed_of("attack", *cell), **share
    ).labels


ATTACKS = tuple(kind for kind in KINDS if kind != "clean")
FEW = ("uniform", "directed, alpha=1", "directed, alpha=0", "boundary", "region")
THE_PAPERS = tuple(kind for kind in ATTACKS if kind.startswith("directed"))
SMALL = ("breast cancer", "splice", "made: five classes", "digits", "made: rare", "a1a", "w1a", "svmguide1")
MEDIUM = ("a2a", "a3a", "w2a")
LARGE = tuple(name for name in SIZES if name not in SMALL + MEDIUM)
QUICK = (
    Part(("breast cancer",), FEW, ("0.1", RHO)),
    Part(("made: rare",), FEW, (RHO,)),
    Part(("made: five classes", "splice", "svmguide1"), FEW, ("0.1",)),
    Part(("a1a",), ("uniform", "directed, alpha=0", "boundary"), ("0.1",)),
    Part(("digits",), ("uniform",), ("0.1",)),
)
PRESETS = {
    "smoke": Preset(
        (Part(("breast cancer",), ("uniform", "boundary"), ("0.1",)), Part(("made: rare",), (), ())), limit=30
    ),
    "quick": Preset(QUICK, limit=60),
    "repeated": Preset(QUICK, limit=60, n_seeds=3),  # other corruptions, synthetic data and method seeds
    "standard": Preset(  # larger tables have fewer attacks; no rows are left out
        (
            Part(SMALL, ATTACKS, BUDGETS),
            Part(MEDIUM, ("uniform", *THE_PAPERS, "boundary", "region"), (RHO,)),
            Part(LARGE, ("directed, alpha=0.5",), (RHO,)),
        ),
        limit=600,
    ),
    "full": Preset((Part(tuple(SIZES), ATTACKS, BUDGETS),), limit=1800),
}
