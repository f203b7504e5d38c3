"""The estimator that corrects labels, and the function that does it in one call."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_array, check_random_state, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _num_samples, validate_data

from subsvms._callers import find_stacklevel, renamed
from subsvms._columns import ColumnScaler, Table
from subsvms._labels import check_groups, check_some_labels, check_verified
from subsvms._validation import FLOATS, check_table, checked
from subsvms.certificates._vote import CERTIFICATE_LEVEL
from subsvms.correction import _other_judges as judges
from subsvms.correction._frames import find_style, like_labels, naming_correct_table
from subsvms.correction._groups import group_rows
from subsvms.correction._judge import add_witnesses, judge_table, judge_votes
from subsvms.correction._learn import Sample, learn, learn_judged
from subsvms.correction._overlap import SVMLook
from subsvms.correction._result import Correction
from subsvms.correction._rule import Settings
from subsvms.ensemble._classifier import SubSVMClassifier, restore_on_failure
from subsvms.ensemble._rows import take_rows
from subsvms.ensemble._sampling import draw_rows
from subsvms.exceptions import InputError, LabelNoiseWarning


class LabelCorrector(MetaEstimatorMixin, BaseEstimator):
    """Find wrong labels, and fix, drop, weight or flag them; change none without good reason.

    A vote of many tiny SVMs (`SubSVMClassifier`) judges each row by the SVMs that were not trained on it.
    From these votes the noise of each class is estimated, and from both the probability of each class for
    each row. On clean labels next to nothing changes: noise must show itself before anything is done about
    it, and rows that the features distinguish from those they would join keep their labels.

    Parameters
    ----------
    estimator : SubSVMClassifier, classifier, list of classifiers or "probabilities", default=None
        Who judges, not fitted. By default SVMs are chosen that predict the given labels best (see
        `correction_.choice`); the paper's are `SubSVMClassifier()`, the default of the rule "majority".

        Any other classifier with `predict_proba`, or a pipeline, judges rows that it was not trained on:
        out of bag if it is a forest or bagging with bootstrap, else in 5-fold cross-validation. The
        probabilities of several are averaged. Certificates are then left out. "probabilities" is an older
        way to say that X is what `fit` calls `pred_probs`, without any features.
    scale : bool, default=True
        Whether columns are brought to one scale before SVMs are chosen. An `estimator` gets X as it is.
    rule : {"posterior", "majority"}, default="posterior"
        "posterior" changes a label if another is more probable (see `min_confidence`). "majority" is the
        paper's rule, the plain vote: for labels that are known to be wrong near the border between
        well-separated classes, together with `max_error_rate`. On clean labels it does harm.
    action : {"fix", "drop", "weight", "review"}, default="fix"
        What happens to a label that is thought wrong: it is replaced; its row is dropped by `fit_resample`;
        its row gets the probability of its label as weight (`correction_.sample_weight`, for every row); or
        it is only flagged.
    max_error_rate : float, default=None
        At most this share of the labels is changed, surest first; the paper's known bound rho * beta.
    min_confidence : float, default=None
        A label is changed if another is the most probable one, and if a number is given, if it is more
        probable than that. With the rule "majority" a value above 0.5 asks for that share of the votes.
    n_witnesses : int, default=3
        Rows to list for each flagged row: this many of the nearest unsuspicious rows with the suggested
        label, and as many with the given one; 0 for none. Only the 2000 most doubtful rows get witnesses.
    level : float, default=0.999
        How sure each certificate in `withstands` is.
    n_jobs, device, random_state, verbose
        As in `SubSVMClassifier`; what is not the default replaces those of estimators.

    Attributes
    ----------
    correction_ : Correction
        With `labels`, `changed`, `noise`, `notes`, `to_frame()` and more.
    model_ : SubSVMClassifier
        If SVMs vote: the ensemble, trained on all rows that have a label, or on a pool of very many.
    scaler_ : ColumnScaler
        If columns were scaled: `model_` takes `scaler_.transform(X)`.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_
        If X has columns, and if they have names.

    Notes
    -----
    Noise is assumed to depend on the class alone. Wrong labels along the border between classes look like a
    more intricate border; the rule "posterior" then does little. Classes that overlap evenly, so that a fixed
    share of one lies where the other does and nothing distinguishes them, look like noise.

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

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"]), list, StrOptions({judges.PROBABILITIES}), None],
        "scale": ["boolean"], "rule": [StrOptions({"posterior", "majority"})],
        "action": [StrOptions({"fix", "drop", "weight", "review"})],
        "max_error_rate": [Interval(Real, 0, 1, closed="both"), None],
        "min_confidence": [None, Interval(Real, 0, 1, closed="both")],
        "n_witnesses": [Interval(Integral, 0, None, closed="left")],
        "level": [Interval(Real, 0, 1, closed="neither")],
        **{name: SubSVMClassifier._parameter_constraints[name] for name in ("n_jobs", "device")},
        "random_state": ["random_state"], "verbose": ["verbose"],
    }  # fmt: skip

    @renamed(certainty="level")
    def __init__(
        self, estimator=None, *, scale=True, rule="posterior", action="fix", max_error_rate=None,
        min_confidence=None, n_witnesses=3, level=CERTIFICATE_LEVEL, n_jobs=None, device="cpu",
        random_state=None, verbose=0,
    ):  # fmt: skip
        self.estimator, self.scale, self.rule, self.action = estimator, scale, rule, action
        self.max_error_rate, self.min_confidence = max_error_rate, min_confidence
        self.n_witnesses, self.level, self.n_jobs, self.device = n_witnesses, level, n_jobs, device
        self.random_state, self.verbose = random_state, verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        judge = SubSVMClassifier() if self.estimator is None else self.estimator
        if hasattr(judge, "__sklearn_tags__"):
            tags.input_tags = get_tags(judge).input_tags
        return tags

    @property
    def settings(self) -> Settings:
        """What the user asked for."""
        return Settings(self.rule, self.action, self.max_error_rate, self.min_confidence)

    @checked
    def fit(
        self, X: Any, y: Any, verified: Any = None, pred_probs: Any = None, groups: Any = None
    ) -> "LabelCorrector":
        """Judge the labels y of the rows X.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Finite numbers, in any units; for other estimators than SVMs whatever they take.
        y : array-like of shape (n_samples,)
            Labels: strings, whole numbers or booleans; None or NaN where a label is missing.
        verified : array-like of shape (n_samples,), default=None
            Labels that people verified, None or NaN elsewhere. They stand, whatever y says, and the noise is
            also learned from them: the rule becomes more careful about the other rows where people keep
            labels that it would change, and bolder where they agree. Any choice of rows will do that depends
            on features and labels alone, such as the lowest `label_quality` first.
        pred_probs : array-like of shape (n_samples, n_classes), default=None
            Out-of-sample probabilities of any model, such as a network's, a column for each class in the
            order of the sorted classes: they judge, in place of SVMs. X, if it holds numbers, is then for
            what needs features: whether changes can be told apart by them, and witnesses; or it is None.
        groups : array-like of shape (n_samples,), default=None
            Rows that belong together, such as those of a patient or a document: text or whole numbers, None
            or NaN for a row that is alone. No row is judged by what was learned from its group. By default
            copies are groups, equal rows and such as are far nearer than neighbours; ``groups=range(n)`` says
            that no rows belong together.

        Returns
        -------
        self : LabelCorrector
        """
        with restore_on_failure(self):
            for name in ("model_", "scaler_"):  # of an earlier fit
                self.__dict__.pop(name, None)
            table, style = None, find_style(X, pred_probs, y)
            if pred_probs is not None:
                n_rows = self._count_rows(X, pred_probs)
            elif self.estimator is None or isinstance(self.estimator, SubSVMClassifier):
                with naming_correct_table(X):
                    table = check_table(self, X, reset=True)
                n_rows = table.shape[0]
            elif (n_rows := _num_samples(X)) == 0:
                raise InputError("X must have rows, but has 0: check which rows were chosen.")
            named = None if groups is None else check_groups(groups, n_rows)
            classes, given = check_some_labels(y, n_rows)
            decided = None if verified is None else check_verified(verified, classes, n_rows)
            if table is not None:
                self._fit_svms(table, classes, given, decided, style, named)
            else:
                self._fit_judged(X, classes, given, decided, style, named, pred_probs)
        for note in self.correction_._cautions:
            warnings.warn(note, LabelNoiseWarning, stacklevel=find_stacklevel())
        return self

    def _fit_svms(self, table, classes, given, decided, style, groups):
        """Judge labels that are already class numbers, by SVMs, in a table that was checked."""
        seed = self._seed()
        drawing = draw_rows(given, len(classes), seed=seed)
        rows = drawing.list_rows(given)
        if self.estimator is None and self.scale:
            self.scaler_ = ColumnScaler.fit(table[drawing.in_sample(np.arange(len(given)))])
            table = self.scaler_.transform(table)
        whole, kernel = len(rows) == len(given), getattr(self.estimator, "kernel", "")
        sample = Sample(
            table if whole else take_rows(table, rows, kernel), given[rows], rows, drawing,
            None if decided is None else decided[rows], None if groups is None else groups[rows],
        )  # fmt: skip
        learned = learn(sample, classes, self._prepare(seed), self.settings, self.level)
        self.classes_, self.model_ = classes, learned.model
        if hasattr(self, "feature_names_in_"):
            self.model_.feature_names_in_ = self.feature_names_in_
        correction = judge_table(learned, table, given, decided, groups, style=style)
        precomputed = self.model_.kernel == "precomputed"
        self.correction_: Correction = add_witnesses(
            correction, table, self.n_witnesses, precomputed=precomputed
        )

    def _count_rows(self, X, pred_probs):
        """Return the number of rows of given probabilities; X, if there is one, only checks what changes."""
        if self.estimator is not None:
            raise InputError("estimator and pred_probs are both judges: give one of them.")
        n_rows = _num_samples(pred_probs)
        if X is not None and (n := _num_samples(X)) != n_rows:
            raise InputError(f"X and pred_probs must have the same number of rows; got {n} and {n_rows}.")
        return n_rows

    def _fit_judged(self, X, classes, given, decided, style, named, pred_probs):
        """Judge labels by probabilities: given ones, those in X, or of classifiers that take X as it is."""
        look: Any = None
        numbers = None if self.estimator == judges.PROBABILITIES or X is None else _read_numbers(X)
        scaled = self.scale and numbers is not None
        compared = ColumnScaler.fit(numbers).transform(numbers) if scaled else numbers
        copies, groups = group_rows(compared, len(given), named)
        if pred_probs is not None:
            p = judges.check_probabilities(pred_probs, classes, len(given), "pred_probs")
            if compared is not None:
                model = SubSVMClassifier(random_state=self._seed(), n_jobs=self.n_jobs)
                look = SVMLook(model, compared, groups)
        elif self.estimator == judges.PROBABILITIES:
            p = judges.check_probabilities(X, classes, len(given))
        else:
            seed = self._seed()
            own = self._own_params(None if self.random_state is None else seed)
            estimators = judges.prepare_estimators(self.estimator, **own)
            tables = [indexable(X)[0]] * len(estimators)
            look = judges.ClassifierLook(estimators, tables, classes, seed, groups)
            p = look.predict(given)
        if X is not None:
            validate_data(self, X, reset=True, skip_check_array=True)  # names and number of features
        judge = judges.name_judge(judges.PROBABILITIES if pred_probs is not None else self.estimator)
        if look is not None:
            look.features = numbers
        self.classes_, more = classes, {"verified": decided, "level": self.level}
        learned = learn_judged(p, judge, given, classes, self.settings, look, copies, named, **more)
        correction = judge_votes(learned, given, learned.votes, decided, style=style)
        if compared is not None:
            correction = add_witnesses(correction, compared, self.n_witnesses)
        self.correction_ = correction

    def _seed(self) -> int:
        """Return one seed for everything: a whole number itself, or one that is drawn."""
        state = self.random_state
        if state is None:
            state = getattr(self.estimator, "random_state", None)
        return int(state) if isinstance(state, Integral) else check_random_state(state).randint(2**31 - 1)

    def _own_params(self, seed: int | None) -> dict[str, int]:
        """Return the parameters that replace those of estimators."""
        own = {"n_jobs": self.n_jobs, "random_state": seed, "verbose": self.verbose or None}
        return {name: value for name, value in own.items() if value is not None}

    def _prepare(self, seed: int) -> SubSVMClassifier | dict:
        """Return the estimator to train, not fitted; or what a chosen one has in common with it."""
        own = self._own_params(seed) | ({} if self.device == "cpu" else {"device": self.device})
        if self.estimator is None and self.rule == "posterior":
            return own
        # The majority of SVMs that fit the labels well would follow the wrong ones: the paper's are small.
        model = SubSVMClassifier() if self.estimator is None else clone(self.estimator)
        return model.set_params(**own)

    def fit_resample(self, X: Any, y: Any, verified: Any = None, groups: Any = None) -> tuple[Any, Any]:
        """Judge the labels and return X and y, corrected, without dropped rows: for imbalanced-learn."""
        correction = self.fit(X, y, verified, groups=groups).correction_
        if correction.kept.all():
            return X, like_labels(correction.labels, y)
        rows = np.flatnonzero(correction.kept)
        return _safe_indexing(X, rows), like_labels(correction.labels[rows], y, rows)


