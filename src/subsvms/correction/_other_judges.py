"""Judges other than SVMs: any classifier, several of them, or probabilities that people already have.

With p_c the out-of-sample probability of class c for a row, the value of class c is

    u_c = mean over the other classes k of tanh((log p_c - log p_k) / 4),

for two classes tanh(logit(p) / 4). Like the mean values of SVMs it lies between -1 and 1, and it spreads out
the rows that p itself crowds together near 0 and 1, which is where noise shows. Each row has one voter, and
the shares of its votes are the probabilities: so the noise, the rule and its limits are those of SVMs.

Out-of-sample are the out-of-bag probabilities of a forest, or else those of cross-validation; of rows that
come in groups always the latter, with each group in one fold. Classes with fewer rows than `SMALLEST_CLASS`
are not learned, since no label is changed from or to them. Their rows, and rows without a label, are judged
by a classifier that is fitted to all others.

Trees also check what another judge would change. Noise by class is a property of the labels: whoever judges,
its rates are the same, and rows that would join class b look like those that are given b (`_overlap`), to
trees as well. Overlap, and flips that were chosen to harm one kind of judge, look different to another. So

- the values of trees are one more closer look at the two sides, and
- with p the mean probability of the changes to class b, and p' that by the same rates and the values of
  trees, a label is only changed if it would be after its probability times min(1, p' / p).

Where trees predict the given labels worse, p' / p is smaller for right changes, too: so the doubt 1 - p' / p
is multiplied by the odds that they, and not the other judge, give `ROWS_DOUBTED` labels, if that is less than
one. Trees that learn from very noisy labels are not heard about doubts at all. (Rates of their own, which
trees underestimate where most of a class is wrong, held back half of the right changes there.)
"""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split

from subsvms._columns import find_stored, take_columns
from subsvms._effort import announce
from subsvms.correction._noise import SMALLEST_CLASS, NoiseEstimate, estimate_noise
from subsvms.correction._overlap import EVEN, CloserLook, compare_sides, find_sides
from subsvms.correction._rule import Judgement
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._votes import Votes
from subsvms.exceptions import InputError, Setting, cut, name_few

PROBABILITIES = "probabilities"  # in place of an estimator: X holds them
FOLDS = 5
MANY_GROUPS = 1000  # with more, folds are of groups by their first label: balancing them takes too long
LEAST_PROBABILITY = 1e-6  # others are cut to it, and to one less it: no model is surer than that
QUIET = (  # rows without out-of-bag probabilities are dealt with; threads were offered to all estimators
    "Some inputs do not have OOB scores",
    "invalid value encountered in divide",
    "'n_jobs' has no effect",
)
N_TREES, LEAF = 100, 3  # to check changes: a quarter of a second for a thousand rows
VERY_NOISY = 0.25  # share of labels that may be wrong, beyond which trees doubt right changes, too
ROWS_DOUBTED = 50  # with 200, less harm is held back; trees of large tables see 3,000 rows, and less
MOST_JUDGED = 3000  # rows that they learn from, and columns: twice as many take more than a second
SUM_ERROR, RANGE_ERROR = 1e-3, 1e-6  # by which given probabilities may miss the sum 1, and the range 0 to 1


class ClassifierLook(CloserLook):
    """Judges rows with classifiers, and looks with the same ones at the rows that would change."""

    # They are not fitted, and their probabilities are averaged; each has a table that it takes, and `seed` is
    # that of the folds.

    def __init__(
        self, estimators: list, tables: list, classes: np.ndarray, seed: int, groups: np.ndarray | None = None
    ):
        super().__init__(seed, None, groups)
        self.estimators, self.tables, self.classes = estimators, tables, classes

    def predict(self, given: np.ndarray) -> np.ndarray:
        """Return out-of-sample probabilities of each row; NaN for a row that none can judge."""
        return self._predict(self.tables, given, self.groups)

    def separate(self, rows: np.ndarray, side: np.ndarray) -> np.ndarray:
        """Return the out-of-sample probability of side 1."""
        asked = zip(self.estimators, self.tables, strict=True)
        parts = [_safe_split(one, table, None, rows)[0] for one, table in asked]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to warn about was warned about in `predict`
            return self._predict(parts, side, None if self.groups is None else self.groups[rows])[:, 1]

    def _predict(self, tables, given, groups):
        asked = zip(self.estimators, tables, strict=True)
        found = [predict_rows(one, X, given, self.classes, self.seed, groups) for one, X in asked]
        known = sum(np.isfinite(p) for p in found)
        return sum(np.nan_to_num(p) for p in found) / np.where(known > 0, known, np.nan)


