"""Ready-made matrices are scaled, and those that do not fit the table are refused."""

import tracemalloc

import numpy as np
from mixed_tables import N, distances, make_mixed, make_table
from nasty_texts import assert_refused
from scipy import sparse

from subsvms.app.features import scalers
from subsvms.app.features.make import make_features
from subsvms.app.tables.table import read_table


def test_libsvm_text_becomes_a_scaled_sparse_matrix(tmp_path):
    (tmp_path / "t.svm").write_text("1 1:4 3:-2 7:1\n0 1:-8 7:1\n1 3:1 5:0 7:1\n")
    table = read_table(tmp_path / "t.svm", "label")
    made = make_features(table)
    assert sparse.issparse(made.X) and made.X.format == "csr" and made.X.dtype == np.float64
    assert made.names == ("1", "3") and made.X.toarray().tolist() == [[0.5, -1], [-1, 0], [0, 0.5]]
    assert made.notes == ("Not used: 2 of 4 columns, with only one value each.",)
    for lines, wanted in (("0 1:16\n0 3:1 900:1\n", [[2, 0], [0, 0.5]]), ("0 1:16\n", [[2, 0]])):
        (tmp_path / "new.svm").write_text(lines)
        new = made.transformer.transform(read_table(tmp_path / "new.svm", None))
        assert new.toarray().tolist() == wanted
    assert make_features(table, exclude=["1"]).names == ("3",)
    assert_refused("only names '9', which is not a column", make_features, table, only=["9"])
    assert_refused("has no column to learn from: each holds only", make_features, table, only=["7"])
    message = "is csv, but the model was trained on LIBSVM text"
    assert_refused(message, made.transformer.transform, make_mixed(tmp_path))


def test_embeddings_replace_the_columns(tmp_path):
    rng = np.random.default_rng(0)
    table = make_table(tmp_path)
    rows = (rng.normal(size=(N, 4)) * [1, 1, 3, 0] + 5).astype(np.float16)
    np.save(tmp_path / "e.npy", rows)
    np.savez(tmp_path / "e.npz", rows)
    made = make_features(table, features=tmp_path / "e.npy")
    assert made.names == ("e.npy[0]", "e.npy[1]", "e.npy[2]") and made.X.dtype == np.float64
    assert made.notes[0].startswith("Not used: 1 of 4 features in")
    ratio = distances(made.X)[0, 1:] / distances(rows.astype(float))[0, 1:]
    np.testing.assert_allclose(ratio, ratio[0])  # one scale for all
    assert 0.05 < (distances(made.X) / 3).mean() < 0.5
    assert np.array_equal(make_features(table, features=tmp_path / "e.npz").X, made.X)
    assert np.array_equal(made.transformer.transform(rows.astype(float)), made.X)
    few = sparse.random(N, 9, density=0.3, random_state=0, format="csc")
    sparse.save_npz(tmp_path / "s.npz", few)
    made = make_features(table, features=str(tmp_path / "s.npz"))
    assert sparse.issparse(made.X) and made.X.shape == (N, 9) and 0.5 < abs(made.X).max() < 2
    message = "The features have 2 columns, but the model needs 9"
    assert_refused(message, made.transformer.transform, np.ones((3, 2)))


def test_embeddings_that_do_not_fit_are_refused(tmp_path):
    table = make_table(tmp_path)
    bad = sparse.csr_array(np.diag(np.full(N, np.inf)))
    for content, message in (
        (np.ones((3, 2)), r"have 3 rows, but the table has 200: give one row for each"),
        (np.ones(N), "must have two dimensions, rows and columns; got 1"),
        (np.full((N, 2), "x"), "must be numbers; got values of type <U1"),
        (np.full((N, 2), None), "is not a valid .npy or .npz file of numbers"),
        (np.where(np.arange(N)[:, None] == 7, np.nan, np.ones((N, 2))), "infinity, first in row 7: fill"),
        (np.ones((N, 2)), "has no feature to learn from: each holds only one value"),
        (b"nonsense", "is not a valid .npy or .npz file of numbers"),
        ({"a": np.ones(3), "b": np.ones(3)}, "must hold one array; got 'a', 'b': save that one alone"),
        (bad, "NaN or infinity, first in row 0: fill"),
    ):
        path = tmp_path / "e.npy"
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, np.ndarray):
            np.save(path, content)
        else:
            path = tmp_path / "e.npz"
            sparse.save_npz(path, content) if sparse.issparse(content) else np.savez(path, **content)
        assert str(path) in assert_refused(message, make_features, table, features=path)
    message = "with features; did you mean 'e.npz'?"
    assert_refused(message, make_features, table, features=tmp_path / "f.npz")
    message = "replace all columns: leave out exclude, only and keep"
    assert_refused(message, make_features, table, features=tmp_path / "e.npy", only=["a"])
    for index in (-1, 10**6):  # a sparse array with wrong indices
        X = sparse.csr_matrix(np.eye(N))
        X.indices[3] = index
        sparse.save_npz(tmp_path / "e.npz", X)
        message = "is not a valid .npy or .npz file"
        assert_refused(message, make_features, table, features=tmp_path / "e.npz")


def test_large_indices_take_no_memory_for_the_columns_between_them(tmp_path):
    (tmp_path / "t.svm").write_text("1 1:4 2000000000:3\n0 1:-8\n1 3:1\n0 7:2\n")
    table = read_table(tmp_path / "t.svm", "label")
    tracemalloc.start()
    made = make_features(table, exclude=["7", "1999999999"])
    new = made.transformer.transform(table)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert made.names == ("1", "3", "2000000000")
    wanted = [[0.5, 0, 1], [-1, 0, 0], [0, 1, 0], [0] * 3]
    assert new.toarray().tolist() == made.X.toarray().tolist() == wanted
    assert_refused("only names '2000000001', which is not a", make_features, table, only=["2000000001"])
    made = make_features(table, features=sparse.csr_matrix(table.matrix))
    assert made.names[-1] == "features[2000000000]" and made.X.shape == (4, 4)


def test_an_archive_that_decompresses_to_more_than_the_memory_holds_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "e.npz"
    np.savez_compressed(path, np.zeros((40, 10_000)))  # 3.2 MB
    monkeypatch.setattr(scalers, "measure_free_memory", lambda: 1e7)
    message = "does not fit in the free memory once decompressed: free some"
    assert_refused(message, scalers.load_array, path, 40)
    monkeypatch.setattr(scalers, "measure_free_memory", lambda: 2e7)
    assert scalers.load_array(path, 40).shape == (40, 10_000)
