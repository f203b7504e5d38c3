"""Save a fitted model to one file and load it again: arrays as safetensors, the rest as JSON.

No pickle, so loading runs no code. A file is trusted with nothing: its checksum tells damage and careless
edits, and because the compiled loops do not check bounds, every index is checked here before they see it.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from sklearn.utils.validation import check_is_fitted

from subsvms.estimators import SubSVMClassifier
from subsvms.kernel import KINDS, Kernel
from subsvms.rows import PAD, Rows
from subsvms.votes import Voters, Votes
from subsvms.writing import write_whole

FORMAT = 1  # raised when an older reader could misread a file
ARRAYS = (
    "subsets_",
    "dual_coef_",
    "intercept_",
    "duality_gap_",
    "class_sizes_",
    "oob_winners_",
)
OOB = ("counts", "sums", "n_voters")
MODELS = {"SubSVMClassifier": SubSVMClassifier}
# What a forged file can make Python raise while its parts are put together.
WRONG = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)


def save(model: SubSVMClassifier, path: str | os.PathLike) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : SubSVMClassifier
        A random_state that is a generator is not saved: the model needs it no more.
    path : path-like
        An existing file is replaced.

    Examples
    --------
    >>> import tempfile, subsvms
    >>> X, y = [[0.0], [0.1], [0.9], [1.0]], ["no", "no", "yes", "yes"]
    >>> model = subsvms.SubSVMClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subsvms.save(model, folder + "/model.safetensors")
    ...     print(subsvms.load(folder + "/model.safetensors").predict([[0.2], [0.8]]))
    ['no' 'yes']
    """
    name = type(model).__name__
    if MODELS.get(name) is not type(model):
        raise TypeError(
            f"save takes a {' or '.join(MODELS)}, but got a {name}: of a pipeline, save the last step and "
            "keep the others yourself."
        )
    check_is_fitted(model)
    path = Path(path).resolve()  # a link keeps leading to the file
    if path.exists() and not path.is_file():
        raise OSError(f"{str(path)!r} is a folder or a device: give the name of an ordinary file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} to save in: make it first.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"The folder {str(path.parent)!r} cannot be written to: choose another.")
    voters = model.voters_
    arrays = {key: getattr(model, key) for key in ARRAYS}
    arrays |= {f"oob.{key}": getattr(model.oob_votes_, key) for key in OOB}
    arrays |= {f"voters.{key}": getattr(voters, key) for key in ("intercept", "pairs", "order")}
    header = {
        "model": name,
        "params": {key: _plain(key, value) for key, value in model.get_params().items()},
        "classes": {"dtype": model.classes_.dtype.str, "values": _plain_labels(model.classes_)},
        "n_iter_": model.n_iter_,
        "n_features_in_": model.n_features_in_,
        "feature_names_in_": list(getattr(model, "feature_names_in_", [])) or None,
        "kernel": voters.kernel._asdict(),
    }
    for part in ("lists", "rows"):
        rows = getattr(voters, part)
        header[part] = None if rows is None else {"full": rows.full, "n_columns": rows.n_columns}
        if rows is not None:
            arrays |= {
                f"{part}.{key}": value
                for key, value in rows._asdict().items()
                if isinstance(value, np.ndarray)
            }
    arrays = {key: np.ascontiguousarray(value) for key, value in arrays.items()}
    text = json.dumps(header)
    metadata = {"subsvms": str(FORMAT), "header": text, "sha256": _digest(text, arrays)}
    write_whole(path, to_bytes(arrays, metadata))


def load(path: str | os.PathLike) -> SubSVMClassifier:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    SubSVMClassifier
        Fitted; it votes to the bit as the saved one did.

    Raises
    ------
    ValueError
        If the file is no such model, is damaged, or was changed.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r} to load a model from.")
    path.open("rb").close()  # tells a missing permission better than safetensors does
    metadata, arrays = _read(path)
    text = metadata.get("header", "")
    if metadata.get("sha256") != _digest(text, arrays):
        raise ValueError(f"{str(path)!r} was changed after it was saved: save the model again.")
    try:
        return _build(json.loads(text), arrays)
    except WRONG as error:
        raise ValueError(f"{str(path)!r} does not describe a model that can vote: {error}.") from error


