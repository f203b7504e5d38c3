"""Distinguish wrong labels from classes that overlap in a way that the votes do not see.

Noise by class depends on nothing but the class. So among rows with similar votes, those that are *given*
class b and those that are given another label but would be changed to b follow the same distribution, if the
change is right: no classifier can tell them apart. If one can, the votes were too coarse, and the labels
stand. This is a classifier two-sample test (Lopez-Paz and Oquab, ICLR 2017). Its classifier is again an
ensemble, trained on these rows alone and with larger subsets, so that it looks closer than the vote did; its
statistic is that of Mann and Whitney on its out-of-bag values. Other judges look with the classifier itself.

A vote can also be too coarse everywhere: tiny, wide SVMs cannot learn classes that alternate like the squares
of a chessboard. Their votes then predict the labels weakly, as they do under heavy noise. But noise hides
labels from every SVM. So where votes are weak, larger subsets and a narrower kernel are tried on the whole
table; if they predict the given labels clearly better, the vote is wrong, not the labels.
"""

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from subsvms._typing import Table
from subsvms.correction._noise import FEWEST, rank_evidence
from subsvms.correction._rule import Halt, Judgement, keep_labels
from subsvms.correction._words import COARSE, format_spared
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._rows import take_rows
from subsvms.ensemble._votes import Votes

N_SVMS, SUBSET = 40, 300  # for the tests: enough to rank, and five times the rows of the paper's SVMs
LARGEST_SIDE = 1000  # rows
APART = 3.0  # standard deviations above chance
# Area under the ROC curve; right changes still differ a little, as some of those rows are not of class b.
AREA = 0.6

DOUBTED = 8.0  # standard deviations of evidence below which the vote itself is checked
NARROWER = 10.0  # times gamma
BETTER, SURPLUS = 1.3, 1.0  # factor and standard deviations by which closer SVMs must do better


class Guards(NamedTuple):
    """What the closer look found.

    Attributes
    ----------
    coarse : bool
        Whether the vote is too coarse: then nothing may change.
    distinct : tuple of int
        Classes whose rows the features distinguish from those that would join them.
    untested : tuple of int
        Classes that too few rows would join for such a test.
    """

    coarse: bool = False
    distinct: tuple[int, ...] = ()
    untested: tuple[int, ...] = ()

    @property
    def denied(self) -> bool:
        """Whether the estimated noise explains the labels only in part, or not at all."""
        return self.coarse or bool(self.distinct)

    def apply(self, judgement: Judgement, given: np.ndarray) -> Judgement:
        """Return the judgement without changes that the votes are too coarse to support, and with notes."""
        if self.coarse:
            everywhere = np.ones(len(given), dtype=bool)
            return _keep(judgement, given, everywhere, Halt.COARSE)
        for classes, halt in ((self.distinct, Halt.TOLD_APART), (self.untested, Halt.UNTESTED)):
            kept = judgement.flagged & np.isin(judgement.suggested, classes)
            judgement = _keep(judgement, given, kept, halt)
        return judgement


def _keep(judgement, given, rows, halt):
    """Return the judgement with these rows kept as they are, and a note that says why."""
    n_rows = int(np.sum(rows & (given >= 0)))
    if n_rows == 0:
        return judgement
    note = COARSE if halt == Halt.COARSE else format_spared(n_rows, halt)
    return replace(keep_labels(judgement, given, rows, halt), notes=(*judgement.notes, note))


class CloserLook:
    """Looks at the rows of a table more closely than the votes did.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int):
        self.seed = seed

    def separate(self, rows: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Return out-of-sample values, larger for rows that look like side 1; NaN for a row without one.

        Parameters
        ----------
        rows : ndarray of int of shape (n_rows,)
            Row numbers.
        side : ndarray of int of shape (n_rows,)
            0 or 1.
        """
        raise NotImplementedError

    def is_too_coarse(self, given: np.ndarray, evidence: float) -> bool:
        """Return whether a closer look predicts the given labels clearly better than the votes do.

        Parameters
        ----------
        given : ndarray of int of shape (n_rows,)
            Class numbers; -1 for a row without a label.
        evidence : float
            Standard deviations by which the votes beat chance, for the class where they do so most.
        """
        return False


