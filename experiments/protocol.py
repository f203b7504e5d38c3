"""What is run: labels, seeds, grids and presets."""

import hashlib
import json
import zlib
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from experiments.datasets import NAMES
from subsvms import adversaries

VERSION = 3  # of the meaning of a row; results of different versions are not mixed
RHO = 0.75
CLEAN = "clean"
ALPHAS = ("1.0", "0.75", "0.5", "0.25", "0.0")
UNWEIGHTED = ", W=1"  # added to a method's name: without class weights, as the paper's numbers are
WEIGHTED = ("Oracle-SVM", "Blind-SVM", "Bag-SVM", "CV-SVM")
BASELINES = (*WEIGHTED, *(name + UNWEIGHTED for name in WEIGHTED))
SMALL = ("a1a", "splice", "svmguide1", "w1a")


class Run(NamedTuple):
    """One run: a method on one corruption of one data set."""

    data: str
    alpha: str  # "clean", or the direction
    corruption: int
    method: str


class Case(NamedTuple):
    """One labelling of one data set; every method gets the same labels."""

    data: str
    alpha: str
    corruption: int


@dataclass(frozen=True)
class Protocol:
    """What a row depends on besides its run. Results of different protocols are not mixed."""

    version: int = VERSION
    loss: str = "squared_hinge"
    tol: float = 1e-3  # of the large SVMs; 1e-2 gives a wrong AUC where an SVM predicts a single class
    C: tuple[float, ...] = (1.0, 10.0, 100.0)
    ratio: tuple[float, ...] = (0.1, 10**-0.5, 1.0, 10**0.5, 10.0)  # C of the smaller class over the other's
    gamma: tuple[float, ...] = (0.1, 10**-0.5, 1.0, 10**0.5, 10.0)  # times 1/d
    folds: int = 4
    splits: int = 5
    bags: int = 50
    n_svms: int = 1000
    subset: str = "log_squared"

    def signature(self):
        """Return a short name for exactly this protocol."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Preset:
    """A list of runs under a protocol."""

    name: str
    about: str
    protocol: Protocol
    data: tuple[str, ...]
    alphas: tuple[str, ...]
    corruptions: int  # for SubSVMs; on clean labels, as many seeds
    baseline_data: tuple[str, ...]
    baseline_alphas: tuple[str, ...]
    baseline_corruptions: int
    dimensions: tuple[int, ...] = (2, 16, 30)  # of the synthetic data
    made: int = 10  # corruptions of the synthetic data

    def runs(self):
        """Return every run: SubSVMs first, then the baselines, one data set after the other."""
        listed = [Run(*case, "SubSVMs") for case in self.cases(self.data, self.alphas, self.corruptions)]
        for data in self.baseline_data:
            for case in self.cases((data,), self.baseline_alphas, self.baseline_corruptions, clean_once=True):
                listed += [Run(*case, method) for method in BASELINES]
        return listed

    def cases(self, data, alphas, corruptions, clean_once=False):
        """Return the labellings; a method that is not random needs the clean labels only once."""
        return [
            Case(name, alpha, number)
            for name in data
            for alpha in (CLEAN, *alphas)
            for number in range(1 if clean_once and alpha == CLEAN else corruptions)
        ]


COARSE = replace(Protocol(), ratio=(0.1, 1.0, 10.0), gamma=(0.1, 1.0, 10.0), splits=1, bags=10)
PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "smoke", "one small data set, one corruption, tiny grids: a minute",
            replace(COARSE, C=(1.0, 100.0), ratio=(1.0,), gamma=(1.0,), bags=3),
            ("splice",), ("0.0",), 1, ("splice",), ("0.0",), 1, (2,), 1,
        ),
        Preset(
            "quick", "SubSVMs on all data, 3 corruptions; baselines on small sets, 1 corruption, coarse grid",
            COARSE, NAMES, ("1.0", "0.5", "0.0"), 3, SMALL, ("1.0", "0.5", "0.0"), 1,
            made=2,
        ),
        Preset(
            "standard", "SubSVMs as in the paper; baselines on all data, 3 corruptions, coarse grid, one "
            "cross-validation split instead of five, 10 bags",
            COARSE, NAMES, ALPHAS, 10, NAMES, ALPHAS, 3,
        ),
        Preset(
            "paper", "the paper's protocol: 10 corruptions, fine grid, five splits, 50 bags; days",
            Protocol(), NAMES, ALPHAS, 10, NAMES, ALPHAS, 10,
        ),
    )
}  # fmt: skip


def seed_of(*names):
    """Return a seed that depends on these names alone, so that no run depends on which others there are."""
    return zlib.crc32("/".join(str(name) for name in names).encode()) % (2**31)


def corrupt(clean, case):
    """Return the labels of a case."""
    if case.alpha == CLEAN:
        return clean
    seed = seed_of("corruption", *case)
    return adversaries.directed_flips(clean, rho=RHO, alpha=float(case.alpha), random_state=seed).labels
