"""Ready-made matrices, which are only scaled: LIBSVM text, and embeddings in .npy or .npz files."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from subsvms._columns import drop_empty, take_columns
from subsvms._numbers import read_array
from subsvms._states import State, is_array, is_choice, is_number, require
from subsvms.app.features.columns import note_unused
from subsvms.app.quoting import explaining, suggest_file
from subsvms.app.tables.files import MAX_SHARE, measure_free_memory
from subsvms.app.tables.svmlight import MAX_COLUMNS
from subsvms.exceptions import TableError


@dataclass(frozen=True, eq=False)
class SparseScaler:
    """Scales sparse columns by their largest absolute value, so that zeros stay zeros."""

    kept: np.ndarray  # (n_features,): columns that vary
    scale: np.ndarray  # (n_features,)

    @classmethod
    def fit(cls, X: Any, chosen: list[int], name: str) -> tuple:
        """Return the parts of `Features` for these columns of a CSR matrix."""
        stored, columns = drop_empty(X)
        low, high = (_ravel(limit) for limit in (stored.min(axis=0), stored.max(axis=0)))
        wanted = np.isin(columns, chosen)
        varies = wanted & (high > low)
        kept = columns[varies]
        if len(kept) == 0:
            raise TableError(f"{name} has no column to learn from: each holds only one value.")
        scaler = cls(kept, 1.0 / np.maximum(-low, high)[varies])
        n_filled = int(np.sum(wanted & (np.bincount(stored.indices, minlength=len(columns)) > 0)))
        notes = _note_constant(n_filled - len(kept), n_filled, "columns")
        names = tuple(str(j) for j in kept)
        return scaler._apply(X), names, names, notes, scaler

    def transform(self, table: Any) -> Any:
        """Return the features (n_rows, n_features) of a table that was read from LIBSVM text."""
        if table.matrix is None:
            raise TableError(
                f"{table.name} is {table.format}, but the model was trained on LIBSVM text: use such a file."
            )
        return self._apply(table.matrix)

    def _apply(self, X):
        taken = take_columns(X, self.kept)
        taken.data *= self.scale[taken.indices]
        return taken

    def to_state(self) -> State:
        """Return what was learned."""
        return State({}, {"kept": self.kept, "scale": self.scale})

    @classmethod
    def from_state(cls, state: State) -> "SparseScaler":
        """Build a scaler from a state that may have been forged."""
        kept, scale = (state.arrays[key] for key in ("kept", "scale"))
        require(is_choice(kept, MAX_COLUMNS), "features")
        require(is_array(scale, "f8", kept.shape), "scales")
        return cls(kept, scale)


@dataclass(frozen=True, eq=False)
class ArrayScaler:
    """Subtracts each column's median and scales all by one number, so that distances keep their order."""

    kept: np.ndarray  # (n_features,): columns that vary
    center: np.ndarray  # (n_features,): zeros for sparse input
    scale: float
    n_columns: int  # of the input

    @classmethod
    def fit(cls, X: Any, name: str) -> tuple:
        """Return the parts of `Features` for an array or CSR matrix."""
        is_sparse = sparse.issparse(X)
        filled, columns = drop_empty(X) if is_sparse else (X, np.arange(X.shape[1]))
        low, high = (_ravel(limit) for limit in (filled.min(axis=0), filled.max(axis=0)))
        varies = high > low
        kept = columns[varies]
        if len(kept) == 0:
            raise TableError(f"{name!r} has no feature to learn from: each holds only one value.")
        if is_sparse:
            center, spread = np.zeros(len(kept)), np.maximum(-low, high)[varies]
        else:
            center = np.median(X[:, kept], axis=0)
            spread = np.subtract(*np.percentile(X[:, kept], (95, 5), axis=0))
        size = float(np.sqrt(np.mean(spread**2))) or float(np.max(high - low))
        scaler = cls(kept, center, 1.0 / size, X.shape[1])
        names = tuple(f"{Path(name).name}[{j}]" for j in kept)
        notes = _note_constant(X.shape[1] - len(kept), X.shape[1], f"features in {name!r}")
        return scaler.transform(X), names, names, notes, scaler

    def transform(self, X: Any) -> Any:
        """Return the features of an array or matrix (n_rows, n_columns) with the same columns."""
        if X.shape[1] != self.n_columns:
            raise TableError(
                f"The features have {X.shape[1]} columns, but the model needs {self.n_columns}: make them "
                "like those it was trained on."
            )
        if sparse.issparse(X) and np.any(self.center):  # the model was trained on a dense array
            X = X.toarray()
        if sparse.issparse(X):
            return take_columns(X, self.kept) * self.scale
        return (X[:, self.kept] - self.center) * self.scale

    def to_state(self) -> State:
        """Return what was learned."""
        header = {"scale": self.scale, "n_columns": self.n_columns}
        return State(header, {"kept": self.kept, "center": self.center})

    @classmethod
    def from_state(cls, state: State) -> "ArrayScaler":
        """Build a scaler from a state that may have been forged."""
        kept, center = (state.arrays[key] for key in ("kept", "center"))
        scale, n_columns = (state.header[key] for key in ("scale", "n_columns"))
        require(isinstance(n_columns, int) and is_choice(kept, n_columns), "features")
        require(is_array(center, "f8", kept.shape) and is_number(scale), "scales")
        return cls(kept, center, float(scale), n_columns)


