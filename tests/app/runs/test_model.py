"""A model is saved with its preprocessing, and labels new files as it would have before it was saved."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet
from scipy import sparse

import subsvms
from subsvms import SubSVMClassifier
from subsvms._states import encode_state, read_state
from subsvms.app.features.make import make_features
from subsvms.app.options import Options
from subsvms.app.runs.model import Model, load_model, predict_file, saving_model
from subsvms.app.runs.run import run_in_memory
from subsvms.app.tables.table import read_table
from subsvms.exceptions import InputError, TableError, format_percent

N = 120
WORDS = ["good", "bad", "slow", "quick", "cheap", "dear", "loud", "quiet"]


def draw_columns(seed=0, n=N):
    """Return columns of every kind, and labels that depend on two of them."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(50, 10, n).round(3), rng.choice(["red", "green", "blue"], n)
    label = np.where((size > 50) ^ (colour == "red"), "yes", "no")
    return {
        "size": [None if hole else float(s) for s, hole in zip(size, rng.random(n) < 0.1, strict=True)],
        "colour": [None if hole else str(c) for c, hole in zip(colour, rng.random(n) < 0.1, strict=True)],
        "day": (np.datetime64("2021-03-01") + rng.integers(0, 900, n)).tolist(),
        "review": [" ".join(rng.choice(WORDS, 6)) for _ in range(n)],
        "label": label.tolist(),
    }


def write(path, columns):
    """Write columns in the format that the suffix says."""
    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, path)
    elif path.suffix == ".jsonl":
        rows = (json.dumps(row, default=str, ensure_ascii=False) for row in table.to_pylist())
        path.write_text("\n".join(rows), encoding="utf-8")
    else:
        cells = zip(
            *(["" if v is None else str(v) for v in column] for column in columns.values()), strict=True
        )
        path.write_text("\n".join(map(",".join, [list(columns), *cells])) + "\n", encoding="utf-8")
    return path


def write_svmlight(path, seed=0, n=N):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)).round(3).tolist()
    path.write_text("\n".join(f"{'+1' if a > 0 else '-1'} 1:{a} 4:{b} 9:{c}" for a, b, c in rows))
    return path


def save_model(model, path):
    with saving_model(model, path):
        pass


def fit_model(path, label="label", features=None, **params):
    table = read_table(path, label)
    made = make_features(table, features=features)
    classifier = SubSVMClassifier(n_estimators=40, random_state=0, **params).fit(made.X, table.labels)
    return Model(classifier, made.transformer, label, table.digest), made.X


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a table, and a model trained on it."""
    folder = tmp_path_factory.mktemp("trained")
    model, X = fit_model(write(folder / "t.csv", draw_columns()))
    save_model(model, folder / "model")
    return folder, model, X


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A model trained on the same table in a typed format, and its features."""
    return fit_model(write(tmp_path_factory.mktemp("typed") / "t.parquet", draw_columns()))


def expected(model, X):
    votes = model.classifier.count_votes(X)
    winners = votes.winners(model.classifier.class_sizes_)
    return model.classifier.classes_[winners].tolist(), votes.share.max(axis=1)


def read_cells(path):
    return read_table(path, None).columns.to_pydict()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_loaded_model_makes_the_same_features_and_votes_to_the_bit(trained, typed, tmp_path, suffix):
    model, X = trained[1:] if suffix == ".csv" else typed
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert (loaded.label, loaded.kind, loaded.digest) == ("label", "columns", model.digest)
    for seed in range(2):
        new = read_table(write(tmp_path / f"new{suffix}", draw_columns(seed)), None)
        Z = model.transformer.transform(new)
        assert np.array_equal(loaded.transformer.transform(new), Z)
        assert np.array_equal(loaded.classifier.count_votes(Z).sums, model.classifier.count_votes(Z).sums)
        assert seed or np.array_equal(X, Z)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".jsonl"])
