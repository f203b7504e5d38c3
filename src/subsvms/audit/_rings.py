"""Rings: sets of rows whose labels change together, if random answers show that most suggestions are right.

Of the error probability delta of the whole audit each set spends its own part, pass or fail, before its first
answer:

    the changes of the rule           delta / 4
    labels that the rule held back    delta / 8, if people are asked about them
    each ring                         .6 of what is left by then

so that all of them together spend less than delta, whatever happens (`_evidence`). What is not asked about at
random spends nothing. A ring spends `WHOLE` of its part on itself, after each answer; and `HALF` on its first
half, at the end, if it has not passed: the draws in it are random, too, given their number. At most two rings
may fail.

People stop being asked about a set (`gives_up`) if a pass is impossible, or improbable by what the model and
the answers say; about the sets that are asked about first also if answers speak against them. Changes that
may be kept without a claim are asked about until that is decided as well.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from subsvms.audit import _evidence as evidence
from subsvms.audit._evidence import find_needed

FIRST_SHARES = {"changes": 1 / 4, "held_back": 1 / 8}  # of delta
RING_SHARE = 0.6  # of the delta that is left
WHOLE, HALF = 0.8, 0.2
QUANTILES, FIXED = (0.1, 0.3, 0.5, 0.7, 0.9), (0.65, 0.85)  # shares of hits to bet on: by the model, or not
WEIGHTS = np.array([0.16] * len(QUANTILES) + [0.1] * len(FIXED))
LEAST_SHARE, MOST_SHARE = 0.52, 0.98
SMALL = 6  # rows: sets that are no larger are asked about in full
FEWEST_GIVING_UP = 6  # answers
AGAINST = -3  # hits minus misses in the sets that are asked about first
KEEP = 0.4  # of that, for each answer: enough to keep them without a claim; with two classes, .7 hits
ENOUGH = 10  # answers that tell this
HOPELESS = -1.3  # standard deviations between the hits that are expected and those that are needed
BELIEF = 4  # answers that the belief of the model counts for

Verdict = Literal["open", "all", "half", "none"]


@dataclass(frozen=True, eq=False)
class Ring:
    """A set of rows, and the order in which some are asked about; all fixed before the first answer."""

    rows: np.ndarray  # (N,): row numbers; of a ring, the most probable hits first
    draws: np.ndarray  # (n_most,): positions in `rows`, drawn at random without replacement
    level: float  # the part of delta that it spends
    shares: np.ndarray | None = None  # (7,) or (4,): shares of hits to bet on; None for two classes
    belief: float | None = None  # share of hits by the model; None for the sets that are asked about first
    threshold: float = 0.5  # what share of the unseen suggestions must be right
    may_be_kept: bool = False  # whether what is not decided may stay without a claim

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def whole_level(self) -> float:
        """What the whole set may spend; the rest is for its half."""
        return self.level if self.belief is None else WHOLE * self.level

    @property
    def needed(self) -> np.ndarray:
        """The hits with which it passes after 0, 1, 2, ... answers, for two classes."""
        return find_needed(len(self), len(self.draws), self.whole_level, self.threshold)


def draw_positions(n_rows: int, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return positions drawn at random without replacement: on this the guarantee rests."""
    return rng.permutation(n_rows)[:n_draws]


def judge_ring(ring: Ring, scores: np.ndarray) -> Verdict:
    """Return which unseen rows may change: none yet, all, those of the first half, or none.

    Scores are 1, 0 or -1 for each answer (`_evidence`), in the order of the draws.
    """
    if SMALL < len(ring) > len(scores) and passes(ring, scores):
        return "all"
    if len(scores) == len(ring.draws):
        return "half" if ring.belief is not None and half_passes(ring, scores) else "none"
    return "none" if gives_up(ring, scores) else "open"


def passes(ring: Ring, scores: np.ndarray) -> bool:
    if ring.shares is None:
        return bool(count_hits(scores) >= ring.needed[len(scores)])
    return log_evidence_several(ring, len(ring), scores) >= -math.log(ring.whole_level)


def log_evidence_several(ring: Ring, N: int, scores: np.ndarray) -> float:
    """Return log E of a set, or of its first half, of N rows."""
    assert ring.shares is not None
    weights = WEIGHTS if len(ring.shares) == len(WEIGHTS) else np.full(len(ring.shares), 1 / len(ring.shares))
    return evidence.log_evidence_several(N, scores, 2.0 * ring.shares - 1.0, weights)


