"""A model is saved with its preprocessing, and labels new files as it would have before it was saved."""

import numpy as np
import pytest
from nasty_texts import assert_refused
from pyarrow import parquet
from scipy import sparse
from trained_models import N, draw_columns, fit_model, save_model, write, write_svmlight

import subsvms
from subsvms import SubSVMClassifier
from subsvms.app.options import Options
from subsvms.app.runs.model import Model, load_model, predict_file
from subsvms.app.runs.run import run_in_memory
from subsvms.app.tables.table import read_table
from subsvms.exceptions import InputError, TableError, format_percent


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
    for name, sentence in (
        (None, "embeddings: give those of the rows in "),
        ("narrow.npy", "6 columns, but"),
    ):
        options = {"features": name and tmp_path / name, "force": True}
        assert_refused(sentence, predict_file, tmp_path / "model", tmp_path / "t.csv", **options)


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
    assert_refused("already exists", predict_file, trained[0] / "model", path)
    before = first.path.read_bytes()
    assert predict_file(trained[0] / "model", path, force=True, n_jobs=2).path.read_bytes() == before
    assert_refused("is the input table", predict_file, trained[0] / "model", path, output=path, force=True)
    compressed = predict_file(trained[0] / "model", path, output=tmp_path / "p.csv.gz")
    assert compressed.path.read_bytes()[:2] == b"\x1f\x8b"
    parts = [write(tmp_path / f"{i}.parquet", draw_columns(i)) for i in range(2)]
    assert_refused("read from several files: say with output", predict_file, trained[0] / "model", parts)
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
