"""Six attacks, and how to call one by its name; the package's docstring says what they share.

Directed, uniform and class-conditional flips look at the labels only; boundary, surest and region flips also
look at the features. The seventh attack, which looks at the SVM it harms, has its own module, `_greedy`.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances

from subsvms._labels import Classes
from subsvms._numbers import make_rng, read_array
from subsvms.adversaries import _budget as budgets
from subsvms.adversaries._budget import Attack, RandomState, Share, set_budget
from subsvms.adversaries._greedy import BOUNDARY_C, greedy_flips, judge
from subsvms.exceptions import InputError, Setting, join_sentences

USUAL_RHO = 0.75  # the paper's


def directed_flips(
    y: ArrayLike, *, error_rate: Share = None, rho: Share = None, alpha: Share = 0.5,
    random_state: RandomState = None,
) -> Attack:  # fmt: skip
    """Flip labels at random in a chosen direction: the paper's attack (Section 4, Figure 1).

    alpha = 0 takes rows away from the smaller class, and alpha = 1 floods it with rows of the larger one.
    (This is as in the paper's figure, appendix and tables; the text of its Section 4 says the opposite.)

    The labels are of two classes. Flips are `error_rate` of all rows, or `rho` of the smaller class (0.75 if
    neither is given); a share `alpha` of them is taken from the larger class.

    Examples
    --------
    >>> attack = directed_flips(["rare"] * 20 + ["usual"] * 80, rho=0.5, alpha=0.0, random_state=0)
    >>> int(attack.flipped.sum()), int((attack.labels == "rare").sum())
    (10, 10)
    """
    if error_rate is None and rho is None:
        rho = USUAL_RHO
    return _flip_at_random(set_budget("directed_flips", y, error_rate, rho, alpha), random_state)


def uniform_flips(
    y: ArrayLike, *, error_rate: Share = None, rho: Share = None, alpha: Share = None,
    random_state: RandomState = None,
) -> Attack:  # fmt: skip
    """Give rows chosen at random another label chosen at random: errors without a pattern.

    Flips are `error_rate` of all rows (0.1 if nothing is given), or `rho` of the smallest class; with two
    classes, a share `alpha` of them is taken from the larger one.

    Examples
    --------
    >>> attack = uniform_flips(["ham", "spam", "news"] * 20, error_rate=0.25, random_state=0)
    >>> int(attack.flipped.sum()), sorted({str(label) for label in attack.labels})
    (15, ['ham', 'news', 'spam'])
    """
    return _flip_at_random(set_budget("uniform_flips", y, error_rate, rho, alpha), random_state)


def class_conditional_flips(
    y: ArrayLike, matrix: ArrayLike | None = None, *, error_rate: Share = None, rho: Share = None,
    random_state: RandomState = None,
) -> Attack:  # fmt: skip
    """Confuse each class with the others at given rates: errors that depend on the class and nothing else.

    The counts are exact: a class with n rows loses floor(n (1 - T[c, c])) of them, chosen at random, to the
    other classes in proportion (largest remainder). A budget scales the off-diagonal entries by one factor.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes), default=None
        T[c, d], the probability that a row of class c is labelled d, classes sorted; rows sum to one. By
        default each class is confused with the next, and the last with the first, at one rate: the pair
        flips of Han et al., "Co-teaching", NeurIPS 2018.
    error_rate, rho : float, default=None
        Flips as a share of all rows, or of the smallest class. If neither is given, the matrix is used as it
        is; if there is no matrix either, error_rate is 0.1.

    Examples
    --------
    >>> y = np.repeat(["cat", "dog"], [40, 60])
    >>> attack = class_conditional_flips(y, [[0.9, 0.1], [0.25, 0.75]], random_state=0)
    >>> [int(np.sum(attack.flipped & (y == label))) for label in ("cat", "dog")]
    [4, 15]
    """
    budget = set_budget("class_conditional_flips", y, error_rate, rho)
    unscaled = matrix is not None and error_rate is None and rho is None
    moves = _count_moves(budget, matrix, None if unscaled else budget.n_flips)
    rng = make_rng(random_state)
    of_class = [np.flatnonzero(budget.numbers == own) for own in range(len(moves))]
    rows = [rng.choice(own, n, replace=False) for own, n in zip(of_class, moves.sum(axis=1), strict=True)]
    becomes = np.repeat(np.tile(np.arange(len(moves)), len(moves)), moves.flat)
    return budget.flip(np.concatenate(rows), becomes)


def boundary_flips(
    X: Any, y: ArrayLike, *, error_rate: Share = None, rho: Share = None, alpha: Share = None,
    random_state: RandomState = None,
) -> Attack:  # fmt: skip
    """Flip the labels of the rows nearest the boundary: errors where they are hardest to see.

    An SVM with the rbf kernel learns the clean labels, and the rows whose decision values are nearest zero
    are flipped; ties are broken by the order of the table. With more than two classes, SVMs are trained one
    against one: a row goes to the class that speaks most strongly against its own, and its distance is the
    decision value between the two. The time grows at least with the square of the number of rows.
    `error_rate`, `rho` and `alpha` say how many flips there are, and of which class, as in `uniform_flips`.

    Examples
    --------
    >>> X, y = np.linspace(0, 1, 20)[:, None], np.repeat(["left", "right"], 10)
    >>> attack = boundary_flips(X, y, error_rate=0.2)
    >>> np.flatnonzero(attack.flipped)
    array([ 8,  9, 10, 11])
    """
    budget = set_budget("boundary_flips", y, error_rate, rho, alpha)
    return _flip_highest(X, budget, lambda margin: -np.abs(margin))


def surest_flips(
    X: Any, y: ArrayLike, *, error_rate: Share = None, rho: Share = None, alpha: Share = None,
    random_state: RandomState = None,
) -> Attack:  # fmt: skip
    """Flip the labels of the rows deepest in their own class: errors that are easy to see but weigh most.

    The SVM is that of `boundary_flips`; the rows farthest from its boundary on their own side are flipped
    first, those on the wrong side last. Each gets the label beyond its nearest boundary. `error_rate`, `rho`
    and `alpha` say how many flips there are, and of which class, as in `uniform_flips`.

    Examples
    --------
    >>> X, y = np.linspace(0, 1, 20)[:, None], np.repeat(["left", "right"], 10)
    >>> attack = surest_flips(X, y, error_rate=0.2)
    >>> np.flatnonzero(attack.flipped)
    array([ 0,  1, 18, 19])
    """
    return _flip_highest(X, set_budget("surest_flips", y, error_rate, rho, alpha), lambda margin: margin)


def region_flips(
    X: Any, y: ArrayLike, *, label: Any = None, error_rate: Share = None, rho: Share = None,
    random_state: RandomState = None,
) -> Attack:  # fmt: skip
    """Flip one region of one class: errors that lie together and so support each other.

    A row of the class is drawn as the centre. The rows of the class nearest to it (in Euclidean distance,
    ties broken by the order of the table) get the label of the nearest row of another class.

    `label` is the class; by default the largest (the first of several). Flips are `error_rate` of all rows
    (0.1 if nothing is given), or `rho` of the smallest class.

    Examples
    --------
    >>> X, y = np.linspace(0, 1, 20)[:, None], np.repeat(["left", "right"], 10)
    >>> attack = region_flips(X, y, label="right", error_rate=0.2, random_state=0)
    >>> np.flatnonzero(attack.flipped)
    array([14, 15, 16, 17])
    """
    budget = set_budget("region_flips", y, error_rate, rho)
    X = budgets.check_features(X, len(budget.clean))
    largest = int(np.argmax(np.bincount(budget.numbers)))
    own = largest if label is None else Classes(budget.classes).find(label, "label")
    group = budget.group(own, budget.n_flips, "choose a larger class")
    centre = make_rng(random_state).choice(group[0])
    measure = euclidean_distances if sparse.issparse(X) else cdist  # so equal rows are equally near
    distance = measure(X[[centre]], X)[0]
    distance[centre] = 0.0
    rows = budgets.take_highest(-distance, [group])
    nearest = np.argmin(np.where(budget.numbers == own, np.inf, distance))
    return budget.flip(rows, budget.numbers[nearest])


ATTACKS: dict[str, Callable[..., Attack]] = {
    "directed": directed_flips, "uniform": uniform_flips, "class-conditional": class_conditional_flips,
    "boundary": boundary_flips, "surest": surest_flips, "region": region_flips, "greedy": greedy_flips,
}  # fmt: skip


def attack(name: str, X: Any, y: ArrayLike, **budget: Any) -> Attack:
    """Call an attack of `ATTACKS` by its name; X may be None for attacks that do not look at the features.

    `budget` holds keyword arguments of the attack; None means its default.

    Examples
    --------
    >>> int(attack("uniform", None, ["no", "yes"] * 10, error_rate=0.2, random_state=0).flipped.sum())
    4
    """
    if not isinstance(name, str) or name not in ATTACKS:
        raise InputError(f"The attack must be one of {', '.join(ATTACKS)}; got {name!r}.")
    taken = inspect.signature(ATTACKS[name]).parameters
    options = {option: value for option, value in budget.items() if value is not None}
    unknown = [option for option in options if option not in taken]
    if unknown:
        known = [Setting(option) for option in taken if option not in {"X", "y"}]
        raise InputError(
            "The attack {name!r} takes {known}; got {unknown}: leave it out.", name=name,
            known=join_sentences(known, ", "), unknown=join_sentences(map(Setting, unknown), ", "),
        )  # fmt: skip
    if "X" not in taken:
        return ATTACKS[name](y, **options)
    if X is None:
        words = "The attack {name!r} looks at the features; got no {X}: give the table as well."
        raise InputError(words, name=name)
    return ATTACKS[name](X, y, **options)


def _flip_at_random(budget, random_state):
    rng = make_rng(random_state)
    rows = np.concatenate([rng.choice(rows, n, replace=False) for rows, n in budget.groups])
    n_classes = len(budget.classes)
    steps = rng.randint(1, n_classes, size=len(rows))  # around the circle of classes, never back to its own
    return budget.flip(rows, (budget.numbers[rows] + steps) % n_classes)


def _flip_highest(X, budget, score):
    """Flip the rows whose margins, under an SVM of the clean labels, have the highest scores."""
    X = budgets.check_features(X, len(budget.clean))
    verdict = judge(X, budget.numbers, budget.numbers, C=BOUNDARY_C)
    rows = budgets.take_highest(score(verdict.margin), budget.groups)
    return budget.flip(rows, verdict.rival[rows])


def _count_moves(budget, matrix, n_flips):
    """Return how many rows move from each class (row) to each other class (column)."""
    sizes = np.bincount(budget.numbers)
    if matrix is None:
        leaving = np.roll(np.eye(len(sizes)), 1, axis=1)
    else:
        leaving = _check_matrix(matrix, len(sizes))
        stay = np.diag(leaving).copy()
        np.fill_diagonal(leaving, 0.0)
    if n_flips is None:
        totals = [budgets.count_flips(1.0 - share, n) for n, share in zip(sizes, stay, strict=True)]
    else:
        expected = sizes * leaving.sum(axis=1)
        totals = _share_out(n_flips, expected)
        scaled = expected * (n_flips / max(expected.sum(), 1e-300))
        for number, n in enumerate(np.ceil(scaled.round(9))):
            budget.group(number, int(n), "make the rows of the matrix more alike")
    return np.stack([_share_out(n, row) for n, row in zip(totals, leaving, strict=True)])


def _share_out(n, weights):
    """Return whole numbers that sum to n, in proportion to the weights, by largest remainder."""
    if n == 0:
        return np.zeros(len(weights), dtype=int)
    if not np.any(weights):
        words = "{matrix} must flip some rows to be scaled to {n} flips; got only its diagonal."
        raise InputError(words, n=n)
    exact = n * weights / weights.sum()
    counts = np.floor(exact + 1e-9).astype(int)
    left = np.round(counts - exact, 9)  # so that rounding errors do not decide ties
    counts[np.argsort(left, kind="stable")[: n - counts.sum()]] += 1
    return counts


def _check_matrix(matrix, n_classes):
    matrix = read_array("matrix", matrix).copy()
    if matrix.shape != (n_classes, n_classes):
        raise InputError(
            "{matrix} must have a row and a column for each of {n_classes} classes; got shape {shape}.",
            n_classes=n_classes, shape=matrix.shape,
        )  # fmt: skip
    if not np.all(np.isfinite(matrix)) or np.any(matrix < 0):
        words = "{matrix} must hold probabilities, finite and not negative; got {got}."
        raise InputError(words, got=matrix.tolist())
    sums = matrix.sum(axis=1)
    if not np.allclose(sums, 1.0, rtol=0.0, atol=1e-8):
        words = "Each row of {matrix} must sum to one; got {sums}: divide it by its sum."
        raise InputError(words, sums=sums.tolist())
    return matrix
