"""Save a fitted classifier to one file and load it again.

The compiled loops do not check bounds, so every index is checked here before they use it.
"""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from subsvms._numbers import check_type
from subsvms._states import State, distrust, is_array, is_within, read_state, require, write_state
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._rows import KINDS, PAD, Kernel, Rows
from subsvms.ensemble._votes import Voters, Votes
from subsvms.exceptions import InputError

ARRAYS = ("subsets_", "dual_coef_", "intercept_", "duality_gap_", "class_sizes_", "oob_winners_")
OOB = ("counts", "sums", "n_voters")
MODELS = {"SubSVMClassifier": SubSVMClassifier}
MAX_CLASS_BYTES = 1 << 26  # a forged file of a few bytes could ask for any length of text
WHOLE = "classifier with preprocessing"  # the header's "model" in a file that includes the preprocessing


def save(model: SubSVMClassifier, path: str | os.PathLike) -> None:
    """Write a fitted model to a file, which is replaced if it exists; if that fails, it is left as it was.

    Parameters
    ----------
    model : SubSVMClassifier
        A random_state that is a generator is not saved: a fitted model no longer needs it.
    path : path-like

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
    check_type("path", path, "a path", str, os.PathLike)
    write_state(classifier_to_state(model), path)


def classifier_to_state(model: SubSVMClassifier) -> State:
    """Return what a fitted classifier needs to vote, and its other fitted attributes."""
    name = type(model).__name__
    if MODELS.get(name) is not type(model):
        said = f"save takes a {' or '.join(MODELS)}, but got a {name}"
        raise TypeError(f"{said}: of a pipeline, pass the last step, and save the other steps separately.")
    check_is_fitted(model)
    voters = model.voters_
    arrays = {key: getattr(model, key) for key in ARRAYS}
    arrays |= {f"oob.{key}": getattr(model.oob_votes_, key) for key in OOB}
    arrays |= {f"voters.{key}": getattr(voters, key) for key in ("intercept", "pairs", "order")}
    header = {
        "model": name,
        "params": {key: _plain(key, value) for key, value in model.get_params().items()},
        "classes": {"dtype": model.classes_.dtype.str, "values": _plain_labels(model.classes_)},
        "n_iter_": model.n_iter_, "n_features_in_": model.n_features_in_,
        "feature_names_in_": list(getattr(model, "feature_names_in_", [])) or None,
        "kernel": voters.kernel._asdict(),
    }  # fmt: skip
    for part in ("lists", "rows"):
        rows = getattr(voters, part)
        header[part] = None if rows is None else {"full": rows.full, "n_columns": rows.n_columns}
        columns = {} if rows is None else rows._asdict()
        arrays |= {f"{part}.{key}": one for key, one in columns.items() if isinstance(one, np.ndarray)}
    return State(header, arrays)


def load(path: str | os.PathLike) -> SubSVMClassifier:
    """Read a model that `save` wrote: its votes have the same bits as those of the saved one.

    A file that is not such a model, is damaged or was changed is an InputError.

    Examples
    --------
    >>> import tempfile, subsvms
    >>> model = subsvms.SubSVMClassifier(n_estimators=20, random_state=0).fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subsvms.save(model, folder + "/model.safetensors")
    ...     again = subsvms.load(folder + "/model.safetensors")
    >>> again.predict([[0.2], [0.8]])
    array(['no', 'yes'], dtype='<U3')
    """
    check_type("path", path, "a path", str, os.PathLike)
    state = read_state(path)
    if state.header.get("model") == WHOLE:
        said = f"{str(path)!r} is a model with its preprocessing: use it to label a file (subsvms predict)"
        raise InputError(f"{said}, or load it with subsvms.app.runs.model.load_model.")
    with distrust(path):
        return build_classifier(state)


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as a value that JSON has."""
    if name == "random_state" and value is not None and not isinstance(value, (int, np.integer)):
        return None
    if isinstance(value, dict):  # JSON would turn the keys into strings
        return [[_plain("", key), _plain("", item)] for key, item in value.items()]
    return value.item() if isinstance(value, np.generic) else value


def _plain_labels(classes: np.ndarray) -> list:
    if classes.nbytes > MAX_CLASS_BYTES:
        said = f"The names of the {len(classes)} classes take {classes.nbytes >> 20} MB"
        raise InputError(f"{said}, too much for a model file: shorten the labels before fit.")
    values = classes.tolist()
    if not all(isinstance(value, (str, int, float, bool)) for value in values):
        said = f"Labels must be strings or numbers to be saved; got {type(values[0]).__name__}"
        raise TypeError(f"{said}: convert them before fit.")
    return values


