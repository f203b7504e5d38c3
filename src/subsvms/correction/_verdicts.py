"""Judge a table as a whole: the rule, the limit on changes, and what the user must know of the result."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from subsvms.correction._noise import FEWEST, NoiseEstimate, is_solvable, rank_evidence
from subsvms.correction._rule import Judgement, Rule, Settings, apply_rule, expect_given, learn_rule
from subsvms.ensemble._votes import Votes

MANY, MOST = 1 / 3, 1 / 2  # shares of the table, of a class, that the vote contradicts; then a note warns
AGAINST, STRETCH = -4.0, 0.08  # standard deviations, share of rows: clean mushrooms have a stretch of 0.05
DIVIDED = (-0.1, 0.05)  # mean values on both sides of zero that such a stretch spans

BEYOND = (
    "If more than half of the labels are wrong, the votes side with the wrong ones, and nothing in the table "
    "can tell: look at some of these rows before you use the result."
)

UNEXPLAINED = (
    "The features do not predict the labels: out of bag the votes agree with them no better than chance, so "
    "no label was changed. Check that X holds what the labels were made from, and that its features are "
    "scaled; or noise has drowned a rare class."
)
REVERSED = (
    "Either labels were changed along the border between the classes, or the border is more intricate than "
    "the SVMs can see; the rule 'posterior' leaves such labels. If the classes are known to be well apart, "
    "use rule='majority' with max_error_rate."
)


def judge_labels(votes: Votes, given: np.ndarray, noise: NoiseEstimate, settings: Settings) -> Judgement:
    """Judge every given label of a table, and propose labels for rows without one.

    Parameters
    ----------
    votes, given, noise, settings
        As in `learn_rule`.

    Returns
    -------
    Judgement
    """
    return judge_table(learn_rule(votes, given, noise, settings), votes, given)


def judge_table(rule: Rule, votes: Votes, given: np.ndarray) -> Judgement:
    """Judge a table as a whole: with the limit on changes, and with notes."""
    judgement = cap(apply_rule(rule, votes, given), given, rule.settings.max_error_rate)
    return replace(judgement, notes=gather_notes(rule, votes, given))


def cap(judgement: Judgement, given: np.ndarray, max_error_rate: float | None) -> Judgement:
    """Return the judgement with no more than the allowed share of the labels flagged, surest first."""
    if max_error_rate is None:
        return judgement
    rows = np.flatnonzero(judgement.flagged)
    allowed = count_allowed(max_error_rate, int(np.sum(given >= 0)))
    cutoff = find_cutoff(judgement.score[rows], judgement.quality[rows], rows, allowed)
    return judgement if cutoff is None else cutoff.apply(judgement, np.arange(len(given)))


class Cutoff(NamedTuple):
    """The last label that `max_error_rate` lets change, surest first; equal ones by row number."""

    score: float
    quality: float
    row: int

    def apply(self, judgement: Judgement, rows: np.ndarray) -> Judgement:
        """Return the judgement with labels beyond the last one kept."""
        score, quality = judgement.score, judgement.quality
        tied = (quality < self.quality) | ((quality == self.quality) & (rows <= self.row))
        free = judgement.flagged & ((score > self.score) | ((score == self.score) & tied))
        capped = judgement.flagged & ~free
        return replace(judgement, flagged=free, halt=np.where(capped, "capped", judgement.halt))


def find_cutoff(score: np.ndarray, quality: np.ndarray, rows: np.ndarray, allowed: int) -> Cutoff | None:
    """Return where changes end, from all flagged rows of a table; None if all of them may change.

    Examples
    --------
    >>> find_cutoff(np.array([0.6, 0.9, 0.8]), np.array([0.4, 0.1, 0.2]), np.array([0, 1, 2]), 2)
    Cutoff(score=0.8, quality=0.2, row=2)
    """
    if len(rows) <= allowed:
        return None
    if allowed == 0:
        return Cutoff(np.inf, -np.inf, -1)
    last = np.lexsort((rows, quality, -score))[allowed - 1]
    return Cutoff(float(score[last]), float(quality[last]), int(rows[last]))


def count_allowed(max_error_rate: float, n_labels: int) -> int:
    """Return how many labels may change."""
    return int(np.floor(max_error_rate * n_labels + 1e-9))


def gather_notes(rule: Rule, votes: Votes, given: np.ndarray) -> tuple[str, ...]:
    """Return what the user must know before using the result, a sentence or two each."""
    noise, sizes = rule.noise, rule.sizes
    notes = [
        say_scarce(str(name), int(seen), int(size))
        for name, seen, size in zip(noise.classes, rule.seen, sizes, strict=True)
        if seen < FEWEST
    ]
    if not noise.explained:
        return (*notes, UNEXPLAINED)
    if not is_solvable(noise.matrix):
        notes.append("The labels are so noisy that they hardly tell the classes apart: no label was changed.")
    judged = (given >= 0) & (votes.n_voters > 0)
    against = judged & (votes.winners(sizes, given) != given)
    for c, name in enumerate(noise.classes):
        own = against[judged & (given == c)]
        share = np.mean(own) if rule.seen[c] >= FEWEST and len(own) else 0.0
        if share > MOST:
            whose = f"the majority ({share:.0%}) of the rows labelled {str(name)!r}"
            notes.append(f"The vote contradicts {whose}. {BEYOND}")
    if against.sum() > MANY * judged.sum():
        notes.append(f"The vote contradicts {against.sum() / judged.sum():.0%} of all labels. {BEYOND}")
    if len(sizes) == 2:
        values = votes.mean_value[judged]
        stretch = find_reversal(values[:, 1], given[judged] == 1, expect_given(rule, values)[:, 1])
        if stretch > 0:
            where = f"Where the votes are divided, in {stretch:.0%} of the rows"
            notes.append(f"{where}, labels run against them. {REVERSED}")
    return tuple(notes)


def say_scarce(name: str, seen: int, size: int) -> str:
    """Return a note on a class with too few rows to be judged."""
    if seen < size:
        return (
            f"Class {name!r} has {size} labelled rows, of which the sample that all is learned from has "
            f"{seen}: no label was changed from or to it; a larger pool (--pool-size) has more."
        )
    return (
        f"Class {name!r} has {size} labelled row{'' if size == 1 else 's'}; of fewer than {FEWEST} no noise "
        "can be read, so no label was changed from or to it."
    )


def find_reversal(u: np.ndarray, is_given: np.ndarray, eta: np.ndarray) -> float:
    """Return the share of rows in a stretch around u = 0 along which labels run against the votes, or 0.

    Isotonic regression is flat where the labels fall while u grows. A flat step that spans zero, with ranks
    that say more than chance, is what flips of the rows nearest the border leave behind.

    Parameters
    ----------
    u : ndarray of shape (n_rows,)
        Mean values of the second of two classes.
    is_given : ndarray of bool of shape (n_rows,)
        Whether the row is given this class.
    eta : ndarray of shape (n_rows,)

    Examples
    --------
    >>> from sklearn.isotonic import IsotonicRegression
    >>> u = np.linspace(-1, 1, 400)
    >>> is_given = (u > 0) != (abs(u) < 0.2)  # flipped near the border
    >>> find_reversal(u, is_given, IsotonicRegression().fit(u, is_given).predict(u))
    0.2
    """
    low, high = DIVIDED
    middle = eta[np.argmin(np.abs(u))]
    step = np.flatnonzero(np.isclose(eta, middle))
    if u[step].min() > low or u[step].max() < high or len(step) < STRETCH * len(u):
        return 0.0
    return len(step) / len(u) if rank_evidence(u[step], is_given[step]) < AGAINST else 0.0
