"""What columns mean, and which are useless or give the label away."""

import numpy as np
import pyarrow as pa
import pytest

from subsvms.app.features.columns import find_meaning, read_column, why_leaking, why_useless

N = 200


def test_measurements_texts_and_dates_are_not_identifiers():
    rng = np.random.default_rng(0)
    assert why_useless(np.arange(19.0)) is None  # too few rows to say
    assert why_useless(rng.normal(size=N)) is None
    assert why_useless(np.array([f"a remark on row {i}" for i in range(N)], dtype=object)) is None
    assert why_useless(np.array(["a", "b"] * N, dtype=object)) is None
    assert why_useless(np.datetime64("2020-01-01") + np.arange(N).astype("timedelta64[D]")) is None
    assert why_useless(np.where(np.arange(N) < 20, np.nan, 3.0)) is None  # missing may mean something


@pytest.mark.parametrize("p", [0.5, 0.03])
def test_leaks_are_found_despite_a_few_wrong_labels_and_chance_is_not_a_leak(seed, p):
    rng = np.random.default_rng(seed)
    labels = (rng.random(5000) < p).astype(int)
    leak = np.where(np.arange(5000) == np.flatnonzero(labels)[0], 0, labels)
    assert why_leaking(leak.astype(float), labels)
    assert why_leaking(labels + rng.uniform(0, 1, 5000), labels)
    assert why_leaking(leak.astype(float), np.where(rng.random(5000) < 0.1, -1, labels))
    assert why_leaking(np.where(rng.random(5000) < 0.9, labels, 1.0 - labels), labels) is None
    assert why_leaking(rng.normal(labels, 0.5), labels) is None
    assert why_leaking(rng.integers(0, 4000, 5000).astype(str).astype(object), labels) is None
    assert why_leaking(np.array([f"k{i}" for i in range(5000)], dtype=object), labels) is None
    assert why_leaking(labels[:19].astype(float), labels[:19]) is None


def test_codes_dates_and_numbers_are_distinguished():
    for cells, kind in (
        (["1", "-2.5", "+3e4", ".5", "NA", " 7 ", "5."], "number"),
        (["1,234", "12", "1,234,567.5"], "number"),
        (["007", "012", "100"], "text"),
        (["0", "0.5", "10"], "number"),
        (["2024-01-31", "", "2023-12-01"], "date"),
        (["31.12.2023", "1.2.2024"], "date"),
        (["yes", "no"], "text"),
        (["", "?", None], "text"),
        (["1", "2", "three"], "text"),
    ):
        assert find_meaning(pa.chunked_array([cells])).kind == kind, cells
    column = pa.chunked_array([["1,234", "0,5", "x"] + ["2"] * 60])
    assert read_column(column, find_meaning(column, decimal_comma=True))[:2].tolist() == [1.234, 0.5]
    column = pa.chunked_array([["1,234", "5.5", "+1e+2"]])
    assert find_meaning(column).kind == "text"  # neither a thousand nor a fraction fits all
    assert find_meaning(pa.chunked_array([[b"x"]])) is None