def build_classifier(state: State) -> SubSVMClassifier:
    """Build a classifier from parts that may have been forged."""
    header, arrays = state
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
        require(len(names) == model.n_features_in_ and all(isinstance(n, str) for n in names), "names")
        model.feature_names_in_ = np.array(names, dtype=object)
    for key in ARRAYS:
        setattr(model, key, arrays[key])
    winners = model.oob_winners_
    require(is_array(model.class_sizes_, "i", (n_classes,)), "class sizes")
    require(is_array(winners, "i", (None,)) and is_within(winners, 0, n_classes), "winners")
    model.oob_votes_ = Votes(*(arrays[f"oob.{key}"] for key in OOB))

    kernel = header["kernel"]
    require(all(isinstance(kernel[key], int | float) for key in Kernel._fields), "kernel")
    intercept, pairs, order = (arrays[f"voters.{name}"] for name in ("intercept", "pairs", "order"))
    model.voters_ = Voters(
        _build_rows("lists", header["lists"], arrays), intercept, pairs, order,
        Kernel(kernel["kind"], float(kernel["gamma"]), float(kernel["coef0"]), int(kernel["degree"])),
        None if header["rows"] is None else _build_rows("rows", header["rows"], arrays),
    )  # fmt: skip
    require(model.voters_.kernel.kind == KINDS[model.kernel], "kernel")
    _check_voters(model.voters_, n_classes, model.n_features_in_)
    return model


def _build_classes(dtype: str, values: list) -> np.ndarray:
    plain = all(isinstance(value, str | int | float | bool) for value in values)
    kind = np.dtype(dtype)
    require(plain and len(values) >= 2 and kind.kind in "biufUO", "classes")
    require(0 < kind.itemsize * len(values) <= MAX_CLASS_BYTES, "classes")
    classes = np.array(values, dtype=kind)
    require(len(set(classes.tolist())) == len(values), "classes")
    return classes


def _build_rows(part: str, header: dict, arrays: dict[str, np.ndarray]) -> Rows:
    pointer, column, features = (arrays[f"{part}.{key}"] for key in ("pointer", "column", "features"))
    value, norm = arrays[f"{part}.value"], arrays[f"{part}.norm"]
    n_columns = int(header["n_columns"])
    require(
        all(is_array(array, "i", (None,)) and array.itemsize == 8 for array in (pointer, column, features))
        and is_array(value, "f", column.shape) and is_array(norm, "f", (len(pointer) - 1,))
        and value.dtype == norm.dtype and pointer[0] == 0 and pointer[-1] == len(column)
        and np.all(np.diff(pointer) >= 0) and np.all(pointer % PAD == 0) and is_within(column, 0, n_columns)
        and len(features) == n_columns and np.all(np.diff(features, prepend=-1) > 0),
        part,
    )  # fmt: skip
    return Rows(pointer, column, value, norm, bool(header["full"]), features, n_columns)


def _check_voters(voters: Voters, n_classes: int, n_features: int) -> None:
    """Raise an error unless every index that the compiled vote uses lies within its array."""
    lists, rows, kernel = voters.lists, voters.rows, voters.kernel
    n_pairs, n_problems = n_classes * (n_classes - 1) // 2, len(lists.pointer) - 1
    dtypes = {part.value.dtype for part in (lists, rows) if part is not None} | {voters.intercept.dtype}
    require(np.isfinite(kernel.gamma) and np.isfinite(kernel.coef0) and 1 <= kernel.degree < 2**31, "kernel")
    require(dtypes in ({np.dtype(np.float32)}, {np.dtype(np.float64)}), "precision")
    require(
        is_array(voters.pairs, "i", (n_pairs, 2)) and is_within(voters.pairs, 0, n_classes)
        and is_array(voters.order, "i", (n_classes,))
        and np.array_equal(np.sort(voters.order), np.arange(n_classes))
        and is_array(voters.intercept, "f", (n_problems,)) and n_problems > 0 and n_problems % n_pairs == 0
        and is_within((rows or lists).features, 0, n_features) and (rows is not None) == kernel.needs_rows
        and (rows is None or len(rows.norm) == lists.n_columns),
        "parts: they do not fit together",
    )  # fmt: skip
