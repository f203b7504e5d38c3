"""Stop asking SVMs about a row once its verdict is certain.

Most labels are clearly right, and most SVMs say so. Let m of J SVMs have been asked about a row, and let
their values for its given label, each between -1 and 1, have the mean a. The mean of all J is then at least

    exact       (m a - (J - m)) / J                                    whatever the others say;
    confident   a - 2 sqrt((1 - (m - 1) / J) ln(1 / delta) / (2 m))    except with probability delta.

The second is Serfling's inequality (Annals of Statistics 1974): subsets are drawn independently, so the first
m SVMs are a random sample of the J. As probability and rank of a label grow with its mean value, a row whose
label is kept at that bound, and is not among the most doubtful ones, needs no more votes: it is kept at any
larger value. Nothing that is written depends on the votes that were not counted, so exact exits change no
bit. Shares of votes are bounded in the same way.

Every stage asks some of the SVMs about the rows that are left. An SVM costs little compared with the kernel
between a row and the training rows, which many SVMs share. So stages help only if they save kernel values, or
if there is no kernel to compute (linear). `plan_exits` chooses the stages with the lowest estimated cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from subsvms._effort import Effort
from subsvms.correction._rule import BY_OVERLAP, Judgement, Rule, apply_rule
from subsvms.correction._suspicious import LEAST
from subsvms.ensemble._votes import Voters, Votes, count_votes, take_voters

# Shares of the SVMs after which rows may leave; the first plan asks all SVMs at once.
EXACT = ((1.0,), (0.5, 1.0), (0.5, 0.75, 1.0))
CONFIDENT = ((1.0,), (0.1, 1.0), (0.2, 1.0), (0.05, 0.2, 1.0), (0.1, 0.4, 1.0), (0.05, 0.15, 0.4, 1.0))
# Nanoseconds for a kernel value, for a product in it, for a term of an SVM's sum: benchmarks/scale.py cost
VALUE_NS, PRODUCT_NS, TERM_NS = 1.25, 0.1, 0.2
MAX_COST_SHARE = 0.8  # of asking all SVMs at once: stages cost more than estimated, so they must save a fifth
ROUNDING = 1e-6  # bound on the rounding error of a sum of votes, far above the actual one
MAX_PLAN_ROWS = 2000  # rows on which plans are compared


class Stage(NamedTuple):
    """SVMs that are asked together."""

    voters: Voters
    n_asked: int  # SVMs asked by the end of the stage


@dataclass(frozen=True, eq=False)
class Exits:
    """When to stop asking SVMs about a row."""

    stages: tuple[Stage, ...]
    n_svms: int  # number of all SVMs, J
    floor: float  # A label of higher quality is not one of the most doubtful ones of the table
    delta: float | None  # probability of a wrong exit; None for exact exits

    def is_settled(self, rule: Rule, votes: Votes, given: np.ndarray) -> np.ndarray:
        """Return which rows keep their labels, and are not listed, whatever the other SVMs say."""
        if len(given) == 0:
            return np.zeros(0, dtype=bool)
        judgement = apply_rule(rule, self.bound_votes(votes, given), given)
        return (given >= 0) & is_unsuspicious(judgement, given) & (judgement.quality > self.floor)

    def bound_votes(self, votes: Votes, given: np.ndarray) -> Votes:
        """Return the least support for the given labels that the votes of all SVMs can still show."""
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
    """Return two columns, one for each class: `own` in that of the given class, `other` in the other."""
    return np.where(np.arange(2) == given[:, None], own[:, None], other[:, None])


def is_unsuspicious(judgement: Judgement, given: np.ndarray) -> np.ndarray:
    """Return which labels are neither flagged nor, with or without overlap, less probable than another."""
    rows = np.arange(len(given))
    own = judgement.posterior[rows, np.maximum(given, 0)]
    doubted = judgement.flagged | np.isin(judgement.halt, BY_OVERLAP)
    return ~doubted & (own >= judgement.posterior[rows, judgement.rival])


def count_until_settled(
    exits: Exits, rule: Rule, X: Any, given: np.ndarray, *, n_jobs: int = 1, device: str = "cpu"
) -> Votes:
    """Return the votes on rows, without those on rows that were settled before all SVMs were asked.

    Shapes: X (n_rows, n_features); given (n_rows,).
    """
    n_classes = len(rule.sizes)
    final = Votes(
        np.zeros((len(given), n_classes), np.int32), np.zeros((len(given), n_classes)),
        np.zeros(len(given), np.int32),
    )  # fmt: skip
    left, votes = np.arange(len(given)), None
    for stage in exits.stages:
        left, votes = run_stage(exits, stage, rule, X, given, left, votes, n_jobs, device)
    assert votes is not None
    for whole, part in zip(final.arrays.values(), votes.arrays.values(), strict=True):
        whole[left] = part
    return final


def run_stage(exits, stage, rule, X, given, left, votes, n_jobs=1, device="cpu"):
    """Ask the SVMs of a stage about the rows that are left; return those still left, and their votes."""
    votes = count_votes(stage.voters, X[left], Effort(n_jobs, device), start=votes)
    if stage.n_asked == exits.n_svms:
        return left, votes
    unsettled = np.flatnonzero(~exits.is_settled(rule, votes, given[left]))
    return left[unsettled], votes.take(unsettled)


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
    """Return when to stop asking, or None if asking all SVMs costs no more.

    Shapes: X (n_rows, n_features); given (n_rows,).
    """
    n_svms = len(voters.intercept) // len(voters.pairs)
    floor = compute_floor(judgement, given)
    if len(rule.sizes) != 2 or floor is None:
        return None
    plans = [tuple(stages)] if stages else EXACT if confidence is None else CONFIDENT
    X, given = X[:MAX_PLAN_ROWS], given[:MAX_PLAN_ROWS]
    found: list[tuple[float, Exits]] = []
    for plan in plans:
        ends = sorted({max(1, round(share * n_svms)) for share in plan})
        parts = [take_voters(voters, a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        n_bounds = max(len(ends) - 1, 1) * (2 if rule.settings.rule == "majority" else 1)  # mean, and share
        delta = None if confidence is None else (1.0 - confidence) / n_bounds
        exits = Exits(tuple(map(Stage, parts, ends)), n_svms, floor, delta)
        found.append((estimate_cost(exits, rule, X, given), exits))
    least, best = min(found, key=lambda pair: pair[0])
    worthwhile = stages is not None or least < MAX_COST_SHARE * found[0][0]
    return best if worthwhile and len(best.stages) > 1 else None


def compute_floor(judgement: Judgement, given: np.ndarray) -> float | None:
    """Return the quality above which an unsuspicious label is never listed; None if the sample is too small.

    Unsuspicious labels are listed, most doubtful first, if there are few suspicious ones. The table has at
    least as many doubtful labels as the sample.
    """
    judged, unsuspicious = given >= 0, is_unsuspicious(judgement, given)
    if np.sum(judged & ~unsuspicious) >= LEAST:
        return -np.inf
    quality = np.sort(judgement.quality[judged & unsuspicious])
    return float(quality[LEAST - 1]) if len(quality) >= LEAST else None


def estimate_cost(exits: Exits, rule: Rule, X: Any, given: np.ndarray) -> float:
    """Return the mean cost of the votes on a row of this sample, in nanoseconds of one core."""
    total, left, votes = 0.0, np.arange(len(given)), None
    for stage in exits.stages:
        lists, rows = stage.voters.lists, stage.voters.rows
        price = TERM_NS * len(lists.column)
        if rows is not None:
            price += VALUE_NS * len(rows.norm) + PRODUCT_NS * len(rows.column)
        total += price * len(left) / len(given)
        if stage.n_asked < exits.n_svms:
            left, votes = run_stage(exits, stage, rule, X, given, left, votes)
    return total
