"""Stop asking SVMs about a row once its verdict stands.

Most labels are plainly right, and most SVMs say so. Let m of J SVMs have been asked about a row, and let
their values for its given label, each between -1 and 1, have the mean a. The mean of all J is then at least

    exact       (m a - (J - m)) / J                                whatever the others say;
    confident   a - 2 sqrt((1 - (m - 1) / J) ln(1 / delta) / (2 m))    but with probability delta.

The second is Serfling's inequality (Annals of Statistics 1974): subsets are drawn independently, so the first
m SVMs are a random sample of the J. As probability and rank of a label grow with its mean value, a row whose
label stands at that limit, and is not among the most doubtful ones, needs no more votes: it stands at any
larger value. Nothing that is written depends on the votes that were not counted, so exact exits change no
bit. Shares of votes are bounded alike.

Every stage asks some of the SVMs about the rows that are left. An SVM costs little next to the kernel between
a row and the training rows, which many SVMs share; so stages pay only where they spare that, or where there
is no kernel to compute (linear). `plan_exits` chooses them by what they cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from subsvms.app.runs.issues import LEAST
from subsvms.correction._rule import Judgement, Rule, apply_rule
from subsvms.ensemble._votes import Voters, Votes, count_votes, take_voters

EXACT = ((1.0,), (0.5, 1.0), (0.5, 0.75, 1.0))  # shares of the SVMs at which rows may leave
CONFIDENT = ((1.0,), (0.1, 1.0), (0.2, 1.0), (0.05, 0.2, 1.0), (0.1, 0.4, 1.0), (0.05, 0.15, 0.4, 1.0))
# nanoseconds of a kernel value, of a product in it, of a term of an SVM's sum: benchmarks/scale.py cost
VALUE, PRODUCT, TERM = 1.25, 0.1, 0.2
WORTH = 0.8  # stages cost more than they seem to: they are used if they promise to save a fifth
ROUNDING = 1e-6  # of a sum of votes; far more than there is
MOST_TRIED = 2000  # rows on which plans are compared


class Stage(NamedTuple):
    """SVMs that are asked together."""

    voters: Voters
    n_asked: int  # SVMs that have been asked when it ends


@dataclass(frozen=True, eq=False)
class Exits:
    """When to stop asking."""

    stages: tuple[Stage, ...]
    n_svms: int
    floor: float  # quality above which a label is none of the most doubtful of the table
    delta: float | None  # chance of a wrong exit; None for exact ones

    def settle(self, rule: Rule, votes: Votes, given: np.ndarray) -> np.ndarray:
        """Return which rows keep their labels, and are not listed, whatever the other SVMs say.

        Parameters
        ----------
        rule : Rule
        votes : Votes
            Of the SVMs that were asked so far, the same for all rows.
        given : ndarray of int of shape (n_rows,)
            Class numbers; a row without a label (-1) is never settled.
        """
        if len(given) == 0:
            return np.zeros(0, dtype=bool)
        worst = self.at_worst(votes, given)
        judgement = apply_rule(rule, worst, given)
        return (given >= 0) & is_plain(judgement, given) & (judgement.quality > self.floor)

    def at_worst(self, votes: Votes, given: np.ndarray) -> Votes:
        """Return the votes of all SVMs that speak least for the given labels."""
        J, m, own = self.n_svms, int(votes.n_voters[0]), np.maximum(given, 0)
        rows = np.arange(len(given))
        mean, share = votes.mean_value[rows, own], votes.share[rows, own]
        if self.delta is None:
            mean, share = (m * mean - (J - m)) / J, m * share / J
        else:
            epsilon = 2.0 * np.sqrt((1.0 - (m - 1) / J) * np.log(1.0 / self.delta) / (2.0 * m))
            mean, share = mean - epsilon, np.maximum(share - epsilon / 2.0, 0.0)
        sums = np.maximum(mean, -1.0) * J - ROUNDING
        wins = np.floor(share * J + ROUNDING)
        return Votes(_for_two(J - wins, wins, own), _for_two(-sums, sums, own), np.full(len(given), J))


def _for_two(other, own, given):
    """Return two columns: what speaks for the given class in its column, and the rest in the other."""
    return np.where(np.arange(2) == given[:, None], own[:, None], other[:, None])


def is_plain(judgement: Judgement, given: np.ndarray) -> np.ndarray:
    """Return which labels are neither flagged nor less probable than another."""
    rows = np.arange(len(given))
    own = judgement.posterior[rows, np.maximum(given, 0)]
    return ~judgement.flagged & (own >= judgement.posterior[rows, judgement.rival])


def count_until_settled(exits: Exits, rule: Rule, X: Any, given: np.ndarray, *, n_jobs: int = 1) -> Votes:
    """Return the votes on rows, and none at all on those that were settled before every SVM was asked.

    Parameters
    ----------
    exits : Exits
    rule : Rule
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    given : ndarray of int of shape (n_rows,)
    n_jobs : int

    Returns
    -------
    Votes
    """
    n_classes = len(rule.sizes)
    final = Votes(
        np.zeros((len(given), n_classes), np.int32), np.zeros((len(given), n_classes)),
        np.zeros(len(given), np.int32),
    )  # fmt: skip
    left, votes = np.arange(len(given)), None
    for stage in exits.stages:
        left, votes = go_on(exits, stage, rule, X, given, left, votes, n_jobs)
    assert votes is not None
    for whole, part in zip(vars(final).values(), vars(votes).values(), strict=True):
        whole[left] = part
    return final


def go_on(exits, stage, rule, X, given, left, votes, n_jobs=1):
    """Ask the SVMs of a stage about the rows that are left; return those still left, and their votes."""
    votes = count_votes(stage.voters, X[left], n_jobs=n_jobs, start=votes)
    if stage.n_asked == exits.n_svms:
        return left, votes
    going = np.flatnonzero(~exits.settle(rule, votes, given[left]))
    return left[going], votes.take(going)


def plan_exits(
    voters: Voters,
    rule: Rule,
    X: Any,
    given: np.ndarray,
    judgement: Judgement,
    *,
    confidence: float | None = None,
    stages: Sequence[float] | None = None,
) -> Exits | None:
    """Return when to stop asking, or None if asking all costs no more.

    Parameters
    ----------
    voters : Voters
    rule : Rule
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        A sample of the table.
    given : ndarray of int of shape (n_rows,)
    judgement : Judgement
        Of the sample.
    confidence : float, optional
        With which a verdict must stand; exact without it.
    stages : sequence of float, optional
        Shares of the SVMs at which rows may leave; chosen by cost without it.
    """
    n_svms = len(voters.intercept) // len(voters.pairs)
    floor = find_floor(judgement, given)
    if len(rule.sizes) != 2 or floor is None:
        return None
    plans = [tuple(stages)] if stages else EXACT if confidence is None else CONFIDENT
    X, given = X[:MOST_TRIED], given[:MOST_TRIED]
    found: list[tuple[float, Exits]] = []
    for plan in plans:
        ends = sorted({max(1, round(share * n_svms)) for share in plan})
        parts = [take_voters(voters, a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        n_limits = max(len(ends) - 1, 1) * (2 if rule.settings.rule == "majority" else 1)  # mean, and share
        delta = None if confidence is None else (1.0 - confidence) / n_limits
        exits = Exits(tuple(map(Stage, parts, ends)), n_svms, floor, delta)
        found.append((cost(exits, rule, X, given), exits))
    least, best = min(found, key=lambda pair: pair[0])
    pays = stages is not None or least < WORTH * found[0][0]  # the first plan asks all at once
    return best if pays and len(best.stages) > 1 else None


def find_floor(judgement: Judgement, given: np.ndarray) -> float | None:
    """Return the quality above which a label cannot be among those listed for want of worse ones.

    The table has at least the doubtful labels that the sample has. None if even the sample has too few rows.
    """
    judged = given >= 0
    if np.sum(judged & ~is_plain(judgement, given)) >= LEAST:
        return -np.inf
    quality = np.sort(judgement.quality[judged & is_plain(judgement, given)])
    return float(quality[LEAST - 1]) if len(quality) >= LEAST else None


def cost(exits: Exits, rule: Rule, X: Any, given: np.ndarray) -> float:
    """Return what the votes on a row of this sample cost, in nanoseconds of one core."""
    total, left, votes = 0.0, np.arange(len(given)), None
    for stage in exits.stages:
        lists, rows = stage.voters.lists, stage.voters.rows
        price = TERM * len(lists.column)
        if rows is not None:
            price += VALUE * len(rows.norm) + PRODUCT * len(rows.column)
        total += price * len(left) / len(given)
        if stage.n_asked < exits.n_svms:
            left, votes = go_on(exits, stage, rule, X, given, left, votes)
    return total