def prepare_estimators(estimator: Any, **own: Any) -> list:
    """Return copies of one estimator or several, not fitted, with some parameters replaced."""
    several = estimator if isinstance(estimator, list) else [estimator]
    if not several:
        raise InputError("estimator must be a classifier or a list of some, but the list is empty.")
    prepared = []
    for one in several:
        if not hasattr(one, "predict_proba"):
            name = type(one).__name__
            raise TypeError(
                f"estimator must be a classifier with predict_proba, not fitted, but {name} has none: wrap "
                f"it, for example CalibratedClassifierCV({name}()), or leave it out for the default."
            )
        copy = clone(one)
        last = {name: name.rpartition("__")[2] for name in copy.get_params()}
        prepared.append(copy.set_params(**{name: own[end] for name, end in last.items() if end in own}))
    return prepared


def name_judge(estimator: Any) -> str:
    """Return what to call a judge."""
    if isinstance(estimator, str):
        return "the model"
    if isinstance(estimator, list) and len(estimator) > 1:
        return f"the mean of {len(estimator)} classifiers"
    one = estimator[0] if isinstance(estimator, list) else estimator
    return type(one[-1] if isinstance(one, Pipeline) else one).__name__


def predict_rows(
    estimator: Any, X: Any, given: np.ndarray, classes: np.ndarray, seed: int,
    groups: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Return probabilities of each class for each row, by classifiers that were not trained on the row."""
    sizes = np.bincount(given[given >= 0], minlength=len(classes))
    learned = sizes >= (SMALLEST_CLASS if np.sum(sizes >= SMALLEST_CLASS) > 1 else 2)
    if learned.sum() < 2:
        said = "y must hold at least two classes with two rows each for a classifier to judge them"
        raise InputError(f"{said}, but holds {int(learned.sum())}: give more rows.")
    rows = np.flatnonzero((given >= 0) & learned[given])
    others = np.setdiff1d(np.arange(len(given)), rows)
    names = classes[given]  # not numbers: class_weight may speak of names
    p = np.zeros((len(given), len(classes)))

    def fit(trained):
        with warnings.catch_warnings():
            for message in QUIET:
                warnings.filterwarnings("ignore", message)
            return clone(estimator).fit(*_safe_split(estimator, X, names, trained))

    def fill(asked, model, found):
        p[np.ix_(asked, np.searchsorted(classes, model.classes_))] = found

    model = None
    if groups is None and can_leave_out(estimator):
        announce("training the judge")
        svms = isinstance(estimator, SubSVMClassifier)  # whose probabilities are shares of their votes
        if not svms:
            score = estimator.get_params(deep=False)["oob_score"] or True
            estimator = clone(estimator).set_params(oob_score=score)
        model = fit(rows)
        fill(rows, model, model.oob_votes_.share if svms else model.oob_decision_function_)
        p[rows[~np.isclose(p[rows].sum(axis=1), 1.0)]] = np.nan  # forests give zeros where they have none
    else:
        n_folds = int(min(FOLDS, sizes[learned].min()))
        if groups is None:
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(rows, given[rows])
        else:
            folds = split_groups(given[rows], groups[rows], n_folds, seed)
        for fold, (train, test) in enumerate(folds):
            announce("cross-validating the judge", fold, n_folds)
            part = fit(rows[train])
            asked, _ = _safe_split(estimator, X, None, rows[test], rows[train])
            fill(rows[test], part, part.predict_proba(asked))
    if len(others):
        model = model or fit(rows)
        asked, _ = _safe_split(estimator, X, None, others, rows)
        fill(others, model, model.predict_proba(asked))
    return p


def split_groups(
    labels: np.ndarray, groups: np.ndarray, n_folds: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows to train on and to judge in each fold; no group is in both."""
    n_folds = min(n_folds, len(np.unique(groups)))
    if n_folds < 2:
        raise InputError("groups must hold at least two groups of the rows that have labels: leave them out.")
    how: dict[str, Any] = {"shuffle": True, "random_state": seed}
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # a class may be one group's alone
        if len(first) <= MANY_GROUPS:
            folds = StratifiedGroupKFold(n_folds, **how).split(labels, labels, groups)
            yield from (fold for fold in folds if len(fold[1]))
            return
        for _, chosen in StratifiedKFold(n_folds, **how).split(first, labels[first]):
            test = np.isin(number, chosen)
            yield np.flatnonzero(~test), np.flatnonzero(test)


class KnownLook(CloserLook):
    """Looks with values that are known: larger ones are of side 1."""

    def __init__(self, seed: int, values: np.ndarray, groups: np.ndarray | None = None):
        super().__init__(seed, None, groups)
        self.values = values

    def separate(self, rows: np.ndarray, side: np.ndarray) -> np.ndarray:
        return self.values[rows]


def ask_trees(
    look: CloserLook | None, noise: NoiseEstimate, given: np.ndarray, votes: Votes, judgement: Judgement
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of overlap by trees, and how much less probable they find changes to each class."""
    # Two classes only: with more it was not measured, and the model of the noise is slower than the trees.
    weight, doubt = np.zeros(len(noise.classes)), np.zeros(len(noise.classes))
    X = None if look is None else look.features
    if look is None or X is None or len(noise.classes) > 2 or not judgement.flagged.any():
        return weight, doubt
    if sparse.issparse(X):
        X = take_columns(X, find_stored(X.indices, X.shape[1]))
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # trees take no others
    if X.shape[1] > MOST_JUDGED:
        return weight, doubt
    rows = np.flatnonzero(given >= 0)
    if len(rows) > MOST_JUDGED:
        rows = np.sort(np.random.default_rng(look.seed).choice(rows, MOST_JUDGED, replace=False))
    few = np.bincount(given[rows], minlength=2).min() < SMALLEST_CLASS
    if few or max(-X.min(), X.max()) > np.finfo(np.float32).max:  # trees take single precision
        return weight, doubt
    from sklearn.ensemble import ExtraTreesClassifier  # not for every table

    trees = ExtraTreesClassifier(N_TREES, min_samples_leaf=LEAF, bootstrap=True, random_state=look.seed)
    groups = None if look.groups is None else look.groups[rows]
    if groups is not None and len(first := np.unique(groups, return_index=True)[1]) >= len(rows) / 2:
        # of copies one will do, and out of bag is five times as fast
        rows, groups = rows[np.sort(first)], None
    p = predict_rows(trees, X[rows], given[rows], noise.classes, look.seed, groups)
    values = np.full((len(given), 2), np.nan)
    values[rows] = make_votes(p).mean_value
    rows = rows[np.isfinite(values[rows, 0]) & (votes.n_voters[rows] > 0)]
    second = estimate_noise(values[rows], given[rows], noise.classes, rates=noise.rates)
    lead = measure_loss(noise, votes.mean_value[rows], given[rows])
    heard = min(1.0, np.exp(ROWS_DOUBTED * (lead - measure_loss(second, values[rows], given[rows]))))
    for b in range(2):
        joining = rows[judgement.flagged[rows] & (judgement.suggested[rows] == b)]
        if len(joining) >= SMALLEST_CLASS:
            sides = find_sides(given, votes.mean_value[:, b], judgement, b)
            weight[b] = EVEN / (EVEN + compare_sides(KnownLook(look.seed, -values[:, b], look.groups), sides))
        if len(joining) and noise.error_rate_interval[1] <= VERY_NOISY:
            changed = second.judge(values[joining], given[joining])[:, b].mean()
            doubt[b] = heard * max(0.0, 1.0 - changed / judgement.posterior[joining, b].mean())
    return weight, doubt


def measure_loss(noise: NoiseEstimate, values: np.ndarray, given: np.ndarray) -> float:
    """Return the mean log loss of given labels, with noise of which the values know nothing."""
    eta = (noise.expect(values) @ noise.matrix)[np.arange(len(given)), given]
    return -float(np.log(np.maximum(eta, LEAST_PROBABILITY)).mean())


def can_leave_out(estimator: Any) -> bool:
    """Return whether a classifier is a committee whose members do not see all rows."""
    if isinstance(estimator, SubSVMClassifier):
        return True
    params = estimator.get_params(deep=False)
    return "oob_score" in params and bool(params.get("bootstrap")) and not params.get("warm_start")


def check_probabilities(
    X: Any, classes: np.ndarray, n_rows: int, name: str = "X", rows: np.ndarray | None = None
) -> np.ndarray:
    """Return out-of-sample probabilities as an array, if that is what X holds, the parameter `name`."""
    # Columns with names are taken by them, in any order; `rows` are row numbers from 0, for errors.
    names = classes.tolist()
    shown = ", ".join(cut(repr(name)) for name in names[:10]) + (", ..." if len(names) > 10 else "")
    expected = "{name} must hold out-of-sample probabilities, a column for each class in the order {shown}"

    def refuse(words: str, **values: Any) -> InputError:
        return InputError(expected + words, name=Setting(name), shown=shown, **values)

    if sparse.issparse(X):
        raise refuse(", but is a sparse matrix: use {parameter}.toarray().", parameter=name)
    columns = list_named(X)
    if columns is not None:
        found = find_columns_of(names, list(columns))
        if found is None:
            words = ", but its columns are {found}: name them by the classes, or give an array."
            raise refuse(words, found=name_few(list(map(cut, columns))))
        X = [columns[one] for one in found]
    try:
        p = np.array(X, dtype=float) if columns is None else np.stack(X, axis=1).astype(float)
    except (TypeError, ValueError):
        raise refuse(", but holds values that are not numbers.") from None
    if p.shape != (n_rows, len(names)):
        words = ", so of shape {wanted}; got {shape}: leave out columns of classes that y does not hold."
        raise refuse(words, wanted=(n_rows, len(names)), shape=p.shape)
    with np.errstate(invalid="ignore"):
        sums = p.sum(axis=1)
        outside = ~((p >= -RANGE_ERROR) & (p <= 1 + RANGE_ERROR)).all(axis=1)  # NaN and infinity, too
        uneven = ~(np.abs(sums - 1) <= SUM_ERROR)
    for wrong, words in (
        (outside, "holds {values}: they must be from 0 to 1"),
        (uneven, "sums to {total:g}: divide each row by its sum"),
    ):
        if wrong.any():
            row = int(np.argmax(wrong))
            where = row if rows is None else int(rows[row])
            words = f", but row {{where}}, counted from 0, {words}."
            raise refuse(words, where=where, values=p[row].tolist(), total=sums[row])
    return p


def list_named(X: Any) -> dict[str, np.ndarray] | None:
    """Return the columns of a data frame or a mapping by name; None if they have none but their numbers."""
    keys = list(X) if isinstance(X, Mapping) else getattr(X, "column_names", getattr(X, "columns", None))
    if keys is None or [*keys] in ([*range(len(keys))], [f"column_{i}" for i in range(len(keys))]):  # polars'
        return None
    return {str(key): np.asarray(X[key]) for key in keys}


def find_columns_of(names: list, columns: list[str]) -> list[str] | None:
    """Return the columns called like the classes, or as p_cat, p_dog; None if there are none or several."""
    first, *_ = texts = list(map(str, names))
    places = ((one, place) for one in columns for place in range(len(one)) if one.startswith(first, place))
    ways = {(one[:place], one[place + len(first) :]) for one, place in places}
    fitting = (way for way in ways if all(f"{way[0]}{text}{way[1]}" in columns for text in texts))
    found = [("", "")] if set(texts) <= set(columns) else list(fitting)
    return [f"{found[0][0]}{text}{found[0][1]}" for text in texts] if len(found) == 1 else None


def make_votes(p: np.ndarray) -> Votes:
    """Return probabilities in the form of votes of one voter; rows with NaN have no voter."""
    known = np.isfinite(p).all(axis=1)
    p = np.where(known[:, None], p, 0.0)
    logs = np.log(np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY))
    n_others = p.shape[1] - 1
    values = np.stack([np.tanh((logs[:, [c]] - logs) / 4).sum(axis=1) for c in range(n_others + 1)], axis=1)
    return Votes(p, values / n_others, known.astype(int))
