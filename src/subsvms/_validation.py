"""Check once, on entry, what the user passes: tables and parameters.

Numbers are checked in `_numbers`, labels in `_labels`. Inner functions trust their input. Each message is one
sentence that says what was expected, what was found, and what to do.
"""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils._array_api import _convert_to_numpy, get_namespace
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import validate_data

from subsvms._callers import find_stacklevel
from subsvms._columns import Table, drop_empty
from subsvms._effort import ONE_THREAD, Effort, run_pieces
from subsvms.exceptions import InputError, Note, Sentence, Setting, format_value

Fit = TypeVar("Fit", bound=Callable[..., Any])

FLOATS = (np.float64, np.float32)
NOT_NUMBERS = "not numbers"  # kind of errors about text, dates, and values that are missing or infinite
PIECE = 2**16  # rows, or numbers of a sparse table, that a thread adds up at a time
ROWS_FOR_SPREAD = 2000  # rows that are enough to see a table's spread
FAR_APART = 30.0  # exp(-30) is practically zero; with scaled features the exponent is about 1
MAX_SVMS, MAX_MULTIPLIERS = 5_000_000, 50_000_000  # 4.5 and 30 million took 3.8 GB to train


def checked(fit: Fit) -> Fit:
    """Have scikit-learn check the parameters of an estimator, and keep the types of its `fit`."""
    validated = _fit_context(prefer_skip_nested_validation=False)(fit)

    @wraps(fit)
    def call(estimator, *args, **more):
        for name, value in estimator.get_params(deep=False).items():
            if isinstance(value, int) and value.bit_length() > 64:  # Python may refuse to write it
                words = "{name} must be within 64 bits; got a number of {bits:,} bits."
                raise InputError(words, name=Setting(name), bits=value.bit_length())
        return validated(estimator, *args, **more)

    return cast(Fit, call)


def check_table(estimator: Any, X: Any, *, reset: bool, on_gpu: bool = False) -> Table:
    """Return X as a finite C-ordered float array or CSR matrix; the estimator keeps its column names."""
    X = take_in(X, on_gpu=on_gpu)
    check_kind(X)
    try:
        table = check_array(
            X, accept_sparse="csr", dtype=FLOATS, order="C", ensure_all_finite=False, estimator=estimator,
            input_name="X",
        )  # fmt: skip
        names = getattr(X, "column_names", getattr(X, "columns", None))  # the first is Arrow's
        check_finite(table, names, Effort.of(estimator))
        validate_data(estimator, X, reset=reset, skip_check_array=True)  # names and number of features
    except InputError:
        raise
    except (ValueError, OverflowError) as error:
        raise InputError(_one_sentence(X, str(error))) from None
    except TypeError as error:
        raise TypeError(_one_sentence(X, str(error))) from None
    if sparse.issparse(table) and not table.has_canonical_format:
        table = table.copy()  # never change the user's own matrix
        table.sum_duplicates()
    return table


def check_kind(X: Any) -> None:
    """Raise an error if a table is of a kind that would be silently misread."""
    if sparse.issparse(X):
        check_format(X)
    elif np.ma.is_masked(X):
        words = "{X} must hold a number in each cell, but some are masked: fill or drop them first."
        raise InputError(Sentence(words))
    elif getattr(getattr(X, "dtype", None), "kind", "") in tuple("mM"):
        words = "{X} must hold numbers, but holds dates or times: convert them to numbers."
        raise TypeError(Note(NOT_NUMBERS, words))


