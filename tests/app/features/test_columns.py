"""What columns mean, and which are useless."""

import numpy as np
import pyarrow as pa
import pytest
from skrub import ToDatetime

from subsvms.app.features.columns import find_meaning, read_column, why_useless

N = 200


def test_measurements_texts_and_dates_are_not_identifiers():
    rng = np.random.default_rng(0)
    assert why_useless(np.arange(19.0)) is None  # too few rows to say
    assert why_useless(rng.normal(size=N)) is None
    assert why_useless(np.array([f"a remark on row {i}" for i in range(N)], dtype=object)) is None
    assert why_useless(np.array(["a", "b"] * N, dtype=object)) is None
    assert why_useless(np.datetime64("2020-01-01") + np.arange(N).astype("timedelta64[D]")) is None
    assert why_useless(np.where(np.arange(N) < 20, np.nan, 3.0)) is None  # missing may mean something


def test_codes_dates_and_numbers_are_distinguished():
    numbers = (["1", "-2.5", "+3e4", ".5", "NA", " 7 ", "5."], ["1,234", "12", "1,234,567.5"], ["0", "0.5"])
    texts = (["007", "012", "100"], ["yes", "no"], ["", "?", None], ["1", "2", "three"])
    dates = (["2024-01-31", "", "2023-12-01"], ["31.12.2023", "1.2.2024"])
    for kind, columns in {"number": numbers, "text": texts, "date": dates}.items():
        assert all(find_meaning(pa.chunked_array([cells])).kind == kind for cells in columns)
    column = pa.chunked_array([["1,234", "0,5", "x"] + ["2"] * 60])
    assert read_column(column, find_meaning(column, decimal_comma=True))[:2].tolist() == [1.234, 0.5]
    column = pa.chunked_array([["1,234", "5.5", "+1e+2"]])
    assert find_meaning(column).kind == "text"  # neither a thousand nor a fraction fits all
    assert find_meaning(pa.chunked_array([[b"x"]])) is None


@pytest.mark.parametrize(
    "cells",  # in the second, the month comes first because it may
    [["2024-01-31", "2023-12-01"], ["01/02/2024", "03/04/2024"], ["31/12/2023", "01/02/2024"],
     ["01/02/2024", "31/12/2023", "12/31/2023"], ["31.12.2023 10:15", "01.02.2024 23:59"],
     ["2024-01-31T10:00:00+0100", "2024-02-01T11:00:00+0000"], ["5 May 2020", "17 June 2021"],
     ["2024-01-31", "soon"], ["2024-02-30", "2024-01-01"], ["12:30", "14:15"],
     ["2024-01-31"] * 40 + ["31.01.2024"]],
)  # fmt: skip
def test_dates_are_those_that_skrub_finds(cells):
    column = pa.chunked_array([cells])
    try:
        wanted = ToDatetime().fit(column.to_pandas()).format_
    except ValueError:  # skrub refuses the column
        wanted = None
    found = find_meaning(column)
    assert (found.kind, found.format) == ("text" if wanted is None else "date", wanted)
