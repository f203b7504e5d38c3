"""Distinguish wrong labels from classes that overlap in a way that the votes do not see.

Noise by class depends on nothing but the class. So among rows with similar votes, those that are *given*
class b and those that are given another label but would be changed to b follow the same distribution, if the
change is right: no classifier can tell them apart. If one can, the votes were too coarse, and the labels
stand. This is a classifier two-sample test (Lopez-Paz and Oquab, ICLR 2017). Its classifier is again an
ensemble, trained on these rows alone and with larger subsets, so that it looks closer than the vote did; its
statistic is that of Mann and Whitney on its out-of-bag values.

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

from subsvms._typing import Table
from subsvms.correction._noise import FEWEST, rank_evidence
from subsvms.correction._rule import Halt, Judgement, keep_labels
from subsvms.correction._words import COARSE, format_spared
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._rows import take_rows
from subsvms.ensemble._votes import Votes

N_SVMS, SUBSET = 200, 300  # for the tests: enough to rank, and five times the rows of the vote's SVMs
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


def check_changes(
    model: SubSVMClassifier,
    X: Table,
    given: np.ndarray,
    votes: Votes,
    judgement: Judgement,
    evidence: float,
    *,
    seed: int,
    sampled: bool = False,
) -> Guards:
    """Check what a judgement would change.

    Parameters
    ----------
    model, X, given, votes
        As in `judge_labels`.
    judgement : Judgement
    evidence : float
        As in `is_too_coarse`.
    seed : int
    sampled : bool, default=False
        Whether these rows are a sample of a table. Changes that are too few in the sample to be tested may
        be thousands in the table; those labels are kept.
    """
    moves = np.bincount(judgement.suggested[judgement.flagged], minlength=votes.counts.shape[1])
    untested = tuple(np.flatnonzero(moves < FEWEST).tolist()) if sampled else ()
    if not judgement.flagged.any():
        return Guards(untested=untested)
    rows = np.flatnonzero(given >= 0)
    labelled = X if len(rows) == len(given) else take_rows(X, rows, model.kernel)
    if is_too_coarse(model, labelled, given[rows], evidence, seed=seed):
        return Guards(coarse=True)
    distinct = find_distinct(model, X, given, votes.mean_value, judgement, seed=seed)
    return Guards(distinct=distinct, untested=untested)


def is_too_coarse(
    model: SubSVMClassifier, X: Table, given: np.ndarray, evidence: float, *, seed: int
) -> bool:
    """Return whether SVMs that look closer predict the given labels clearly better than the vote does.

    Parameters
    ----------
    model : SubSVMClassifier
        The ensemble that voted, fitted.
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The rows with labels.
    given : ndarray of int of shape (n_rows,)
        Their class numbers.
    evidence : float
        Standard deviations by which the vote beats chance, for the class where it does so most.
    seed : int
    """
    if evidence >= DOUBTED or model.kernel == "precomputed":
        return False
    gamma = model.voters_.kernel.gamma if model.kernel == "rbf" else 1.0 / X.shape[1]
    votes = look_closer(model, X, given, seed, kernel="rbf", gamma=NARROWER * gamma)
    asked = votes.n_voters > 0
    evidence_closer = max(
        rank_evidence(votes.mean_value[asked, c], given[asked] == c) for c in range(votes.counts.shape[1])
    )
    return bool(evidence_closer > BETTER * evidence + SURPLUS)


def look_closer(model: SubSVMClassifier, X: Table, labels: np.ndarray, seed: int, **changes) -> Votes:
    """Return out-of-bag votes of an ensemble like `model`, but with larger subsets."""
    closer = clone(model).set_params(
        n_estimators=N_SVMS,
        subsample_size=min(len(labels) // 2, SUBSET),
        sampling_bias=0.5,
        class_weight=None,
        random_state=seed,
        verbose=0,
        **changes,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an SVM that stops early can still rank rows
        return closer.fit(X, labels).oob_votes_


def find_distinct(
    model: SubSVMClassifier,
    X: Table,
    given: np.ndarray,
    values: np.ndarray,
    judgement: Judgement,
    *,
    seed: int,
) -> tuple[int, ...]:
    """Return the classes whose own rows can be distinguished from the flagged rows that would join them.

    Parameters
    ----------
    model, X, given
        As in `judge_labels`.
    values : ndarray of shape (n_rows, n_classes)
        Mean values of the votes.
    judgement : Judgement
    seed : int
    """
    distinct = []
    for b in np.unique(judgement.suggested[judgement.flagged]):
        joining = np.flatnonzero(judgement.flagged & (judgement.suggested == b))
        if len(joining) < FEWEST:
            continue
        least = values[joining, b].min()
        there = np.flatnonzero((given == b) & ~judgement.flagged & (values[:, b] >= least))
        if len(there) < FEWEST or can_separate(model, X, joining, there, seed=seed):
            distinct.append(int(b))
    return tuple(distinct)


def can_separate(model: SubSVMClassifier, X: Table, one: np.ndarray, other: np.ndarray, *, seed: int) -> bool:
    """Return whether the features separate two sets of rows, clearly and by more than chance."""
    rng = np.random.default_rng(seed)
    sides = [
        rows if len(rows) <= LARGEST_SIDE else rng.choice(rows, LARGEST_SIDE, replace=False)
        for rows in (one, other)
    ]
    rows = np.concatenate(sides)
    side = np.repeat([1, 0], [len(part) for part in sides])
    votes = look_closer(model, take_rows(X, rows, model.kernel), side, seed)
    asked = votes.n_voters > 0
    evidence = rank_evidence(votes.mean_value[asked, 1], side[asked] == 1)
    n_one, n_other = np.sum(side[asked] == 1), np.sum(side[asked] == 0)
    area = 0.5 + evidence * np.sqrt((n_one + n_other + 1) / (12.0 * max(n_one * n_other, 1)))
    return bool(evidence > APART and area > AREA)
