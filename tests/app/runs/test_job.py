"""The whole job, as its user does it: a file in, a folder out, or a sentence and nothing."""

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from loans import call, make_rows, read, refuse, write
from typer.testing import CliRunner
from web_pages import plain_text

from subsvms.app.cli.main import app
from subsvms.app.runs import job
from subsvms.exceptions import format_interval

FILES = {"corrected.csv", "issues.csv", "issues.parquet", "scores.parquet", "report.html", "run.json"}
SAME = tuple(FILES - {"report.html", "run.json"})  # of options and input alone
QUICK = ["--label", "default", "--svms", "50"]


@pytest.fixture
def loans(tmp_path):
    return write(tmp_path / "loans.csv", make_rows(300)[0])


def read_bytes(folder, names=SAME):
    return {name: (folder / name).read_bytes() for name in names}


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


def read_found(folder):
    return json.loads((folder / "run.json").read_text())["found"]


def test_one_command_leaves_a_folder_with_fewer_wrong_labels(finished):
    folder = finished.folder
    assert set(list_names(folder)) == FILES and finished.table.read_bytes() == finished.before
    corrected, original = read(folder / "corrected.csv"), read(finished.table)
    assert [row.pop("default_given") for row in corrected] == [row["default"] for row in original]
    labels, given = ([row.pop("default") for row in rows] for rows in (corrected, original))
    assert corrected == original
    assert np.sum(labels != finished.clean) < np.sum(given != finished.clean) / 3
    output = " ".join(finished.output.split())
    for words in ("500 rows", "The votes contradict", "corrected.csv", "report.html", "'id' never repeats"):
        assert words in output
    page, found = plain_text((folder / "report.html").read_text()), read_found(folder)
    interval = format_interval(*found["error_rate_interval"])
    assert f"({interval})" in output and f"({interval})" in page and f"% {interval}" in page
    assert found["listing"] in output and page.count(found["listing"]) == 2
    assert found["n_worst"] == len(read(folder / "issues.csv")) == found["n_labels"] + found["missing"]
    assert "rows count from 1" in output and "Rows are counted from 1" in page
    (group,) = found["groups"]
    assert group["column"] == "who" and {line["value"] for line in group["lines"]} == {"ann", "bob"}
    assert sum(line["rows"] for line in group["lines"]) == 498
    assert found["columns_used"] == 4  # neither the identifier nor the annotator


def test_issues_come_worst_first_and_name_their_rows(finished):
    rows, corrected = read(finished.table), read(finished.folder / "corrected.csv")
    flagged = [one for one in read(finished.folder / "issues.csv") if one["is_label_issue"] == "true"]
    quality = [float(issue["label_quality"]) for issue in flagged]
    assert quality == sorted(quality)
    for issue in flagged:
        row = int(issue["row"]) - 1
        assert rows[row]["id"] == issue["id"] and rows[row]["default"] == issue["given_label"]
        assert corrected[row]["default"] == issue["suggested_label"]
        assert issue["reason"].startswith("fix: ") and issue["supporting"]
    changed = {i for i, row in enumerate(corrected, 1) if row["default"] != row["default_given"] != ""}
    assert changed == {int(issue["row"]) for issue in flagged}


def test_rows_without_a_label_are_filled_in_and_listed_last(finished):
    corrected, issues = read(finished.folder / "corrected.csv"), read(finished.folder / "issues.csv")
    for row in (3, 8):
        assert corrected[row]["default_given"] == "" and corrected[row]["default"] == finished.clean[row]
    assert {issue["row"] for issue in issues[-2:]} == {"4", "9"}
    for issue in issues[-2:]:
        assert issue["action"] == "missing" and issue["given_label"] == "" and issue["suggested_label"]
        assert issue["is_label_issue"] == "false" and issue["reason"].startswith("missing: ")
    found = read_found(finished.folder)
    assert found["missing"] == 2 and found["labelled"] == 498


