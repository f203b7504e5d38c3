"""A model that somebody changed, checksum included, is refused or harmless."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trained_models import N, fit_model, save_model, write_svmlight

from subsvms._states import encode_state, read_state
from subsvms.app.runs.model import load_model, predict_file
from subsvms.exceptions import InputError


def forge(path, change):
    """Change a file as someone would who can compute a checksum."""
    state = read_state(path)
    change(state.header, state.arrays)
    path.write_bytes(encode_state(state))


def put(*where):
    """Return a forgery that sets an entry of the header: keys, then the value."""
    *keys, last, value = where

    def change(header, arrays):
        for key in keys:
            header = header[key]
        header[last] = value

    return change


def fill(key, value, place=0):
    return lambda header, arrays: arrays[key].__setitem__(place, value)


def turn(key, into):
    return lambda header, arrays: arrays.__setitem__(key, into(arrays[key]))


def drop_svms(header, arrays):
    for key in ("lists.column", "lists.value", "lists.norm", "voters.intercept"):
        arrays[f"classifier.{key}"] = arrays[f"classifier.{key}"][:0]
    arrays["classifier.lists.pointer"] = np.zeros(1, int)


SIZE, COLOUR, DAY, REVIEW = (("transformer", str(i)) for i in range(4))
LETTERS = "transformer.3.coder."
FORGERIES = {
    "another model": put("model", "os.system"), "no model": lambda h, a: h.pop("model"),
    "a model that is a list": put("model", []), "another kind": put("kind", "embeddings"),
    "an unknown kind": put("kind", "pickle"), "a kind that is a list": put("kind", []),
    "a label that is a number": put("label", 7), "no classifier": lambda h, a: h.pop("classifier"),
    "a classifier that is a word": put("classifier", "SubSVMClassifier"),
    "a classifier of other features": put("classifier", "n_features_in_", 7),
    "a row of the classifier outside": fill("classifier.lists.column", 10**9),
    "no SVM": drop_svms,
    "a kernel of an endless degree": put("classifier", "kernel", "degree", 1e38),
    "no transformer": lambda h, a: h.pop("transformer"),
    "more columns than there are": put("transformer", "n_recipes", 10**12),
    "a number of columns in words": put("transformer", "n_recipes", "four"),
    "fewer columns": put("transformer", "n_recipes", 1), "no columns": put("transformer", "n_recipes", 0),
    "two columns of one name": put(*SIZE, "name", "colour"), "a name that is a number": put(*SIZE, "name", 3),
    "an unknown meaning": put(*SIZE, "meaning", {"kind": "image"}),
    "a meaning with more": put(*SIZE, "meaning", {"kind": "number", "shell": "rm"}),
    "a pattern that never ends": put(*SIZE, "meaning", "pattern", "(a*)*b"),
    "a comma that is a word": put(*SIZE, "meaning", "comma", "and"),
    "a date where the coder is not a calendar": put(*COLOUR, "meaning", "kind", "date"),
    "text where the coder is a calendar": put(*DAY, "meaning", "kind", "text"),
    "a format of dates that cannot be": put(*DAY, "meaning", "format", "%Q"),
    "a format of dates that is a number": put(*DAY, "meaning", "format", 7),
    "another resolution": put(*DAY, "coder", "resolution", "century"),
    "an unknown coder": put(*COLOUR, "coder", "coder", "eval"),
    "a scale that is not a number": put(*SIZE, "scale", float("nan")),
    "a scale beyond all": put(*SIZE, "scale", 10**400), "a center in words": put(*SIZE, "center", "middle"),
    "a mark that is a number": put(*SIZE, "marks_missing", 3),
    "categories that are numbers": put(*COLOUR, "coder", "values", [1, 2, 3, 4]),
    "one category twice": put(*COLOUR, "coder", "values", ["a", "a", "b", "c"]),
    "categories that are one word": put(*COLOUR, "coder", "values", "abcd"),
    "fewer categories": put(*COLOUR, "coder", "values", []), "no factor": put("transformer", "factor", 0),
    "a feature outside": fill("transformer.kept", 10**9, -1),
    "a negative feature": fill("transformer.kept", -1),
    "features in another order": turn("transformer.kept", lambda kept: kept[::-1]),
    "one feature twice": fill("transformer.kept", 1),
    "features that are fractions": turn("transformer.kept", lambda kept: kept / 1.0),
    "no feature": turn("transformer.kept", lambda kept: kept[:0]),
    "too few centers": turn("transformer.center", lambda center: center[:3]),
    "a center that is infinite": fill("transformer.center", np.inf),
    "scales in half precision": turn("transformer.scale", lambda scale: scale.astype(np.float16)),
    "a missing array": lambda h, a: a.pop("transformer.scale"),
    "n-grams that are not text": fill(f"{LETTERS}ngrams", 255),
    "one n-gram twice": turn(f"{LETTERS}ngrams",
     lambda text: np.frombuffer(b"\n" * (text == 10).sum(), np.uint8)),
    "too few n-grams": turn(f"{LETTERS}ngrams", lambda text: text[:7]),
    "n-grams in a table": turn(f"{LETTERS}ngrams", lambda text: text[None]),
    "too few weights": turn(f"{LETTERS}idf", lambda idf: idf[:7]),
    "weights that are not numbers": fill(f"{LETTERS}idf", np.nan),
    "components of other n-grams": turn(f"{LETTERS}components", lambda c: c[:, :7]),
    "components in double precision": turn(f"{LETTERS}components", lambda c: c.astype(float)),
    "an infinite component": fill(f"{LETTERS}components", np.inf, (0, 0)),
    "no components": turn(f"{LETTERS}components", lambda c: c[:0]),
    "text divided by nothing": put(*REVIEW, "coder", "divisor", 0.0),
    "text divided by too much": put(*REVIEW, "coder", "divisor", 1e300),
    "text divided by a truth": put(*REVIEW, "coder", "divisor", True),
}  # fmt: skip
SCALERS = {
    "a column beyond 32 bits": fill("transformer.kept", 2**40, -1),
    "columns that fall": turn("transformer.kept", lambda kept: kept[::-1]),
    "too few columns": turn("transformer.kept", lambda kept: kept[:1]),
    "a scale that is not a number": fill("transformer.scale", np.nan),
}
ARRAYS = {
    "a column outside": put("transformer", "n_columns", 2),
    "a number of columns in words": put("transformer", "n_columns", "3"),
    "an infinite scale": put("transformer", "scale", float("inf")),
    "a center that is not a number": fill("transformer.center", np.nan),
    "too few centers": turn("transformer.center", lambda center: center[:1]),
}
FORGED = {"columns": FORGERIES, "svmlight": SCALERS, "embeddings": ARRAYS}


@pytest.fixture(scope="module")
def models(trained):
    """The bytes of models trained on columns, on LIBSVM text and on embeddings."""
    folder = trained[0]
    np.save(folder / "e.npy", np.random.default_rng(0).normal(size=(N, 3)))
    others = [fit_model(write_svmlight(folder / "t.svm"))[0]]
    others += [fit_model(folder / "t.csv", features=folder / "e.npy")[0]]
    for one in others:
        save_model(one, folder / one.kind)
    paths = {"columns": folder / "model", **{one.kind: folder / one.kind for one in others}}
    return {kind: path.read_bytes() for kind, path in paths.items()}


@pytest.mark.parametrize("kind, name", [(kind, name) for kind in FORGED for name in FORGED[kind]])
def test_a_forged_file_with_a_right_checksum_is_refused(models, tmp_path, kind, name):
    path = tmp_path / "model"
    path.write_bytes(models[kind])
    forge(path, lambda header, arrays: None)  # the forger itself breaks nothing
    assert load_model(path).kind == kind
    forge(path, FORGED[kind][name])
    with pytest.raises(InputError, match="does not describe a model that can vote"):
        load_model(path)


@given(data=st.data())
def test_a_model_with_any_one_value_forged_is_refused_or_votes(trained, tmp_path_factory, data):
    """Whatever passes the checks is harmless: it labels rows, or says in a sentence why it cannot."""
    folder = tmp_path_factory.mktemp("forged")
    (folder / "model").write_bytes((trained[0] / "model").read_bytes())
    strange = st.sampled_from([0, -1, 1, 3, 2**31, 2**62, -(2**63), 0.5, 1e38])
    leaves = list(find_leaves(read_state(folder / "model").header))

    def change(header, arrays):
        if data.draw(st.booleans()):
            array = arrays[data.draw(st.sampled_from(sorted(arrays)))]
            if array.size:
                value = data.draw(strange)
                place = data.draw(st.integers(0, array.size - 1))
                array.flat[place] = np.array(value).astype(array.dtype)
        else:
            *keys, last = data.draw(st.sampled_from(leaves))
            for key in keys:
                header = header[key]
            header[last] = data.draw(strange | st.sampled_from([None, "", "x", [], {}, True]))

    with np.errstate(all="ignore"):
        forge(folder / "model", change)
        try:
            found = predict_file(folder / "model", trained[0] / "t.csv", output=folder / "p.csv")
        except InputError as error:
            assert "\n" not in str(error)
        else:
            assert len(found) == N


def find_leaves(header, above=()):
    """Return the keys that lead to each plain value of a header."""
    items = header.items() if isinstance(header, dict) else enumerate(header)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from find_leaves(value, (*above, key))
        else:
            yield *above, key
