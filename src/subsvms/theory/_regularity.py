"""Measure how few rows teach an SVM enough: regularity (Definition 1 of the paper).

A table is r-regular at (delta, theta) if, with probability at least 1 - delta over r rows drawn from it, an
SVM trained on them errs with probability at most theta on further draws. Draws are p-biased, as everywhere
here. The table is the whole distribution, so an SVM's error rate can be counted: with e_c the share of class
c that it gets wrong, and pi_c the probability of class c in a draw, it is sum_c pi_c e_c. (Of any class, at
most `MOST_ROWS` rows are counted.) The (1 - delta) quantile of the error rates of `n_trials` subsets
estimates the smallest theta, and order statistics give its confidence interval: the number of trials below
the true quantile is binomial. With wrong labels it is the error rate epsilon of Theorem 6 that is estimated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from subsvms._callers import renamed, renamed_attribute
from subsvms._effort import Effort, run_pieces
from subsvms._labels import check_labels
from subsvms._numbers import check_count, check_range, make_rng, read_array
from subsvms._validation import check_table
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._sampling import class_probabilities, draw_subsets, subset_size
from subsvms.ensemble._training import Problem, pose_problem, train_svms
from subsvms.ensemble._votes import count_votes, gather_voters
from subsvms.exceptions import InputError

FIRST_SIZE, SIZE_GROWTH, LAST_SIZE = 4, 1.5, 2.0  # sizes tried by default: 4, 6, 9, ... up to twice log^2 l
MOST_ROWS = 5000  # of each class on which error rates are counted; a larger class is sampled


@dataclass(frozen=True, eq=False, repr=False)
class Regularity:
    """Error rates of SVMs that were trained on few rows.

    Attributes
    ----------
    sizes : ndarray of int of shape (n_sizes,)
        Rows in a subset, ascending.
    theta : ndarray of shape (n_sizes,)
        The (1 - delta) quantile of the error rates.
    interval : ndarray of shape (n_sizes, 2)
        Confidence interval of theta; NaN for a limit that would need more trials.
    errors : ndarray of shape (n_sizes, n_trials)
        p-biased error rates, ascending.
    class_errors : ndarray of shape (n_sizes, n_classes)
        Mean share of each class that an SVM gets wrong.
    unseen_errors, unseen_sd : ndarray of shape (n_sizes,)
        Error rate on uniform rows that an SVM was not trained on: mean and standard deviation over SVMs.
    n_judged, n_rows : int
        Rows on which errors were counted, and rows of the table.
    shares, chances : ndarray of shape (n_classes,)
        Share of each class among the given labels, and its probability in a draw.
    delta, threshold, level : float
        As given to `estimate_regularity`; the threshold is its theta.

    Examples
    --------
    >>> from subsvms.datasets import make_separable_gaussians
    >>> from subsvms.theory import estimate_regularity
    >>> X, y = make_separable_gaussians(200, 2, random_state=0)
    >>> regularity = estimate_regularity(X, y, sizes=[4, 8, 16], theta=0.1, random_state=0)
    >>> regularity.sizes, regularity.theta.round(2)
    (array([ 4,  8, 16]), array([0.5, 0. , 0. ]))
    """

    sizes: np.ndarray
    theta: np.ndarray
    interval: np.ndarray
    errors: np.ndarray
    class_errors: np.ndarray
    unseen_errors: np.ndarray
    unseen_sd: np.ndarray
    n_judged: int
    n_rows: int
    shares: np.ndarray
    chances: np.ndarray
    delta: float
    threshold: float
    level: float

    confidence = renamed_attribute("confidence", "level")

    def __repr__(self) -> str:
        return f"Regularity(sizes={self.sizes.tolist()}, theta={self.theta.round(3).tolist()})"

    @property
    def smallest_size(self) -> int | None:
        """Smallest of the sizes r at which the table is regular, or None.

        The upper end of the interval must be at most `threshold` at this size and at all larger ones.
        """
        regular = self.interval[:, 1] <= self.threshold  # False for NaN
        later = np.logical_and.accumulate(regular[::-1])[::-1]
        return int(self.sizes[np.argmax(later)]) if later.any() else None

    @property
    def uniform_errors(self) -> np.ndarray:
        """Mean error rate of an SVM on rows drawn uniformly, for each size, by the given labels."""
        return self.class_errors @ self.shares

    def clean_theta(self, error_rate: float) -> np.ndarray:
        """Return an upper limit of theta by the clean labels, if at most this share of labels is wrong.

        A wrong label is drawn with probability at most error_rate max_c pi_c / share_c, and only there can an
        SVM seem right and be wrong. That probability is added to the upper end of theta's interval.
        """
        check_range("error_rate", error_rate, 0, 1, "[)")
        return np.minimum(self.interval[:, 1] + error_rate * np.max(self.chances / self.shares), 1.0)

    def __str__(self) -> str:
        return (
            f"{self.finding} The labels were taken as they are: if some are wrong, SVMs were trained on and "
            "judged by them, and this is not a property of the clean table but the error rate epsilon of "
            "Theorem 6."
        )

    @property
    def finding(self) -> str:
        """Say from which r on the table is regular."""
        r, limit = self.smallest_size, f"at most {self.threshold:g} with probability {1 - self.delta:g}"
        if r is None:
            return f"Not regular: with up to {self.sizes[-1]} rows, an SVM's error rate is not {limit}."
        return f"Regular from r = {r} on: the error rate of an SVM trained on r rows is {limit}."


@renamed(confidence="level")
def estimate_regularity(
    X: Any, y: Any, *, sizes: Sequence[int] | None = None, n_trials: int = 200, delta: float = 0.1,
    theta: float = 0.25, level: float = 0.9, random_state: int | np.random.RandomState | None = None,
    **parameters: Any,
) -> Regularity:  # fmt: skip
    """Measure theta for subsets of several sizes, and the smallest r at which the table is regular.

    Parameters
    ----------
    X, y
        As in `SubSVMClassifier`; the labels may be clean or not.
    sizes : sequence of int, optional
        Rows in a subset, from 2 to n_samples; by default 4, 6, 9, ... up to about twice log^2 n_samples.
    n_trials : int, default=200
        Subsets of each size.
    delta : float, default=0.1
        Share of the subsets that may do worse than theta, more than 0 and less than 1/2.
    theta : float, default=0.25
        Error rate that counts as regular, more than 0 and less than 1/2. Theorem 6 needs 2 theta < 1/2.
    level : float, default=0.9
        Confidence of the interval of each theta.
    random_state : int, RandomState instance or None, default=None
    **parameters
        Other parameters of `SubSVMClassifier`, for a single SVM.

    Examples
    --------
    >>> from subsvms.datasets import make_separable_gaussians
    >>> from subsvms.theory import estimate_regularity
    >>> X, y = make_separable_gaussians(200, 2, random_state=0)
    >>> regularity = estimate_regularity(X, y, sizes=[4, 8, 16], theta=0.1, random_state=0)
    >>> regularity.smallest_size
    8
    """
    check_count("n_trials", n_trials)
    check_range("delta", delta, 0, 0.5, "()")
    check_range("theta", theta, 0, 0.5, "()")
    check_range("level", level, 0, 1, "()")
    if given := sorted({"n_estimators", "subsample_size"} & set(parameters)):
        raise InputError(f"Sizes and trials are set by sizes and n_trials: leave {given[0]} out.")
    model = SubSVMClassifier(n_estimators=n_trials, **parameters)
    model._validate_params()
    table = check_table(model, X, reset=True)
    problem = pose_problem(model, table, *check_labels(y, table.shape[0]))
    n_samples, n_classes = len(problem.labels), len(problem.classes)
    tried = default_sizes(n_samples, n_classes) if sizes is None else check_sizes(sizes, n_samples)
    rng = make_rng(random_state)
    seed = rng.randint(2**31 - 1)
    counts = np.bincount(problem.labels)
    chances = class_probabilities(counts, model.sampling_bias)
    judged = pick_rows(problem.labels, rng)
    counted = [count_errors(model, problem, judged, int(size), seed) for size in tried]
    by_class, unseen = (np.stack(part) for part in zip(*counted, strict=True))
    shares = counts / counts.sum()
    errors = np.sort(by_class @ chances, axis=1)
    ranks = quantile_ranks(n_trials, 1.0 - delta, level)
    theta_hat = errors[:, min(int(np.ceil((1.0 - delta) * n_trials)), n_trials) - 1]
    ends = [errors[:, k] if 0 <= k < n_trials else np.full(len(errors), np.nan) for k in ranks]
    return Regularity(
        tried, theta_hat, np.stack(ends, axis=1), errors,
        class_errors=by_class.mean(axis=1),
        unseen_errors=(unseen @ shares).mean(axis=1),
        unseen_sd=(unseen @ shares).std(axis=1, ddof=min(1, n_trials - 1)),
        n_judged=len(judged), n_rows=n_samples, shares=shares, chances=chances,
        delta=delta, threshold=theta, level=level,
    )  # fmt: skip


def default_sizes(n_samples: int, n_classes: int = 2) -> np.ndarray:
    """Return sizes from a few rows up to about twice the default size of a subset."""
    last = min(LAST_SIZE * subset_size("log_squared", n_samples, n_classes), n_samples)
    n_steps = int(np.log(max(last / FIRST_SIZE, 1.0)) / np.log(SIZE_GROWTH))
    sizes = np.round(FIRST_SIZE * SIZE_GROWTH ** np.arange(n_steps + 1)).astype(int)
    return np.unique(np.minimum(sizes, n_samples))


def check_sizes(sizes: ArrayLike, n_samples: int) -> np.ndarray:
    """Return the sizes sorted, without repetitions."""
    numbers = np.unique(read_array("sizes", sizes, None))
    if numbers.size == 0 or numbers.dtype.kind not in "iu" or numbers[0] < 2 or numbers[-1] > n_samples:
        expected = f"sizes must be whole numbers from 2 to the number of rows, {n_samples}"
        raise ValueError(f"{expected}; got {sizes!r}.")
    return numbers


def pick_rows(labels: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return the rows on which to count errors, at most `MOST_ROWS` of each class, in table order."""
    parts = []
    for c in range(labels.max() + 1):
        rows = np.flatnonzero(labels == c)
        parts.append(rows if len(rows) <= MOST_ROWS else rng.choice(rows, MOST_ROWS, replace=False))
    return np.sort(np.concatenate(parts))


