"""Parquet files of a run: the ranking of a correction, exactly, and nothing that does not fit the table."""

import numpy as np
import pyarrow as pa
import pytest
from loans import call, make_rows, write
from pyarrow import parquet

from subsvms.app.options import Options
from subsvms.app.runs.parquet_files import Scores, get_label_type, read_issues, read_scores, write_scores
from subsvms.app.runs.record import read_record
from subsvms.app.runs.run import run_in_memory
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
    np.testing.assert_array_equal(scores.flagged, wanted.flagged)
    np.testing.assert_array_equal(scores.held_back, wanted.held_back)
    assert np.flatnonzero(scores.decided).tolist() == [0, 3, 19]
    left = scores.rank(wanted.order[:5].tolist())
    np.testing.assert_array_equal(left.order, wanted.order[5:])


@pytest.mark.parametrize("labels", [[0, 1], [True, False], [1.0, 2.0], ["a", "b"]])
def test_labels_keep_their_type(tmp_path, labels):
    labels = pa.array(labels) if labels != ["a", "b"] else pa.array(labels).dictionary_encode()
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


def test_scores_of_version_0_1_0_say_only_what_was_changed(folder, table):
    path = folder / "scores.parquet"
    found = parquet.read_table(path)
    parquet.write_table(found.drop_columns(["flagged", "held_back"]), path)
    scores = read_scores(folder, table)
    assert scores.changed.any() and not scores.held_back.any()
    np.testing.assert_array_equal(scores.flagged, scores.changed)


def put(table, name, values, kind=None):
    """Return the table with other values in a column, of the same type or of another."""
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, kind or table.schema.field(name).type))


def fill(name, value, kind=None):
    return lambda table: put(table, name, [value] * len(table), kind)


TEXT = pa.string()
ISSUES = {
    "text": lambda table: None, "a missing column": lambda table: table.drop_columns("reason"),
    "a row outside": fill("row", 10**6), "a row that is missing": fill("row", None),
    "a witness outside": fill("opposing", [0]), "an unknown class": fill("suggested_label", "maybe"),
    "a column of another type": fill("withstands", "one", TEXT),
    "a type that could be converted": lambda table: put(table, "row", table["row"].to_pylist(), pa.int32()),
    "a row listed twice": lambda table: pa.concat_tables([table, table]),
    "witnesses that are missing": fill("supporting", None), "a carrier outside": fill("carriers", [10**6]),
    "carriers without weights": fill("carried", []), "carriers that are missing": fill("carriers", None),
    "a weight that is not a number": lambda table: put(table, "carried",
     [[float("nan")] * len(rows) for rows in table["carriers"].to_pylist()]),
    "a verdict that no label must turn": fill("flips", 0), "a share of two": fill("confidence", 2.0),
    "a share that is not a number": fill("confidence", float("nan")),
    "text that is not UTF-8": lambda table: table.set_column(9, "reason",
     pa.array([b"\xc9\xff"] * len(table)).view(TEXT)),
}  # fmt: skip
SCORES = {
    "not Parquet": lambda table: None,
    "a column is missing": lambda table: table.drop_columns(["contradicted"]),
    "rows are missing": lambda table: table.slice(1),
    "rows in another order": lambda table: table.take(list(range(len(table)))[::-1]),
    "another label": fill("given_label", "yes"), "an unknown class": fill("suggested_label", "maybe"),
    "the given label as suggestion": lambda table: put(table, "suggested_label",
     [label or "no" for label in table["given_label"].to_pylist()]),
    "no quality": fill("label_quality", None), "a quality of two": fill("label_quality", 2.0),
    "a quality that is not a number": fill("label_quality", np.nan),
    "flags as text": fill("decided", "no", TEXT),
}  # fmt: skip
DAMAGES = {"issues.parquet": ISSUES, "scores.parquet": SCORES}


def read_again(folder, name, table):
    if name == "scores.parquet":
        return read_scores(folder, table)
    return read_issues(folder, get_label_type(table), len(table), table.classes)


@pytest.mark.parametrize("name, damage", [(name, damage) for name in DAMAGES for damage in DAMAGES[name]])
def test_files_that_do_not_fit_the_table_are_refused(folder, table, name, damage):
    changed = DAMAGES[name][damage](parquet.read_table(folder / name))
    (folder / name).write_text("row\n") if changed is None else parquet.write_table(changed, folder / name)
    with pytest.raises(TableError, match=f"{name}' is damaged .*: run subsvms correct again"):
        read_again(folder, name, table)


@pytest.mark.parametrize("keep", [0, 4, 1000, -9])
def test_files_that_are_cut_are_refused(folder, table, keep):
    path = folder / "issues.parquet"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(TableError, match="issues.parquet' is damaged .*: run subsvms correct again"):
        read_again(folder, path.name, table)


def test_issues_of_earlier_versions_have_no_carriers_and_can_be_read(folder, table):
    path, carriers = folder / "issues.parquet", {"flips", "carriers", "carried"}
    assert carriers <= set(read_again(folder, path.name, table).column_names)
    old = parquet.read_table(path).drop_columns(list(carriers))
    for written in (old, old.append_column("carriers", old["reason"])):  # a column of the user's own
        parquet.write_table(written, path)
        assert not carriers & set(read_again(folder, path.name, table).column_names)


def test_a_folder_without_scores_says_how_to_get_them(folder, table):
    (folder / "scores.parquet").unlink()
    with pytest.raises(TableError) as refused:
        read_scores(folder, table)
    assert str(refused.value) == (
        f"There is no file {str(folder / 'scores.parquet')!r}, which earlier versions did not write: run "
        f"subsvms correct again (decisions={str(folder)!r} keeps what was decided)."
    )
