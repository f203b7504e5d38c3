"""The files of a run: whole and typed for programs, harmless for spreadsheets."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from loans import call, make_rows, read, write
from pyarrow import feather, parquet

from subsvms.app.runs import outputs
from subsvms.app.runs.outputs import CELL_CHARACTERS, as_storable, disarm, write_cells
from subsvms.app.tables.table import read_table

FORMULA = "=cmd|' /C calc'!A0"
LONG = "x" * (2 * CELL_CHARACTERS)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The rows of a table with names and cells that mean harm, and the folder of a run on it."""
    rows, _ = make_rows(200, wrong=0.2)
    for i, row in enumerate(rows):
        row[FORMULA] = "=HYPERLINK(1)" if i % 2 else "<script>alert(1)</script>"
        row["note"] = "x" * 10**6 if i == 7 else LONG if i % 3 == 0 else f"</table>{i % 9}"
        row |= {"default_given": "mine", "row": "my row", "row (column)": "first", "'=x": "2nd", "=x": "3rd"}
    path = write(tmp_path_factory.mktemp("hostile") / "loans.csv", rows)
    call("correct", path, "--label", "default", "--quiet", "--svms", 50)
    return rows, path.with_name("loans.subsvms")


def test_hostile_cells_do_no_harm(hostile):
    rows, folder = hostile
    issues = read(folder / "issues.csv")
    assert {issue[f"'{FORMULA}"] for issue in issues} == {"'=HYPERLINK(1)", "<script>alert(1)</script>"}
    assert max(len(issue["note"]) for issue in issues) == CELL_CHARACTERS + 1
    page = (folder / "report.html").read_text()
    assert page.count("<script") == 1 and len(page) < 1_000_000  # its own, which sorts
    corrected = read(folder / "corrected.csv")
    assert [row["note"] for row in corrected] == [row["note"] for row in rows]  # the user's own table
    issue = issues[0]  # columns of ours and of the user with the same name are all there
    assert {row["default_given"] for row in corrected} == {"mine"} and "default_given_2" in corrected[0]
    assert issue["row (column)"] == "my row" and {"first", "2nd", "3rd"} <= set(issue.values())


def test_the_typed_issues_have_whole_values(hostile):
    rows, folder = hostile
    issues = parquet.read_table(folder / "issues.parquet").to_pylist()
    assert LONG in {issue["note"] for issue in issues}
    for issue, line in zip(issues, read(folder / "issues.csv"), strict=True):
        row = rows[issue["row"] - 1]
        assert issue[FORMULA] == row[FORMULA] and issue["note"] == row["note"]
        assert str(issue["row"]) == line["row"] and issue["reason"] == line["reason"]
        assert " ".join(map(str, issue["supporting"])) == line["supporting"]


def test_issues_written_a_few_rows_at_a_time_are_the_same(hostile, tmp_path, monkeypatch):
    _, folder = hostile
    monkeypatch.setattr(outputs, "BLOCK", 7)
    outputs.write_issues(parquet.read_table(folder / "issues.parquet"), tmp_path)
    assert (tmp_path / "issues.csv").read_bytes() == (folder / "issues.csv").read_bytes()


def test_formulas_are_disarmed_and_numbers_are_not():
    cells = ["=1", "+1", "-1", "@x", "-x", "a=1", "", None, "\t=1"]
    assert [disarm(cell) for cell in cells] == ["'=1", "+1", "-1", "'@x", "'-x", "a=1", "", None, "'\t=1"]
    for cell in ("＝1+1", "  =1+1", "\u3000＋A1"):
        assert disarm(cell) == f"'{cell}"
    assert [disarm(cell) for cell in (" -1", "  a", "é=1")] == [" -1", "  a", "é=1"]


def test_typed_issues_keep_the_types_of_the_table(tmp_path):
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 2, 200)
    given = np.where(rng.random(200) < 0.15, 1 - clean, clean)
    columns = {
        "x": rng.normal(clean, 0.3),
        "day": [datetime.date(2024, 1, 1 + i % 28) for i in range(200)],
        "colour": pa.array(["red", "blue"] * 100).dictionary_encode(),
        "sizes": [[i, i + 1] for i in range(200)],
        "span": pa.array([(i, 2, 3) for i in range(200)], pa.month_day_nano_interval()),  # not in Parquet
        "y": pa.array(given, pa.int8()),
    }
    feather.write_feather(pa.table(columns), tmp_path / "t.feather")
    call("correct", tmp_path / "t.feather", "--label", "y", "--only", "x", "--quiet", "--svms", 20)
    table = read_table(tmp_path / "t.feather", "y").columns
    found = parquet.read_table(tmp_path / "t.subsvms/issues.parquet")
    places = pa.array(found["row"].to_numpy() - 1)
    for name in ("x", "day", "colour", "sizes"):
        assert found[name].to_pylist() == table[name].take(places).to_pylist(), name
        assert found[name].type == table[name].type
    assert found["span"].to_pylist()[0] == str(table["span"][places[0].as_py()].as_py())
    assert found["given_label"].type == found["suggested_label"].type == pa.int8()
    assert found["row"].type == pa.int64() and found["supporting"].type == pa.list_(pa.int64())


def test_only_columns_that_parquet_cannot_hold_become_text():
    table = pa.table({"a": [1], "b": pa.array([{}], pa.struct([])), "c": pa.array([{"d": 1}])})
    assert as_storable(table).schema.types == [pa.int64(), pa.string(), table.schema.field("c").type]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_numbers_are_written_as_python_writes_them(kind):
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(-8, 20, 2000)
    values = np.concatenate(
        [sizes, -np.round(sizes[:500]), rng.random(500), [0.0, -0.0, np.nan, np.inf, 1e-4]]
    )
    with np.errstate(over="ignore"):
        column = pa.chunked_array(
            [pa.array(values.astype(kind)), pa.array([None], pa.from_numpy_dtype(kind))]
        )
    expected = [None if value is None or value != value else str(value) for value in column.to_pylist()]
    assert write_cells("weight", column).to_pylist() == expected
