"""A tensor in, a tensor out: array_api_strict stands for torch and CuPy, which are tried where they are."""

import numpy as np
import pytest
import sklearn
from ensemble.emulated_gpu import COMPILER, EmulatedGPU, emulate

import subsvms._validation as arrays
from subsvms import SubSVMClassifier, correct_labels
from subsvms.ensemble._device import CHECKED, count_gpus
from subsvms.exceptions import InputError

METHODS = ("predict", "predict_proba", "decision_function")


@pytest.fixture
def dispatching(monkeypatch):
    """Switch scikit-learn's dispatch on."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture
def strict():
    return pytest.importorskip("array_api_strict")


def make_table(n_classes=2):
    rng = np.random.default_rng(0)
    y = np.arange(60) % n_classes
    return rng.normal(0.3 + 0.4 * y[:, None], 0.2, (60, 4)), y


def fit(X, y, **options):
    return SubSVMClassifier(n_estimators=9, random_state=0, **options).fit(X, y)


def assert_as_numpy(found, expected):
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_results_have_the_library_and_the_device_of_the_table(strict, dispatching, n_classes):
    X, y = make_table(n_classes)
    model = fit(X, y)
    device = strict.Device("device1")
    tensor = strict.asarray(X, device=device)
    for name in METHODS:
        found = getattr(model, name)(tensor)
        assert isinstance(found, type(tensor)) and found.device == device
        assert_as_numpy(found.to_device(strict.Device("CPU_DEVICE")), getattr(model, name)(X))
    with sklearn.config_context(array_api_dispatch=False):
        assert isinstance(model.predict(strict.asarray(X)), np.ndarray)
    X[3, 1] = np.nan
    with pytest.raises(InputError, match="row 3, column 1 holds NaN"):
        model.predict(strict.asarray(X))


def test_a_fit_and_a_correction_take_tensors_and_labels_of_text_stay_with_numpy(strict, dispatching):
    X, y = make_table()
    y = np.where(np.arange(60) % 9 == 0, 1 - y, y)
    model = fit(strict.asarray(X), strict.asarray(y))
    assert_as_numpy(model.predict(strict.asarray(X)), fit(X, y).predict(X))
    options = {"estimator": SubSVMClassifier(n_estimators=20), "random_state": 0}
    corrected = correct_labels(strict.asarray(X), strict.asarray(y), **options)
    assert_as_numpy(corrected.labels, correct_labels(X, y, **options).labels)
    named = fit(X, np.array(["no", "yes"])[y]).predict(strict.asarray(X))
    assert isinstance(named, np.ndarray) and set(named) <= {"no", "yes"}


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_table_on_the_gpu_that_votes_stays_there(strict, dispatching, monkeypatch, tmp_path, n_classes):
    X, y = make_table(n_classes)
    gpu, device = EmulatedGPU(tmp_path), strict.Device("device1")

    def adopt(tensor):
        gpu.adopted = tensor._array
        return tensor._array

    model, expected = fit(X, y).set_params(device="cuda"), fit(X, y)
    tensor = strict.asarray(X, device=device)  # NumPy refuses to read it
    monkeypatch.setattr(arrays, "lies_on_gpu", lambda _: True)
    monkeypatch.setattr(arrays, "adopt", adopt)
    emulate(monkeypatch, gpu)
    for name in METHODS:
        found = getattr(model, name)(tensor)
        assert found.device == device
        assert_as_numpy(found.to_device(strict.Device("CPU_DEVICE")), getattr(expected, name)(X))
    assert gpu.most_fetched == CHECKED < len(X)


@pytest.mark.parametrize("library, where", [("torch", "cpu"), ("torch", "cuda"), ("cupy", "cuda")])
@pytest.mark.parametrize("device", ["cpu", "cuda", "auto"])
def test_tensors_of_torch_and_cupy(dispatching, library, where, device):
    arrays = pytest.importorskip(library)
    if "cuda" in (where, device) and not count_gpus():
        pytest.skip("needs a GPU")
    X, y = make_table(3)
    model, expected = fit(X, y, device=device), fit(X, y)
    tensor = arrays.asarray(X, device=where) if library == "torch" else arrays.asarray(X)
    for name in METHODS:
        found = getattr(model, name)(tensor)
        assert type(found) is type(tensor) and found.device == tensor.device
        assert_as_numpy(found.cpu() if library == "torch" else found.get(), getattr(expected, name)(X))
    named = fit(X, np.array(["a", "b", "c"])[y], device=device).predict(tensor)
    assert isinstance(named, np.ndarray)