def test_a_model_labels_files_of_any_format(trained, typed, tmp_path, suffix):
    """Numbers and dates have types in some formats and are text in others, in some with decimal commas."""
    folder, model, X = trained
    path = write(tmp_path / f"new{suffix}", draw_columns())
    for transformer, wanted in ((model.transformer, X), (typed[0].transformer, typed[1])):
        assert np.array_equal(transformer.transform(read_table(path, None)), wanted)
    if suffix == ".csv":
        (tmp_path / "commas.csv").write_text(path.read_text().replace(",", ";").replace(".", ","))
        new = read_table(tmp_path / "commas.csv", None, separator=";")
        assert np.array_equal(typed[0].transformer.transform(new), typed[1])
    found = predict_file(folder / "model", path)
    assert found.path == tmp_path / f"new.predicted{suffix}"
    labels, share = expected(model, X)
    cells = read_cells(found.path)
    assert list(cells) == [*draw_columns(), "predicted_label", "vote_share"]
    assert cells["predicted_label"] == labels == found.labels.tolist()
    assert [float(cell) for cell in cells["vote_share"]] == np.round(share, 4).tolist()
    assert np.array_equal(found.vote_share, share)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_embeddings_come_as_a_file_of_their_own(tmp_path, kind):
    rng = np.random.default_rng(0)
    columns = draw_columns()
    rows = rng.normal(size=(N, 7)) + (np.array(columns["label"]) == "yes")[:, None] * np.arange(7)
    rows[:, 3] = 2.0  # not used
    write(tmp_path / "t.csv", columns)
    embeddings = tmp_path / ("e.npy" if kind == "dense" else "e.npz")
    if kind == "dense":
        np.save(embeddings, rows)
    else:
        rows *= rng.random(rows.shape) < 0.5
        sparse.save_npz(embeddings, sparse.csr_matrix(rows))
    model, X = fit_model(tmp_path / "t.csv", features=embeddings)
    if kind == "dense":  # they may come sparse later
        assert np.array_equal(model.transformer.transform(sparse.csr_matrix(rows)), X)
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").kind == "embeddings"
    found = predict_file(tmp_path / "model", tmp_path / "t.csv", features=embeddings)
    assert read_cells(found.path)["predicted_label"] == expected(model, X)[0]
    np.save(tmp_path / "narrow.npy", rows[:, :6])
    np.save(tmp_path / "few.npy", rows[:5])
    for name, sentence in (
        (None, r"was trained on embeddings: give those of the rows in .*t.csv"),
        ("narrow.npy", "have 6 columns, but the model needs 7"),
        ("few.npy", "have 5 rows, but the table has 120"),
    ):
        features = name and tmp_path / name
        with pytest.raises(TableError, match=sentence):
            predict_file(tmp_path / "model", tmp_path / "t.csv", features=features, force=True)


def test_predictions_for_libsvm_text_are_a_table_of_their_own(tmp_path):
    model, X = fit_model(write_svmlight(tmp_path / "t.svm"))
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").kind == "svmlight"
    found = predict_file(tmp_path / "model", tmp_path / "t.svm")
    assert found.path == tmp_path / "t.predicted.csv"
    cells = read_cells(found.path)
    assert list(cells) == ["row", "predicted_label", "vote_share"]
    assert cells["row"][:2] == ["1", "2"] and cells["predicted_label"] == expected(model, X)[0]
    assert set(cells["predicted_label"]) == {"+1", "-1"}
    found = predict_file(tmp_path / "model", tmp_path / "t.svm", output=tmp_path / "p.parquet")
    assert parquet.read_table(found.path)["row"].to_pylist() == list(range(1, N + 1))
    with pytest.raises(TableError, match="has no place for predictions beside the labels: give a name"):
        predict_file(tmp_path / "model", tmp_path / "t.svm", output=tmp_path / "p.svm")
    with pytest.raises(TableError, match="is csv, but the model was trained on LIBSVM text"):
        predict_file(tmp_path / "model", write(tmp_path / "other.csv", draw_columns()))
    (tmp_path / "few.svm").write_text("0 1:0.5 77:3\n0 4:1\n")
    assert len(predict_file(tmp_path / "model", tmp_path / "few.svm")) == 2


