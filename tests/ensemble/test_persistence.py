import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load, save
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

import subsvms
from subsvms import SubSVMClassifier
from subsvms._states import read_state, write_state

X = np.random.default_rng(0).normal(size=(90, 4))
LABELS = np.arange(90) % 3
NAMES = np.array(["a", "bb", "ccc"])
MODELS = {
    "three classes": {},
    "strings": dict(y=NAMES[LABELS]),
    "objects": dict(y=NAMES.astype(object)[LABELS]),
    "booleans": dict(y=LABELS == 1, class_weight={True: 2.0}),
    "sparse": dict(X=sparse.csr_array(X * (X > 1))),
    "linear": dict(kernel="linear", y=LABELS == 1, loss="hinge", C=1.0),
    "precomputed": dict(X=rbf_kernel(X), kernel="precomputed"),
    "double precision": dict(X=X + 1e5, C=np.float64(1e4)),
    "a generator": dict(random_state=np.random.RandomState(0)),
}


def make_model(X=X, y=LABELS, **params):
    return SubSVMClassifier(n_estimators=30, random_state=0).set_params(**params).fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_has_the_bits_of_the_saved_one(name, tmp_path):
    model = make_model(**MODELS[name])
    subsvms.save(model, tmp_path / "m")
    loaded = subsvms.load(tmp_path / "m")
    new = rbf_kernel(X, X) if name == "precomputed" else X[::-1] * 1.1
    assert_array_equal(loaded.count_votes(new).sums, model.count_votes(new).sums)
    assert_array_equal(loaded.predict(new), model.predict(new), strict=True)
    fitted = {key for key in dir(model) if key.endswith("_") and not key.startswith("_")}
    for key in fitted - {"oob_votes_", "voters_"}:
        assert_array_equal(getattr(loaded, key), getattr(model, key))
    expected = model.get_params() | ({"random_state": None} if name == "a generator" else {})
    assert loaded.get_params() == expected


def test_column_names_are_kept(tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("wxyz"))
    subsvms.save(make_model(frame), tmp_path / "m")
    assert_array_equal(subsvms.load(tmp_path / "m").feature_names_in_, list("wxyz"))


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m"
    subsvms.save(make_model(), path)
    return read_state(path)


FORGERIES = {
    "a column outside": lambda h, a: a["lists.column"].__setitem__(0, 10**9),
    "a negative column": lambda h, a: a["rows.column"].__setitem__(0, -1),
    "a pointer outside": lambda h, a: a["lists.pointer"].__setitem__(-1, 10**9),
    "a pointer that falls": lambda h, a: a["rows.pointer"].__setitem__(1, 10**6),
    "a negative feature": lambda h, a: a["rows.features"].__setitem__(0, -1),
    "a column where there is none": lambda h, a: (
        h["rows"].__setitem__("n_columns", 0),
        a.__setitem__("rows.features", a["rows.features"][:0]),
        a["rows.column"].__setitem__(slice(None), 0),
    ),
    "a feature outside": lambda h, a: a["rows.features"].__setitem__(-1, 10**6),
    "a class outside": lambda h, a: a["voters.pairs"].__setitem__((0, 0), 7),
    "an order of other classes": lambda h, a: a["voters.order"].__setitem__(0, 9),
    "too few intercepts": lambda h, a: a.__setitem__("voters.intercept", a["voters.intercept"][:4]),
    "mixed precision": lambda h, a: a.__setitem__("lists.value", a["lists.value"].astype(float)),
    "NaN": lambda h, a: a["lists.value"].__setitem__(0, np.nan),
    "fewer features": lambda h, a: h.__setitem__("n_features_in_", 3),
    "a feature twice": lambda h, a: a["rows.features"].__setitem__(0, 1),
    "a missing feature": lambda h, a: a.__setitem__("rows.features", a["rows.features"][:3]),
    "fewer columns": lambda h, a: h["rows"].__setitem__("n_columns", 1),
    "another kernel": lambda h, a: h["kernel"].__setitem__("kind", 8),
    "no rows": lambda h, a: h.__setitem__("rows", None),
    "another model": lambda h, a: h.__setitem__("model", "os.system"),
    "unknown parameter": lambda h, a: h["params"].__setitem__("shell", True),
    "a parameter out of range": lambda h, a: h["params"].__setitem__("C", -1.0),
    "a missing array": lambda h, a: a.pop("subsets_"),
    "an empty header": lambda h, a: h.clear(),
    "infinitely many columns": lambda h, a: h["rows"].__setitem__("n_columns", float("inf")),
    "gamma as text": lambda h, a: h["kernel"].__setitem__("gamma", "wide"),
    "NaN as gamma": lambda h, a: h["kernel"].__setitem__("gamma", float("nan")),
    "the kernel of another model": lambda h, a: h["params"].__setitem__("kernel", "linear"),
    "an order of fractions": lambda h, a: a.__setitem__("voters.order", a["voters.order"] / 1.0),
    "a norm in half precision": lambda h, a: a.__setitem__("rows.norm", a["rows.norm"].astype(np.float16)),
    "too few class sizes": lambda h, a: a.__setitem__("class_sizes_", a["class_sizes_"][:1]),
    "one class three times": lambda h, a: h["classes"].__setitem__("values", [1, 1, 1]),
    "classes that are lists": lambda h, a: h["classes"].__setitem__("values", [[0], [1], [2]]),
    "classes out of range": lambda h, a: h["classes"].__setitem__("values", [0, 1, 10**30]),
    "classes of length zero": lambda h, a: h["classes"].__setitem__("dtype", "<U0"),
    "classes of an invalid type": lambda h, a: h["classes"].__setitem__("dtype", "f4,,"),
    "too few names": lambda h, a: h.__setitem__("feature_names_in_", ["a"]),
    "half a character": lambda h, a: h.__setitem__("feature_names_in_", ["\ud800", "b", "c", "d"]),
    "too few norms": lambda h, a: a.__setitem__("rows.norm", a["rows.norm"][:2]),
    "rows without a header": lambda h, a: h.__setitem__("rows", {}),
    "very many columns": lambda h, a: h["rows"].__setitem__("n_columns", 10**12),
    "no degree": lambda h, a: h["kernel"].__setitem__("degree", None),
    "pairs of fractions": lambda h, a: a.__setitem__("voters.pairs", a["voters.pairs"] / 1.0),
    "a table of intercepts": lambda h, a: a.__setitem__("voters.intercept", a["voters.intercept"][:, None]),
    "NaN as an intercept": lambda h, a: a["voters.intercept"].__setitem__(0, np.nan),
    "NaN as a norm": lambda h, a: a["rows.norm"].__setitem__(0, np.nan),
}


