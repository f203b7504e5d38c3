"""Classes and their numbers, and labels, which are checked once, on entry.

As in `_validation`, each message is one sentence that says what was expected, what was found, and what to do.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Number, Real
from typing import Any

import numpy as np

from subsvms.exceptions import InputError, Sentence, find_closest, format_value, is_text

MISSING = -1  # the class number of a missing label
INT64 = 2**63 - 1  # the largest whole number in most types
CLASSES_SHOWN = 10  # in a message


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of some labels, in the order of their numbers.

    True, 1 and "1" are different labels; 1 and 1.0 are the same.
    """

    names: np.ndarray  # (n_classes,)
    # where a column has other values than the names: the class number of each, -1 if it means a missing label
    spellings: Mapping[Any, int] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Iterable, spellings: Mapping[Any, int] | None = None) -> "Classes":
        """Return classes with these names, as Python has them, without loss."""
        # NumPy's own text would lose a NUL at its end, and whole numbers beyond int64 would become floats.
        names = list(names)
        if names and isinstance(names[0], str):
            return cls(np.array(names, dtype=object), spellings or {})
        beyond = any(isinstance(name, int) and name > INT64 for name in names)
        return cls(np.array(names, dtype=np.uint64 if beyond else None), spellings or {})

    @classmethod
    def learn(cls, labels: Iterable) -> tuple["Classes", np.ndarray]:
        """Return the classes of labels of one type, sorted, and the class number of each label."""
        labels = list(labels)
        classes = cls.of(sorted(set(labels) - {None}))
        return classes, classes.number(labels)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def labels(self) -> list:
        return self.names.tolist()

    @cached_property
    def texts(self) -> list[str]:
        return [str(label) for label in self.labels]

    @property
    def merged(self) -> bool:
        """Whether a value of the column means a class with another spelling."""
        values = self.spellings.items()
        return any(number >= 0 and value != self.labels[number] for value, number in values)

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        return {label: number for number, label in enumerate(self.labels)} | dict(self.spellings)

    def __contains__(self, label: Any) -> bool:
        if isinstance(label, bool | np.bool_) != any(isinstance(one, bool) for one in self.labels[:1]):
            return False
        return isinstance(label, Hashable) and label in self._numbers

    def number(self, labels: Any, *, unknown: int = MISSING) -> np.ndarray:
        """Return the class number of each label, -1 for a missing one."""
        labels = as_list(labels)
        typed = list(zip(map(type, labels), labels, strict=True))
        found = {one: self._numbers[one[1]] if one[1] in self else unknown for one in set(typed)}
        if unknown != MISSING:
            found |= dict.fromkeys([one for one in found if is_missing(one[1])], MISSING)
        return np.array([found[one] for one in typed], dtype=np.int64)

    def name(self, numbers: Any) -> np.ndarray:
        """Return the labels with these class numbers as Python has them; None for -1."""
        return np.array([*self.labels, None], dtype=object)[numbers]

    def find(self, label: Any, what: str = "A label", besides: str = "") -> int:
        """Return the number of a class; raise an error that lists the classes if it is none of them."""
        if label not in self:
            raise InputError(self._refuse(label, what, besides))
        return self._numbers[label]

    def find_text(self, text: str, what: str = "A label") -> int:
        """Return the number of the class whose name is written so; raise an error if there is none."""
        if text not in self.texts:
            raise InputError(self._refuse(text, what))
        return self.texts.index(text)

    def _refuse(self, label, what, besides=""):
        shown = ", ".join(map(format_value, self.labels[:CLASSES_SHOWN]))
        more = ", ..." if len(self) > CLASSES_SHOWN else ""
        close = find_closest(label, self.texts) if isinstance(label, str) else None
        guess = "." if close is None else f"; did you mean {self.labels[self.texts.index(close)]!r}?"
        return f"{what} must be one of {shown}{more}{besides}; got {format_value(label)}{guess}"


