"""Arrays of other libraries, in scikit-learn's manners: a tensor in, a tensor of the same device out.

This happens where scikit-learn's dispatch is switched on (``sklearn.set_config(array_api_dispatch=True)``);
without it a tensor is turned into a NumPy array, as by any estimator of scikit-learn. Everything is computed
by NumPy and compiled loops, so tables travel to the CPU, unless SVMs vote on the GPU that holds them.
"""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils._array_api import _convert_to_numpy, get_namespace


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