def _note_constant(n_dropped, n, what):
    words = "{n_dropped} of {n} {what}, with only one value each"
    return (note_unused(words, n_dropped=n_dropped, n=n, what=what),) if n_dropped else ()


def _ravel(limit):
    return limit.toarray().ravel() if sparse.issparse(limit) else limit


def load_array(path: str | os.PathLike, n_rows: int) -> Any:
    """Return the numbers in an .npy or .npz file as float64; no code in the file is run."""
    path, name = Path(path), repr(str(path))
    if not path.is_file():
        raise TableError(f"There is no file {name} with features{suggest_file(path)}")
    return check_array(load_numbers(path), name, n_rows)


def check_array(X: Any, name: str, n_rows: int) -> Any:
    """Return ready-made features as float64, dense or CSR; raise an error if they cannot be features."""
    X = X.tocsr() if sparse.issparse(X) else read_array("features", X, None)
    if X.ndim != 2:
        raise TableError(f"The features in {name} must have two dimensions, rows and columns; got {X.ndim}.")
    if X.shape[0] != n_rows:
        raise TableError(
            f"The features in {name} have {X.shape[0]} rows, but the table has {n_rows}: give one row for "
            "each row of the table, in the same order."
        )
    if X.dtype.kind not in "biuf":
        raise TableError(f"The features in {name} must be numbers; got values of type {X.dtype}.")
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity, which are refused next
        X = X.astype(np.float64)
    finite = np.isfinite(X.data if sparse.issparse(X) else X)
    rows = sparse.coo_array(X).row[~finite] if sparse.issparse(X) else np.flatnonzero(~finite.all(axis=1))
    if len(rows):
        raise TableError(
            f"The features in {name} hold NaN or infinity, first in row {rows[0]}: fill in such values first."
        )
    return X


def load_numbers(path: Path) -> Any:
    """Return the array or CSR matrix in an .npy or .npz file; no code in the file is run."""
    name = repr(str(path))
    try:
        with explaining(f"{name} is not a valid .npy or .npz file of numbers", "save it again."):
            found = np.load(path, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            with found:
                if sum(part.file_size for part in found.zip.infolist()) > MAX_SHARE * measure_free_memory():
                    raise MemoryError
                if "indptr" in found.files or "format" in found.files:
                    matrix = sparse.load_npz(path)
                    if matrix.format in ("csr", "csc", "bsr"):  # SciPy's loops do not check indices
                        matrix.check_format(full_check=True)
                    return sparse.csr_matrix(matrix)
                if len(found.files) == 1:
                    return found[found.files[0]]
                arrays = ", ".join(map(repr, found.files)) or "none"
    except MemoryError:  # also NumPy's
        raise TableError(
            f"{name} does not fit in the free memory once decompressed: free some, or save fewer columns."
        ) from None
    raise TableError(f"{name} must hold one array; got {arrays}: save that one alone.")
