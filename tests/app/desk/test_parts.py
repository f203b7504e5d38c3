"""A table that was corrected in parts is reviewed and audited like one in memory."""

import csv
import json
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from answered_audits import answer_all
from large_tables import make_columns, write_files
from loans import call, refuse
from nasty_texts import assert_refused
from pyarrow import parquet

from subsvms.app.desk import rows as desk_rows
from subsvms.app.desk.apply import apply_labels
from subsvms.app.desk.audit import AuditDesk, ConfirmDesk
from subsvms.app.desk.exchange import export_issues, import_decisions, write_questions
from subsvms.app.desk.opened import Desk
from subsvms.app.desk.review import Filter, ReviewDesk
from subsvms.app.names import UNDER_WAY
from subsvms.app.runs.answer_store import Act
from subsvms.app.tables.files import digest_file
from subsvms.exceptions import TableError

N = 2400  # rows, in three files
COMMON = (
    "--label", "label", "--exclude", "true", "--exclude", "city", "--svms", 100, "--quiet", "--fill-missing",
)  # fmt: skip
KILL = """
import os, signal, sys
from subsvms.app.runs import parts
from subsvms.app.desk.apply import apply_labels

seen = []

def stop():
    seen.append(1)
    if len(seen) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

parts.release_memory = stop  # which is called after each part
apply_labels(sys.argv[1], undecided="suggestion", force=True)
"""


