"""How many hits a set of two classes needs to pass, after each number of answers: exactly.

`_evidence` has the statement and why few W must be looked at. Here the chance ever to pass falsely is
computed for all of these W at once, by dynamic programming over the answers n and the hits h so far,

    going(n, h) = going(n - 1, h) (1 - q(h)) + going(n - 1, h - 1) q(h - 1),   q(h) = (W - h) / (N - n + 1),

from which those with h >= need(n) leave; and the least limit c on E is found by bisection. Exactness is worth
much: a set of 150 with four of five hits passes after 20 answers on average, and with the limit that holds
for any E (Ville) after 32.
"""

from functools import lru_cache

import numpy as np

from subsvms.audit import _evidence as evidence

SHARES = np.array([0.6, 0.7, 0.8, 0.9, 0.96])  # of hits to look for if the threshold is 1/2
FEWEST = 3  # answers before a pass


@lru_cache(maxsize=256)
def find_needed(N: int, n_most: int, level: float, threshold: float = 0.5) -> np.ndarray:
    """Return need(n) for 0 to n_most answers; n + 1, which is impossible, where no pass is allowed."""
    log_e = compute_evidence(N, n_most, threshold)
    limits = np.unique(log_e[log_e > 0].round(9))
    low, high = 0, len(limits)
    while low < high:
        middle = (low + high) // 2
        needed = list_needed(log_e, limits[middle])
        if compute_false_pass(N, needed, list_hits(N, n_most, threshold), threshold).max() <= level:
            high = middle
        else:
            low = middle + 1
    needed = list_needed(log_e, limits[low] if low < len(limits) else np.inf)
    needed.flags.writeable = False  # it is remembered
    return needed


def compute_evidence(N: int, n_most: int, threshold: float) -> np.ndarray:
    """Return log E after n answers (row) with h hits (column); -inf where a pass is not allowed."""
    shares = np.clip(threshold + 2.0 * (SHARES - 0.5) * (1.0 - threshold), threshold + 0.02, 0.98)
    n, h = np.indices((n_most + 1, n_most + 1))
    allowed = (n >= FEWEST) & (n < N) & (h <= n) & (h >= threshold * n)
    log_e = np.full(n.shape, -np.inf)
    log_e[allowed] = evidence.log_evidence(
        N, n[allowed], h[allowed], np.round(shares * N).astype(int), threshold
    )
    return log_e


def list_needed(log_e: np.ndarray, limit: float) -> np.ndarray:
    """Return the hits from which on, after each number of answers, log E is at least the limit."""
    n = np.arange(len(log_e))
    below = (log_e < limit - 1e-9) & (n <= n[:, None])
    return len(log_e) - np.argmax(below[:, ::-1], axis=1)


def list_hits(N: int, n_most: int, threshold: float) -> np.ndarray:
    """Return the W for which the chance of a false pass may be the largest."""
    first, last = threshold * N, threshold * N + (1.0 - threshold) * n_most
    return np.arange(max(int(first) - 1, 0), min(int(last) + 2, N) + 1)


def compute_false_pass(N: int, needed: np.ndarray, W: np.ndarray, threshold: float) -> np.ndarray:
    """Return, for each number W of hits in the set, the chance ever to pass falsely."""
    n_most = len(needed) - 1
    hits = np.arange(n_most + 2)
    going, false = np.zeros((len(W), n_most + 2)), np.zeros(len(W))
    going[:, 0] = 1.0
    for n in range(1, n_most + 1):
        hit = going * np.clip((W[:, None] - hits) / (N - n + 1), 0.0, 1.0)
        going -= hit
        going[:, 1:] += hit[:, :-1]
        passed = going[:, needed[n] :]
        harmful = W[:, None] <= evidence.count_null(N, n, hits[needed[n] :], threshold)
        false += np.sum(passed * harmful, axis=1)
        passed[:] = 0.0
    return false
