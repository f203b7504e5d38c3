"""The linear committee: a scikit-learn shell around `_linear`, and what decides between the classes.

With a_i(x) the weight of label i in the committee's value at x, S_c(x) is the sum of a_i over the rows given
class c, and n_c their number. Between two classes the verdict is balanced: it is the class with the larger
mean weight S_c / n_c. Among several it is the class with the largest S_c.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from subsvms._effort import Effort, OnProgress
from subsvms._labels import check_labels
from subsvms._validation import check_rows, check_table, checked
from subsvms.ensemble._classifier import SubSVMClassifier, restore_on_failure
from subsvms.ensemble._linear import Weights, draw_blind, score_classes, solve_members, visit_weights
from subsvms.ensemble._sampling import subset_size
from subsvms.ensemble._training import find_kernel
from subsvms.ensemble._votes import pick_best


class LinearCommittee(ClassifierMixin, BaseEstimator):
    """Many tiny least squares machines whose verdict is linear in the labels, so that it can be certified.

    Each member sees a few rows, chosen without looking at the labels, and the committee takes the mean of its
    members. The weight of every label in a verdict is then a number that does not depend on any label:
    `subsvms.certificates.certify` turns these weights into the exact number of labels that would have to be
    wrong for the verdict to turn. As a judge of labels it is a little worse than `SubSVMClassifier`: decide
    with the vote, certify with this, at about the cost of a prediction.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of members.
    subsample_size : {"log_squared", "log"} or int, default="log_squared"
        Rows that a member sees; as in `SubSVMClassifier`, but without repeats.
    kernel : {"rbf", "linear", "poly"}, default="rbf"
    gamma, degree, coef0, n_jobs, random_state
        As in `SubSVMClassifier`.
    ridge : float, default=0.1
        lambda, the penalty on a member's length. Smaller ones follow single labels more closely, so fewer
        wrong labels are needed to turn a verdict.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_sizes_ : ndarray of int of shape (n_classes,)
        Number of training rows with each label.
    labels_ : ndarray of int of shape (n_samples,)
        Class number of each training row.
    members_ : Members
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Notes
    -----
    Besides the table and 8 n_estimators s^2 bytes for the members, four times that while it is fitted, each
    thread takes up to 192 MiB for blocks of weights, and more only if 8 rows of n_samples numbers are larger
    than 64 MiB.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from subsvms.ensemble import LinearCommittee
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> committee = LinearCommittee(random_state=0).fit(X[:400], y[:400])
    >>> print(f"{committee.score(X[400:], y[400:]):.2f} of its predictions are right")
    0.96 of its predictions are right
    """

    _parameter_constraints: dict = {
        name: SubSVMClassifier._parameter_constraints[name]
        for name in ("n_estimators", "subsample_size", "gamma", "degree", "n_jobs", "random_state")
    } | {
        "kernel": [StrOptions({"rbf", "linear", "poly"})],
        "coef0": [Interval(Real, 0, None, closed="left")],  # below 0 "poly" is no kernel
        "ridge": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self, *, n_estimators=300, subsample_size="log_squared", kernel="rbf", gamma="auto", degree=3,
        coef0=0.0, ridge=0.1, n_jobs=None, random_state=None,
    ):  # fmt: skip
        self.n_estimators, self.subsample_size, self.kernel = n_estimators, subsample_size, kernel
        self.gamma, self.degree, self.coef0, self.ridge, self.n_jobs = gamma, degree, coef0, ridge, n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @checked
    def fit(self, X: Any, y: Any) -> "LinearCommittee":
        """Choose the rows of each member, and solve their systems; X and y as in `SubSVMClassifier`."""
        with restore_on_failure(self):
            table = check_table(self, X, reset=True)
            classes, labels = check_labels(y, table.shape[0])
            kernel = find_kernel(self, table)
            size = subset_size(self.subsample_size, len(labels), len(classes))
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            subsets = draw_blind(len(labels), self.n_estimators, size, seed=seed)
            self.members_ = solve_members(table, subsets, kernel, self.ridge)
            self.classes_, self.labels_, self.class_sizes_ = classes, labels, np.bincount(labels)
            self._table = table
        return self

    def weigh(self, X: Any = None, *, rows: Any = None) -> np.ndarray:
        """Return the weight of every training label in the verdict on each row; no label changes it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features), optional
            New rows. Without them, training rows are weighed out-of-bag: by members that did not see them.
        rows : array-like of int or bool, optional
            Which training rows; all by default.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            All of it in memory; `subsvms.certificates` works on blocks.
        """
        parts = self.visit(lambda first, last, weights: weights.a, X, rows=rows)
        return np.concatenate([np.zeros((0, len(self.labels_))), *parts])

    def decision_function(self, X: Any) -> np.ndarray:
        """Return how far the committee decides for a class; X as in `weigh`.

        For two classes, the mean weight of the labels of the second minus that of the first, (n_rows,). For
        more, the sum of the weights of the labels of each class, (n_rows, n_classes).
        """
        scores = self._score(X)
        return scores if scores.shape[1] > 2 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Return the committee's verdict; a tie goes to the class with more training rows."""
        best = pick_best(self._score(X), self.class_sizes_)  # first: it says if nothing was fitted
        return self.classes_[best]

    def _score(self, X):
        def work(first, last, weights):
            return score_classes(weights, self.labels_, self.class_sizes_)

        return np.concatenate(self.visit(work, X))

    def visit(
        self, work: Callable[[int, int, Weights], Any], X: Any = None, *, rows: Any = None,
        on_progress: OnProgress | None = None,
    ) -> list:  # fmt: skip
        """Call work(first, last, weights) for blocks of rows: the same weights as `weigh`, in bounded memory.

        Threads call it in any order, with numbers among the rows asked for and their `Weights`; what it
        returned is listed in the order of the rows. on_progress(n_rows_done, n_rows) is called now and then.
        """
        check_is_fitted(self)
        if X is None:
            n = len(self.labels_)
            seen = np.arange(n) if rows is None else np.atleast_1d(check_rows(rows, n))
            X = self._table[seen]
        else:
            seen, X = None, check_table(self, X, reset=False)
        return visit_weights(self.members_, X, seen, work, Effort.of(self, on_progress))
