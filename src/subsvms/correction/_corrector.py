"""The estimator that corrects labels, and the function that does it in one call."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions

from subsvms._progress import announce
from subsvms._typing import Table
from subsvms._validation import check_labels, check_table, check_verified, drop_missing, find_missing
from subsvms.certificates import CONFIDENCE, count_withstood
from subsvms.correction._frames import find_style, like_labels
from subsvms.correction._guards import take_rows
from subsvms.correction._judge import appraise
from subsvms.correction._pulls import Witnesses, find_witnesses
from subsvms.correction._result import Correction
from subsvms.correction._rule import Settings
from subsvms.correction._verified import trust
from subsvms.ensemble._classifier import SubSVMClassifier, restore_on_failure
from subsvms.ensemble._votes import Votes, count_votes
from subsvms.exceptions import LabelNoiseWarning

MOST_ASKED = 2000  # rows whose witnesses are looked for; the time grows with their number and the table


class LabelCorrector(BaseEstimator):
    """Find wrong labels, and fix, drop, weigh or flag them; change none without good reason.

    A vote of many tiny SVMs (`SubSVMClassifier`) judges each row by the SVMs that did not see it. From these
    votes the noise of each class is estimated, and from both the probability of each class for each row. On
    clean labels next to nothing changes: noise must show itself before it is acted on, and rows that the
    features tell from those they would join are spared. Features must be scaled, for example with
    MinMaxScaler.

    Parameters
    ----------
    rule : {"posterior", "majority"}, default="posterior"
        "posterior" changes a label if the probability of another class exceeds `min_confidence`. "majority"
        is the paper's rule, the plain vote: for labels known to be wrong near the boundary of classes that
        are known to be well apart, together with `max_error_rate`. On clean labels it does harm.
    action : {"fix", "drop", "weight", "review"}, default="fix"
        What happens to a label thought wrong: it is replaced; its row is dropped by `fit_resample`; its row
        gets the probability of its label as weight; or it is flagged only. Weights are in
        `correction_.sample_weight`, for every row; `fit_resample` cannot pass them on.
    max_error_rate : float, default=None
        At most this share of the labels is changed, surest first; the paper's known bound rho * beta.
    min_confidence : float, default=0.5
        A label is changed if another is more probable than this, and more probable than the label. With the
        rule "majority" a value above 0.5 asks for that share of the votes.
    n_witnesses : int, default=3
        For each flagged row, how many training rows to name that speak most for the suggested label, and
        how many against; 0 for none. They are looked for in the 2000 most doubtful rows at most.
    certainty : float, default=0.999
        Confidence of each certificate in `withstands`.
    n_estimators, subsample_size, sampling_bias, kernel, gamma, degree, coef0, C, loss, class_weight, tol, \
