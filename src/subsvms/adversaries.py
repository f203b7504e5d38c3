"""Change labels the way an adversary would: clean labels in, corrupted labels out."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.svm import SVC
from sklearn.utils import check_array, check_random_state, column_or_1d

RandomState = int | np.random.RandomState | None

BOUNDARY_C = 100.0  # that of the tiny SVMs: the attack and the defence see a similar boundary


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


def uniform_flips(y: ArrayLike, *, error_rate: float = 0.1, random_state: RandomState = None) -> Attack:
    """Give some rows, chosen at random, another label, chosen at random: errors without a plan.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Clean labels of two classes or more.
    error_rate : float, default=0.1
        Flips as a share of all rows, from 0 up to but not including 1; rounded to whole rows.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    Attack

    Examples
    --------
    >>> attack = uniform_flips(["ham", "spam", "news"] * 20, error_rate=0.25, random_state=0)
    >>> int(attack.flipped.sum()), sorted({str(label) for label in attack.labels})
    (15, ['ham', 'news', 'spam'])
    """
    clean, classes, numbers, n_flips = _plan("uniform_flips", y, error_rate)
    rng = check_random_state(random_state)
    rows = rng.choice(len(clean), n_flips, replace=False)
    steps = rng.randint(1, len(classes), size=n_flips)  # round the circle of classes, never back home
    return _flip(clean, rows, classes[(numbers[rows] + steps) % len(classes)])


def boundary_flips(
    X: Any, y: ArrayLike, *, error_rate: float = 0.1, random_state: RandomState = None
) -> Attack:
    """Flip the labels of the rows nearest the boundary: errors where they are hardest to see.

    An SVM with the rbf kernel learns the clean labels, and the rows whose decision values are nearest
    zero are flipped; equally near rows in the order of the table. With more than two classes, SVMs are
    trained one against one: a row goes to the class that speaks most against its own, and its distance
    is the decision value between these two.

    The time of one large SVM grows with the square of the number of rows, at least.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Finite numbers, each feature with a range of about one: gamma is 1 / n_features.
    y : array-like of shape (n_samples,)
        Clean labels of two classes or more.
    error_rate : float, default=0.1
        Flips as a share of all rows, from 0 up to but not including 1; rounded to whole rows.
    random_state : int, RandomState instance or None, default=None
        Not used: nothing here is random. All attacks take it.

    Returns
    -------
    Attack

    Examples
    --------
    >>> X, y = np.linspace(0, 1, 20)[:, None], np.repeat(["left", "right"], 10)
    >>> attack = boundary_flips(X, y, error_rate=0.2)
    >>> np.flatnonzero(attack.flipped)
    array([ 8,  9, 10, 11])
    """
    clean, classes, numbers, n_flips = _plan("boundary_flips", y, error_rate)
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    if X.shape[0] != len(clean):
        raise ValueError(f"X and y must have the same number of rows; got {X.shape[0]} and {len(clean)}.")
    if n_flips == 0:
        return _flip(clean, np.arange(0), classes[:0])
    distance, rival = _nearest_rivals(X, numbers, len(classes))
    rows = np.argsort(distance, kind="stable")[:n_flips]
    return _flip(clean, rows, classes[rival[rows]])


def _plan(attack, y, error_rate):
    """Return the labels as an array, their classes, class numbers, and how many to flip."""
    y = column_or_1d(y)
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{attack} needs labels of at least two classes; got {len(classes)}.")
    if not 0 <= error_rate < 1:
        raise ValueError(f"error_rate must be at least 0 and less than 1; got {error_rate!r}.")
    return y, classes, numbers, round(error_rate * len(y))


def _flip(y, rows, labels):
    flipped = np.zeros(len(y), dtype=bool)
    flipped[rows] = True
    changed = y.copy()  # of the same type, so wide enough for any label of y
    changed[rows] = labels
    return Attack(changed, flipped)


def _nearest_rivals(X, numbers, n_classes):
    """Return for each row its distance from the nearest boundary and the class beyond it."""
    if sparse.issparse(X) and max(X.nnz, *X.shape) < 2**31:  # SVC takes no longer indices
        X = sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    svm = SVC(kernel="rbf", gamma="auto", C=BOUNDARY_C, decision_function_shape="ovo").fit(X, numbers)
    values = svm.decision_function(X)
    if n_classes == 2:  # here alone a positive value speaks for the second class of a pair
        values = -values[:, None]
    every = np.arange(len(numbers))
    lowest, rival = np.full(len(numbers), np.inf), np.zeros(len(numbers), dtype=int)
    pairs = ((a, b) for a in range(n_classes) for b in range(a + 1, n_classes))
    for value, (first, second) in zip(values.T, pairs, strict=True):
        for own, other, sign in ((first, second, 1.0), (second, first, -1.0)):
            rows = every[numbers == own]
            rows = rows[sign * value[rows] < lowest[rows]]
            lowest[rows], rival[rows] = sign * value[rows], other
    return np.abs(lowest), rival