def half_passes(ring: Ring, scores: np.ndarray) -> bool:
    N, inside = len(ring) // 2, scores[ring.draws[: len(scores)] < len(ring) // 2]
    level = HALF * ring.level
    if not 0 < len(inside) < N:
        return False
    if ring.shares is None:
        return count_hits(inside) >= evidence.count_enough(N, len(inside), level, ring.threshold)
    return log_evidence_several(ring, N, inside) >= -math.log(level)


def gives_up(ring: Ring, scores: np.ndarray) -> bool:
    """Return whether further answers about a set are not worth their time: this only prevents passes."""
    n, left = len(scores), len(ring.draws) - len(scores)
    if len(ring) <= SMALL:
        return False
    if ring.belief is None and np.sum(scores) <= AGAINST:
        return True
    if n < FEWEST_GIVING_UP:
        return False
    if ring.may_be_kept and n < ENOUGH and np.sum(scores) + ENOUGH - n >= KEEP * ENOUGH:
        return False
    if ring.belief is None:
        best = np.concatenate([scores, np.ones(left, dtype=int)])
        return not any(passes(ring, best[:k]) for k in range(n + 1, min(n + left, len(ring) - 1) + 1))
    n_most, h = len(ring.draws), count_hits(scores)
    if ring.shares is None:
        needed = evidence.count_enough(len(ring), n_most, ring.level / 2.0, ring.threshold)
    else:
        needed = math.ceil((ring.threshold + 0.12) * n_most)
    q = (h + BELIEF * ring.belief) / (n + BELIEF)
    return h + left * q - needed + 0.5 < HOPELESS * math.sqrt(max(left * q * (1.0 - q), 0.25))


def count_hits(scores: np.ndarray) -> int:
    return int(np.sum(scores == 1))


def measure_evidence(ring: Ring, scores: np.ndarray) -> float:
    """Return how near to a pass a set is, from 0 to 1, for people to see: by the hits that are missing."""
    if ring.shares is not None:
        if len(scores) == 0:
            return 0.0
        log_e = log_evidence_several(ring, len(ring), scores)
        return float(np.clip(-log_e / math.log(ring.whole_level), 0.0, 1.0))
    missing, all_missing = (_count_missing(ring.needed, part) for part in (scores, scores[:0]))
    return max(1.0 - missing / all_missing, 0.0) if missing < all_missing else 0.0


def _count_missing(needed, scores):
    """Return how many hits in a row would be enough."""
    after = needed[len(scores) :] - count_hits(scores) - np.arange(len(needed) - len(scores))
    enough = np.flatnonzero(after <= 0)
    return float(enough[0]) if len(enough) else math.inf


def find_passed(ring: Ring, verdict: Verdict) -> np.ndarray:
    """Return the rows of a set, or of its half, that passed; those with an answer among them."""
    if verdict == "half":
        return ring.rows[: len(ring) // 2]
    return ring.rows if verdict == "all" else ring.rows[:0]


def bound_wrong(ring: Ring, scores: np.ndarray, verdict: Verdict) -> int | None:
    """Return how many of the labels that were changed unseen are wrong at most; None if nobody knows.

    That is so for three classes and more, and where the bound says no more than the pass itself does. Whole
    and half spend what they spend on their pass: bounds of all sets hold together with 1 - delta.
    """
    if ring.shares is not None:
        return None
    N, n, level, needed = len(ring), len(scores), ring.whole_level, None
    if verdict == "half":
        scores = scores[ring.draws[:n] < N // 2]
        N, n, level = N // 2, len(scores), HALF * ring.level
    else:
        needed = ring.needed
    h = count_hits(scores)
    most = N - n - (evidence.find_fewest(N, n, h, level, needed) - h)
    return most if most < (1.0 - ring.threshold) * (N - n) else None


def list_shares(believed: np.ndarray) -> np.ndarray:
    """Return the shares of hits to bet on, from draws of the share in the chosen ring."""
    high = believed[believed > 0.5]
    shares = [*np.quantile(high, QUANTILES), *FIXED] if len(high) else [*([0.75] * len(QUANTILES)), *FIXED]
    return np.clip(shares, LEAST_SHARE, MOST_SHARE)