max_iter, n_jobs, random_state, verbose
        As in `SubSVMClassifier`.

    Attributes
    ----------
    correction_ : Correction
        With `labels`, `changed`, `noise`, `notes`, `to_frame()` and more.
    model_ : SubSVMClassifier
        The ensemble, trained on the rows that have a label.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X had column names.

    See Also
    --------
    correct_labels : The same as a function.
    SubSVMClassifier : The classifier that votes.

    Notes
    -----
    Noise is taken to depend on the class alone. Wrong labels that sit where the classes meet look like
    classes that meet in a more intricate way; the rule "posterior" then does little. Classes that
    overlap evenly, so that a fixed share of one lies where the other does and nothing tells them apart, look
    like noise.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from subsvms import LabelCorrector, adversaries
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> attack = adversaries.directed_flips(y, rho=0.5, alpha=0.5, random_state=0)
    >>> corrector = LabelCorrector(random_state=0).fit(X, attack.labels)
    >>> int((attack.labels != y).sum()), int((corrector.correction_.labels != y).sum()) < 40  # wrong labels
    (106, True)
    >>> int(LabelCorrector(random_state=0).fit(X, y).correction_.changed.sum())  # clean labels
    0
    """

    _parameter_constraints: dict = SubSVMClassifier._parameter_constraints | {
        "rule": [StrOptions({"posterior", "majority"})],
        "action": [StrOptions({"fix", "drop", "weight", "review"})],
        "max_error_rate": [Interval(Real, 0, 1, closed="both"), None],
        "min_confidence": [Interval(Real, 0, 1, closed="both")],
        "n_witnesses": [Interval(Integral, 0, None, closed="left")],
        "certainty": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        *,
        rule="posterior",
        action="fix",
        max_error_rate=None,
        min_confidence=0.5,
        n_witnesses=3,
        certainty=CONFIDENCE,
        n_estimators=1000,
        subsample_size="log_squared",
        sampling_bias=0.5,
        kernel="rbf",
        gamma="auto",
        degree=3,
        coef0=0.0,
        C=100.0,
        loss="squared_hinge",
        class_weight=None,
        tol=1e-3,
        max_iter=100_000,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.rule = rule
        self.action = action
        self.max_error_rate = max_error_rate
        self.min_confidence = min_confidence
        self.n_witnesses = n_witnesses
        self.certainty = certainty
        self.n_estimators = n_estimators
        self.subsample_size = subsample_size
        self.sampling_bias = sampling_bias
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @property
    def settings(self) -> Settings:
        """What is asked of the rule."""
        return Settings(self.rule, self.action, self.max_error_rate, self.min_confidence)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, verified: Any = None) -> "LabelCorrector":
        """Judge the labels y of the rows X.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Finite numbers, each feature with a range of about one.
        y : array-like of shape (n_samples,)
            Labels: strings, whole numbers or booleans; None or NaN where a label is missing.
        verified : array-like of shape (n_samples,), default=None
            Labels that people verified, None or NaN where nobody did. They stand, whatever y says, and make
            the rule more careful about the other rows where they contradict it.

        Returns
        -------
        self : LabelCorrector
        """
        with restore_on_failure(self):
            self._fit(X, y, verified)
        for note in self.correction_.notes:
            warnings.warn(note, LabelNoiseWarning, stacklevel=3)
        return self

    def _fit(self, X, y, verified):
        table = check_table(self, X, reset=True)
        missing = find_missing(y)
        rows = np.flatnonzero(~missing)
        whole = len(rows) == table.shape[0] or len(missing) != table.shape[0]
        own_type = not isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype)  # pandas' Int64, say
        known = drop_missing(y, missing) if own_type or not whole else y
        if not whole and not known:
            raise ValueError(
                "y must hold labels, but no label came, in any row: check that y is the label column."
            )
        classes, labels = check_labels(known, table.shape[0] if whole else len(rows))
        given = np.full(table.shape[0], -1)
        given[rows] = labels
        decided = check_verified(verified, classes, table.shape[0])
        labelled = table if whole else take_rows(table, rows, self.kernel)
        names = SubSVMClassifier._parameter_constraints
        model = SubSVMClassifier(**{name: getattr(self, name) for name in names})
        # Not on verified labels: the most doubtful rows are verified first, and the noise of the others would
        # no longer be the same. Tried, that left more wrong labels in 20 of 50 runs, and fewer in 20.
        model.fit(labelled, classes[labels])
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_

        votes = _votes_in_order(model, table, rows, missing, self.kernel)
        settings = self.settings
        appraisal = appraise(model, table, given, votes, settings)
        judgement, noise = appraisal.judgement, appraisal.rule.noise
        if verified is not None:
            judgement = trust(judgement, given, decided, settings)
        self.model_ = model
        self.classes_ = classes
        self.correction_ = Correction(
            classes=classes,
            given=given,
            judgement=judgement,
            votes=votes,
            noise=noise,
            withstands=self._certify(votes, given, model),
            certainty=self.certainty,
            settings=settings,
            witnesses=self._find_witnesses(labelled, labels, rows, given, judgement, model),
            style=find_style(X, y),
            verified=None if verified is None else decided,
        )

    def _certify(self, votes, given, model):
        if self.class_weight == "balanced":  # then every SVM depends on the sizes of the classes
            return np.zeros(len(given), dtype=int)
        return count_withstood(
            votes, model.class_sizes_, given, model.subsets_.shape[1], p=self.sampling_bias,
            confidence=self.certainty,
        )  # fmt: skip

    def _find_witnesses(self, labelled, labels, rows, given, judgement, model) -> Witnesses | None:
        if self.n_witnesses == 0:
            return None
        announce("finding witnesses")
        flagged = np.flatnonzero(judgement.flagged)
        if len(flagged) > MOST_ASKED:
            flagged = np.sort(flagged[np.argsort(judgement.quality[flagged], kind="stable")[:MOST_ASKED]])
        found = find_witnesses(
            labelled,
            labels,
            model.subsets_,
            model.dual_coef_,
            np.searchsorted(rows, flagged),
            given[flagged],
            judgement.suggested[flagged],
            kernel=model.voters_.kernel,
            n_witnesses=self.n_witnesses,
        )
        numbers = np.append(rows, -1)  # so that no witness, -1, stays none
        return replace(
            found, rows=flagged, supporting=numbers[found.supporting], opposing=numbers[found.opposing]
        )

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Judge the labels and return the table that is left: a step for imbalanced-learn's Pipeline.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        X : of the type that came
            Without the rows that are dropped, if that is the action.
        y : Series as it came, or ndarray
            The corrected labels, if the action is "fix", and those for rows that had none.
        """
        correction = self.fit(X, y).correction_
        if correction.kept.all():
            return X, like_labels(correction.labels, y)
        rows = np.flatnonzero(correction.kept)
        return _safe_indexing(X, rows), like_labels(correction.labels[rows], y, rows)


