"""From decisions to a table, and to the next run."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from loans import call, read, refuse
from nasty_texts import assert_refused

from subsvms.app.desk.apply import Applied, Labels, apply_labels, read_verified
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.runs.answer_store import Act


def test_apply_writes_what_was_decided_and_nothing_else(desk, folder, tmp_path):
    flagged = desk.rows[desk.flagged].tolist()
    accept, keep, other = flagged[0], flagged[1], flagged[2]
    filled = int(desk.rows[desk.given < 0][0])
    opposite = {"yes": "no", "no": "yes"}
    desk.decide_many([Act([desk.settle(accept, "accept", None), desk.settle(keep, "keep", None)], "Ann")])
    desk.decide_many([Act([desk.settle(other, "skip", None), desk.settle(filled, "accept", None)], "Bob")])
    original = read(folder.with_name("loans.csv"))
    suggested = {int(row): desk.classes[code] for row, code in zip(desk.rows, desk.suggested, strict=True)}
    for undecided in ("keep", "suggestion"):
        done = apply_labels(folder, undecided=undecided, output=tmp_path / f"{undecided}.csv")
        final = read(tmp_path / f"{undecided}.csv")
        given = [row.pop("default_given") for row in final]  # beside the label, as in corrected.csv
        assert given == [row["default"] for row in original]
        assert done.n_changed == sum(a != b for a, b in zip(final, original, strict=True))
        assert len(done.labels.decided) == 3 == len(desk) - len(done.labels.followed) - done.n_kept
        words = f"{done.n_kept:,} keep the label as given." if done.n_kept else "follow the suggestion."
        assert words in str(done) and (done.n_kept > 0) == (undecided == "keep")
        assert final[accept - 1]["default"] == opposite[original[accept - 1]["default"]]
        assert final[keep - 1]["default"] == original[keep - 1]["default"]
        assert final[filled - 1]["default"] == suggested[filled]
        for row in flagged[2:]:
            expected = suggested[row] if undecided == "suggestion" else original[row - 1]["default"]
            assert final[row - 1]["default"] == expected
        untouched = set(range(1, len(original) + 1)) - set(desk.rows.tolist())
        assert all(final[row - 1] == original[row - 1] for row in untouched)
    assert_refused("already exists", apply_labels, folder, output=tmp_path / "keep.csv")
    assert_refused("keep or suggestion", apply_labels, folder, undecided="maybe")


def test_decided_rows_are_verified_in_the_next_run_and_stand_in_the_rounds_after(desk, folder, tmp_path):
    rows = desk.rows[desk.flagged][:20].tolist()
    verdicts = ["keep" if i % 2 else "accept" for i in range(20)]
    decided = [desk.settle(row, verdict, None) for row, verdict in zip(rows, verdicts, strict=True)]
    desk.decide_many([Act(decided, "Ann")])
    table, second = folder.with_name("loans.csv"), folder.with_name("loans.reviewed.subsvms")
    call("correct", table, "--label", "default", "--svms", 100, "--quiet", "--decisions", folder)
    corrected, original = read(second / "corrected.csv"), read(table)
    kept = [corrected[row - 1]["default"] == original[row - 1]["default"] for row in rows]
    assert kept == [verdict == "keep" for verdict in verdicts]
    assert not {str(row) for row in rows} & {issue["row"] for issue in read(second / "issues.csv")}
    done = apply_labels(second, output=tmp_path / "final.csv")
    assert len(done.labels.decided) == 20 and done.n_changed == 10
    assert len(read_verified(second, "default")[0]) == 20
    call("correct", "--from", second, "--output", tmp_path / "again", "--quiet")
    for name in ("corrected.csv", "issues.csv", "issues.parquet"):
        assert (second / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    again = ("correct", table, "--label", "colour", "--decisions", folder)
    refuse("are about the column 'default', not 'colour'", *again)


@pytest.mark.parametrize("name", [
    "run.json", "issues.parquet", "issues.csv", "scores.parquet", "report.html", "decisions.sqlite",
    "corrected.csv",
])  # fmt: skip
def test_the_files_of_a_run_are_never_overwritten(folder, tmp_path, name):
    before = (folder / name).read_bytes() if (folder / name).exists() else None
    (tmp_path / "link.csv").symlink_to(folder / name)
    for words in (("apply", folder), ("export", folder, "--to", "jsonl")):
        for path in (folder / name, tmp_path / "link.csv"):
            if words[0] == "export" or path.suffix in (".csv", ".parquet"):
                refuse("is a file of the run itself", *words, "--output", path, "--force")
    assert before is None or (folder / name).read_bytes() == before


def list_refusals(folder):
    """Return what each command that reads decisions says."""
    correct = ("correct", folder.with_name("loans.csv"), "--label", "default", "--quiet", "--dry-run")
    commands = (("apply",), ("export", "--to", "jsonl"), ("review",), (*correct, "--decisions"))
    return [" ".join(call(*words, folder, code=2).output.split()) for words in commands]


def test_decisions_of_another_run_are_refused(desk, folder, tmp_path):
    desk.decide_many([Act([desk.settle(int(desk.rows[0]), "accept", None)], "Ann")])
    desk.decisions.close()
    table, other = folder.with_name("loans.csv"), tmp_path / "other.subsvms"
    call("correct", table, "--label", "default", "--svms", 50, "--quiet", "--output", other)
    shutil.copy(folder / "decisions.sqlite", other)
    assert all("about another run" in said for said in list_refusals(other))


FORGED = [("zzz",), (["yes"],), ({"yes": 1},), (1,), (True,), ("x" * 10**6,), ("yes", 501)]  # label, row


@pytest.mark.parametrize("forged", FORGED, ids=lambda forged: str(forged)[:20])
def test_what_cannot_have_been_decided_is_refused_in_a_short_sentence(desk, folder, forged):
    label, row = forged if len(forged) > 1 else (*forged, int(desk.rows[0]))
    with sqlite3.connect(folder / "decisions.sqlite") as connection:
        connection.execute("INSERT INTO acts (who, at) VALUES ('Eve', '')")
        connection.execute("INSERT INTO decisions VALUES (1, ?, 'label', ?, NULL)", (row, json.dumps(label)))
    connection.close()
    assert all(f"row {row}" in said and len(said) < 500 for said in list_refusals(folder))


def test_an_empty_file_of_decisions_is_not_written_to_and_its_log_is_not_ignored(folder):
    correct = ("correct", folder.with_name("loans.csv"), "--label", "default", "--quiet", "--dry-run")
    file, log = folder / "decisions.sqlite", folder / "decisions.sqlite-wal"
    file.write_bytes(b"")
    refuse("There are no decisions in", *correct, "--decisions", folder)
    assert file.read_bytes() == b""
    log.write_bytes(b"the log")
    assert all("restore the file" in said for said in list_refusals(folder))
    assert (file.read_bytes(), log.read_bytes()) == (b"", b"the log")


@pytest.mark.parametrize("counts, words", [
    ((1, 1, 1, 1), "1 row was decided by people. Of the other issues, 1 follows the suggestion and 1 keeps"),
    ((2, 2, 0, 1), "2 rows were decided by people (1 of them differs). Of the other issues, 2 keep the"),
    ((2, 0, 0, 2), "2 rows were decided by people. The table is in"),
])  # fmt: skip
def test_one_is_singular(counts, words):
    n_decided, n_kept, n_followed, n_differing = counts
    followed, decided = dict.fromkeys(range(9, 9 + n_followed)), dict.fromkeys(range(n_decided))
    done = Applied(Path("f.csv"), Labels(decided, {}, {}, followed, set()), 9, n_kept, (n_differing, 0, 0, 0))
    assert words in str(done)


@pytest.mark.parametrize("undecided", ["keep", "suggestion"])
def test_rows_that_are_left_out_are_not_in_the_table(desk, folder, tmp_path, undecided):
    first, second, third = desk.rows[desk.flagged][:3].tolist()
    lines = [desk.settle(first, "drop", None), desk.settle(second, "drop", None)]
    desk.decide_many([Act(lines, "Ann"), Act([desk.settle(third, "accept", None)], "Ann")])
    done = apply_labels(folder, undecided=undecided, output=tmp_path / "final.csv")
    final, original = read(tmp_path / "final.csv"), read(folder.with_name("loans.csv"))
    dropped = {original[row - 1]["id"] for row in (first, second)}
    assert [row["id"] for row in final] == [row["id"] for row in original if row["id"] not in dropped]
    assert (done.n_rows, len(done.labels.dropped), len(done.labels.decided)) == (498, 2, 1)
    assert len(done.labels.followed) + done.n_kept == len(desk) - 3
    assert "2 rows are left out. The table" in str(done)
    kept = [row for row in original if row["id"] not in dropped]
    assert done.n_changed == sum(a["default"] != b["default"] for a, b in zip(final, kept, strict=True))
    assert [row["default_given"] for row in final] == [row["default"] for row in kept]


def test_a_row_that_was_left_out_stays_out_until_somebody_decides_otherwise(desk, folder, tmp_path):
    row, other = desk.rows[desk.flagged][:2].tolist()
    lines = [desk.settle(row, "drop", None), desk.settle(other, "accept", None)]
    desk.decide_many([Act(lines, "Ann")])
    table, second = folder.with_name("loans.csv"), folder.with_name("loans.reviewed.subsvms")
    assert read_verified(folder, "default")[0] == tuple(sorted([(row, None), (other, lines[1].label)]))
    done = call("correct", table, "--label", "default", "--svms", 100, "--decisions", folder)
    assert "1 row that people left out is still in this result" in " ".join(done.output.split())
    assert len(read(second / "corrected.csv")) == 500
    assert apply_labels(second, output=tmp_path / "a.csv").n_rows == 499
    again = ReviewDesk(second)
    if row in again.place:
        again.decide_many([Act([again.settle(row, "keep", None)], "Bob")])
        assert apply_labels(second, output=tmp_path / "b.csv").n_rows == 500
    again.decisions.close()


def test_a_table_of_which_nothing_is_left_is_not_written(desk, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(ReviewDesk, "settled", dict.fromkeys(range(1, 501)))
    assert_refused("All rows are left out", apply_labels, folder, output=tmp_path / "final.csv")
    assert not (tmp_path / "final.csv").exists()