def check_format(X: Table) -> None:
    """Raise an error if a sparse matrix has indices out of range: compiled loops do not check them."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo" and X.ndim == 2:
            sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)  # which checks them
    except ValueError as error:
        words = "{X} must be a valid {format} matrix, but {error}: build it again."
        raise InputError(words, format=X.format.upper(), error=error) from None


def _one_sentence(X, message):
    """Return a message as one line, or a shorter one that does not print the table and says what to do."""
    if "DType" in message or "Cannot cast" in message:
        return Note(
            NOT_NUMBERS,
            "{X} must hold numbers, but has columns of types that cannot be combined: convert dates and so "
            "on to numbers first, for example with skrub's TableVectorizer.",
        )
    if "argument must be a string" in message or "too large to convert" in message:
        what = "64-bit numbers" if "too large" in message else "numbers"
        words = "{X} must hold {what}, but {message}: convert or drop such values first."
        return Note(NOT_NUMBERS, words, what=what, message=message)
    if "with a sequence" in message:
        words = "{X} must have two dimensions, rows and features, and a number in each cell: some hold lists."
        return Sentence(words)
    if "at least one array or dtype" in message:
        return Sentence("{X} must have at least one column, but has 0 feature(s): check which were chosen.")
    if "could not convert" in message:
        words = "{X} must hold numbers, but {message}: encode text and categories first, for example with "
        return Note(NOT_NUMBERS, f"{words}skrub's TableVectorizer.", message=message)
    if "Expected 2D array" in message:
        return (
            f"X must have two dimensions, rows and features, but has {np.ndim(X)}: Reshape your data "
            "with X.reshape(-1, 1) if it is one feature, or X.reshape(1, -1) if it is one row."
        )
    if "Complex data" in message:
        return "Complex data not supported: X must hold real numbers, for example X.real and X.imag."
    return " ".join(message.split())


def check_finite(X: Table, names: Any = None, effort: Effort = ONE_THREAD) -> None:
    """Raise an error that says where the first NaN or infinity is, if there is one."""
    values = X.data if sparse.issparse(X) else X
    suspicious = []
    on_gpu = not isinstance(values, np.ndarray)  # other threads have other devices: one sum, here

    def add_up(first, last):
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(values[first:last].sum(dtype=np.float64)):  # one pass, no copy
                suspicious.append(first)

    run_pieces(add_up, len(values), max(len(values), 1) if on_gpu else PIECE, effort)
    for first in range(0, X.shape[0] if suspicious else 0, 4096):
        block = X[first : first + 4096]
        if sparse.issparse(block):
            block = block.tocoo()
            bad = np.flatnonzero(~np.isfinite(block.data))
            places = np.stack([block.row[bad], block.col[bad]], axis=1)
        else:
            places = np.argwhere(~np.isfinite(block))
        if len(places):
            row, column = places[0]
            what = "NaN" if np.isnan(X[first + row, column]) else "infinity (inf)"
            where = f"column {column}" if names is None else f"column {str(names[column])!r}"
            words = (
                "{X} must be finite, but row {row}, {where} holds {what}: fill or drop such values first, "
                "for example with scikit-learn's SimpleImputer."
            )
            raise InputError(Note(NOT_NUMBERS, words, row=first + row, where=where, what=what))


def warn_unscaled(X: Table, gamma: float) -> None:
    """Warn if rows are so far apart that every SVM only knows its own rows."""
    # The mean of gamma |x - z|^2 over pairs of rows is 2 gamma times the sum of the features' variances.
    sample = X[:: max(X.shape[0] // ROWS_FOR_SPREAD, 1)]
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(sample):
            _, variances = mean_variance_axis(drop_empty(sample)[0], axis=0)
        else:
            variances = sample.var(axis=0, dtype=np.float64)
        exponent = 2.0 * gamma * np.sum(variances)
    if not exponent < FAR_APART:
        words = (
            f"The rbf kernel between two rows is about exp(-{exponent:.3g}), so the SVMs cannot distinguish "
            "near from far: scale the features, for example with MinMaxScaler, or use gamma='scale'."
        )
        warnings.warn(words, UserWarning, stacklevel=find_stacklevel())


def check_square(K: Table) -> None:
    """Raise an error unless a precomputed kernel has a column for each row."""
    if sparse.issparse(K):
        raise TypeError("A precomputed kernel must be dense, but is a sparse matrix: use K.toarray().")
    if K.shape[0] != K.shape[1]:
        raise InputError(
            f"A precomputed kernel must be square, as in K(X, X); got shape {K.shape}: "
            "pass X itself with another kernel, or compute the kernel between all its rows."
        )


def check_cost(n_estimators: int, n_classes: int, size: int) -> None:
    """Raise an error if one-against-one SVMs for this many classes would not fit in memory."""
    # A subset of s rows has K(K-1)/2 SVMs with (K-1) s multipliers in total.
    n_svms = n_classes * (n_classes - 1) // 2
    n_multipliers = (n_classes - 1) * size
    affordable = min(MAX_SVMS // n_svms, MAX_MULTIPLIERS // n_multipliers)
    if n_estimators > affordable:
        advice = "lower {n_estimators} to {affordable}" if affordable else "lower {subsample_size}"
        raise InputError(
            "{n_classes} classes need {n_svms} SVMs with {n_multipliers} multipliers for each of {asked} "
            f"subsets, which is too much for memory: {advice}, or check that {{y}} is the label column.",
            n_classes=n_classes, n_svms=n_svms, n_multipliers=n_multipliers, affordable=affordable,
            asked=Setting("n_estimators", n_estimators),
        )  # fmt: skip


def check_rows(rows: Any, n_rows: int) -> np.ndarray:
    """Return row numbers, one or a list, as an array; a list of bools says which rows."""
    expected = f"rows must be whole numbers from 0 to {n_rows - 1}, or a bool for each row"
    try:
        numbers = np.asarray(rows)
    except ValueError:  # lists of different lengths
        numbers = np.asarray(None)
    if numbers.dtype == bool and numbers.shape == (n_rows,):
        return np.flatnonzero(numbers)
    if numbers.size == 0 and numbers.ndim == 1:
        return np.zeros(0, dtype=int)
    if numbers.ndim > 1 or numbers.dtype.kind not in "iu":
        raise InputError(f"{expected}; got {format_value(rows)}.")
    outside = (numbers < 0) | (numbers >= n_rows)
    if outside.any():
        raise InputError(f"{expected}; got {numbers[outside][0]}.")
    return numbers.astype(np.int64)


# Arrays of other libraries, in scikit-learn's manners: a tensor in, a tensor of the same device out, where
# its dispatch is switched on (`sklearn.set_config(array_api_dispatch=True)`); else a tensor is turned into a
# NumPy array. NumPy and compiled loops compute, so tables travel to the CPU, unless SVMs vote on their GPU.


def is_foreign(X: Any) -> bool:
    """Return whether X is an array of another library, and such arrays are asked for."""
    return get_config()["array_api_dispatch"] and hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray)


def lies_on_gpu(X: Any) -> bool:
    """Return whether a foreign array lies in the memory of a GPU with CUDA."""
    return hasattr(X, "__cuda_array_interface__")


def take_in(X: Any, *, on_gpu: bool = False) -> Any:
    """Return a foreign array as one of NumPy, or of CuPy if it lies on a GPU and may stay there."""
    if not is_foreign(X):
        return X
    if on_gpu and lies_on_gpu(X):
        return adopt(X)
    return _convert_to_numpy(X, get_namespace(X)[0])


def adopt(X: Any) -> Any:
    """Return an array on a GPU as one of CuPy, without a copy, when all work on it is done."""
    import cupy

    array = cupy.from_dlpack(X)
    array.device.synchronize()  # it may be read in another stream than the one that fills it
    return array


def give_back(result: Any, X: Any) -> Any:
    """Return a result as an array of the library and on the device of X; text stays an array of NumPy."""
    if not is_foreign(X) or result.dtype.kind not in "biuf":
        return result
    xp = get_namespace(X)[0]
    return xp.asarray(result, device=X.device) if isinstance(result, np.ndarray) else xp.from_dlpack(result)


def name_classes(classes: np.ndarray, numbers: Any) -> Any:
    """Return the labels of class numbers: where the numbers are, but text is never on a GPU."""
    if isinstance(numbers, np.ndarray):
        return classes[numbers]
    if classes.dtype.kind in "biuf":
        return np.asarray(classes, like=numbers)[numbers]
    return classes[numbers.get()]
