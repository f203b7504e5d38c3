"""Distinguish wrong labels from classes that overlap in a way that the votes do not see.

Noise by class depends on nothing but the class: given the true class, the label is independent of the
features. So among rows with similar votes, those that are *given* class b and those that are given another
label but are truly b follow the same distribution, and no classifier can tell them apart. If one can, the
votes were too coarse, and the labels follow the features there.

This is a classifier two-sample test (Lopez-Paz and Oquab, ICLR 2017). Its classifier is again an ensemble,
trained on these rows alone, so that it looks closer than the vote on all rows did (other judges look with the
classifier itself); its statistic is the area A under the ROC curve of its out-of-sample values.
Some rows on both sides are not truly b: let m and m' be their shares by the posterior. If all of these could
be told apart from all others, and nothing else could, the area would be

    A_0 = 1/2 + (1 - (1 - m)(1 - m')) / 2.

So A_0 is the largest area that noise explains, and p the chance that it leads to A or more. The weight of
overlap is `EVEN` / (`EVEN` + p): it is small for any ordinary p, one half where p = `EVEN`, and the
probability that a row is truly b is multiplied by the rest (`_rule`). Nothing is switched.

If classes overlap, people keep every label; if not, they answer as the posteriors say. So the odds of noise
and overlap are multiplied by those of the answers: people can stop changes, and allow some that the features
speak against.
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from subsvms._columns import Table
from subsvms.correction._choice import mean_squared_distance
from subsvms.correction._noise import SMALLEST_CLASS
from subsvms.correction._noise_curve import SLIP
from subsvms.correction._rule import Judgement, Overlap
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._rows import take_rows
from subsvms.ensemble._training import fit_numbered
from subsvms.ensemble._votes import Votes

EVEN = 0.01  # a chance at which noise and overlap weigh the same
N_SVMS, ROWS_OF_SUBSET = 40, 300  # for the test: enough to rank, and five times the rows of the paper's SVMs
LARGEST_SIDE = 1000  # rows


class Sides(NamedTuple):
    """Rows that are compared."""

    joining: np.ndarray  # row numbers: flagged, and thought to be of a class
    there: np.ndarray  # row numbers: given this class, with votes like theirs
    largest: float  # area that noise explains


class CloserLook:
    """Looks at the rows of a table more closely than the votes did."""

    def __init__(self, seed: int, features: Table | None = None, groups: np.ndarray | None = None):
        self.seed, self.features = seed, features  # numbers that any other judge can learn from, if there are
        self.groups = groups  # (n_rows,): no row is judged by what learned from another row of its group

    def count_groups(self, rows: np.ndarray) -> int:
        """Return how many independent rows these are worth: copies count once."""
        return len(rows) if self.groups is None else len(np.unique(self.groups[rows]))

    def separate(self, rows: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Return out-of-sample values, larger for rows that look like side 1; NaN for a row without one."""
        raise NotImplementedError


