"""How many labels an adversary may change, and of which rows: one budget for all attacks."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array, column_or_1d

from subsvms.exceptions import InputError, Sentence, Setting

RandomState = int | np.random.RandomState | None
Share = float | None
Groups = Sequence[tuple[np.ndarray, int]]  # row numbers, and how many of them to flip

USUAL_RATE = 0.1  # of all rows, where an attack is given no budget


class Attack(NamedTuple):
    """Labels after an attack.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        The corrupted labels, of the same type as the clean ones.
    flipped : ndarray of bool of shape (n_samples,)
        Which labels were changed.

    Examples
    --------
    >>> from subsvms.adversaries import uniform_flips
    >>> attack = uniform_flips(["no", "yes"] * 5, error_rate=0.2, random_state=0)
    >>> attack.labels, attack.flipped.nonzero()[0]
    (array(['no', 'yes', 'yes', 'yes', 'no', 'yes', 'no', 'yes', 'yes', 'yes'],
          dtype='<U3'), array([2, 8]))
    """

    labels: np.ndarray
    flipped: np.ndarray


class Budget(NamedTuple):
    """What an attack may do."""

    clean: np.ndarray  # (n_samples,), labels
    classes: np.ndarray  # (n_classes,), sorted
    numbers: np.ndarray  # (n_samples,), class numbers of the clean labels
    n_flips: int
    groups: Groups  # one of all rows or, with a direction, one of each class

    def group(self, number: int, n_flips: int, remedy: str) -> tuple[np.ndarray, int]:
        """Return the rows of a class and how many of them to flip; raise an error if there are fewer."""
        rows = np.flatnonzero(self.numbers == number)
        if n_flips > len(rows):
            raise InputError(
                "The flips of class {name!r} must lie between 0 and its {n_rows} rows; got {n_flips}: lower "
                "{error_rate} or {rho}, or {remedy}.",
                name=str(self.classes[number]), n_rows=len(rows), n_flips=n_flips, remedy=remedy,
            )  # fmt: skip
        return rows, n_flips

    def flip(self, rows: np.ndarray, numbers: Any) -> Attack:
        """Return the attack that gives these rows the labels of these class numbers."""
        flipped = np.zeros(len(self.clean), dtype=bool)
        flipped[rows] = True
        changed = self.clean.copy()  # of the same dtype, so wide enough for any label
        changed[rows] = self.classes[numbers]
        return Attack(changed, flipped)


def count_flips(share: float, whole: int) -> int:
    """Return a share of some rows in whole rows, rounded down, so that no budget is exceeded."""
    return int(np.floor(share * whole + 1e-9))  # 0.29 * 100 is 28.999999999999996


def set_budget(attack: str, y: ArrayLike, error_rate: Share, rho: Share, alpha: Share = None) -> Budget:
    """Return the budget of an attack: how many rows to flip, and of which classes."""
    clean, classes, numbers, sizes = _check_labels(attack, y)
    if error_rate is not None and rho is not None:
        words = "Give {error_rate} or {rho}, not both; got {one!r} and {other!r}."
        raise InputError(words, one=error_rate, other=rho)
    name, share, whole = ("rho", rho, sizes.min())
    if rho is None:
        name, share, whole = ("error_rate", USUAL_RATE if error_rate is None else error_rate, len(clean))
    if not (isinstance(share, Real) and 0 <= float(share) < 1):
        of = "the smallest class" if name == "rho" else "all rows"
        raise InputError(
            "{name} must be at least 0 and less than 1; got {share!r}: give the flips as a share of {of}.",
            name=Setting(name), share=share, of=of,
        )  # fmt: skip
    n_flips = count_flips(share, whole)
    budget = Budget(clean, classes, numbers, n_flips, [(np.arange(len(clean)), n_flips)])
    if alpha is None:
        return budget
    if len(classes) != 2:
        raise InputError(
            "{attack} with a direction {alpha} needs labels of two classes; got {n}: leave {alpha} out, or "
            "use uniform or class-conditional flips.",
            attack=attack, n=len(classes),
        )  # fmt: skip
    if not (isinstance(alpha, Real) and 0 <= float(alpha) <= 1):
        raise InputError(
            "{alpha} must lie between 0 and 1; got {got!r}: with 1, all flips come from the larger class.",
            got=alpha,
        )
    smaller = int(np.argmin(sizes))
    counts = {1 - smaller: round(alpha * n_flips), smaller: n_flips - round(alpha * n_flips)}
    change = Sentence("change {alpha}")
    return budget._replace(groups=[budget.group(number, n, change) for number, n in counts.items()])


def _check_labels(attack, y):
    """Return the labels as an array, their classes, class numbers and class sizes."""
    try:
        clean = column_or_1d(y)
    except ValueError as error:
        raise InputError(f"{attack} needs a label for each row, but {error}") from None
    try:
        if clean.dtype.kind in "fO" and any(label is None or label != label for label in clean):
            raise TypeError
        classes, numbers, sizes = np.unique(clean, return_inverse=True, return_counts=True)
    except TypeError:  # also what cannot be sorted, and pandas' NA
        said = f"{attack} needs a label for each row, all of one type; some are missing or of another type"
        raise InputError(f"{said}: drop these rows or convert the labels.") from None
    if len(classes) < 2:
        raise InputError(f"{attack} needs labels of at least two classes; got {len(classes)}.")
    return clean, classes, numbers, sizes


def check_features(X: Any, n_samples: int) -> Any:
    """Return X as a finite float array, or as a CSR matrix with the short indices that SVC takes."""
    try:
        X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    except (TypeError, ValueError) as error:
        raise InputError(f"X must be a table of numbers, but {' '.join(str(error).split())}") from None
    if X.shape[0] != n_samples:
        said = f"X and y must have the same number of rows; got {X.shape[0]} and {n_samples}"
        raise InputError(f"{said}: give one label for each row.")
    if sparse.issparse(X) and max(X.nnz, *X.shape) < 2**31:
        X = sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X


def take_highest(score: np.ndarray, groups: Groups) -> np.ndarray:
    """Return the rows of each group that have the highest scores, ties broken by table order."""
    return np.concatenate([rows[np.argsort(-score[rows], kind="stable")[:n]] for rows, n in groups])
