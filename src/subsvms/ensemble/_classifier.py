"""The classifier: a thin scikit-learn shell that checks the input, calls the stages and keeps the results."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from subsvms._effort import Effort
from subsvms._labels import check_labels
from subsvms._validation import check_table, checked, give_back, name_classes
from subsvms.ensemble._device import find_device
from subsvms.ensemble._training import CallbackSupportMixin, fit_numbered
from subsvms.ensemble._votes import Votes, count_votes

LARGEST = 2**31 - 1  # whole number that compiled loops count with


class SubSVMClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """A vote of many tiny SVMs, each trained on a few rows: hard to mislead by wrong labels.

    Each SVM sees a class-balanced random subset of logarithmic size, so most of them see few wrong labels or
    none, and the majority vote is right where most of them are (Laxman, Mittal and Venkatesan, "Error
    Correction in Learning using SVMs"). There is nothing to tune, but features must be scaled, for example
    with MinMaxScaler; a warning is given if they seem not to be. More than two classes are handled one
    against one inside each subset; an SVM's vote goes to the class with the largest mean of clipped decision
    values against the others, so there are no cyclic ties.

    Parameters
    ----------
    n_estimators : int, default=1000
        Number of subsets, J.
    subsample_size : {"log_squared", "log"} or int, default="log_squared"
        Number of rows drawn for a subset, s: the squared natural logarithm of the number of rows, or the
        logarithm, rounded; K classes take K/2 times as many, at most five times.
    sampling_bias : float, default=0.5
        Probability p of drawing from the smaller class. With 0.5 all classes are equally likely, however
        many there are; with the share of the smallest class all rows are equally likely.
    kernel : {"rbf", "linear", "poly", "precomputed"}, default="rbf"
        With "precomputed", `fit` takes K(X, X) and `predict` K(new rows, X).
    gamma : {"auto", "scale"} or float, default="auto"
        1 / n_features, 1 / (n_features * X.var()), or the number itself, for "rbf" and "poly". With
        "auto" features should have a range of about one.
    degree, coef0 : int, default=3, and float, default=0
        Degree and constant term of "poly".
    C : float, default=100.0
        Larger values penalise training errors more.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The paper's L2 loss, or that of `sklearn.svm.SVC`.
    class_weight : dict or "balanced", default=None
        Factors of C. Subsets are balanced already, so this is rarely needed.
    tol : float, default=1e-3
        Largest duality gap of an SVM, as a share of its objective. With the rbf kernel the decision values of
        the SVMs are then within about `tol` of the exact ones.
    max_iter : int, default=100_000
        Maximum number of steps for one SVM. A warning says how many SVMs reached it.
    n_jobs : int, default=None
        Threads: None means 1 (or as many as a joblib context sets), -1 all cores. The result has the same
        bits for any number.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the SVMs vote: "cuda" is a GPU, which needs subsvms[gpu] and one of the first two kernels and a
        dense table; "auto" takes one if it can. The result has the same bits on either.
    random_state : int, RandomState instance or None, default=None
        Seed of the subsets.
    verbose : int, default=0
        1 prints a line per stage, 2 prints more. From scikit-learn 1.9 on there are callbacks as well:
        ``SubSVMClassifier().set_callbacks(ProgressBar())``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    subsets_ : ndarray of int of shape (n_estimators, size)
        Row numbers of each subset; a row can be drawn more than once.
    dual_coef_ : ndarray of shape (n_estimators, size) or (n_estimators, n_classes - 1, size)
        y_i a_i of each drawn row; for more than two classes, a line for each of the other classes.
    intercept_, duality_gap_ : ndarray of shape (n_estimators,) or (n_estimators, n_pairs)
        The gap is a share of the objective; 0 for a subset with one class, which votes for that class.
    oob_votes_ : Votes
        Out-of-bag votes on each training row: those of the SVMs that did not see it.
    oob_winners_, oob_labels_ : ndarray of shape (n_samples,)
        Number and label of the class that most of these SVMs vote for; a row with a tie, or that every SVM
        saw, keeps its own.
    oob_vote_share_, oob_mean_value_ : ndarray of shape (n_samples, n_classes)
        Share of these votes for each class, and mean of the clipped decision values, from -1 to 1; NaN for a
        row that every SVM saw.
    class_sizes_ : ndarray of int of shape (n_classes,)
        Number of training rows with each label.
    voters_ : Voters
        The SVMs in the form that is used for voting.
    n_iter_ : int
        Largest number of steps that an SVM took.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X had column names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from subsvms import SubSVMClassifier, adversaries
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> attack = adversaries.directed_flips(y, rho=0.5, alpha=0.5, random_state=0)
    >>> model = SubSVMClassifier(random_state=0).fit(minmax_scale(X), attack.labels)
    >>> np.mean(attack.labels == y).round(2), round(model.score(minmax_scale(X), y), 2)  # what is right
    (np.float64(0.81), 0.97)
    """

    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "subsample_size": [StrOptions({"log", "log_squared"}), Interval(Integral, 2, None, closed="left")],
        "sampling_bias": [Interval(Real, 0, 1, closed="neither")],
        "kernel": [StrOptions({"rbf", "linear", "poly", "precomputed"})],
        "gamma": [StrOptions({"auto", "scale"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 1, LARGEST, closed="both")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "C": [Interval(Real, 0, None, closed="neither")], "loss": [StrOptions({"squared_hinge", "hinge"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, LARGEST, closed="both")],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None,
        ],
        "device": [str], "random_state": ["random_state"], "verbose": ["verbose"],
    }  # fmt: skip

    def __init__(
        self, *, n_estimators=1000, subsample_size="log_squared", sampling_bias=0.5, kernel="rbf",
        gamma="auto", degree=3, coef0=0.0, C=100.0, loss="squared_hinge", class_weight=None, tol=1e-3,
        max_iter=100_000, n_jobs=None, device="cpu", random_state=None, verbose=0,
    ):  # fmt: skip
        self.n_estimators, self.subsample_size = n_estimators, subsample_size
        self.sampling_bias, self.kernel, self.gamma, self.degree = sampling_bias, kernel, gamma, degree
        self.coef0, self.C, self.loss, self.class_weight, self.tol = coef0, C, loss, class_weight, tol
        self.max_iter, self.n_jobs, self.device, self.random_state = max_iter, n_jobs, device, random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @checked
    def fit(self, X: Any, y: Any) -> "SubSVMClassifier":
        """Draw the subsets, train an SVM on each, and count their votes on the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Finite numbers, each feature with a range of about one.
        y : array-like of shape (n_samples,)
            Labels: strings, whole numbers or booleans.

        Returns
        -------
        self : SubSVMClassifier
        """
        with restore_on_failure(self):
            table = check_table(self, X, reset=True)
            return fit_numbered(self, table, *check_labels(y, table.shape[0]))

    @property
    def oob_labels_(self) -> np.ndarray:
        """Out-of-bag majority label of each training row."""
        return self.classes_[self.oob_winners_]

    @property
    def oob_vote_share_(self) -> np.ndarray:
        """Out-of-bag share of the votes for each class."""
        return self.oob_votes_.share

    @property
    def oob_mean_value_(self) -> np.ndarray:
        """Out-of-bag mean of the clipped decision values for each class."""
        return self.oob_votes_.mean_value

    def count_votes(self, X: Any) -> Votes:
        """Return the votes on each row: `share`, `mean_value`, `counts` and `n_voters`; X as in `fit`."""
        check_is_fitted(self)
        on_gpu = find_device(self.device, self.voters_, X) is not None
        X = check_table(self, X, reset=False, on_gpu=on_gpu)
        return count_votes(self.voters_, X, Effort.of(self))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of the SVMs that vote for each class, (n_samples, n_classes).

        It measures agreement. It is not calibrated: rare and common classes count the same. X as in `fit`.
        """
        return give_back(self.count_votes(X).share, X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the vote margin, from -1 to 1; X as in `fit`.

        For two classes it is the share of the second minus that of the first, (n_samples,). For more, the
        share of each class minus the largest of the others, (n_samples, n_classes).
        """
        share = self.count_votes(X).share
        if share.shape[1] == 2:
            return give_back(share[:, 1] - share[:, 0], X)
        ordered = np.sort(share, axis=1)
        first, second = ordered[:, -1:], ordered[:, -2:-1]
        return give_back(np.where(share == first, share - second, share - first), X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class that most SVMs vote for; a tie goes to the class with more training rows."""
        winners = self.count_votes(X).winners(self.class_sizes_)
        return give_back(name_classes(self.classes_, winners), X)


@contextmanager
def restore_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Leave an estimator as it was if its fit fails, rather than half fitted."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
