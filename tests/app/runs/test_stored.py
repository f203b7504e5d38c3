"""scores.parquet: the ranking of a correction, exactly, and nothing that does not fit the table."""

import numpy as np
import pyarrow as pa
import pytest
from loans import call, make_rows, write
from pyarrow import parquet

from subsvms.app.runs.options import Options
from subsvms.app.runs.record import read_record
from subsvms.app.runs.run import run_in_memory
from subsvms.app.runs.stored import Scores, read_scores, write_scores
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.table import read_table
from subsvms.audit import Ranking
from subsvms.exceptions import TableError


@pytest.fixture
def table(folder):
    return read_table(folder.with_name("loans.csv"), "default")


def test_the_ranking_of_a_file_is_that_of_the_correction(tmp_path, seed):
    rows, _ = make_rows(400, wrong=0.2, seed=seed)
    for i in (3, 8, 90):
        rows[i]["default"] = ""
    path = write(tmp_path / "t.csv", rows)
    table = read_table(path, "default")
    verified = ((1, "yes"), (4, "no"), (20, "yes"))  # the second had no label
    run = run_in_memory(table, Options("default", n_estimators=60, verified=verified, random_state=seed))
    write_scores(Scores.of(run.correction), table, tmp_path)
    scores, wanted = read_scores(tmp_path, table), Ranking.of(run.correction)
    assert scores.rank().digest == wanted.digest
    np.testing.assert_array_equal(scores.quality, run.correction.label_quality)  # not rounded
    np.testing.assert_array_equal(scores.changed, run.correction.changed)
    assert np.flatnonzero(scores.decided).tolist() == [0, 3, 19]
    left = scores.rank(wanted.order[:5].tolist())
    np.testing.assert_array_equal(left.order, wanted.order[5:])


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([0, 1]),
        pa.array([True, False]),
        pa.array([1.0, 2.0]),
        pa.array(["a", "b"]).dictionary_encode(),
    ],
)
def test_labels_keep_their_type(tmp_path, labels):
    rng = np.random.default_rng(0)
    kinds = rng.integers(2, size=200)
    x = kinds + rng.normal(0, 0.3, 200)
    columns = pa.table(
        {"x": x, "kind": labels.take(pa.array(np.where(rng.random(200) < 0.2, 1 - kinds, kinds)))}
    )
    parquet.write_table(columns, tmp_path / "t.parquet")
    call("correct", tmp_path / "t.parquet", "--label", "kind", "--svms", 50, "--quiet", "--threads", 1)
    table = read_table(tmp_path / "t.parquet", "kind")
    scores = read_scores(tmp_path / "t.subsvms", table)
    assert scores.classes.tolist() == table.classes
    found = parquet.read_table(tmp_path / "t.subsvms/scores.parquet")
    assert found["given_label"].to_pylist() == columns["kind"].to_pylist()
    assert found["row"].to_pylist() == list(range(1, 201))


def test_the_record_knows_the_file_and_the_terminal_names_it(folder, finished):
    assert read_record(folder).files["scores.parquet"] == digest_file(folder / "scores.parquet")
    assert "scores.parquet" in finished.output


def set_column(table, name, values):
    place = table.column_names.index(name)
    return table.set_column(
        place, table.schema.field(place), pa.array(values, table.schema.field(place).type)
    )


DAMAGES = {
    "not Parquet": lambda table: None,
    "a column is missing": lambda table: table.drop_columns(["contradicted"]),
    "rows are missing": lambda table: table.slice(1),
    "rows in another order": lambda table: table.take(list(range(len(table)))[::-1]),
    "another label": lambda table: set_column(table, "given_label", ["yes"] * len(table)),
    "an unknown class": lambda table: set_column(table, "suggested_label", ["maybe"] * len(table)),
    "the given label as suggestion": lambda table: set_column(
        table, "suggested_label", [label or "no" for label in table["given_label"].to_pylist()]
    ),
    "no quality": lambda table: set_column(table, "label_quality", [None] * len(table)),
    "a quality of two": lambda table: set_column(table, "label_quality", [2.0] * len(table)),
    "a quality that is not a number": lambda table: set_column(table, "label_quality", [np.nan] * len(table)),
    "flags as text": lambda table: table.set_column(
        table.column_names.index("decided"), "decided", pa.array(["no"] * len(table))
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_scores_that_do_not_fit_the_table_are_refused(folder, table, damage):
    path = folder / "scores.parquet"
    changed = DAMAGES[damage](parquet.read_table(path))
    path.write_text("row\n") if changed is None else parquet.write_table(changed, path)
    with pytest.raises(TableError, match="scores.parquet' is damaged .*: run subsvms correct again"):
        read_scores(folder, table)


def test_a_folder_without_scores_says_how_to_get_them(folder, table):
    (folder / "scores.parquet").unlink()
    with pytest.raises(TableError) as refused:
        read_scores(folder, table)
    assert str(refused.value) == (
        f"There is no file {str(folder / 'scores.parquet')!r}, which earlier versions did not write: run "
        f"subsvms correct again (decisions={str(folder)!r} keeps what was decided)."
    )