def _read(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            if metadata.get("subsvms") == str(FORMAT):
                return metadata, {key: file.get_tensor(key) for key in file.keys()}
    except (SafetensorError, UnicodeDecodeError, *WRONG) as error:
        raise ValueError(
            f"{str(path)!r} is no model file, or it is damaged: save the model again ({error})."
        ) from None
    if "subsvms" not in metadata:
        raise ValueError(f"{str(path)!r} is a safetensors file, but no model written by subsvms.save.")
    raise ValueError(
        f"{str(path)!r} has format {metadata['subsvms'][:20]!r}, but this version of subsvms reads "
        f"format {FORMAT}: use the version that wrote it."
    )


def _digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for key in sorted(arrays):
        array = arrays[key]
        digest.update(f"{key} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if name == "random_state" and value is not None and not isinstance(value, (int, np.integer)):
        return None
    if isinstance(value, dict):  # JSON would turn the keys into strings
        return [[_plain("", key), _plain("", item)] for key, item in value.items()]
    return value.item() if isinstance(value, np.generic) else value


def _plain_labels(classes: np.ndarray) -> list:
    values = classes.tolist()
    if not all(isinstance(value, (str, int, float, bool)) for value in values):
        raise TypeError(
            f"Labels must be strings or numbers to be saved; got {type(values[0]).__name__}: "
            "convert them before fit."
        )
    return values


def _build(header: dict, arrays: dict[str, np.ndarray]) -> SubSVMClassifier:
    """Put a model together from parts that may have been forged."""
    params = header["params"]
    if isinstance(params["class_weight"], list):
        params["class_weight"] = dict(params["class_weight"])
    model = MODELS[header["model"]](**params)
    model._validate_params()
    model.classes_ = _build_classes(**header["classes"])
    n_classes = len(model.classes_)
    model.n_iter_ = int(header["n_iter_"])
    model.n_features_in_ = int(header["n_features_in_"])
    names = header["feature_names_in_"]
    if names is not None:
        _require(len(names) == model.n_features_in_ and all(isinstance(n, str) for n in names), "names")
        model.feature_names_in_ = np.array(names, dtype=object)
    for key in ARRAYS:
        setattr(model, key, arrays[key])
    _require(_is(model.class_sizes_, "i", (n_classes,)), "class sizes")
    _require(_is(model.oob_winners_, "i", (None,)) and _within(model.oob_winners_, 0, n_classes), "winners")
    model.oob_votes_ = Votes(*(arrays[f"oob.{key}"] for key in OOB))

    kernel = header["kernel"]
    _require(all(isinstance(kernel[key], int | float) for key in Kernel._fields), "kernel")
    rows = None if header["rows"] is None else _build_rows("rows", header["rows"], arrays)
    model.voters_ = Voters(
        lists=_build_rows("lists", header["lists"], arrays),
        intercept=arrays["voters.intercept"],
        pairs=arrays["voters.pairs"],
        order=arrays["voters.order"],
        kernel=Kernel(
            kind=kernel["kind"],
            gamma=float(kernel["gamma"]),
            coef0=float(kernel["coef0"]),
            degree=int(kernel["degree"]),
        ),
        rows=rows,
    )
    _require(model.voters_.kernel.kind == KINDS[model.kernel], "kernel")
    _check_voters(model.voters_, n_classes, model.n_features_in_)
    return model


def _build_classes(dtype: str, values: list) -> np.ndarray:
    plain = all(isinstance(value, str | int | float | bool) for value in values)
    _require(plain and len(values) >= 2 and np.dtype(dtype).kind in "biufUO", "classes")
    classes = np.array(values, dtype=np.dtype(dtype))
    _require(len(set(classes.tolist())) == len(values), "classes")
    return classes


def _build_rows(part: str, header: dict, arrays: dict[str, np.ndarray]) -> Rows:
    pointer, column, column_of = (arrays[f"{part}.{key}"] for key in ("pointer", "column", "column_of"))
    value, norm = arrays[f"{part}.value"], arrays[f"{part}.norm"]
    n_columns = int(header["n_columns"])
    _require(
        all(_is(array, "i", (None,)) and array.itemsize == 8 for array in (pointer, column, column_of))
        and _is(value, "f", column.shape)
        and _is(norm, "f", (len(pointer) - 1,))
        and value.dtype == norm.dtype
        and pointer[0] == 0
        and pointer[-1] == len(column)
        and np.all(np.diff(pointer) >= 0)
        and np.all(pointer % PAD == 0)
        and _within(column, 0, n_columns)
        and _within(column_of, -1, n_columns)
        and n_columns == np.sum(column_of >= 0),
        part,
    )
    return Rows(pointer, column, value, norm, bool(header["full"]), column_of, n_columns)


def _check_voters(voters: Voters, n_classes: int, n_features: int) -> None:
    """Raise an error unless every index that the compiled vote follows leads inside its array."""
    lists, rows, kernel = voters.lists, voters.rows, voters.kernel
    n_pairs, n_problems = n_classes * (n_classes - 1) // 2, len(lists.pointer) - 1
    dtypes = {part.value.dtype for part in (lists, rows) if part is not None} | {voters.intercept.dtype}
    _require(np.isfinite(kernel.gamma) and np.isfinite(kernel.coef0) and kernel.degree >= 1, "kernel")
    _require(dtypes in ({np.dtype(np.float32)}, {np.dtype(np.float64)}), "precision")
    _require(
        _is(voters.pairs, "i", (n_pairs, 2))
        and _within(voters.pairs, 0, n_classes)
        and _is(voters.order, "i", (n_classes,))
        and np.array_equal(np.sort(voters.order), np.arange(n_classes))
        and _is(voters.intercept, "f", (n_problems,))
        and n_problems % n_pairs == 0
        and len(voters.column_of) == n_features
        and (rows is not None) == kernel.needs_rows
        and (rows is None or len(rows.norm) == lists.n_columns),
        "parts, which do not fit together",
    )


def _require(condition: Any, part: str) -> None:
    if not condition:
        raise ValueError(f"look at its {part}")


def _is(array: np.ndarray, kind: str, shape: tuple[int | None, ...]) -> bool:
    """Tell if an array has this kind of numbers, all finite, and this shape; None stands for any."""
    fits = array.ndim == len(shape) and all(
        wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    return array.dtype.kind == kind and fits and bool(np.isfinite(array).all())


def _within(array: np.ndarray, low: int, end: int) -> bool:
    return array.size == 0 or bool(array.min() >= low and array.max() < end)