def make_table():
    """Return columns of which one has the name of one of ours, and some rows have no label."""
    columns = make_columns(N, wrong=0.08)
    labels = [None if i % 400 == 7 else label for i, label in enumerate(columns["label"].to_pylist())]
    columns = columns.set_column(columns.column_names.index("label"), "label", pa.array(labels))
    return columns.append_column("reason", pa.array([f"because {i}" for i in range(1, N + 1)]))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folders of a run in memory and of one in parts on the same table: not to be changed."""
    place = tmp_path_factory.mktemp("parts")
    big = write_files(make_table(), place / "big", row_group_size=300)
    for engine in ("memory", "local"):
        call("correct", big / "*.parquet", *COMMON, "--engine", engine, "--output", place / engine)
    return place


@pytest.fixture
def place(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copy")


@pytest.fixture
def desks(place):
    found = [ReviewDesk(place / name) for name in ("memory", "local")]
    yield found
    for desk in found:
        desk.decisions.close()


def read_table(path):
    """Return the lines of a table, in one file or in parts."""
    return parquet.read_table(path, partitioning=None).to_pylist()


def decide_some(desk):
    """Decide in every way, by row: what holds does not depend on the order of the issues."""
    for row in sorted(desk.rows.tolist()):
        verdict = ("accept", "keep", "skip", "label", "drop")[row % 5]
        if desk.given[desk.place[row]] >= 0 or verdict != "keep":
            desk.decide_many([Act([desk.settle(row, verdict, desk.classes[row % 2])], "Ann")])


def test_a_desk_shows_the_same_issues_in_parts_and_in_memory(desks):
    memory, local = desks
    assert not memory.in_parts and local.in_parts
    assert sorted(local.rows) == sorted(memory.rows) and len(local) > 100
    assert (local.classes, local.columns, local.source.n_rows) == (memory.classes, memory.columns, N)
    for row in memory.rows.tolist():
        ours, theirs = local.describe(row), memory.describe(row)
        assert json.dumps(ours, allow_nan=False)
        assert ours == theirs
    expected = local.expected[: local.flagged.sum()]
    assert local.flagged[: len(expected)].all() and np.all(np.diff(expected) <= 0)


def test_filters_and_searches_find_the_same_rows(desks, monkeypatch):
    monkeypatch.setattr(desk_rows, "CACHE_BYTES", 5000)  # so that some row groups are read again
    city = "city number 7"
    for wanted in (
        Filter(search="BECAUSE 17"), Filter(search=city), Filter(search="nowhere"),
        Filter(column="colour", value="red"), Filter(column="colour", value=""),
        Filter(given="yes", low=0.6), Filter(sort="confidence", column="city", value=city),
    ):  # fmt: skip
        found = [sorted(desk.rows[desk.find(wanted)].tolist()) for desk in desks]
        assert found[0] == found[1] and (found[0] != []) == (wanted.search != "nowhere")
    assert desks[0].common_values("colour") == desks[1].common_values("colour")
    rows = np.random.default_rng(0).permutation(desks[0].rows)
    assert desks[1].source.take(rows).equals(desks[0].source.take(rows))
    assert desks[1].source.take([]).num_rows == 0


@pytest.mark.parametrize("undecided", ["keep", "suggestion"])
def test_apply_writes_what_it_writes_in_memory(desks, place, undecided):
    done = []
    for desk in desks:
        decide_some(desk)
        done.append(apply_labels(desk.folder, undecided=undecided))
    names = sorted(path.name for path in (place / "local" / "final").iterdir())
    assert names == [f"part-{i:06d}.parquet" for i in range(3)]
    lines = [read_table(place / "memory" / "final.parquet"), read_table(place / "local" / "final")]
    assert lines[0] == lines[1] and len(lines[0]) == N - len(done[1].labels.dropped) < N
    assert str(done[0]).replace("memory/final.parquet", "local/final") == str(done[1])
    given = {line["reason"]: line for line in make_table().to_pylist()}
    assert all(line.pop("label_given") == given[line["reason"]]["label"] for line in lines[1])
    differ = {line["reason"] for line in lines[1] if line != given[line["reason"]]}
    assert len(differ) == done[1].n_changed > 10
    assert differ <= {f"because {row}" for row in desks[1].rows.tolist()}


def test_what_is_there_is_replaced_only_if_asked_and_only_if_it_is_ours(desks, place):
    decide_some(desks[1])
    folder = place / "local"
    apply_labels(folder)
    before = read_table(folder / "final")
    with pytest.raises(TableError, match="already exists.*replace it"):
        apply_labels(folder)
    apply_labels(folder, undecided="suggestion", force=True)
    assert read_table(folder / "final") != before
    (folder / "final" / "notes.txt").write_text("mine")
    assert_refused("holds 'notes.txt', which subsvms apply did not write", apply_labels, folder, force=True)
    for name in ("corrected", "issues"):
        with pytest.raises(TableError, match="is a folder of the run itself"):
            apply_labels(folder, output=folder / name, force=True)
    for other in (place / "big", place, folder):
        with pytest.raises(TableError, match="holds the table or the run|which subsvms apply did not write"):
            apply_labels(folder, output=other, force=True)
    assert_refused("is not a folder", apply_labels, folder, output=folder / "run.json", force=True)
    parquet.write_table(make_table().slice(1), place / "big" / "0.parquet")
    assert_refused("has changed since the run", apply_labels, folder, output=place / "other")
    assert len(desks[1].show(desks[1].rows[:1])[0]) == 8  # the review does not need the table


def test_issues_are_exported_and_decisions_imported(desks, place):
    decide_some(desks[1])
    folder = place / "local"
    for format in ("jsonl", "label-studio", "argilla", "spotlight"):
        assert export_issues(folder, format).startswith(f"{len(desks[1])} ")
    lines = [json.loads(line) for line in (folder / "issues.jsonl").read_text().splitlines()]
    assert [line["row"] for line in lines] == desks[1].rows.tolist()
    assert all(line["values"]["reason"] == f"because {line['row']}" for line in lines)
    (folder / "mine.jsonl").write_text(json.dumps({"row": lines[0]["row"], "label": "yes"}))
    assert import_decisions(folder, folder / "mine.jsonl").startswith("1 ")


def test_decisions_stand_in_the_next_run_in_parts_as_in_one_in_memory(desks, place):
    for desk, engine in zip(desks, ("memory", "local"), strict=True):
        decide_some(desk)
        again = ("correct", place / "big" / "*.parquet", *COMMON, "--engine", engine)
        call(*again, "--decisions", desk.folder, "--output", place / f"again-{engine}")
    lines = [
        read_table(place / "again-memory" / "corrected.parquet"),
        read_table(place / "again-local" / "corrected"),
    ]
    assert lines[0] == lines[1]
    decided = {row: label for row, label in desks[1].settled.items() if label is not None}
    assert len(decided) > 50 and all(lines[1][row - 1]["label"] == label for row, label in decided.items())
    with closing(ReviewDesk(place / "again-local")) as second:
        assert not set(decided) & set(second.rows.tolist()) and second.settled == desks[1].settled
    done = apply_labels(place / "again-local")
    assert len(done.labels.decided) == len(decided)
    assert json.loads((place / "again-local" / "run.json").read_text())["found"]["verified"] == len(decided)
    changed = desks[1].folder / "run.json"
    changed.write_text(
        changed.read_text().replace(f'"sha256": "{desks[1].record.input.sha256}"', '"sha256": "0"')
    )
    refuse("about another run", *again, "--decisions", desk.folder, "--output", place / "third")


def test_text_files_are_staged_again_and_merged_spellings_stay_merged(tmp_path):
    columns = make_columns(900, wrong=0.08)
    labels = [
        f"{label} " if i % 50 == 3 else "?" if i % 300 == 8 else label
        for i, label in enumerate(columns["label"].to_pylist())
    ]
    columns = columns.set_column(columns.column_names.index("label"), "label", pa.array(labels))
    columns.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    words = ("correct", tmp_path / "t.csv", *COMMON, "--merge-labels", "--missing-label", "?")
    for engine in ("memory", "local"):
        folder = tmp_path / engine
        call(*words, "--engine", engine, "--output", folder)
        desk = ReviewDesk(folder)
        decide_some(desk)
        desk.decisions.close()
        call("apply", folder)
    with (tmp_path / "memory" / "final.csv").open(newline="") as file:
        memory = list(csv.DictReader(file))
    local = [
        {name: value or "" for name, value in line.items()} for line in read_table(tmp_path / "local/final")
    ]
    assert memory == local and {line["label"] for line in local} >= {"no", "yes"}
    assert [path.name for path in (tmp_path / "local" / "final").iterdir()] == ["part-000000.parquet"]


@pytest.mark.parametrize("action", ["fix", "drop", "weight"])
def test_any_row_is_read_in_parts_as_in_memory(made, tmp_path, action):
    folder = made / "local"
    if action != "fix":
        words = (*COMMON, "--engine", "local", "--action", action, "--output", tmp_path / "local")
        call("correct", made / "big" / "*.parquet", *words)
        folder = tmp_path / "local"
    rows = np.random.default_rng(0).permutation(N) + 1
    with closing(Desk(made / "memory")) as memory, closing(Desk(folder)) as local:
        assert local.show(rows) == memory.show(rows)
        assert local.source.labels_of(rows) == memory.source.labels_of(rows)
        assert local.take(rows[:7], ["city"]).to_pylist() == memory.take(rows[:7], ["city"]).to_pylist()
        with pytest.raises(KeyError):
            local.take([N + 1])


def write_score_parts(place):
    """Write the scores of the run in memory as one in parts has them."""
    scores, folder = parquet.read_table(place / "memory" / "scores.parquet"), place / "local"
    shutil.rmtree(folder / "scores", ignore_errors=True)
    (folder / "scores").mkdir()
    for number in range(3):
        path = folder / "scores" / f"part-{number:06d}.parquet"
        parquet.write_table(scores.slice(number * N // 3, N // 3), path)
    record = json.loads((folder / "run.json").read_text())
    record["files"] |= {f"scores/{path.name}": digest_file(path) for path in (folder / "scores").iterdir()}
    (folder / "run.json").write_text(json.dumps(record))


@pytest.mark.parametrize("open_desk", [partial(AuditDesk, n_answers=60), ConfirmDesk])
def test_an_audit_in_parts_is_that_in_memory(place, tmp_path, open_desk):
    write_score_parts(place)
    clean = parquet.read_table(place / "big", columns=["true"], partitioning=None)["true"].to_pylist()
    desks = [open_desk(place / name) for name in ("memory", "local")]
    for desk in desks:
        write_questions(desk, tmp_path / f"{desk.folder.name}.csv")
    assert (tmp_path / "local.csv").read_bytes() == (tmp_path / "memory.csv").read_bytes()
    while (asked := desks[0].question("Ann")) is not None:
        assert desks[1].question("Ann") == asked
        for desk in desks:
            desk.answer("Ann", asked["row"], clean[asked["row"] - 1], asked["id"])
    assert desks[0].progress() == desks[1].progress()
    done = [apply_labels(desk.folder, output=tmp_path / desk.folder.name) for desk in desks[1:]]
    done.append(apply_labels(desks[0].folder, output=tmp_path / "memory.parquet"))
    assert done[0].words == done[1].words and len(done[0].labels.unseen) > 0
    assert read_table(tmp_path / "local") == read_table(tmp_path / "memory.parquet")


def test_what_a_run_in_parts_wrote_is_confirmed(place):
    desk = ConfirmDesk(place / "local")
    clean = parquet.read_table(place / "big", columns=["true"], partitioning=None)["true"].to_pylist()
    answer_all(desk, clean.__getitem__)
    done = apply_labels(place / "local")
    assert desk.progress()["claim"] in str(done) and "Confirmed: " in str(done)
    assert len(done.labels.unseen) == len(desk.work.changed) > 100


def test_without_scores_or_with_others_there_is_no_audit(place):
    write_score_parts(place)
    path = place / "local" / "scores" / "part-000001.parquet"
    parquet.write_table(parquet.read_table(path), path, compression="gzip")
    assert_refused("part-000001.parquet' was changed after the run wrote it", AuditDesk, place / "local")
    path.unlink()
    assert_refused("the rows are not those of the table", AuditDesk, place / "local")
    shutil.rmtree(place / "local" / "scores")
    with pytest.raises(
        TableError, match="There is no folder .*scores', which earlier versions did not"
    ) as said:
        AuditDesk(place / "local")
    assert said.tb and not list((place / "local").glob("decisions.sqlite-*"))  # it was closed


def test_a_folder_of_an_earlier_version_and_damaged_issues_are_refused(place):
    folder = place / "local"
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"labels": None}))
    assert_refused("earlier version", ReviewDesk, folder)
    for wrong in ({"classes": [*record["labels"]["classes"], 7]}, {"values": [["a", 99]]}):
        (folder / "run.json").write_text(json.dumps(record | {"labels": record["labels"] | wrong}))
        assert_refused("it was changed", ReviewDesk, folder)
    (folder / "run.json").write_text(json.dumps(record))
    path = folder / "issues" / "part-000001.parquet"
    good = parquet.read_table(path)
    for name, values in {"row": good["row"].to_numpy() + N, "confidence": np.full(len(good), 2.0)}.items():
        parquet.write_table(good.set_column(good.column_names.index(name), name, pa.array(values)), path)
        assert_refused("is damaged", ReviewDesk, folder)
    for damage in (lambda: path.write_bytes(b"nothing"), path.unlink):
        damage()
        assert_refused("part-000001.parquet' is damaged", ReviewDesk, folder)


def test_files_that_lost_their_rows_are_refused(place):
    folder = place / "local"
    for path in (*folder.glob("corrected/*.parquet"), *folder.glob("issues/*.parquet")):
        parquet.ParquetWriter(path, parquet.read_schema(path)).close()  # without a row group
    (folder / "issues.parquet").unlink()
    with closing(Desk(folder)) as desk:
        assert desk.take([]).num_rows == 0
        with pytest.raises(TableError, match="corrected' is damaged.*does not have the rows of the table"):
            desk.show([1])


def test_apply_that_is_killed_leaves_what_was_there(desks, place):
    """Killed after each part: what was there stays, and the next apply removes what was left."""
    decide_some(desks[1])
    folder = place / "local"
    apply_labels(folder)
    before = read_table(folder / "final")
    for n_parts in (1, 3):
        done = subprocess.run([sys.executable, "-c", KILL, str(folder), str(n_parts)], timeout=120)
        assert done.returncode == -signal.SIGKILL
        assert read_table(folder / "final") == before
        left = [path for path in folder.iterdir() if path.name.startswith(".final-") and path.is_dir()]
        assert len(left) == 1 and len(list(left[0].iterdir())) == n_parts
        assert all(UNDER_WAY.fullmatch(path.name) for path in left[0].iterdir())
    apply_labels(folder, undecided="suggestion", force=True)
    assert read_table(folder / "final") != before
    assert not [path for path in folder.iterdir() if path.name.startswith(".final-")]
