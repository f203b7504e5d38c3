"""The paper's synthetic data."""

import numpy as np

from subsvms._numbers import check_count, check_range, make_rng

__all__ = ["make_separable_gaussians"]

VARIANCE, DISTANCE = 0.1, 2.0  # of each Gaussian, in every direction; between their means


def make_separable_gaussians(
    n_samples: int = 1000, n_features: int = 2, *, beta: float = 0.5, margin: float = 0.2,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Make two Gaussian classes with a gap between them (Section 4.1 of the paper).

    Their covariances are 0.1 I, and their means are 2 apart, at -1 and +1 along the first feature. The plane
    halfway between them separates the classes: rows on its wrong side, or closer to it than `margin`, are
    drawn again.

    Parameters
    ----------
    n_samples : int, default=1000
    n_features : int, default=2
    beta : float, default=0.5
        Share of the smaller class, more than 0 and at most 1/2; rounded down to whole rows, at least one.
    margin : float, default=0.2
        Smallest distance of a row from the plane, at least 0 and less than 1.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X, y : ndarray
        Rows of shape (n_samples, n_features), and 1 for those of the smaller class, else 0.

    Examples
    --------
    >>> X, y = make_separable_gaussians(200, 16, beta=0.1, random_state=0)
    >>> X.shape, int(y.sum()), bool(X[y == 1, 0].min() >= 0.2)
    ((200, 16), 20, True)
    """
    check_count("n_samples", n_samples, 2)
    check_count("n_features", n_features)
    check_range("beta", beta, 0, 0.5, "(]")
    check_range("margin", margin, 0, 1, "[)")
    rng = make_rng(random_state)
    n_smaller = max(int(beta * n_samples + 1e-9), 1)
    y = rng.permutation(np.arange(n_samples) < n_smaller).astype(int)
    X = rng.normal(0.0, np.sqrt(VARIANCE), (n_samples, n_features))
    side = 2 * y - 1
    while len(near := np.flatnonzero(side * X[:, 0] + DISTANCE / 2 < margin)):  # too close to the plane
        X[near, 0] = rng.normal(0.0, np.sqrt(VARIANCE), len(near))  # the features are independent
    X[:, 0] += side * DISTANCE / 2
    return X, y