def test_columns_may_come_in_any_order_with_others_between(trained, tmp_path):
    folder, model, X = trained
    columns = draw_columns()
    mixed = {"more": ["x"] * N, **{name: columns[name] for name in ("review", "colour", "day", "size")}}
    found = predict_file(folder / "model", write(tmp_path / "new.csv", mixed))
    assert found.labels.tolist() == expected(model, X)[0] and found.notes == ()
    assert found.path.read_text().startswith("more,review,colour,day,size,predicted_label,")


def test_new_rows_may_hold_anything(trained, tmp_path):
    rows = ["size,colour,day,review,y", ",,,,", "huge,mauve,tomorrow,\x01é,", "1e300,red,1850-01-01,good,"]
    (tmp_path / "new.csv").write_text("\n".join(rows))
    found = predict_file(trained[0] / "model", tmp_path / "new.csv")
    assert set(found.labels) <= {"no", "yes"} and np.all(found.vote_share >= 0.5)
    lines = (tmp_path / "new.predicted.csv").read_text().split("\n")
    assert all(line.startswith(row) for line, row in zip(lines, rows, strict=True))


def test_a_column_that_is_of_no_use_is_named_and_names_that_are_taken_get_a_number(trained, tmp_path):
    columns = draw_columns()
    columns |= {"size": ["?"] * N, "day": ["soon"] * N, "colour": ["mauve"] * N}
    columns |= {"predicted_label": ["a"] * N, "vote_share": [1] * N, "vote_share_2": [2] * N}
    found = predict_file(trained[0] / "model", write(tmp_path / "new.csv", columns))
    assert found.notes == (
        "The column 'size' holds no number: all of it counts as missing.",
        "The column 'colour' holds no value that the model knows: it is ignored.",
        "The column 'day' holds no date: all of it counts as missing.",
    )
    assert str(found).endswith("\n".join(found.notes))
    assert list(read_cells(found.path)) == [*columns, "predicted_label_2", "vote_share_3"]


def test_columns_that_do_not_fit_are_named(trained, tmp_path):
    columns = draw_columns()
    size, day = columns.pop("size"), columns.pop("day")
    add = "which the model needs: add what is missing, with empty"
    for name, new, sentence in (
        ("a.csv", columns | {"sise": size, "day": day}, "no column 'size', .* needs; did you mean 'sise'?"),
        ("b.csv", columns | {"day": day}, f"has no column 'size', {add}"),
        ("c.csv", columns, f"has no columns 'size', 'day', {add}"),
        ("d.parquet", draw_columns() | {"colour": [["red"]] * N},
         "'colour' holds values of type list<.*>, but the model expects"),
    ):  # fmt: skip
        with pytest.raises(TableError, match=sentence):
            predict_file(trained[0] / "model", write(tmp_path / name, new))
    with pytest.raises(TableError, match="is LIBSVM text, but the model was trained on named columns"):
        predict_file(trained[0] / "model", write_svmlight(tmp_path / "t.svm"))
    with pytest.raises(TableError, match="trained on columns, not on embeddings: leave 'e.npy' out"):
        predict_file(trained[0] / "model", trained[0] / "t.csv", features="e.npy")


def test_everything_but_the_new_columns_stays_byte_by_byte(trained, tmp_path):
    lines = ['"size" ;day;review;label;colour', "1,50;2021-05-01;'x';no; red\r", '007;;"a;b";"";blue', ""]
    (tmp_path / "new.csv").write_bytes("\n".join(lines).replace('"size" ', "size").encode("utf-16"))
    before = (tmp_path / "new.csv").read_bytes()
    predict_file(trained[0] / "model", tmp_path / "new.csv", reading={"separator": ";"})
    assert (tmp_path / "new.csv").read_bytes() == before
    after = (tmp_path / "new.predicted.csv").read_bytes().decode("utf-16").split("\n")
    assert after[0] == "size;day;review;label;colour;predicted_label;vote_share"
    assert after[1].startswith("1,50;2021-05-01;'x';no; red;") and after[1].endswith("\r")
    assert after[2].startswith('007;;"a;b";"";blue;') and after[3] == ""


