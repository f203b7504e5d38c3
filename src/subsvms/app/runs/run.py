"""One run over a table: the table, what was asked, and what was found. Nothing is written here.

A run is determined by its options and the bytes of its files; how many threads did the work changes no bit.
"""

import re
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._progress import announce
from subsvms._validation import check_count, check_range
from subsvms.app.features.make import DROPPED, Features, make_features
from subsvms.app.runs.tally import Group, Tally, group_noise, learn_grouping
from subsvms.app.tables.files import digest_file, show, suggest
from subsvms.app.tables.table import LabelledTable
from subsvms.correction._corrector import LabelCorrector
from subsvms.correction._result import Correction
from subsvms.ensemble import SubSVMClassifier
from subsvms.exceptions import LabelNoiseWarning, TableError

CHOICES = {
    "rule": ("posterior", "majority"),
    "action": ("fix", "drop", "weight", "review"),
    "kernel": ("rbf", "linear", "poly"),
}
SIZES = ("log", "log_squared")
LABELLERS = re.compile(
    r"annotat|label+er|\brater|_rater|coder|worker|reviewer|operator|(?:label+ed|checked|entered|coded|rated)_?by",
    re.IGNORECASE,
)  # columns that tell who made a label


@dataclass(frozen=True)
class Options:
    """What a run depends on, besides the bytes of its files."""

    label: str
    rule: str = "posterior"
    action: str = "fix"
    max_error_rate: float | None = None
    min_confidence: float = 0.5
    svms: int = 1000
    subset_size: str | int = "log_squared"
    kernel: str = "rbf"
    seed: int = 0
    exclude: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    format: str | None = None
    encoding: str | None = None
    separator: str | None = None
    missing_label: tuple[str, ...] = ()
    verified: tuple[tuple[int, Any], ...] = ()  # (row, counted from 1; label) that people decided
    early_exit: float | None = None  # confidence with which votes on a row may end early, in a run in parts
    pool_size: int | None = None  # of a run in parts: SVMs are trained on twice as many rows at most

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                hint = suggest(str(value), known) or "."
                raise TableError(f"--{name} must be one of {', '.join(known)}; got {value!r}{hint}")
        if self.max_error_rate is not None:
            check_range("--max-error-rate", self.max_error_rate, 0, 1)
        check_range("--min-confidence", self.min_confidence, 0, 1)
        check_count("--svms", self.svms)
        check_count("--seed", self.seed, 0)
        if self.early_exit is not None:
            check_range("--early-exit", self.early_exit, 0.5, 1, "[)")
        if self.pool_size is not None:
            check_count("--pool-size", self.pool_size, 100)
        if self.subset_size not in SIZES:
            if isinstance(self.subset_size, str):
                raise TableError(
                    f"--subset-size must be log, log_squared or a whole number; got {self.subset_size!r}."
                )
            check_count("--subset-size", self.subset_size, 2)

    @property
    def reading(self) -> dict[str, Any]:
        """What `read_table` takes."""
        names = ("format", "encoding", "separator")
        return {name: getattr(self, name) for name in names} | {"missing_labels": self.missing_label}


@dataclass(frozen=True, eq=False)
class Run:
    """What a run read, and what it found."""

    options: Options
    table: LabelledTable
    features: Features
    features_path: Path | None  # embeddings that stood in for the columns
    features_digest: str | None  # SHA-256 of that file
    model: SubSVMClassifier  # that voted
    correction: Correction  # what was found out about each label
    tally: Tally
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> dict[str, tuple[Group, ...]]:
        """Noise by each column that was asked for."""
        return {name: group_noise(counts) for name, counts in self.tally.groups.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user must know before using the result, of labels first, then of columns."""
        odd = (note for note in self.features.notes if not note.startswith(DROPPED))
        who = [name for name in dict.fromkeys(self.features.sources) if LABELLERS.search(name)]
        hint = (
            f"The column {show(name)} may tell who labelled a row, and was used: errors that follow it look "
            "right; name it with --by to see them."
            for name in who
            if name in self.table.columns.column_names
        )
        return (*self.correction.notes, *self.table.notes, *odd, *hint)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What became of columns that are no features."""
        dropped = (note for note in self.features.notes if note.startswith(DROPPED))
        used = (f"{DROPPED}the column {show(name)} groups the rows." for name in self.options.by)
        return (*dropped, *used)


def correct_table(
    table: LabelledTable, options: Options, *, features: str | Path | None = None, n_jobs: int | None = -1
) -> Run:
    r"""Find the wrong labels of a table.

    Parameters
    ----------
    table : LabelledTable
    options : Options
    features : path-like, optional
        An .npy or .npz file of embeddings that stands in for the columns.
    n_jobs : int, optional
        Threads; -1 for all cores.

    Returns
    -------
    Run

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from subsvms.app.tables.table import read_table
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat(["no", "yes"], 200)
    >>> values = rng.normal(0, 1, (400, 3)) + 3 * (clean == "yes")[:, None]
    >>> given = np.where(rng.random(400) < 0.15, np.where(clean == "yes", "no", "yes"), clean)
    >>> lines = [",".join([*map(str, row), label]) for row, label in zip(values.round(3), given)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "loans.csv"
    ...     _ = path.write_text("\n".join(["a,b,c,default", *lines]))
    ...     run = correct_table(read_table(path, "default"), Options("default"))
    >>> bool((run.correction.labels != clean).sum() < (given != clean).sum() / 2)
    True
    """
    clock = Clock()
    groups = {name: learn_grouping(table, name) for name in options.by}
    announce("making features")
    exclude = options.exclude if features is not None else (*options.exclude, *options.by)
    made = make_features(table, exclude=exclude, only=options.only, features=features)
    clock.lap("features")
    corrector = make_corrector(options, n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)  # they are the run's notes
        corrector.fit(made.X, table.labels, place_verified(options.verified, table))
    clock.lap("voting")
    members = {name: group.read(table.columns[name]) for name, group in groups.items()}
    correction = corrector.correction_
    path = None if features is None else Path(features)
    digest = None if path is None else digest_file(path)
    return Run(
        options, table, made, path, digest, corrector.model_, correction, Tally.of(correction, members), clock.laps
    )  # fmt: skip


def make_corrector(options: Options, n_jobs: int | None) -> LabelCorrector:
    """Return the corrector that a run asks for, not fitted."""
    return LabelCorrector(
        rule=options.rule, action=options.action, max_error_rate=options.max_error_rate,
        min_confidence=options.min_confidence, n_estimators=options.svms, subsample_size=options.subset_size,
        kernel=options.kernel, random_state=options.seed, n_jobs=n_jobs, n_witnesses=0,
    )  # fmt: skip


def place_verified(verified: tuple[tuple[int, Any], ...], table: LabelledTable) -> np.ndarray | None:
    """Return verified labels in the place of their rows; None if there are none."""
    if not verified:
        return None
    labels = np.full(len(table), None, dtype=object)
    for row, label in verified:
        if not 1 <= row <= len(table):
            raise TableError(f"A decision is about row {row}, but {table.name} has {len(table)} rows.")
        labels[row - 1] = label
    return labels


class Clock:
    """Seconds of each part of a run."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Note how long the part took that ends now."""
        now = time.perf_counter()
        self.laps[name] = round(now - self.last, 3)
        self.last = now
