import json
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors import safe_open
from safetensors.numpy import save as to_bytes
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

import subsvms
from subsvms import SubSVMClassifier
from subsvms import _states as states

X = np.random.default_rng(0).normal(size=(90, 4))
LABELS = np.arange(90) % 3


def make_model(X=X, y=LABELS, **params):
    return SubSVMClassifier(n_estimators=30, random_state=0).set_params(**params).fit(X, y)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    subsvms.save(make_model(), path)
    return path


def read(path):
    with safe_open(path, framework="np") as file:
        return file.metadata(), {key: file.get_tensor(key) for key in file.keys()}


MODELS = {
    "three classes": make_model(),
    "strings": make_model(y=np.array(["a", "bb", "ccc"])[LABELS]),
    "objects": make_model(y=np.array(["a", "bb", "ccc"], dtype=object)[LABELS]),
    "booleans": make_model(y=LABELS == 1, class_weight={True: 2.0}),
    "sparse": make_model(sparse.csr_array(X * (X > 1))),
    "linear": make_model(kernel="linear", y=LABELS == 1, loss="hinge", C=1.0),
    "precomputed": make_model(rbf_kernel(X), kernel="precomputed"),
    "double precision": make_model(X + 1e5, C=np.float64(1e4)),
    "a generator": make_model(random_state=np.random.RandomState(0)),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_votes_to_the_bit_as_the_saved_one(name, tmp_path):
    model = MODELS[name]
    subsvms.save(model, tmp_path / "m")
    loaded = subsvms.load(tmp_path / "m")
    new = rbf_kernel(X, X) if name == "precomputed" else X[::-1] * 1.1
    assert_array_equal(loaded.count_votes(new).sums, model.count_votes(new).sums)
    assert_array_equal(loaded.predict(new), model.predict(new))
    assert loaded.classes_.dtype == model.classes_.dtype
    for key in (
        "subsets_",
        "dual_coef_",
        "intercept_",
        "duality_gap_",
        "oob_vote_share_",
        "oob_mean_value_",
        "n_iter_",
    ):
        assert_array_equal(getattr(loaded, key), getattr(model, key))
    expected = model.get_params()
    if name == "a generator":
        expected["random_state"] = None
    assert loaded.get_params() == expected


def test_column_names_are_kept(tmp_path):
    import pandas as pd

    model = make_model(pd.DataFrame(X, columns=list("wxyz")))
    subsvms.save(model, tmp_path / "m")
    assert_array_equal(subsvms.load(tmp_path / "m").feature_names_in_, list("wxyz"))


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    before = saved.read_bytes()

    def full_disk(_):
        raise OSError("No space left on device")

    monkeypatch.setattr(states.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        subsvms.save(MODELS["strings"], saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.parametrize("length", [0, 5, 8, 100, -1])
def test_a_truncated_file_is_refused(saved, length):
    content = saved.read_bytes()
    saved.write_bytes(content[:length])
    with pytest.raises(ValueError, match="no model file, or it is damaged"):
        subsvms.load(saved)


def test_every_changed_byte_is_noticed(saved):
    content = bytearray(saved.read_bytes())
    for place in np.random.default_rng(0).integers(8, len(content), 200):
        changed = bytearray(content)
        changed[place] ^= 1
        saved.write_bytes(changed)
        with pytest.raises(ValueError, match="model"):
            subsvms.load(saved)


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "m"
    path.write_text("label,a,b\n1,2,3\n" * 100)
    with pytest.raises(ValueError, match="no model file"):
        subsvms.load(path)
    path.write_bytes(to_bytes({"weight": np.ones(3)}))
    with pytest.raises(ValueError, match="no model written by subsvms"):
        subsvms.load(path)
    with pytest.raises(FileNotFoundError, match="no file"):
        subsvms.load(tmp_path / "nowhere")


def test_a_pickle_is_refused_and_not_run(tmp_path):
    import pickle

    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "exploded"), "w"))

    (tmp_path / "m").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match="no model file"):
        subsvms.load(tmp_path / "m")
    assert not (tmp_path / "exploded").exists()


def test_another_format_is_refused(saved):
    metadata, arrays = read(saved)
    saved.write_bytes(to_bytes(arrays, metadata | {"subsvms": "99"}))
    with pytest.raises(ValueError, match="format '99'.*reads format 1"):
        subsvms.load(saved)


def forge(path, change):
    """Change a file as someone would who can compute a checksum."""
    metadata, arrays = read(path)
    header = json.loads(metadata["header"])
    change(header, arrays)
    text = json.dumps(header)
    metadata |= {"header": text, "sha256": states.digest(text, arrays)}
    path.write_bytes(to_bytes(arrays, metadata))