def forge(state, path, change):
    """Write a copy of a state, with a correct checksum, in which header and arrays were changed."""
    header, arrays = json.loads(json.dumps(state.header)), load(save(state.arrays))
    change(header, arrays)
    write_state(state._replace(header=header, arrays=arrays), path)
    return path


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_with_a_correct_checksum_is_refused(state, tmp_path, name):
    same = subsvms.load(forge(state, tmp_path / "same", lambda header, arrays: None))
    assert same.n_features_in_ == 4  # so it is the forgery that is refused
    with pytest.raises(ValueError, match="does not describe a model that can vote"):
        subsvms.load(forge(state, tmp_path / "m", FORGERIES[name]))


def test_only_a_fitted_classifier_with_names_that_fit_into_a_file_is_saved(tmp_path, monkeypatch):
    monkeypatch.setattr("subsvms.ensemble._persistence.MAX_CLASS_BYTES", 10)
    for model, error, message in [
        (SubSVMClassifier(), NotFittedError, "not fitted"),
        (LogisticRegression(), TypeError, "got a LogisticRegression"),
        (make_model(y=NAMES[LABELS]), ValueError, "names of the 3 classes take .* shorten the labels"),
    ]:
        with pytest.raises(error, match=message):
            subsvms.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["x" * 100_000, "x " * 50_000, "\x1b[2J\n"])
def test_a_forged_text_is_neither_printed_at_length_nor_sent_to_the_terminal(state, tmp_path, text):
    forge(state, tmp_path / "m", lambda h, a: h["params"].__setitem__("loss", text))
    with pytest.raises(ValueError, match="does not describe a model that can vote") as error:
        subsvms.load(tmp_path / "m")
    assert len(str(error.value)) < 500 and str(error.value).isprintable()


LIMITED = """
import resource, sys
import subsvms
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    subsvms.load(sys.argv[1])
except ValueError as error:
    assert "check its classes" in str(error), error
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_forged_type_takes_no_memory(state, tmp_path):
    classes = {"dtype": "<U400000000", "values": ["a", "b", "c"]}
    path = forge(state, tmp_path / "m", lambda h, a: h.__setitem__("classes", classes))
    command = [sys.executable, "-c", LIMITED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200  # MB; the type asks for 4.8 GB
