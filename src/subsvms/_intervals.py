"""Exact confidence limits of a share (Clopper and Pearson, Biometrika 1934)."""

import numpy as np
from numpy.typing import ArrayLike


def lower_limit(k: ArrayLike, n: ArrayLike, level: float) -> np.ndarray:
    """Return a lower limit of a share, from k of n draws: too high with probability <= 1 - level."""
    from scipy.special import betaincinv  # a quarter of a second, for which the review page need not wait

    k, n = np.asarray(k), np.asarray(n)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), np.maximum(n - k + 1, 1), 1.0 - level), 0.0)


def upper_limit(k: ArrayLike, n: ArrayLike, level: float) -> np.ndarray:
    """Return an upper limit of a share, from k of n draws: too low with probability <= 1 - level."""
    return 1.0 - lower_limit(np.asarray(n) - np.asarray(k), n, level)
