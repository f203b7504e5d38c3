"""What a table shows beside wrong labels: what is planted is found, and nothing in clean shuffled tables."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from large_tables import OPTIONS, correct_in_parts, make_columns, write_files
from scipy import sparse
from sklearn import datasets
from web_pages import NASTY, Page

from subsvms import correct_table
from subsvms.app.features.make import make_features
from subsvms.app.runs.noticed import SHOWN, find_order, measure_order, notice
from subsvms.app.runs.summary import Written, summarise
from subsvms.app.tables.table import read_frame
from subsvms.exceptions import LabelNoiseWarning


def look(frame, label="label", features=None):
    """Return what is noticed in a frame, by kind; nothing is learned for that."""
    table = read_frame(frame, label)
    made = make_features(table, features=features)
    sizes = np.bincount(table.codes[table.codes >= 0], minlength=len(table.classes))
    run = SimpleNamespace(
        features=made, table=table, tally=SimpleNamespace(given=sizes.tolist()),
        correction=SimpleNamespace(given=table.codes, classes=np.array(table.classes, dtype=object)),
    )  # fmt: skip
    found = notice(run, np.arange(len(table)))
    assert json.loads(json.dumps(found)) == found
    assert len({item["kind"] for item in found}) == len(found)
    return {item["kind"]: item for item in found}


def make_frame(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(0, 1, (n, 5)).round(3), columns=list("abcde"))
    frame["opened"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    frame["job"] = rng.choice(["cook", "clerk", "nurse"], n)
    frame["label"] = np.where(frame["a"] + rng.normal(0, 0.5, n) > 0, "yes", "no")
    return frame


def test_an_ordinary_table_shows_nothing(seed):
    assert look(make_frame(seed=seed)) == {}


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "linnerud", "moons", "blobs"])
def test_clean_shuffled_tables_show_nothing_that_their_rows_are_not(name, seed):
    if name in ("moons", "blobs"):
        X, y = getattr(datasets, f"make_{name}")(n_samples=600, random_state=seed)
    else:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    y = (y[:, 0] > 175) * 1 if y.ndim == 2 else y
    frame = pd.DataFrame(X).add_prefix("x").assign(label=[f"class {k}" for k in y])
    found = look(frame.sample(frac=1, random_state=seed))
    assert found.keys() <= {"constant"}
    assert ("constant" in found) == (name == "digits")


def test_shuffled_rare_values_show_no_order(seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((500, 400)).argsort(axis=0) < 20).astype(float)
    for given in (rng.integers(0, 3, 500), rng.integers(-1, 2, 500)):
        run = SimpleNamespace(
            features=SimpleNamespace(X=X, sources=range(400)),
            correction=SimpleNamespace(given=given, classes=np.arange(given.max() + 1)),
        )
        assert find_order(run) is None


@pytest.mark.parametrize(
    "column, value", [("c", 1e5), ("c", -40.0), ("c", 1e300), ("opened", pd.Timestamp("1900-01-01"))]
)
def test_a_row_far_from_everything_is_found_by_one_value_although_features_clip_it(column, value, seed):
    frame = make_frame(seed=seed)
    frame.loc[17, column] = value
    item = look(frame)["far"]
    assert item["rows"] == [18] and item["more"] == 0
    assert f"in the column '{column}'" in item["words"]


def test_far_rows_are_found_in_text_of_numbers_and_a_few_may_be_copies_but_no_group_is_far():
    for n, alone in ((1, True), (5, True), (6, False)):
        frame = make_frame()
        frame.loc[range(n), ["a", "b"]] = 777.0
        found = look(frame.astype({"a": str, "b": str}))
        assert ("far" in found) == alone
        assert not alone or sorted(found["far"]["rows"]) == list(range(1, n + 1))
    frame.loc[range(900), "c"] = np.nan
    frame.loc[20, "d"] = -500.0
    assert look(frame)["far"]["rows"] == [21]


def test_far_rows_are_found_in_ready_made_and_sparse_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 30))
    X[7] *= 20.0
    stored = sparse.random(500, 300, density=0.05, random_state=0, format="csr")
    stored.data += 0.5
    stored = sparse.vstack([stored, sparse.csr_matrix(np.full((1, 300), 2.0))], format="csr")[::-1]
    for features, row in ((X, 8), (stored, 1)):
        n = features.shape[0]
        frame = make_frame(n)[["label"]]
        found = look(frame, features=features)
        assert found["far"]["rows"] == [row] and found.keys() == {"far"}


def test_equal_rows_and_tiny_tables_show_no_far_rows():
    frame = make_frame(300)
    for name in "abcde":
        frame[name] = np.where(np.arange(300) < 10, 1.0, 0.0)
    assert "far" not in look(frame[[*"abcde", "label"]].sample(frac=1, random_state=0))
    assert "far" not in look(make_frame(12).assign(a=[*range(11), 1e9]))


def test_columns_that_cannot_help_and_small_classes_are_named():
    frame = make_frame().assign(customer_id=np.random.default_rng(0).permutation(1000), same="x", none=None)
    frame.loc[[5, 700], "label"] = "rare"
    found = look(frame)
    assert found.keys() == {"constant", "identifier", "small"}
    assert found["constant"]["columns"] == ["same", "none"]
    assert found["identifier"]["columns"] == ["customer_id"]
    assert found["small"]["rows"] == [6, 701] and "'rare' (2)" in found["small"]["words"]


def test_many_columns_are_counted():
    frame = make_frame().assign(**{f"same {i}": i for i in range(60)})
    item = look(frame)["constant"]
    assert len(item["columns"]) == SHOWN and item["more"] == 60 - SHOWN


def test_labels_and_a_column_that_drift_are_found(seed):
    rng, n = np.random.default_rng(seed), 2000
    frame = make_frame(n, seed=seed)
    frame["label"] = np.where(rng.random(n) < np.linspace(0.2, 0.5, n), "yes", "no")
    item = look(frame)["order"]
    assert "in each tenth" in item["words"] and item["columns"] == [] and item["rows"] == []
    frame = make_frame(n, seed=seed)
    frame["temperature"] = rng.normal(0, 1, n) + np.linspace(0, 1, n)
    item = look(frame)["order"]
    assert item["columns"] == ["temperature"] and "share" not in item["words"]
    frame.loc[rng.choice(n, 200, replace=False), "label"] = None
    assert look(frame)["order"]["columns"] == ["temperature"]


def test_a_sorted_table_is_said_once():
    frame = make_frame(2000)
    for by in ("label", "a"):
        found = look(frame.sort_values(by, ignore_index=True))
        assert found.keys() == {"order"} and "a" in found["order"]["columns"]
        assert ("sorted by the label" in found["order"]["words"]) == (by == "label")


def test_a_sparse_column_that_drifts_is_found_among_many_that_hold_little():
    X = sparse.random(1000, 5000, density=0.001, random_state=0, format="lil")
    X[500:, 4000] = 1.0
    assert look(make_frame()[["label"]], features=X.tocsr())["order"]["columns"] == ["features[4000]"]


def test_order_is_measured_in_sparse_and_dense_columns_alike(seed):
    X = sparse.random(333, 40, density=0.3, random_state=seed, format="csr")
    dense, means = measure_order(X.toarray())
    stored, same = measure_order(X)
    np.testing.assert_allclose(stored, dense, atol=1e-9)
    np.testing.assert_allclose(means, same, atol=1e-12)
    shares = np.array([part.mean(axis=0) for part in np.split(X.toarray()[:330], 10)])
    np.testing.assert_allclose(measure_order(X[:330])[1], shares, atol=1e-12)


@pytest.mark.parametrize("nasty", [text for text in NASTY if text.isprintable()])
def test_the_report_of_a_frame_shows_it_and_text_stays_text(tmp_path, nasty):
    frame = make_frame(300).rename(columns={"c": nasty}).assign(same="x")
    frame["label"] = frame["label"].map({"yes": "yes", "no": f"no {nasty}"})
    frame.loc[17, nasty] = 1e6
    frame = frame.sort_values("label", ignore_index=True)
    row = int(frame[nasty].argmax()) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)
        correction = correct_table(frame, label="label", n_estimators=40)
    page = Page(correction.report(tmp_path / "report.html").read_text(encoding="utf-8"))
    _, _, section = page.text.rpartition("Also noticed")
    for words in ("Rows far from everything", f"Row {row}", "Column same", "sorted by the label"):
        assert words in section
    assert [name for name, _ in page.tags].count("script") == 1


def test_of_a_table_in_parts_rows_of_the_sample_are_named(tmp_path):
    frame = make_columns(3000).to_pandas()
    frame["x1"] = frame["x1"] + np.linspace(0, 3, 3000)
    frame.loc[::2, "x0"] = np.where(np.arange(1500) % 500 == 7, 1e6, frame["x0"][::2])
    import pyarrow as pa

    where = write_files(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "big")
    _, finding, _ = correct_in_parts(where, tmp_path / "work", OPTIONS, pool_size=400)
    summary = summarise(finding, Written())
    found = {item["kind"]: item for item in summary.listed.noticed}
    drawn = [row for row in (15, 1015, 2015) if row - 1 in finding.drawn]
    assert summary.about.sample == len(finding.drawn) == 1600
    assert sorted(found["far"]["rows"]) == drawn and 0 < len(drawn) < 3
    assert found["order"]["columns"][0] == "x1"