def test_a_record_repeats_the_run_to_the_byte_anywhere_on_any_threads(folder, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    words = ("correct", "--from", folder / "run.json", "--output", "again", "--threads", 2, "--quiet")
    assert call(*words).output == ""
    assert read_bytes(elsewhere / "again") == read_bytes(folder)
    records = [json.loads((place / "run.json").read_text()) for place in (folder, elsewhere / "again")]
    assert records[0]["options"] == records[1]["options"] and records[0]["files"] == records[1]["files"]
    table = folder.with_name("loans.csv")
    table.write_text(table.read_text().replace("red", "pink"))
    refuse("has changed since that run", "correct", "--from", folder, "--output", "third")
    assert not (elsewhere / "third").exists()


def test_a_run_is_repeated_in_its_own_place(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    before = read_bytes(folder)
    call("correct", "--from", "loans.subsvms/run.json", "--force", "--quiet")
    assert read_bytes(folder) == before
    assert list_names(folder.parent) == ["loans.csv", "loans.subsvms"]


def test_json_is_for_programs(finished, tmp_path):
    words = ["correct", str(finished.table), *QUICK, "--json", "--max-error-rate", "0.02", "--dry-run"]
    found = json.loads(CliRunner().invoke(app, [*words, "--output", str(tmp_path / "out")]).stdout)
    assert found["rows"] == 500 and found["folder"] is None and found["changed"] == found["flagged"]
    assert not any(tmp_path.iterdir())
    assert sum(line["rows"] for line in found["classes"]) == found["labelled"] == 498
    assert 0 < found["changed"] <= 0.02 * 498 and found["held_back"] > 0  # the rest is listed
    assert found["n_worst"] == found["flagged"] + found["held_back"] + found["missing"]


def test_a_dry_run_prints_its_seconds_and_the_command_that_writes_the_result(loans, tmp_path):
    loans = loans.rename(tmp_path / "my loans.csv")
    words = ["correct", loans, *QUICK, "--dry-run", "--by", "who", "--output", tmp_path / "out"]
    output = call(*words).output
    assert re.search(r"took \d+\.\d seconds", output) and list_names(tmp_path) == [loans.name]
    subsvms, *again = shlex.split(output.partition("To write the result: ")[2])
    assert subsvms == "subsvms" and again == [str(word) for word in words if word != "--dry-run"]
    call(*again)
    assert set(list_names(tmp_path / "out")) == FILES


@pytest.mark.parametrize("engine", ["memory", "local"])
def test_the_svms_that_voted_are_named_in_terminal_record_and_report(loans, tmp_path, engine):
    words = ["correct", loans, "--label", "default", "--engine", engine]
    found = {}
    for name, more in (("chosen", []), ("given", ["--svms", 50])):
        output = " ".join(call(*words, *more, "--output", tmp_path / name).output.split())
        ensemble = json.loads((tmp_path / name / "run.json").read_text())["ensemble"]
        page = plain_text((tmp_path / name / "report.html").read_text())
        assert ensemble["words"] in output and ensemble["words"] in page
        found[name] = ensemble
    tried = found["chosen"]["candidates"]
    (chosen,) = [one for one in tried if one["chosen"]]
    assert len(tried) > 3 and f"log loss {chosen['log_loss']:.3f}, others" in found["chosen"]["words"]
    n_svms, size = found["chosen"]["n_estimators"], chosen["subset_size"]
    assert found["chosen"]["words"].startswith(f"{n_svms:,} SVMs voted, each trained on {size:,} rows. ")
    assert found["chosen"]["subset_size"] == chosen["subset_size"]
    assert found["chosen"]["gamma"] == pytest.approx(chosen["gamma"])
    assert found["given"]["words"].startswith("50 SVMs voted, each trained on 33 rows: options set")
    assert found["given"]["candidates"] == [] and found["given"]["paper_size"] == 33


def test_standard_input_needs_a_place(loans, tmp_path):
    text = loans.read_text()
    assert "--output" in refuse("standard input", "correct", "-", *QUICK, input=text)
    call("correct", "-", "--output", tmp_path / "out", "--quiet", *QUICK, input=text)
    assert set(list_names(tmp_path / "out")) == FILES
    call("correct", "--from", tmp_path / "out", "--output", tmp_path / "again", "--quiet", input=text)
    assert read_bytes(tmp_path / "out") == read_bytes(tmp_path / "again")


def test_each_action_does_what_it_says(loans, tmp_path):
    folders = {action: tmp_path / action for action in ("fix", "drop", "weight", "review")}
    for action, folder in folders.items():
        call("correct", loans, "--action", action, "--output", folder, "--quiet", *QUICK)
    issues = read(folders["fix"] / "issues.csv")
    flagged = {issue["row"] for issue in issues if issue["is_label_issue"] == "true"}
    assert flagged
    for action, folder in folders.items():
        rows = read(folder / "corrected.csv")
        changed = sum(row["default"] != row["default_given"] for row in rows)
        assert changed == (len(flagged) if action == "fix" else 0)
        assert len(rows) == 300 - (len(flagged) if action == "drop" else 0)
        assert ("sample_weight" in rows[0]) == (action == "weight")
    kept = [row["id"] for row in read(folders["drop"] / "corrected.csv")]
    assert kept == [row["id"] for i, row in enumerate(read(loans), 1) if str(i) not in flagged]


@pytest.mark.parametrize("words, message", [
    (["--rule", "mojority"], "did you mean 'majority'"), (["--svms", "0"], "--svms must be a whole number"),
    (["--subset-size", "100000"], "between 2 and the number of rows, 300"),
    (["--by", "whom"], "did you mean 'who'"), (["--exclude", "agee"], "did you mean 'age'"),
    (["--features", "nothing.npy"], "There is no file 'nothing.npy'"),
    (["--save-model", "loans.csv"], "is the input table"),
    (["--save-model", "x", "--output", "x"], "is the folder of the result, or inside it"),
    (["--save-model", "loans.subsvms"], "is the folder of the result, or inside it"),
    (["--save-model", "x.unfinished/m", "--output", "x"], "is the folder of the result, or inside it"),
    (["--subset-size", "9" * 5000], "log, log_squared or a whole number"),
])  # fmt: skip
def test_a_mistake_gets_a_sentence_exit_code_2_and_nothing_written(loans, monkeypatch, words, message):
    monkeypatch.chdir(loans.parent)
    refuse(message, "correct", loans, "--label", "default", *words)
    assert list_names(loans.parent) == ["loans.csv"]


@pytest.mark.parametrize("has_embeddings", [False, True])
def test_libsvm_text_has_no_place_for_the_given_label_nor_for_weights(tmp_path, has_embeddings):
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 150)
    given = np.where(rng.random(300) < 0.15, -y, y)
    X = rng.normal(y[:, None], 0.7, (300, 3))
    values = np.zeros_like(X) if has_embeddings else X  # which the embeddings replace
    rows = zip(given, values.round(3).tolist(), strict=True)
    lines = [f"{label:+d} 1:{a} 2:{b} 3:{c}\n" for label, (a, b, c) in rows]
    (tmp_path / "t.libsvm").write_text("".join(lines))
    np.save(tmp_path / "e.npy", X)
    words = ("correct", tmp_path / "t.libsvm", "--label", "label", "--quiet", "--svms", 50)
    words += ("--features", tmp_path / "e.npy") if has_embeddings else ()
    call(*words)
    folder = tmp_path / "t.subsvms"
    text = (folder / "corrected.libsvm").read_text()
    assert np.sum([int(line.split()[0]) for line in text.splitlines()] != y) < np.sum(given != y) / 3
    assert "given_label" in read(folder / "issues.csv")[0]
    refuse("no place for weights", *words, "--action", "weight", "--force")
    if has_embeddings:
        refuse("is the input table", *words, "--force", "--save-model", tmp_path / "e.npy")
        call("correct", "--from", folder, "--output", tmp_path / "b", "--quiet")
        assert read_bytes(tmp_path / "b", ("issues.csv",)) == read_bytes(folder, ("issues.csv",))
        np.save(tmp_path / "e.npy", np.zeros((300, 3)))
        refuse("features has changed", "correct", "--from", folder, "--output", tmp_path / "c")


def test_the_most_doubtful_labels_are_listed_where_none_is_flagged(tmp_path):
    rows, _ = make_rows(400, wrong=0.0)
    found = json.loads(call("correct", write(tmp_path / "t.csv", rows), "--json", *QUICK).stdout)
    issues = read(tmp_path / "t.subsvms/issues.csv")
    assert found["flagged"] == 0 and len(issues) == 50 and {issue["action"] for issue in issues} == {"keep"}
    quality = [float(issue["label_quality"]) for issue in issues]
    assert quality == sorted(quality)


def test_a_class_of_one_row_is_never_suggested(tmp_path):
    rows, _ = make_rows(100)
    rows[3]["default"] = "maybe"
    call("correct", write(tmp_path / "t.csv", rows), "--quiet", *QUICK)
    assert {issue["suggested_label"] for issue in read(tmp_path / "t.subsvms/issues.csv")} <= {"no", "yes"}


def test_ctrl_c_is_a_sentence_and_writes_nothing(loans, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "run_in_memory", interrupt)
    assert call("correct", loans, *QUICK, code=130).output.endswith("subsvms: stopped.\n")
    assert list_names(loans.parent) == ["loans.csv"]


def fill_up(*args, **options):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("engine", ["memory", "local"])
def test_a_model_that_cannot_be_written_is_named_alone(loans, tmp_path, monkeypatch, engine):
    model = tmp_path / "models" / "m"
    model.parent.mkdir()
    words = ("correct", loans, *QUICK, "--engine", engine, "--save-model", model, "--quiet")
    with monkeypatch.context() as patched:
        patched.setattr("subsvms.app.runs.model.encode_state", fill_up)
        refuse(f"{str(model)!r} could not be written (No space left on device)", *words)
    assert not loans.with_name("loans.subsvms").exists() and not list(model.parent.iterdir())
    model.write_text("an earlier one")  # which a dry run does not mind
    call(*words, "--dry-run")
    assert model.read_text() == "an earlier one"
    model.unlink()
    call(*words)  # in parts it continues
    assert list_names(loans.parent) == ["loans.csv", "loans.subsvms", "models"]
    assert list_names(model.parent) == ["m"]


@pytest.mark.parametrize("engine", ["memory", "local"])
def test_a_folder_that_cannot_be_written_leaves_no_model(loans, tmp_path, monkeypatch, engine):
    monkeypatch.setattr("subsvms.app.runs.folder._move", fill_up)
    words = ("correct", loans, *QUICK, "--engine", engine, "--save-model", tmp_path / "m")
    refuse("loans.subsvms' could not be written (No space left", *words)
    assert not list(tmp_path.glob("*m")) and not list(tmp_path.glob(".*"))


def test_folders_where_files_are_expected_are_explained(folder, tmp_path):
    refuse("is the folder of a run: give the table itself", "correct", folder, *QUICK)
    sentence = "is a folder: give a file that subsvms correct --save-model wrote"
    refuse(sentence, "predict", folder, tmp_path / "loans.csv")


def test_force_leaves_the_table_that_apply_wrote_and_says_where_it_is_from(folder):
    call("apply", folder, "--undecided", "suggestion")
    before = read_bytes(folder)
    sentence = "holds 'final.csv', which subsvms apply writes, and which may hold what people decided"
    said = refuse(sentence, "correct", folder.with_name("loans.csv"), *QUICK, "--force")
    assert "choose another folder (--output), or move or delete this one first" in said
    assert read_bytes(folder) == before


@pytest.mark.slow
def test_a_refused_table_never_aborts_the_process(tmp_path):
    """Threads of Arrow once dropped memory of Python's while Python ended: 5 of 40 runs were aborted."""
    from pyarrow import parquet
    from pyarrow import table as make

    columns = {name: np.random.default_rng(0).normal(size=1000) for name in "abcz"}
    parquet.write_table(make(columns), tmp_path / "t.parquet")
    code = "import sys; from subsvms.app.tables.table import read_table; read_table(sys.argv[1], 'z')"
    command = [sys.executable, "-c", code, str(tmp_path / "t.parquet")]
    done = [subprocess.run(command, capture_output=True, text=True, timeout=300) for _ in range(5)]
    assert all(one.returncode == 1 and "looks like a quantity" in one.stderr for one in done), done


@pytest.mark.slow
def test_two_runs_at_once_do_not_mix(loans):
    words = [sys.executable, "-m", "subsvms", "correct", loans, *QUICK, "--seed"]
    both = [subprocess.Popen([*words, seed], stderr=subprocess.PIPE) for seed in ("1", "2")]
    errors = [process.communicate()[1].decode() for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 2] and "run" in errors[codes.index(2)]
    folder = loans.with_name("loans.subsvms")
    assert set(list_names(folder)) == FILES
    record = json.loads((folder / "run.json").read_text())
    assert record["options"]["random_state"] == codes.index(0) + 1
    assert list_names(loans.parent) == ["loans.csv", "loans.subsvms"]
