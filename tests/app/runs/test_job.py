"""The whole job, as its user does it: a file in, a folder out, or a sentence and nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from loans import call, make_rows, read, write
from typer.testing import CliRunner

from subsvms.app.cli.main import app
from subsvms.app.runs import job
from subsvms.app.runs.issues import disarm, find_issues
from subsvms.app.runs.outputs import read_record
from subsvms.app.runs.options import Options
from subsvms.app.runs.run import correct_table
from subsvms.app.runs.summary import LONGEST, summarise
from subsvms.app.tables.table import read_table
from subsvms.exceptions import TableError

FILES = {"corrected.csv", "issues.csv", "report.html", "run.json"}
QUICK = ["--svms", "200"]


@pytest.fixture
def loans(tmp_path):
    rows, _ = make_rows()
    return write(tmp_path / "loans.csv", rows)


def test_one_command_leaves_a_folder_with_fewer_wrong_labels(loans):
    _, clean = make_rows()
    before = loans.read_bytes()
    result = call("correct", loans, "--label", "default")
    folder = loans.with_name("loans.subsvms")
    assert {path.name for path in folder.iterdir()} == FILES and loans.read_bytes() == before
    corrected, original = read(folder / "corrected.csv"), read(loans)
    assert [row["default_given"] for row in corrected] == [row["default"] for row in original]
    wrong = sum(row["default"] != label for row, label in zip(corrected, clean, strict=True))
    given = sum(row["default"] != label for row, label in zip(original, clean, strict=True))
    assert wrong < given / 3
    for name in ("id", "age", "size", "colour", "who"):
        assert [row[name] for row in corrected] == [row[name] for row in original]
    for words in ("600 rows", "look wrong", "corrected.csv", "report.html", "'id' never repeats"):
        assert words in " ".join(result.output.split())


def test_issues_come_worst_first_and_name_their_rows(loans):
    call("correct", loans, "--label", "default", "--quiet")
    folder = loans.with_name("loans.subsvms")
    issues, rows, corrected = read(folder / "issues.csv"), read(loans), read(folder / "corrected.csv")
    flagged = [issue for issue in issues if issue["is_label_issue"] == "true"]
    assert [float(issue["label_quality"]) for issue in flagged] == sorted(
        float(issue["label_quality"]) for issue in flagged
    )
    for issue in flagged:
        row = int(issue["row"]) - 1
        assert rows[row]["id"] == issue["id"] and rows[row]["default"] == issue["given_label"]
        assert corrected[row]["default"] == issue["suggested_label"]
        assert issue["reason"].startswith("fix: ") and issue["supporting"]
    changed = {i for i, row in enumerate(corrected) if row["default"] != row["default_given"]}
    assert changed == {int(issue["row"]) - 1 for issue in flagged}


def test_a_record_repeats_the_run_to_the_byte_from_anywhere(loans, tmp_path, monkeypatch):
    call(
        "correct", loans, "--label", "default", "--by", "who", "--seed", 3, "--threads", 1, "--quiet", *QUICK
    )
    folder = loans.with_name("loans.subsvms")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    call("correct", "--from", folder / "run.json", "--output", "again", "--threads", 2, "--quiet")
    for name in ("corrected.csv", "issues.csv"):
        assert (elsewhere / "again" / name).read_bytes() == (folder / name).read_bytes()
    records = [json.loads((place / "run.json").read_text()) for place in (folder, elsewhere / "again")]
    assert records[0]["options"] == records[1]["options"] and records[0]["files"] == records[1]["files"]
    loans.write_text(loans.read_text().replace("red", "pink"))
    result = call("correct", "--from", folder, "--output", "third", code=2)
    assert "has changed since that run" in result.output and not (elsewhere / "third").exists()


def test_a_record_takes_no_further_settings_and_must_be_one(loans, tmp_path):
    call("correct", loans, "--label", "default", "--quiet", *QUICK)
    record = loans.with_name("loans.subsvms") / "run.json"
    result = call("correct", "--from", record, "--rule", "majority", code=2)
    assert "leave out --rule" in result.output
    for text in (
        "",
        "[]",
        '{"subsvms": 1}',
        '{"subsvms": 1, "options": {"rule": "x"}, "input": {"paths": 3}}',
    ):
        (tmp_path / "bad.json").write_text(text)
        assert "no record of a run" in call("correct", "--from", tmp_path / "bad.json", code=2).output
    (tmp_path / "bad.json").write_text('{"subsvms": 99}')
    assert "use the one that wrote it" in " ".join(
        call("correct", "--from", tmp_path / "bad.json", code=2).output.split()
    )
    assert isinstance(read_record(record.parent)["options"], Options)


def test_the_number_of_threads_changes_no_byte(loans, tmp_path):
    for threads in (1, 3):
        call(
            "correct", loans, "--label", "default", "--threads", threads, "--output", tmp_path / str(threads),
            "--quiet", *QUICK,
        )  # fmt: skip
    for name in ("corrected.csv", "issues.csv"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes()


def test_json_is_for_programs(loans):
    result = CliRunner().invoke(
        app, ["correct", str(loans), "--label", "default", "--json", "--dry-run", *QUICK]
    )
    found = json.loads(result.stdout)
    assert found["rows"] == 600 and found["folder"] is None and found["changed"] == found["flagged"]
    assert not loans.with_name("loans.subsvms").exists()
    assert sum(line["rows"] for line in found["classes"]) == 600


def test_quiet_says_nothing(loans):
    assert call("correct", loans, "--label", "default", "--quiet", *QUICK).output == ""


def test_standard_input_needs_a_place(loans, tmp_path):
    text = loans.read_text()
    result = call("correct", "-", "--label", "default", *QUICK, input=text, code=2)
    assert "standard input" in result.output and "--output" in result.output
    call("correct", "-", "--label", "default", "--output", tmp_path / "out", "--quiet", *QUICK, input=text)
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    record = tmp_path / "out/run.json"
    call("correct", "--from", record, "--output", tmp_path / "out2", "--quiet", input=text)
    assert (tmp_path / "out/issues.csv").read_bytes() == (tmp_path / "out2/issues.csv").read_bytes()


def test_each_action_does_what_it_says(loans, tmp_path):
    folders = {}
    for action in ("fix", "drop", "weight", "review"):
        folders[action] = tmp_path / action
        call(
            "correct", loans, "--label", "default", "--action", action, "--output", folders[action],
            "--quiet", *QUICK,
        )  # fmt: skip
    flagged = {
        issue["row"] for issue in read(folders["fix"] / "issues.csv") if issue["is_label_issue"] == "true"
    }
    assert flagged
    for action, folder in folders.items():
        rows = read(folder / "corrected.csv")
        changed = sum(row["default"] != row["default_given"] for row in rows)
        assert changed == (len(flagged) if action == "fix" else 0)
        assert len(rows) == 600 - (len(flagged) if action == "drop" else 0)
        assert ("sample_weight" in rows[0]) == (action == "weight")
    kept = [row["id"] for row in read(folders["drop"] / "corrected.csv")]
    assert kept == [row["id"] for i, row in enumerate(read(loans), 1) if str(i) not in flagged]


def test_noise_by_annotator_is_told_and_the_annotator_is_no_feature(loans):
    result = call("correct", loans, "--label", "default", "--by", "who", "--json", "--dry-run", *QUICK)
    found = json.loads(result.stdout)
    (group,) = found["groups"]
    assert group["column"] == "who" and {line["value"] for line in group["lines"]} == {"ann", "bob"}
    assert sum(line["rows"] for line in group["lines"]) == 600
    assert found["columns_used"] == 3  # neither the identifier nor the annotator


def test_at_most_the_allowed_share_is_changed_and_the_rest_is_listed(loans):
    words = ("correct", loans, "--label", "default", "--json", "--dry-run", "--max-error-rate", "0.02")
    found = json.loads(call(*words).stdout)
    assert found["changed"] <= 0.02 * 600 and found["held_back"] > 0
    assert found["n_worst"] == found["flagged"] + found["held_back"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["--rule", "mojority"], "did you mean 'majority'"),
        (["--action", "fixx"], "did you mean 'fix'"),
        (["--max-error-rate", "1.5"], "--max-error-rate must be at least 0 and at most 1"),
        (["--min-confidence", "-1"], "--min-confidence must be"),
        (["--svms", "0"], "--svms must be a whole number, at least 1"),
        (["--subset-size", "1"], "--subset-size must be a whole number, at least 2"),
        (["--subset-size", "huge"], "log, log_squared or a whole number"),
        (["--subset-size", "100000"], "between 2 and the number of rows, 600"),
        (["--kernel", "precomputed"], "--kernel must be one of"),
        (["--by", "whom"], "did you mean 'who'"),
        (["--exclude", "agee"], "did you mean 'age'"),
        (["--features", "nothing.npy"], "There is no file 'nothing.npy'"),
        (["--output", "no/such/folder/x"], "There is no folder"),
    ],
)
def test_a_mistake_gets_a_sentence_exit_code_2_and_nothing_written(loans, words, message):
    result = call("correct", loans, "--label", "default", *words, code=2)
    assert message in " ".join(result.output.split())
    assert [path.name for path in loans.parent.iterdir()] == ["loans.csv"]


def test_a_model_is_not_written_over_something_else(loans):
    result = call("correct", loans, "--label", "default", "--save-model", loans, code=2)
    assert "is the table that was read" in result.output
    assert not loans.with_name("loans.subsvms").exists()


def test_hostile_cells_do_no_harm(tmp_path):
    rows, _ = make_rows(300)
    for i, row in enumerate(rows):
        row["=cmd|' /C calc'!A0"] = "=HYPERLINK(1)" if i % 2 else "<script>alert(1)</script>"
        row["note"] = "x" * 10_000_000 if i == 7 else f"</table>{i % 9}"
    path = write(tmp_path / "loans.csv", rows)
    call("correct", path, "--label", "default", "--quiet", *QUICK)
    folder = tmp_path / "loans.subsvms"
    issues = read(folder / "issues.csv")
    assert issues and "'=cmd|' /C calc'!A0" in issues[0]
    assert {issue["'=cmd|' /C calc'!A0"] for issue in issues} <= {
        "'=HYPERLINK(1)",
        "<script>alert(1)</script>",
    }
    page = (folder / "report.html").read_text()
    assert "<script" not in page and len(page) < 3_000_000
    corrected = read(folder / "corrected.csv")
    assert [row["note"] for row in corrected] == [row["note"] for row in rows]  # the user's own table


def test_formulas_are_disarmed_and_numbers_are_not():
    cells = ["=1", "+1", "-1", "@x", "-x", "a=1", "", None, "\t=1"]
    assert disarm(cells) == ["'=1", "+1", "-1", "'@x", "'-x", "a=1", "", None, "'\t=1"]


def test_a_column_of_ours_gives_way_to_one_of_the_users(tmp_path):
    rows, _ = make_rows(300)
    for row in rows:
        row["default_given"], row["row"] = "mine", "mine, too"
    call("correct", write(tmp_path / "loans.csv", rows), "--label", "default", "--quiet", *QUICK)
    corrected = read(tmp_path / "loans.subsvms/corrected.csv")
    assert {row["default_given"] for row in corrected} == {"mine"} and "default_given_2" in corrected[0]
    issues = read(tmp_path / "loans.subsvms/issues.csv")
    assert {issue["row (column)"] for issue in issues} == {"mine, too"}


def test_other_formats_come_back_as_they_came(loans, tmp_path):
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import feather, parquet

    table = arrow_csv.read_csv(loans)
    parquet.write_table(table, tmp_path / "p.parquet")
    feather.write_feather(table, tmp_path / "f.feather")
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    (tmp_path / "j.jsonl").write_text(lines)
    for name in ("p.parquet", "f.feather", "j.jsonl"):
        call("correct", tmp_path / name, "--label", "default", "--quiet", *QUICK)
        folder = tmp_path / f"{name[0]}.subsvms"
        corrected = folder / f"corrected{Path(name).suffix}"
        assert {path.name for path in folder.iterdir()} == (FILES - {"corrected.csv"}) | {corrected.name}
    found = parquet.read_table(tmp_path / "p.subsvms/corrected.parquet")
    assert found.schema.field("age").type == pa.float64() and "default_given" in found.column_names


def test_libsvm_text_has_no_place_for_the_given_label(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 150)
    given = np.where(rng.random(300) < 0.15, -y, y)
    values = rng.normal(y[:, None], 0.7, (300, 3))
    lines = [
        f"{label:+d} " + " ".join(f"{j}:{value:.3f}" for j, value in enumerate(row, 1))
        for label, row in zip(given, values, strict=True)
    ]
    (tmp_path / "t.libsvm").write_text("\n".join(lines) + "\n")
    call("correct", tmp_path / "t.libsvm", "--label", "label", "--quiet", *QUICK)
    labels = [
        int(line.split()[0]) for line in (tmp_path / "t.subsvms/corrected.libsvm").read_text().splitlines()
    ]
    assert np.sum(labels != y) < np.sum(given != y) / 3
    assert "given_label" in read(tmp_path / "t.subsvms/issues.csv")[0]


def test_embeddings_stand_in_for_columns(loans, tmp_path):
    rows, clean = make_rows()
    rng = np.random.default_rng(0)
    np.save(tmp_path / "e.npy", rng.normal(0, 1, (600, 8)) + 4 * (clean == "yes")[:, None])
    call(
        "correct",
        loans,
        "--label",
        "default",
        "--features",
        tmp_path / "e.npy",
        "--by",
        "who",
        "--quiet",
        *QUICK,
    )
    corrected = read(tmp_path / "loans.subsvms/corrected.csv")
    assert sum(row["default"] != label for row, label in zip(corrected, clean, strict=True)) < 10
    call("correct", "--from", tmp_path / "loans.subsvms", "--output", tmp_path / "b", "--quiet")
    assert (tmp_path / "b/issues.csv").read_bytes() == (tmp_path / "loans.subsvms/issues.csv").read_bytes()
    np.save(tmp_path / "e.npy", np.zeros((600, 8)))
    assert "features has changed" in call("correct", "--from", tmp_path / "b", "--output", "c", code=2).output


def test_labels_without_sense_are_left_alone_and_that_is_said(tmp_path):
    rows, _ = make_rows(400)
    rng = np.random.default_rng(1)
    for row in rows:
        row["default"] = rng.choice(["no", "yes"])
    path = write(tmp_path / "loans.csv", rows)
    result = call("correct", path, "--label", "default", *QUICK)
    assert "do not tell the labels" in " ".join(result.output.split())
    corrected = read(tmp_path / "loans.subsvms/corrected.csv")
    assert all(row["default"] == row["default_given"] for row in corrected)


def test_rows_without_a_label_are_filled_in_and_counted(tmp_path):
    rows, clean = make_rows(400)
    for i in range(0, 400, 20):
        rows[i]["default"] = ""
    path = write(tmp_path / "loans.csv", rows)
    found = json.loads(call("correct", path, "--label", "default", "--json", *QUICK).stdout)
    assert found["missing"] == 20 and found["labelled"] == 380
    corrected = read(tmp_path / "loans.subsvms/corrected.csv")
    filled = [corrected[i] for i in range(0, 400, 20)]
    assert all(row["default_given"] == "" for row in filled)
    assert sum(row["default"] == label for row, label in zip(filled, clean[::20], strict=True)) >= 17


def test_a_summary_is_plain_and_cut_short(tmp_path):
    rows, _ = make_rows(300)
    for row in rows:
        row["note"] = "word " * 1000 + row["colour"]
    table = read_table(write(tmp_path / "t.csv", rows), "default")
    run = correct_table(table, Options("default", n_estimators=200))
    summary = summarise(run, find_issues(run.correction, run.features.X))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    values = [value for row in summary["worst"] for _, value in row["values"]]
    assert values and max(map(len, values)) == LONGEST + 1


def test_ctrl_c_is_a_sentence_and_writes_nothing(loans, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "correct_table", interrupt)
    result = call("correct", loans, "--label", "default", code=130)
    assert "nothing was written" in result.output
    assert [path.name for path in loans.parent.iterdir()] == ["loans.csv"]


def test_a_full_disk_is_a_sentence_and_leaves_nothing(loans, monkeypatch):
    def fill_up(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(job, "write_issues", fill_up)
    result = call("correct", loans, "--label", "default", *QUICK, code=2)
    assert "No space left on device" in " ".join(result.output.split())
    assert [path.name for path in loans.parent.iterdir()] == ["loans.csv"]


@pytest.mark.slow
def test_killed_at_any_moment_a_run_leaves_all_or_nothing(loans):
    """Killed a little later each time, until it gets through."""
    before, folder = loans.read_bytes(), loans.with_name("loans.subsvms")
    command = [sys.executable, "-c", "from subsvms.app.cli.main import app; app()", "correct", str(loans)]
    command += ["--label", "default", "--quiet", *QUICK]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    seen = set()
    for delay in (*np.linspace(0.3, 1.5, 4), None):
        process = subprocess.Popen(command, env=environment)
        if delay is None:  # as soon as the hidden folder is there
            while process.poll() is None and not list(loans.parent.glob(".loans.subsvms-*.part")):
                time.sleep(0.001)
        else:
            time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert loans.read_bytes() == before
        if folder.exists():
            assert {path.name for path in folder.iterdir()} == FILES
            seen.add("whole")
            break
        seen.add("nothing")
    assert "nothing" in seen
    subprocess.run([*command, "--force"], check=True, env=environment)
    assert {path.name for path in folder.iterdir()} == FILES


@pytest.mark.slow
def test_two_runs_at_once_do_not_mix(loans):
    command = [sys.executable, "-c", "from subsvms.app.cli.main import app; app()", "correct", str(loans)]
    both = [
        subprocess.Popen([*command, "--label", "default", "--seed", seed, *QUICK], stderr=subprocess.PIPE)
        for seed in ("1", "2")
    ]
    errors = [process.communicate()[1].decode() for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 2] and "run" in errors[codes.index(2)]
    folder = loans.with_name("loans.subsvms")
    assert {path.name for path in folder.iterdir()} == FILES
    record = json.loads((folder / "run.json").read_text())
    assert record["options"]["seed"] == codes.index(0) + 1
    assert sorted(path.name for path in loans.parent.iterdir()) == ["loans.csv", "loans.subsvms"]


def test_a_table_with_a_class_of_one_row_is_told(tmp_path):
    rows, _ = make_rows(100)
    rows[3]["default"] = "maybe"
    path = write(tmp_path / "t.csv", rows)
    result = CliRunner().invoke(app, ["correct", str(path), "--label", "default", *QUICK])
    assert result.exit_code in (0, 2)
    assert result.exception is None or isinstance(result.exception, SystemExit | TableError)


def test_labels_that_were_filled_in_are_listed_last(tmp_path):
    rows, _ = make_rows(400)
    for i in (5, 17):
        rows[i]["default"] = ""
    call("correct", write(tmp_path / "t.csv", rows), "--label", "default", "--quiet", *QUICK)
    issues = read(tmp_path / "t.subsvms/issues.csv")
    assert [issue["row"] for issue in issues[-2:]] == ["6", "18"]
    for issue in issues[-2:]:
        assert issue["action"] == "missing" and issue["given_label"] == "" and issue["suggested_label"]
        assert issue["is_label_issue"] == "false" and issue["reason"].startswith("missing: ")


def test_libsvm_text_with_embeddings_works_and_takes_no_weights(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 100)
    lines = [f"{label:+d} 1:{i % 7} 3:0.5" for i, label in enumerate(np.where(rng.random(200) < 0.15, -y, y))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    np.save(tmp_path / "e.npy", rng.normal(y[:, None], 0.7, (200, 4)))
    words = ("correct", tmp_path / "t.csv", "--format", "svmlight", "--label", "label", "--quiet", *QUICK)
    call(*words, "--features", tmp_path / "e.npy")
    assert (tmp_path / "t.csv.subsvms/corrected.libsvm").is_file()
    result = call(*words, "--action", "weight", code=2)
    assert "no place for weights" in result.output
    words = (*words, "--features", tmp_path / "e.npy", "--force")
    result = call(*words, "--save-model", tmp_path / "e.npy", code=2)
    assert "is the table that was read" in " ".join(result.output.split())


def test_columns_with_names_like_ours_are_all_there(tmp_path):
    rows, _ = make_rows(300)
    for row in rows:
        row |= {"row (column)": "first", "row": "second", "=x": "third", "'=x": "fourth"}
    call("correct", write(tmp_path / "t.csv", rows), "--label", "default", "--quiet", *QUICK)
    issue = read(tmp_path / "t.subsvms/issues.csv")[0]
    assert {"first", "second", "third", "fourth"} <= set(issue.values())


def test_held_back_means_that_another_label_is_more_probable(tmp_path):
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 3, 600)
    given = np.where(rng.random(600) < 0.3, rng.integers(0, 3, 600), clean)
    X = rng.normal(np.array([[0, 0], [2, 0], [1, 2]])[clean], 0.8)
    lines = [f"{a:.3f},{b:.3f},c{label}" for (a, b), label in zip(X, given, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *lines]))
    run = correct_table(read_table(tmp_path / "t.csv", "y"), Options("y", n_estimators=200, min_confidence=0.9))
    issues = find_issues(run.correction, run.features.X)
    posterior = run.correction.judgement.posterior[issues.rows]
    own = posterior[np.arange(len(issues)), run.correction.given[issues.rows]]
    n_held_back = run.correction.held_back.sum()
    n = run.correction.flagged.sum() + n_held_back
    assert n_held_back > 10 and np.all((issues.confidence > own) == (np.arange(len(issues)) < n))


def test_a_run_is_repeated_in_its_own_place(loans, monkeypatch):
    call("correct", loans, "--label", "default", "--quiet", *QUICK)
    monkeypatch.chdir(loans.parent)
    folder = loans.with_name("loans.subsvms")
    before = {name: (folder / name).read_bytes() for name in ("corrected.csv", "issues.csv")}
    call("correct", "--from", "loans.subsvms/run.json", "--force", "--quiet")
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert sorted(path.name for path in loans.parent.iterdir()) == ["loans.csv", "loans.subsvms"]


def test_the_most_doubtful_labels_are_listed_where_none_is_flagged(tmp_path):
    rows, _ = make_rows(400, wrong=0.0)
    found = json.loads(
        call("correct", write(tmp_path / "t.csv", rows), "--label", "default", "--json", *QUICK).stdout
    )
    issues = read(tmp_path / "t.subsvms/issues.csv")
    assert found["flagged"] == 0 and len(issues) == 50 and {issue["action"] for issue in issues} == {"keep"}
    quality = [float(issue["label_quality"]) for issue in issues]
    assert quality == sorted(quality)


def test_a_column_that_tells_who_labelled_is_pointed_out(tmp_path):
    rows, _ = make_rows(300)
    for row in rows:
        row["annotator"] = row.pop("who")
    path = write(tmp_path / "t.csv", rows)
    words = ("correct", path, "--label", "default", "--json", "--dry-run", *QUICK)
    assert any(
        "'annotator' may say who labelled" in note for note in json.loads(call(*words).stdout)["notes"]
    )
    assert json.loads(call(*words, "--by", "annotator").stdout)["notes"] == []


def test_the_plain_vote_claims_no_probability(loans):
    words = ("correct", loans, "--label", "default", "--json", "--dry-run", "--rule", "majority", *QUICK)
    found = json.loads(call(*words).stdout)
    assert found["changed"] > 0 and found["expected_precision"] is None
    assert "gives no probability" in " ".join(found["words"])
