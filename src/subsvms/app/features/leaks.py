"""Columns that give the label away, such as a code of it: whoever learns from them finds no wrong label.

A column is suspected if the label follows from it almost always. That alone does not tell a copy of the label
from an excellent feature, so what the other columns say is looked at, too:

    what the column is                      the other columns miss of the labels     it is
    a code: one value for each class        any share                                left out
    a code from which 2 to 5 % differ       four times as many                       left out
    anything else                           hardly any, so they are as good          used
    anything else, and no label differs     more                                     left out
    anything else, and up to 2 % differ     most, so they say too little             used
                                            any other share                          left out

"Of the labels" is of those outside the largest class. An honest column loses little by being left out: if the
labels follow from it, few of them are wrong. A copy that is used hides all wrong labels. Whatever is done is
said in a note, with the option that does the opposite.

A column that holds the classes of the label, and no others, is probably a further answer about the row, by
another person, who may guess. Learned from, it would hide errors that both make. Many honest columns say yes
and no, or hold numbers as small as those of the classes: then its name must look like an answer, too, or with
three classes or more it must agree with the label far more than by chance.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from subsvms.app.features.columns import MIN_ROWS, find_missing_values, number_values
from subsvms.app.quoting import show
from subsvms.app.tables.arrow import list_values
from subsvms.exceptions import MAX_NAMED, Note, Sentence, Setting, format_percent, name_few

MAX_MISSED = 0.02  # share of the labels outside the largest class that a leak may miss
MAX_MISSED_BY_CODE = 0.05  # the same of a column with one value for each class, if others prove it a copy
MUCH_WORSE = 4  # times as many labels as such a copy misses
AS_GOOD = 2 * MAX_MISSED  # the other columns are about as good if they miss no more
USEFUL = 0.8  # they say something about the labels if they miss no more; guessing misses all
MOST_ROWS = 4000  # that the other columns are judged by: a second of work


ANSWERS = (
    "{columns} {name} {hold} the classes of the label, as answers of other people do, so {they} not used: to "
    "compare the people, give {annotators} in place of {label}, or use a column with {keep}."
)
WORDS = {  # of notes on one column, and on several: left out; used because they were asked for; used
    "leak": (
        "The column {name} was left out, because it gives the label away: {why}. If it was known before the "
        "label, use it with {keep}.",
        "The columns {name} were left out, because each gives the label away: {why}. If one was known before "
        "the label, use it, as with {keep}.",
    ),
    "kept_leak": (
        "The column {name} was used because you asked for it, though it gives the label away: {why}. Wrong "
        "labels that agree with it cannot be found.",
        "The columns {name} were used because you asked for them, though each gives the label away: {why}. "
        "Wrong labels that agree with them cannot be found.",
    ),
    "possible_leak": (
        "The {what} {name} may give the label away: {why}. It was used; if it was not known before the "
        "label, leave it out{hint}.",
        "The {what}s {name} may each give the label away: {why}. They were used; if one was not known before "
        "the label, leave it out{hint}.",
    ),
}


COMMON = {"yes", "no", "y", "n", "true", "false", "t", "f", "low", "medium", "high"}  # in honest columns
AGREEING = 0.2  # Cohen's kappa of a further answer and the label, at least
ANSWER_NAME = re.compile(r"annotat|label|rater|coder|reviewer|answer|vote|(?:^|_)ann_?\d*$", re.IGNORECASE)


def is_answer(column: Any, name: str, labels: np.ndarray, classes: list, label: str | None = None) -> bool:
    """Return whether a column (pyarrow) looks like further answers; `labels` are class numbers.

    Labels as given, beside those of a corrected table, are answers, too.
    """
    from pyarrow import types

    if types.is_nested(column.type):
        return False
    distinct = {str(value) for value in list_values(column.unique())} - {"None", ""}
    numbers = {str(one): number for number, one in enumerate(classes)}
    if distinct != numbers.keys():
        return False
    common = all(one.lower() in COMMON or one.lstrip("-").replace(".", "", 1).isdigit() for one in distinct)
    named = ANSWER_NAME.search(name) is not None or name.startswith(f"{label}_given")
    if common and len(classes) == 2 and not named:
        return False
    said = np.array([numbers.get(str(value), -1) for value in list_values(column)])
    both = (said >= 0) & (labels >= 0)
    if both.sum() < MIN_ROWS:
        return False
    counts = np.zeros((len(classes), len(classes)))
    np.add.at(counts, (said[both], labels[both]), 1.0 / both.sum())
    agreed, chance = np.trace(counts), counts.sum(axis=0) @ counts.sum(axis=1)
    likely = named or not common or agreed - chance >= AGREEING * (1.0 - chance)
    return bool(likely and agreed < 1.0)  # a copy is a leak


@dataclass(frozen=True)
class Leak:
    """How the label follows from a column."""

    words: str
    missed: float  # the labels that contradict it, as a share of those outside the largest class
    is_code: bool  # whether it has one value for each class


def find_leak(values: np.ndarray, labels: np.ndarray) -> Leak | None:
    """Return how a column gives the label away, or None if it does not."""
    # A value that several rows share predicts their most frequent label; where values hardly repeat, sorting
    # the rows by value must separate the labels.
    known = labels >= 0
    values, labels = values[known], labels[known]
    n, n_classes = len(labels), len(np.unique(labels))
    n_other = count_others(labels)
    if n < MIN_ROWS or n_classes < 2:
        return None
    codes, n_distinct = number_values(values)
    if n_distinct > n / 10 and values.dtype != object:
        order = np.lexsort((labels, values))
        n_changes = np.sum(np.diff(labels[order]) != 0)
        if n_changes > n_classes - 1 + 2 * MAX_MISSED * n_other:  # one misplaced row makes two changes
            return None
        missed = (n_changes - n_classes + 1) / 2 / n_other
        nearly = "nearly " if missed else ""
        return Leak(f"sorted by its values, the rows are {nearly}sorted by label", float(missed), False)
    counts = sparse.coo_array((np.ones(n), (codes, labels)), shape=(n_distinct, labels.max() + 1)).tocsr()
    top = counts.max(axis=1).toarray().ravel()
    n_wrong = int(n - top[top > 1].sum())  # the prediction of a value that occurs once cannot be checked
    winners = counts.argmax(axis=1).ravel()
    present = n_distinct - bool(find_missing_values(values).any())
    is_code = min(present, n_distinct) == n_classes == len(np.unique(winners))
    if n_wrong > (MAX_MISSED_BY_CODE if is_code else MAX_MISSED) * n_other:
        return None
    if n_wrong == 0 and n_distinct == n_classes:
        return Leak("each of its values goes with one label, and each label with one value", 0.0, True)
    determined = f"its values determine {format_percent(1 - n_wrong / n)} of the labels"
    return Leak(determined, n_wrong / n_other, bool(is_code))


def count_others(labels: np.ndarray) -> int:
    """Return how many labels, given as class numbers, are outside the largest class."""
    return int(len(labels) - np.bincount(labels).max()) if len(labels) else 0


def measure_missed(X: Any, labels: np.ndarray) -> float:
    """Return how many labels columns miss, by what was learned from other rows: a share, as in `Leak`."""
    rows = np.flatnonzero(labels >= 0)
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    own = labels[rows]
    return float(np.sum(_predict_others(X[rows], own) != own) / max(1, count_others(own)))


def _predict_others(X, labels):
    """Return a prediction for each row by classifiers that were not trained on it."""
    if sparse.issparse(X):  # a forest would take long on many columns
        from sklearn.linear_model import RidgeClassifier
        from sklearn.model_selection import KFold, cross_val_predict

        return cross_val_predict(RidgeClassifier(), X, labels, cv=KFold(5, shuffle=True, random_state=0))
    from sklearn.ensemble import ExtraTreesClassifier

    bags = {"bootstrap": True, "oob_score": True, "n_jobs": 1, "random_state": 0}
    forest = ExtraTreesClassifier(100, min_samples_leaf=2, **bags).fit(X, labels)
    return forest.classes_[np.nan_to_num(forest.oob_decision_function_).argmax(axis=1)]


def is_left_out(leak: Leak, missed: float | None) -> bool:
    """Return whether a suspected column is left out."""
    if leak.is_code and leak.missed <= MAX_MISSED:
        return True
    if missed is None:
        return False
    if leak.is_code:
        return missed >= MUCH_WORSE * leak.missed
    return missed > AS_GOOD and (leak.missed == 0 or missed <= USEFUL)


def note_leaks(kind: str, leaks: dict[str, Leak], what: str = "column") -> list[Note]:
    """Return a note of a kind of `WORDS` on some columns or features, which says why of the first of them."""
    if not leaks:
        return []
    names, some = list(leaks), list(leaks)[:MAX_NAMED]
    hint = Sentence(" with {exclude}", exclude=Setting("exclude", some)) if what == "column" else ""
    values = {"what": what, "hint": hint, "keep": Setting("keep", some)}
    words = WORDS[kind][len(names) > 1]
    return [Note(kind, words, name=name_few(list(map(show, names))), why=leaks[names[0]].words, **values)]