class SVMLook(CloserLook):
    """Looks with SVMs like those that voted, trained on the rows in question alone."""

    def __init__(self, model: SubSVMClassifier, X: Table, groups: np.ndarray | None = None):
        seed = check_random_state(model.random_state).randint(2**31 - 1)
        super().__init__(seed, None if model.kernel == "precomputed" else X, groups)
        self.model, self.X = model, X

    def separate(self, rows: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Return out-of-bag values of SVMs that are trained on these rows."""
        closer = clone(self.model).set_params(
            n_estimators=N_SVMS, subsample_size=min(len(rows) // 2, ROWS_OF_SUBSET), sampling_bias=0.5,
            class_weight=None, random_state=self.seed, verbose=0,
        )  # fmt: skip
        X = take_rows(self.X, rows, self.model.kernel)
        if self.model.kernel == "rbf":  # the paper's kernel is too wide to look closer
            closer.set_params(gamma=2.0 / max(mean_squared_distance(X), 1e-12))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an SVM that stops early can still rank rows
            groups = None if self.groups is None else self.groups[rows]
            return fit_numbered(closer, X, np.arange(2), side, groups=groups).oob_votes_.mean_value[:, 1]


def find_overlap(
    look: CloserLook | None, given: np.ndarray, votes: Votes, judgement: Judgement, *, sampled: bool = False
) -> Overlap:
    """Return how far overlap explains what a judgement would change."""
    n_classes = votes.counts.shape[1]
    moves = np.bincount(judgement.suggested[judgement.flagged], minlength=n_classes)
    untested = moves < SMALLEST_CLASS if sampled else np.zeros(n_classes, dtype=bool)
    weight = np.zeros(n_classes)
    if look is not None:
        for b in np.flatnonzero(moves >= SMALLEST_CLASS).tolist():
            sides = find_sides(given, votes.mean_value[:, b], judgement, b)
            untested[b] = len(sides.there) < SMALLEST_CLASS
            if not untested[b]:
                weight[b] = EVEN / (EVEN + compare_sides(look, sides))
    return Overlap(np.where(untested, 1.0, weight), untested)


def find_sides(given: np.ndarray, values: np.ndarray, judgement: Judgement, b: int) -> Sides:
    """Return the rows to compare for class b; `values` are the mean values of its votes."""
    p_b = judgement.posterior[:, b]
    joining = np.flatnonzero(judgement.flagged & (judgement.suggested == b))
    alike = values >= values[joining].min()
    there = np.flatnonzero((given == b) & ~judgement.flagged & alike)
    truly = [p_b[rows].mean() if len(rows) else 1.0 for rows in (joining, there)]
    return Sides(joining, there, 1.0 - truly[0] * truly[1] / 2.0)


def compare_sides(look: CloserLook, sides: Sides) -> float:
    """Return the chance that noise alone separates the two sides as well as the closer look does."""
    rng = np.random.default_rng(look.seed)
    parts = [sides.joining, sides.there]
    parts = [
        rng.choice(one, LARGEST_SIDE, replace=False) if len(one) > LARGEST_SIDE else one for one in parts
    ]
    side = np.repeat([1, 0], [len(rows) for rows in parts])
    values = look.separate(np.concatenate(parts), side)
    asked = np.isfinite(values)
    every = np.concatenate(parts)[asked]
    n_joining, n_there = (look.count_groups(every[side[asked] == one]) for one in (1, 0))
    if n_joining * n_there == 0:
        return 1.0
    deviation = np.sqrt((n_joining + n_there + 1) / (12.0 * n_joining * n_there))  # of the area, by chance
    area = roc_auc_score(side[asked], values[asked])
    return float(norm.sf((area - sides.largest) / deviation))


def update_overlap(overlap: Overlap, judged: Judgement, given: np.ndarray, verified: np.ndarray) -> Overlap:
    """Return how far overlap explains changes, after people looked at some of them."""
    agreement = weigh_agreement(judged, given, verified)
    heard = (agreement != 0.0) & ~overlap.untested
    least = EVEN / (1.0 + EVEN)  # what the features say is never certain: people know better

    def update(before):
        return np.where(heard, expit(logit(np.clip(before, least, 1.0 - least)) - agreement), before)

    weight = update(overlap.weight)
    refused = np.flatnonzero((overlap.weight <= 0.5) & (weight > 0.5))
    doubt = np.minimum(update(overlap.doubt), overlap.doubt)
    return overlap._replace(weight=weight, refused=tuple(refused.tolist()), doubt=doubt)


def weigh_agreement(judgement: Judgement, given: np.ndarray, verified: np.ndarray) -> np.ndarray:
    """Return how far people agree with a judgement, for each class that labels would change to."""
    # These are the log odds of their answers about the flagged rows: if the posteriors are right, against if
    # every given label is, because the classes overlap there. As in `_noise_curve`, an answer may be a slip.
    # Classes without agreement of their own share that about all classes, if it is worse.
    n_classes = judgement.posterior.shape[1]
    rows = np.flatnonzero(judgement.flagged & (verified >= 0))
    answers = verified[rows]
    agreed, kept = judgement.posterior[rows, answers], answers == given[rows]
    odds = ((1.0 - SLIP) * agreed + SLIP / n_classes) / ((1.0 - SLIP) * kept + SLIP / n_classes)
    own = np.bincount(judgement.suggested[rows], weights=np.log(odds), minlength=n_classes)
    return np.where(own > 0.0, own, np.minimum(own, own.sum()))