def correct_labels(X: Any, y: Any, **parameters: Any) -> Correction:
    """Find wrong labels, and fix, drop, weigh or flag them.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Finite numbers, each feature with a range of about one.
    y : array-like of shape (n_samples,)
        Labels: strings, whole numbers or booleans; None or NaN where a label is missing.
    **parameters
        Those of `LabelCorrector`, such as `rule`, `action`, `max_error_rate`, `min_confidence`, `n_jobs` and
        `random_state`.

    Returns
    -------
    Correction

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms import correct_labels
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat(["cat", "dog"], 300)
    >>> X = rng.normal(0.3 + 0.4 * (clean == "dog")[:, None], 0.12, (600, 4))
    >>> y = clean.copy()
    >>> y[:60] = "dog"  # a tenth of the table, a fifth of the cats
    >>> correction = correct_labels(X, y, random_state=0)
    >>> bool(correction.changed[:60].mean() > 0.7), bool(correction.changed[60:].any())
    (True, False)
    >>> print(correction.reason[0])  # doctest: +ELLIPSIS
    fix: 100% of 9... SVMs vote 'cat', the label is 'dog'; probability of 'cat' is 0.8..., above 0.5
    """
    return LabelCorrector(**parameters).fit(X, y).correction_


def _votes_in_order(
    model: SubSVMClassifier, table: Table, rows: np.ndarray, missing: np.ndarray, kernel: str
) -> Votes:
    """Return the out-of-bag votes on rows with a label, and all votes on rows without one."""
    if len(rows) == table.shape[0]:
        return model.oob_votes_
    asked = table[missing]
    if kernel == "precomputed":
        asked = np.ascontiguousarray(asked[:, rows])
    others = count_votes(model.voters_, asked, n_jobs=effective_n_jobs(model.n_jobs))
    order = np.argsort(np.concatenate([rows, np.flatnonzero(missing)]))
    return model.oob_votes_.join(others).take(order)