def name_labels(classes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the labels with these class numbers in the type of the classes; with None if one is -1."""
    return Classes(classes).name(numbers) if np.any(numbers < 0) else classes[numbers]


def check_labels(y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (classes, class numbers) of a column of labels."""
    from sklearn.utils.multiclass import check_classification_targets  # takes a second to import

    from subsvms._validation import take_in

    if y is None:
        raise InputError("requires y to be passed, but the target y is None: give a label for each row.")
    y = take_in(y)
    if getattr(getattr(y, "dtype", None), "kind", "") == "c":
        raise InputError("Complex data not supported: y must hold labels, that is, text or whole numbers.")
    y = _as_column(y)
    if len(y) != n_samples:
        said = f"X and y must have the same number of rows; got {n_samples} and {len(y)}"
        raise InputError(f"{said}: give one label for each row.")
    if y.dtype.kind in "fO":
        check_entries(y)
    if y.dtype == object and isinstance(y[0], Number):
        y = np.array(y.tolist())  # scikit-learn takes objects for text
    try:
        with np.errstate(invalid="ignore"):  # 1e308 as a whole number
            check_classification_targets(y)
    except (TypeError, ValueError) as error:
        floats = (label for label in y.tolist() if isinstance(label, float))
        odd = next((label for label in floats if not label.is_integer() or abs(label) > INT64), y[0])
        raise InputError(
            f"{str(error).partition('. ')[0]}: y must hold text, whole numbers or booleans, but holds "
            f"{format_value(odd)}: convert the labels, for example with [str(label) for label in y]."
        ) from None
    classes, numbers = np.unique(y, return_inverse=True)
    broken = [name for name in classes.tolist() if isinstance(name, str) and not is_text(name)]
    if broken:
        found = f"{format_value(broken[0])} contains an unpaired surrogate"
        raise InputError(f"y must hold valid text, but {found}: fix the label.")
    if len(classes) < 2:
        raise InputError(
            "{y} must hold at least two classes, but holds only one class, {name!r}: check that {y} is the "
            "label column.",
            name=str(classes[0]),
        )
    return classes, numbers


def _as_column(y):
    """Return labels as an array with one dimension; NumPy and pandas would change some of them silently."""
    if isinstance(y, list | tuple):  # [1, "a"] and ["a", nan] would become strings
        check_entries(y)
        if any(isinstance(label, str) and label.endswith("\0") for label in y):  # which would be cut off
            y = np.array(y, dtype=object)
    elif np.ma.is_masked(y):
        y = np.array(y.tolist(), dtype=object)  # None where a label is masked
    from sklearn.utils.validation import column_or_1d

    try:
        column = column_or_1d(y, warn=True)
    except (TypeError, ValueError) as error:
        raise InputError(f"{str(error).rstrip('.')}: give one label for each row.") from None
    if column.dtype.kind in "mMV":
        said = f"Unknown label type: y must hold text, whole numbers or booleans, but holds {column.dtype}"
        raise InputError(f"{said}: convert the labels, for example with [str(label) for label in y].")
    own_type = not isinstance(getattr(y, "dtype", column.dtype), np.dtype)
    return np.array(list(y)) if own_type and column.dtype.kind == "f" else column  # pandas' Int64, say


def check_entries(y: Any) -> None:
    """Raise an error if labels are missing or infinite, or of several types, such as text and numbers."""
    numbers = (float, np.floating)
    missing = [i for i, one in enumerate(y) if is_missing(one) or isinstance(one, numbers) and np.isinf(one)]
    if missing:
        said = f"Input y contains NaN, None or infinity (inf) in {len(missing)} of {len(y)} rows"
        raise InputError(f"{said}, the first in row {missing[0]}: drop these rows or label them first.")
    kinds = {
        "text" if isinstance(label, str) else "number" if isinstance(label, Number) else type(label).__name__
        for label in y
    }
    if len(kinds) > 1:
        said = f"Unknown label type: y must hold labels of one type, but holds {' and '.join(sorted(kinds))}"
        raise InputError(f"{said}: convert them, for example with [str(label) for label in y].")


def check_some_labels(y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (classes, class numbers) of a column of labels, of which some may be missing: -1."""
    missing = find_missing(y)
    whole = not missing.any() or len(missing) != n_samples
    own_type = not isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype)  # pandas' Int64, say
    known = drop_missing(y, missing) if own_type or not whole else y
    if whole:
        return check_labels(known, n_samples)
    if not known:
        words = "{y} must hold labels, but every label is missing: check that {y} is the label column."
        raise InputError(Sentence(words))
    numbers = np.full(n_samples, MISSING)
    classes, numbers[~missing] = check_labels(known, len(known))
    return classes, numbers


def find_missing(y: Any) -> np.ndarray:
    """Return which labels are missing."""
    dtype = getattr(y, "dtype", None)
    complete = isinstance(dtype, np.dtype) and dtype.kind in "iubUS" and not np.ma.is_masked(y)
    if not _is_column(y):  # a mistake that `check_labels` reports
        return np.zeros(0, dtype=bool)
    if complete:  # pandas' Int64 can hold NA, but is of another type
        return np.zeros(len(y), dtype=bool)
    return np.array([is_missing(label) for label in as_list(y)], dtype=bool)


def drop_missing(y: Any, missing: np.ndarray) -> list:
    return [label for label, gone in zip(as_list(y), missing, strict=True) if not gone]


def _is_column(values):
    """Return whether these are values in one dimension, whatever they are."""
    if isinstance(values, list | tuple | Iterator):  # NumPy fails if they are lists of different lengths
        return True
    from scipy.sparse import issparse

    return not issparse(values) and np.ndim(values) == 1


def as_list(values: Any) -> list:
    """Return a column as a list, None where an Arrow or masked array has no value."""
    for name in ("to_pylist", "tolist"):
        if hasattr(values, name):
            found = getattr(values, name)()
            return list(found) if isinstance(found, list) else [found]
    if not isinstance(values, Iterable):
        raise InputError(f"Labels must be a list or a column of them; got {format_value(values)}.")
    return list(values)


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, NaT or pandas' NA."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas' NA is neither equal nor unequal to anything
        return type(label).__name__ == "NAType"


def check_class_weight(class_weight: Any, classes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the weight of each class as an array."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):  # "balanced"
        return len(numbers) / (len(classes) * np.bincount(numbers))
    weights = [class_weight.get(name, 1.0) for name in classes.tolist()]
    unknown = [key for key in class_weight if key not in classes.tolist()]
    sound = all(isinstance(weight, Real) and 0 < float(weight) < np.inf for weight in weights)
    if unknown or not sound:
        raise InputError(
            f"class_weight must give known classes positive finite weights; got {class_weight!r} "
            f"for the classes {classes.tolist()!r}: leave out classes with weight 1."
        )
    return np.array(weights, dtype=float)


def check_verified(verified: Any, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the class number of each verified label, -1 where no label was verified."""
    numbers = np.full(n_rows, -1)
    if verified is None:
        return numbers
    if not _is_column(verified):
        raise InputError(f"verified must have one entry for each of the {n_rows} rows, in one dimension.")
    verified = as_list(verified)
    if len(verified) != n_rows:
        raise InputError(f"verified must have one entry for each of the {n_rows} rows; got {len(verified)}.")
    known = Classes(classes)
    for row, label in enumerate(verified):
        if not is_missing(label):
            numbers[row] = known.find(label, f"The verified label of row {row}")
    return numbers


def check_groups(groups: Any, n_rows: int) -> np.ndarray:
    """Return the number of each row's group; rows without one get numbers of their own."""
    if not _is_column(groups) and not isinstance(groups, range):
        raise InputError(Sentence("{groups} must have one entry for each row, in one dimension."))
    values = as_list(groups)
    if len(values) != n_rows:
        words = "{groups} must have one entry for each of the {n_rows} rows; got {n}."
        raise InputError(words, n_rows=n_rows, n=len(values))
    seen: dict[Any, int] = {}
    numbers = [seen.setdefault(object() if is_missing(one) else one, len(seen)) for one in values]
    if len(seen) < 2:
        words = (
            "{groups} must hold two groups or more: each is judged by what is learned from others; got {n}."
        )
        raise InputError(words, n=len(seen))
    return np.array(numbers)
