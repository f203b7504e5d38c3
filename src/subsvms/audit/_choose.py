"""Which ring to ask about next, if any: no claim rests on this.

Candidates are the first N free rows by P(hit), N = 8 x 1.3^j. The gain of a ring, in wrong labels, is
compared with worst first, by draws from the model (`_locate`). Let p be the share of hits in a ring under one
draw, and with KL(p, t) = p log(p / t) + (1 - p) log((1 - p) / (1 - t)) let

    tau = .65 (log(1 / (.3 delta)) + .7) / KL(p, t),

nearly the answers that a pass takes (without .65 for three classes and more, where it takes more). If the
ring passes, tau p of the answers correct a label, N - tau suggestions are followed, and the answers left go
worst first to rows outside. If not, about twelve answers are spent on it before that begins.
"""

import math

import numpy as np
from scipy.stats import hypergeom

from subsvms.audit._evidence import count_enough

SMALLEST, GROWTH = 8, 1.3  # sizes of rings that are compared
GRID = np.linspace(0.0, 1.0, 41)  # shares of hits at which power is computed
LOST = 12  # answers about a ring that fails
EXACT_SAVES = 0.65  # of the answers that a pass takes with a limit that is not exact


def list_sizes(n_rows: int) -> np.ndarray:
    """Return the sizes of rings to compare: 8, 10, 13, ... up to the number of rows."""
    steps = max(int(np.log(max(n_rows, 1) / SMALLEST) / np.log(GROWTH)) + 2, 0)
    sizes = (SMALLEST * GROWTH ** np.arange(steps)).astype(int)
    return sizes[sizes <= n_rows]


def chance_to_pass(N: int, n: int, level: float, threshold: float) -> np.ndarray:
    """Return the probability that n answers show enough hits, for each share in `GRID`."""
    h = count_enough(N, n, level, threshold)
    if h > n:
        return np.zeros(len(GRID))
    return hypergeom.sf(h - 1, N, np.round(GRID * N).astype(int), n)


def choose_size(
    found: np.ndarray, n_left: int, delta: float, threshold: float, several: bool
) -> tuple[int, np.ndarray] | None:
    """Return the size of the ring that gains most, and its shares of hits by draw; None if none gains.

    found: (n_draws, n_rows), P(hit) of each free row by draw, summed from the most probable row on.
    """
    n_rows = found.shape[1]
    best, most = None, 0.0
    base = np.mean(found[:, min(n_left, n_rows) - 1])
    for N in list_sizes(n_rows).tolist():
        p = found[:, N - 1] / N
        gain = round(np.mean(estimate_gain(found, N, n_left, delta, threshold, several)) - base, 9)
        if gain > most:
            best, most = (N, p), gain
    return best


def estimate_gain(
    found: np.ndarray, N: int, n_left: int, delta: float, threshold: float, several: bool
) -> np.ndarray:
    """Return how many labels are corrected with a ring of N rows, by draw."""
    n_rows, p, n = found.shape[1], found[:, N - 1] / N, min(n_left, N)
    power = np.interp(p, GRID, chance_to_pass(N, n, delta / 2.0, threshold))
    lost = min(n, LOST)
    tau = (math.log(1.0 / (0.3 * delta)) + 0.7) / np.maximum(diverge(p, threshold), 1e-9)
    tau = np.clip(tau, 5, n) if several else np.maximum(EXACT_SAVES * np.clip(tau, 5, n), 5)
    tau = np.where(p > threshold, tau, lost)
    after = np.minimum(N + (n_left - tau).astype(int), n_rows) - 1
    outside = np.take_along_axis(found, after[:, None], axis=1)[:, 0] - found[:, N - 1]
    passed = tau * p + (N - tau) * (2.0 * p - 1.0) + outside
    inside = found[:, max(min(n_left - lost, n_rows), 1) - 1]
    failed = lost * p + inside * (1.0 - lost / max(N, n_left))
    return power * passed + (1.0 - power) * failed


def diverge(p: np.ndarray, threshold: float) -> np.ndarray:
    """Return KL(p, threshold), 0 below the threshold."""
    p = np.clip(p, 1e-3, 1.0 - 1e-3)
    distance = p * np.log(p / threshold) + (1.0 - p) * np.log((1.0 - p) / (1.0 - threshold))
    return np.where(p > threshold, distance, 0.0)
