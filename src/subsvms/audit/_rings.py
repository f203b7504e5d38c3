"""Rings: sets of rows whose labels change together, if random answers show that most of them are wrong.

A ring is placed by the model of hits (`_locate`) and judged by `_evidence`; no claim rests on the model. Of
the error probability delta of the whole audit a ring spends

    EARLY  on E, after each answer: the ring passes as soon as E >= 1 / (.3 delta);
    FINAL  on the exact bound, once, when all n2 answers that are left have been given;
    HALF   on the same bound for the first half of the ring: its draws are random, too, given their number.

For three classes and more E spends .8 delta, the half its own E with .2 delta. Only a pass lets another ring
be chosen, so the first ring that would do harm passes with probability at most delta, and if it fails all
ends.

Whether a pass does harm depends on the draws: it is about the rows that are unseen then, so a ring may be one
that "would do harm" after some draws and not after others. A ring that could have passed harmfully may thus
pass harmlessly, and the next one has its own delta: what is proved for several rings is the sum over them,
each weighed with the probability that it is reached. In simulations the whole stays far below one delta.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import hypergeom

from subsvms.audit import _evidence as evidence

EARLY, FINAL, HALF = 0.3, 0.5, 0.2
EARLY_SEVERAL = 0.8
SMALLEST, GROWTH = 8, 1.3  # sizes of rings that are compared
FEWEST_CONFIRMING = 5  # fewer cannot confirm anything
QUANTILES, FIXED = (0.1, 0.3, 0.5, 0.7, 0.9), (0.65, 0.85)  # shares of hits to bet on: by the model, or not
WEIGHTS = np.array([0.16] * len(QUANTILES) + [0.1] * len(FIXED))
LEAST_SHARE, MOST_SHARE = 0.52, 0.98

Verdict = Literal["open", "all", "half", "none"]


@dataclass(frozen=True, eq=False)
class Ring:
    """A set of rows, and the order in which some are asked about; all fixed before the first answer."""

    rows: np.ndarray  # (N,): row numbers, the most probable hits first
    draws: np.ndarray  # (n2,): positions in `rows`, drawn at random without replacement
    shares: np.ndarray  # (7,): shares of hits to bet on
    several: bool  # whether there are more than two classes
    delta: float

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def alternatives(self) -> np.ndarray:
        """The W_j."""
        return np.round(self.shares * len(self.rows)).astype(int)

    @property
    def log_limit(self) -> float:
        """The log E at which the ring passes."""
        return -float(np.log((EARLY_SEVERAL if self.several else EARLY) * self.delta))

    def log_evidence(self, scores: np.ndarray) -> float:
        """Return log E after these answers: 1, 0 or -1 each, in the order of the draws."""
        return weigh(len(self), scores, self)


def draw_positions(n_rows: int, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return positions drawn at random without replacement: on this the guarantee rests."""
    return rng.permutation(n_rows)[:n_draws]


def weigh(N: int, scores: np.ndarray, ring: Ring) -> float:
    """Return log E of a ring, or of its first half, of N rows."""
    if ring.several:
        return evidence.log_evidence_several(N, scores, 2.0 * ring.shares - 1.0, WEIGHTS)
    n, h = len(scores), int(np.sum(scores == 1))
    return float(evidence.log_evidence(N, n, h, np.round(ring.shares * N).astype(int), WEIGHTS))


def judge_ring(ring: Ring, scores: np.ndarray) -> Verdict:
    """Return which unseen rows of a ring may change: none yet, all, those of its first half, or none."""
    if ring.log_evidence(scores) >= ring.log_limit:
        return "all"
    if len(scores) < len(ring.draws):
        return "open"
    return judge_finally(ring, scores)


def judge_finally(ring: Ring, scores: np.ndarray) -> Verdict:
    N, half = len(ring), len(ring) // 2
    inside = scores[ring.draws < half]
    if ring.several:
        return "half" if weigh(half, inside, ring) >= -np.log(HALF * ring.delta) else "none"
    if evidence.exceeds_half(N, len(scores), np.sum(scores == 1), FINAL * ring.delta):
        return "all"
    if len(inside) and evidence.exceeds_half(half, len(inside), np.sum(inside == 1), HALF * ring.delta):
        return "half"
    return "none"


def bound_wrong(ring: Ring, scores: np.ndarray, verdict: Verdict, delta: float) -> int:
    """Return how many of the labels that were changed unseen are wrong at most, for two classes."""
    N, n, h = len(ring), len(scores), int(np.sum(scores == 1))
    if verdict == "half":
        scores, N = scores[ring.draws[:n] < N // 2], N // 2
        n, h = len(scores), int(np.sum(scores == 1))
        fewest = evidence.find_fewest(N, n, h, HALF * delta)
    else:
        fewest = evidence.find_fewest(N, n, h, (1.0 - HALF) * delta, list_passes(ring, n))
    return N - n - (fewest - h)


def list_passes(ring: Ring, n: int) -> np.ndarray:
    """Return after how many answers (row), up to n, and with how many hits (column) a ring passes early."""
    answers, hits = np.indices((n + 1, n + 1))
    hits = np.minimum(hits, answers)  # more are impossible
    log_e = evidence.log_evidence(len(ring), answers, hits, ring.alternatives, WEIGHTS)
    return log_e >= ring.log_limit


# Where the ring lies


def list_sizes(n_rows: int) -> np.ndarray:
    """Return the sizes of rings to compare: 8, 10, 13, ... up to the number of rows."""
    steps = max(int(np.log(max(n_rows, 1) / SMALLEST) / np.log(GROWTH)) + 2, 0)
    sizes = (SMALLEST * GROWTH ** np.arange(steps)).astype(int)
    return sizes[sizes <= n_rows]


def chance_to_pass(N: int, shares: np.ndarray, n2: int, delta: float) -> np.ndarray:
    """Return the probability that n2 answers pass the final bound, if this share of the ring are hits."""
    h = np.arange(n2 + 1)
    enough = evidence.exceeds_half(N, n2, h, FINAL * delta)
    if not enough.any():
        return np.zeros(len(shares))
    return hypergeom.sf(np.argmax(enough) - 1, N, np.round(shares * N).astype(int), n2)


def choose_size(beliefs: np.ndarray, sizes: np.ndarray, n2: int, delta: float) -> int | None:
    """Return which size to check: that with the largest expected gain, by beliefs (n_draws, n_sizes)."""
    gains = np.zeros(len(sizes))
    for i, N in enumerate(sizes):
        if N > n2:
            power = chance_to_pass(int(N), beliefs[:, i], n2, delta)
            gains[i] = np.mean(power * (N - n2) * (2.0 * beliefs[:, i] - 1.0))
    best = int(np.argmax(gains.round(9))) if len(gains) else 0
    return best if len(gains) and gains[best].round(9) > 0 else None


def list_shares(believed: np.ndarray) -> np.ndarray:
    """Return the shares of hits to bet on, from draws of the share in the chosen ring."""
    high = believed[believed > 0.5]
    shares = [*np.quantile(high, QUANTILES), *FIXED] if len(high) else [*([0.75] * len(QUANTILES)), *FIXED]
    return np.clip(shares, LEAST_SHARE, MOST_SHARE)
