"""Change labels the way an adversary would: clean labels in, corrupted labels out."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

RandomState = int | np.random.RandomState | None


class Attack(NamedTuple):
    """Labels after an attack."""

    labels: np.ndarray  # (n_samples,), like the clean ones
    flipped: np.ndarray  # (n_samples,), bool


def directed_flips(
    y: ArrayLike, *, rho: float = 0.75, alpha: float = 0.5, random_state: RandomState = None
) -> Attack:
    """Flip labels at random in a chosen direction: the paper's attack (Section 4, Figure 1).

    rho times the size of the smaller class is the number of flips. The share alpha of them is taken
    from the larger class, whose rows get the smaller class's label; the rest is taken from the
    smaller class. So alpha = 0 strips the smaller class, and alpha = 1 floods it. (Section 4 of the
    paper says it the other way round; its figure, its appendix and its tables say it so.)

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Clean labels of two classes. The smaller class is the one with fewer rows, or the first.
    rho : float, default=0.75
        Flips as a share of the smaller class, from 0 up to but not including 1.
    alpha : float, default=0.5
        Direction, from 0 to 1.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    Attack

    Examples
    --------
    >>> attack = directed_flips(["rare"] * 20 + ["usual"] * 80, rho=0.5, alpha=0.0, random_state=0)
    >>> int(attack.flipped.sum()), int((attack.labels == "rare").sum())
    (10, 10)
    """
    y = np.asarray(y)
    classes, numbers, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) != 2:
        raise ValueError(f"directed_flips needs labels of two classes; got {len(classes)}.")
    if not 0 <= rho < 1:
        raise ValueError(f"rho must be at least 0 and less than 1; got {rho!r}.")
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must lie between 0 and 1; got {alpha!r}.")
    rng = check_random_state(random_state)
    smaller = int(np.argmin(sizes))
    n_flips = round(rho * sizes[smaller])
    n_from_larger = round(alpha * n_flips)
    flipped = np.zeros(len(y), dtype=bool)
    for number, n in ((1 - smaller, n_from_larger), (smaller, n_flips - n_from_larger)):
        flipped[rng.choice(np.flatnonzero(numbers == number), n, replace=False)] = True
    return Attack(np.where(flipped, classes[1 - numbers], y), flipped)