class SVMLook(CloserLook):
    """Looks with SVMs like those that voted, but with larger subsets.

    Parameters
    ----------
    model : SubSVMClassifier
        The ensemble that voted, fitted.
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The table; the kernel matrix where the kernel is precomputed.
    chosen : bool, default=False
        Whether the ensemble predicts the labels best of several: then none that looks closer does better.
    """

    def __init__(self, model: SubSVMClassifier, X: Table, *, chosen: bool = False):
        super().__init__(check_random_state(model.random_state).randint(2**31 - 1))
        self.model, self.X, self.chosen = model, X, chosen

    def separate(self, rows: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Return out-of-bag values of SVMs that are trained on these rows."""
        return self._vote(take_rows(self.X, rows, self.model.kernel), side)[:, 1]

    def is_too_coarse(self, given: np.ndarray, evidence: float) -> bool:
        """Return whether SVMs with larger subsets and a narrower kernel predict the labels better."""
        model = self.model
        if self.chosen or evidence >= DOUBTED or model.kernel == "precomputed":
            return False
        rows = np.flatnonzero(given >= 0)
        X, labels = self.X if len(rows) == len(given) else self.X[rows], given[rows]
        gamma = model.voters_.kernel.gamma if model.kernel == "rbf" else 1.0 / X.shape[1]
        values = self._vote(X, labels, kernel="rbf", gamma=NARROWER * gamma)
        asked = np.isfinite(values[:, 0])
        closer = max(rank_evidence(values[asked, c], labels[asked] == c) for c in range(values.shape[1]))
        return bool(closer > BETTER * evidence + SURPLUS)

    def _vote(self, X, labels, **changes):
        closer = clone(self.model).set_params(
            n_estimators=N_SVMS,
            subsample_size=min(len(labels) // 2, SUBSET),
            sampling_bias=0.5,
            class_weight=None,
            random_state=self.seed,
            verbose=0,
            **changes,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an SVM that stops early can still rank rows
            return closer.fit(X, labels).oob_votes_.mean_value


def check_changes(
    look: CloserLook | None,
    given: np.ndarray,
    votes: Votes,
    judgement: Judgement,
    evidence: float,
    *,
    sampled: bool = False,
) -> Guards:
    """Check what a judgement would change.

    Parameters
    ----------
    look : CloserLook or None
        None if there is no table to look at.
    given, votes
        As in `judge_labels`.
    judgement : Judgement
    evidence : float
        As in `CloserLook.is_too_coarse`.
    sampled : bool, default=False
        Whether these rows are a sample of a table. Changes that are too few in the sample to be tested may
        be thousands in the table; those labels are kept.
    """
    moves = np.bincount(judgement.suggested[judgement.flagged], minlength=votes.counts.shape[1])
    untested = tuple(np.flatnonzero(moves < FEWEST).tolist()) if sampled else ()
    if look is None or not judgement.flagged.any():
        return Guards(untested=untested)
    if look.is_too_coarse(given, evidence):
        return Guards(coarse=True)
    return Guards(distinct=find_distinct(look, given, votes.mean_value, judgement), untested=untested)


def find_distinct(
    look: CloserLook, given: np.ndarray, values: np.ndarray, judgement: Judgement
) -> tuple[int, ...]:
    """Return the classes whose own rows can be distinguished from the flagged rows that would join them.

    Parameters
    ----------
    look : CloserLook
    given : ndarray of int of shape (n_rows,)
        Class numbers.
    values : ndarray of shape (n_rows, n_classes)
        Mean values of the votes.
    judgement : Judgement
    """
    distinct = []
    for b in np.unique(judgement.suggested[judgement.flagged]):
        joining = np.flatnonzero(judgement.flagged & (judgement.suggested == b))
        if len(joining) < FEWEST:
            continue
        least = values[joining, b].min()
        there = np.flatnonzero((given == b) & ~judgement.flagged & (values[:, b] >= least))
        if len(there) < FEWEST or can_separate(look, joining, there):
            distinct.append(int(b))
    return tuple(distinct)


def can_separate(look: CloserLook, one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether the features separate two sets of rows, clearly and by more than chance."""
    rng = np.random.default_rng(look.seed)
    sides = [
        rows if len(rows) <= LARGEST_SIDE else rng.choice(rows, LARGEST_SIDE, replace=False)
        for rows in (one, other)
    ]
    side = np.repeat([1, 0], [len(part) for part in sides])
    values = look.separate(np.concatenate(sides), side)
    asked = np.isfinite(values)
    evidence = rank_evidence(values[asked], side[asked] == 1)
    n_one, n_other = np.sum(side[asked] == 1), np.sum(side[asked] == 0)
    area = 0.5 + evidence * np.sqrt((n_one + n_other + 1) / (12.0 * max(n_one * n_other, 1)))
    return bool(evidence > APART and area > AREA)