FORGERIES = {
    "a column outside": lambda h, a: a["lists.column"].__setitem__(0, 10**9),
    "a negative column": lambda h, a: a["rows.column"].__setitem__(0, -1),
    "a pointer outside": lambda h, a: a["lists.pointer"].__setitem__(-1, 10**9),
    "a pointer that falls": lambda h, a: a["rows.pointer"].__setitem__(1, 10**6),
    "a feature outside": lambda h, a: a["rows.column_of"].__setitem__(0, 10**6),
    "a class outside": lambda h, a: a["voters.pairs"].__setitem__((0, 0), 7),
    "an order of other classes": lambda h, a: a["voters.order"].__setitem__(0, 9),
    "too few intercepts": lambda h, a: a.__setitem__("voters.intercept", a["voters.intercept"][:4]),
    "mixed precision": lambda h, a: a.__setitem__("lists.value", a["lists.value"].astype(float)),
    "NaN": lambda h, a: a["lists.value"].__setitem__(0, np.nan),
    "more features": lambda h, a: h.__setitem__("n_features_in_", 7),
    "fewer columns": lambda h, a: h["rows"].__setitem__("n_columns", 1),
    "another kernel": lambda h, a: h["kernel"].__setitem__("kind", 8),
    "no rows": lambda h, a: h.__setitem__("rows", None),
    "another model": lambda h, a: h.__setitem__("model", "os.system"),
    "unknown parameter": lambda h, a: h["params"].__setitem__("shell", True),
    "a parameter out of range": lambda h, a: h["params"].__setitem__("C", -1.0),
    "a missing array": lambda h, a: a.pop("subsets_"),
    "no header": lambda h, a: h.clear(),
    "a column where there is none": lambda h, a: (
        h["rows"].__setitem__("n_columns", 0),
        a["rows.column_of"].__setitem__(slice(None), -1),
        a["rows.column"].__setitem__(slice(None), 0),
    ),
    "rows that are no table": lambda h, a: h.__setitem__("rows", {}),
    "infinitely many columns": lambda h, a: h["rows"].__setitem__("n_columns", float("inf")),
    "very many columns": lambda h, a: h["rows"].__setitem__("n_columns", 10**12),
    "gamma in words": lambda h, a: h["kernel"].__setitem__("gamma", "wide"),
    "gamma that is no number": lambda h, a: h["kernel"].__setitem__("gamma", float("nan")),
    "no degree": lambda h, a: h["kernel"].__setitem__("degree", None),
    "the kernel of another model": lambda h, a: h["params"].__setitem__("kernel", "linear"),
    "an order of fractions": lambda h, a: a.__setitem__("voters.order", a["voters.order"] / 1.0),
    "pairs of fractions": lambda h, a: a.__setitem__("voters.pairs", a["voters.pairs"] / 1.0),
    "a table of intercepts": lambda h, a: a.__setitem__("voters.intercept", a["voters.intercept"][:, None]),
    "an intercept that is no number": lambda h, a: a["voters.intercept"].__setitem__(0, np.nan),
    "a norm in half precision": lambda h, a: a.__setitem__("rows.norm", a["rows.norm"].astype(np.float16)),
    "a norm that is no number": lambda h, a: a["rows.norm"].__setitem__(0, np.nan),
    "too few class sizes": lambda h, a: a.__setitem__("class_sizes_", a["class_sizes_"][:1]),
    "one class thrice": lambda h, a: h["classes"].__setitem__("values", [1, 1, 1]),
    "classes that are lists": lambda h, a: h["classes"].__setitem__("values", [[0], [1], [2]]),
    "classes out of range": lambda h, a: h["classes"].__setitem__("values", [0, 1, 10**30]),
    "classes of a strange type": lambda h, a: h["classes"].__setitem__("dtype", "f4,,"),
    "too few names": lambda h, a: h.__setitem__("feature_names_in_", ["a"]),
    "a false norm": lambda h, a: a.__setitem__("rows.norm", a["rows.norm"][:2]),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_with_a_right_checksum_is_refused(saved, name):
    forge(saved, FORGERIES[name])
    with pytest.raises(ValueError, match="does not describe a model that can vote"):
        subsvms.load(saved)


def test_deep_json_is_refused(saved):
    metadata, arrays = read(saved)
    text = "[" * 100_000
    metadata |= {"header": text, "sha256": states.digest(text, arrays)}
    saved.write_bytes(to_bytes(arrays, metadata))
    with pytest.raises(ValueError, match="can vote"):
        subsvms.load(saved)


def test_a_foreign_file_with_types_numpy_lacks_is_refused(tmp_path):
    header = json.dumps({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "m").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(ValueError, match="no model written by subsvms"):
        subsvms.load(tmp_path / "m")


def test_an_honest_forgery_loads(saved):
    """The forger itself breaks nothing, so the tests above can fail."""
    forge(saved, lambda header, arrays: None)
    subsvms.load(saved).predict(X)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OSError, match="is a folder or a device"):
        subsvms.save(MODELS["linear"], tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is a folder or a device"):
        subsvms.save(MODELS["linear"], tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match="no folder .*missing"):
        subsvms.save(MODELS["linear"], tmp_path / "missing" / "m")


def test_a_link_and_the_permissions_of_a_file_are_kept(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    subsvms.save(MODELS["linear"], link)
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    subsvms.load(file)


def test_only_fitted_models_of_ours_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        subsvms.save(SubSVMClassifier(), tmp_path / "m")
    with pytest.raises(TypeError, match="got a LogisticRegression"):
        subsvms.save(LogisticRegression(), tmp_path / "m")
    assert not list(tmp_path.iterdir())