@pytest.mark.parametrize("classes", [(False, True), (-1, 2)])
def test_labels_keep_their_type(tmp_path, classes):
    columns = draw_columns()
    values = [classes[label == "yes"] for label in columns["label"]]
    path = write(tmp_path / "t.parquet", {"size": columns["size"], "label": values})
    save_model(fit_model(path)[0], tmp_path / "model")
    column = parquet.read_table(predict_file(tmp_path / "model", path).path)["predicted_label"]
    assert column.type == parquet.read_table(path)["label"].type and set(column.to_pylist()) == set(classes)


def test_a_file_is_replaced_only_by_force_and_the_table_never(trained, tmp_path):
    path = write(tmp_path / "new.csv", draw_columns())
    first = predict_file(trained[0] / "model", path)
    assert sum(first.counts.values()) == len(first) == N and list(first.counts) == ["no", "yes"]
    assert str(first).split("\n") == [
        f"'label' was predicted for 120 rows, in {tmp_path / 'new.predicted.csv'}.",
        *(f"  {name}: {n} ({format_percent(n / N)})" for name, n in first.counts.items()),
    ]
    with pytest.raises(TableError, match="already exists"):
        predict_file(trained[0] / "model", path)
    before = first.path.read_bytes()
    assert predict_file(trained[0] / "model", path, force=True, n_jobs=2).path.read_bytes() == before
    with pytest.raises(TableError, match="is the input table"):
        predict_file(trained[0] / "model", path, output=path, force=True)
    compressed = predict_file(trained[0] / "model", path, output=tmp_path / "p.csv.gz")
    assert compressed.path.read_bytes()[:2] == b"\x1f\x8b"
    parts = [write(tmp_path / f"{i}.parquet", draw_columns(i)) for i in range(2)]
    with pytest.raises(TableError, match="read from several files: say with output"):
        predict_file(trained[0] / "model", parts)
    assert len(predict_file(trained[0] / "model", parts, output=tmp_path / "both.parquet")) == 2 * N


def test_the_model_of_a_run_is_the_classifier_that_judged(tmp_path):
    path = write(tmp_path / "t.csv", draw_columns())
    run = run_in_memory(read_table(path, "label"), Options("label", n_estimators=40))
    model = Model.of(run)
    assert model.classifier is run.model and model.label == "label"
    save_model(model, tmp_path / "model")
    wanted = run.model.predict(run.features.X)
    assert predict_file(tmp_path / "model", path).labels.tolist() == wanted.tolist()


def test_parts_that_do_not_go_together_are_not_saved(trained, tmp_path):
    _, model, X = trained
    other = SubSVMClassifier(n_estimators=5, random_state=0).fit(X[:, :3], draw_columns()["label"])
    with pytest.raises(ValueError, match="takes 3 features .* but the transformer makes"):
        save_model(Model(other, model.transformer, "label"), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_bare_classifier_is_not_taken_for_a_model_nor_a_model_for_a_classifier(trained, tmp_path):
    subsvms.save(trained[1].classifier, tmp_path / "bare")
    with pytest.raises(InputError, match="is a classifier without the preprocessing that a file needs"):
        load_model(tmp_path / "bare")
    with pytest.raises(InputError, match=r"is a model with its preprocessing: .*\(subsvms predict\)"):
        subsvms.load(trained[0] / "model")


def test_a_file_that_is_not_a_model_is_refused(trained, tmp_path):
    """Pickles, damage and other formats are in test_states."""
    with pytest.raises(InputError, match=r"no model file '.*modl'; did you mean 'model'\?"):
        load_model(trained[0] / "modl")
    with pytest.raises(InputError, match="is a folder: give a file"):
        load_model(tmp_path)
    with pytest.raises(InputError, match="is not a model file, or it is damaged"):
        load_model(trained[0] / "t.csv")


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