@renamed(certainty="level")
def correct_labels(
    X: Any, y: Any, *, estimator: Any = None, scale: bool = True, rule: str = "posterior",
    action: str = "fix", max_error_rate: float | None = None, min_confidence: float | None = None,
    verified: Any = None, pred_probs: Any = None, groups: Any = None, n_witnesses: int = 3,
    level: float = CERTIFICATE_LEVEL, n_jobs: int | None = None, device: str = "cpu",
    random_state: Any = None, verbose: int = 0,
) -> Correction:  # fmt: skip
    """Find wrong labels, and fix, drop, weight or flag them.

    Parameters
    ----------
    X, y, verified, pred_probs, groups
        As in `LabelCorrector.fit`. (`correct_table` takes a data frame with text, dates and missing values.)
    estimator, scale, rule, action, max_error_rate, min_confidence, n_witnesses, level, n_jobs, device, \
random_state, verbose
        As in `LabelCorrector`.

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
    >>> y = np.where(np.arange(600) < 60, "dog", clean)  # a tenth of the table, a fifth of the cats
    >>> correction = correct_labels(X, y, random_state=0)
    >>> bool(correction.changed[:60].mean() > 0.6), bool(correction.changed[60:].any())
    (True, False)
    """
    corrector = LabelCorrector(
        estimator, scale=scale, rule=rule, action=action, max_error_rate=max_error_rate,
        min_confidence=min_confidence, n_witnesses=n_witnesses, level=level, n_jobs=n_jobs,
        device=device, random_state=random_state, verbose=verbose,
    )  # fmt: skip
    return corrector.fit(X, y, verified, pred_probs, groups).correction_


def _read_numbers(X: Any) -> Table | None:
    """Return a table that was not checked; None if it does not hold finite numbers."""
    try:
        return check_array(X, accept_sparse="csr", dtype=FLOATS)
    except (TypeError, ValueError):
        return None