def count_errors(
    model: SubSVMClassifier, problem: Problem, judged: np.ndarray, size: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return which share of each class each SVM gets wrong, (n_trials, n_classes): of all rows, of unseen."""
    n_classes, n_trials, effort = len(problem.classes), model.n_estimators, Effort.of(model)
    subsets = draw_subsets(problem.labels, n_trials, size, model.sampling_bias, seed=seed)
    solution = train_svms(model, problem, subsets, effort)
    given, table = problem.labels[judged], problem.X[judged]
    sizes, n_judged = np.bincount(problem.labels), np.bincount(given, minlength=n_classes)
    errors, unseen = np.empty((n_trials, n_classes)), np.empty((n_trials, n_classes))

    def work(first, last):
        for trial in range(first, last):
            voter = gather_voters(problem.X, solution.take(trial), sizes, problem.kernel)
            wrong = count_votes(voter, table).counts.argmax(axis=1) != given
            new = ~np.isin(judged, subsets[trial])
            errors[trial] = np.bincount(given[wrong], minlength=n_classes) / n_judged
            n_new = np.bincount(given[new], minlength=n_classes)
            n_wrong = np.bincount(given[new & wrong], minlength=n_classes)
            unseen[trial] = np.where(n_new > 0, n_wrong / np.maximum(n_new, 1), errors[trial])

    run_pieces(work, n_trials, 8, effort)
    return errors, unseen


def quantile_ranks(n: int, quantile: float, level: float) -> tuple[int, int]:
    """Return the indices of the order statistics that bound a quantile; -1 or n where none does."""
    # K of n values lie below the quantile, and K is binomial; so the k-th smallest is above it with
    # probability P[K < k], and below it with P[K >= k].
    tail = (1.0 - level) / 2.0
    return int(binom.ppf(tail, n, quantile)) - 1, int(binom.ppf(1.0 - tail, n, quantile))
