"""Tables as people have them, with one trouble each: what the command line says, and what it leaves alone."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from loans import call, make_rows, read, write

from subsvms.app.desk.review import ReviewDesk


def correct(path, *words, code=0):
    return call("correct", path, "--label", "default", "--svms", 200, "--threads", 1, *words, code=code)


def flagged_well(folder, clean):
    """Return how many wrong labels are flagged, of all, and how many flagged labels are right."""
    wrong = np.array([row["default_given"] for row in read(folder / "corrected.csv")]) != clean
    issues = [one for one in read(folder / "issues.csv") if one["is_label_issue"] == "true"]
    found = np.array([int(one["row"]) - 1 for one in issues], dtype=int)
    return wrong[found].sum(), wrong.sum(), (~wrong[found]).sum()


def test_typos_in_labels_stop_the_run_and_are_merged_if_asked(tmp_path):
    rows, clean = make_rows(400)
    for i in range(0, 400, 9):
        rows[i]["default"] = [f"{rows[i]['default']} ", rows[i]["default"].upper()][i % 2]
    path = write(tmp_path / "loans.csv", rows)
    said = correct(path, code=2).output
    assert "2 labels in several spellings" in said and "making features" not in said
    assert "--merge-labels" in said and not (tmp_path / "loans.subsvms").exists()
    output = correct(path, "--merge-labels").output
    assert output.count("Read in another spelling") == 1 and "fewer than" not in output
    corrected = read(tmp_path / "loans.subsvms" / "corrected.csv")
    assert {row["default"] for row in corrected} == {"no", "yes"}
    assert [row["default_given"] for row in corrected] == [row["default"] for row in rows]
    output = correct(path, "--no-merge-labels", "--force").output
    assert "'no '" in output and "'NO'" not in output  # quoted only where a space cannot be seen


def test_a_quantity_stops_the_run_and_can_be_taken_for_classes(tmp_path):
    rows, _ = make_rows(300)
    path = write(tmp_path / "loans.csv", [row | {"default": 20 + i % 40} for i, row in enumerate(rows)])
    said = correct(path, code=2).output
    assert "looks like a quantity, not a class, with 40 different numbers, such as '20'" in said
    assert "--numeric-classes" in said
    assert "300 rows" in correct(path, "--numeric-classes", "--dry-run").output


def test_a_forgotten_label_lists_the_columns(tmp_path):
    rows, _ = make_rows(100)
    path = write(tmp_path / "loans.csv", rows)
    assert call("correct", path, code=2).output == (
        "subsvms: --label is missing: name the column of the labels, one of 'id', 'age', 'size', 'colour', "
        f"'who', 'default', as in subsvms correct {path} --label default\n"
    )
    remarks = write(tmp_path / "remarks.csv", [row | {"remark": f"row {i}"} for i, row in enumerate(rows)])
    assert call("correct", remarks, code=2).output.endswith("remarks.csv --label default\n")
    assert "There is no file" in call("correct", tmp_path / "lones.csv", code=2).output
    (tmp_path / "empty.csv").write_text("")
    assert "name the column of the labels, as in" in call("correct", tmp_path / "empty.csv", code=2).output


@pytest.mark.parametrize("leak", ["code", "score"])
def test_noise_is_found_although_a_column_gives_the_label_away(tmp_path, leak):
    rows, clean = make_rows(600, wrong=0.1)
    luck = np.random.default_rng(0).random(600)
    for row, part in zip(rows, luck, strict=True):
        number = 3 + (row["default"] == "yes")
        row["default code"] = number if leak == "code" else f"{number + 0.9 * part:.4f}"
    path = write(tmp_path / "loans.csv", rows)
    output = correct(path).output
    said = " ".join(output.split())
    assert "'default code' was left out, because it gives the label away" in said
    assert "--keep 'default code'" in said
    found, wrong, mistaken = flagged_well(tmp_path / "loans.subsvms", clean)
    assert found > 0.7 * wrong and mistaken < 0.2 * found
    said = " ".join(correct(path, "--keep", "default code", "--force").output.split())
    words = "'default code' was used because you asked for it, though it gives the label away"
    folder = tmp_path / "loans.subsvms"
    assert "left out, because" not in said and words in said
    assert words in (folder / "report.html").read_text().replace("&#39;", "'")
    assert words in " ".join(json.loads((folder / "run.json").read_text())["found"]["notes"])
    assert flagged_well(tmp_path / "loans.subsvms", clean)[0] < 0.3 * found


def test_missing_labels_stay_missing_unless_asked_and_where_nothing_is_explained(tmp_path):
    rows, _ = make_rows(400)
    for i in range(0, 400, 20):
        rows[i]["default"] = ""
    path = write(tmp_path / "loans.csv", rows)
    output = correct(path).output
    assert "Rows without a label, which stay without one: 20 of 400." in " ".join(output.split())
    assert "--fill-missing" in output
    corrected = read(tmp_path / "loans.subsvms" / "corrected.csv")
    assert sum(row["default"] == "" for row in corrected) == 20
    output = " ".join(correct(path, "--fill-missing", "--force").output.split())
    assert "whose labels were filled in: 20 of 400." in output
    corrected = read(tmp_path / "loans.subsvms" / "corrected.csv")
    assert all(row["default"] for row in corrected)
    rng = np.random.default_rng(0)
    for row, label in zip(rows, rng.permutation([row["default"] for row in rows]), strict=True):
        row["default"] = label
    output = " ".join(correct(write(path, rows), "--fill-missing", "--force").output.split())
    assert "do not explain the labels" in output and "which stay without one: 20 of 400." in output
    corrected = read(tmp_path / "loans.subsvms" / "corrected.csv")
    assert all(row["default"] == row["default_given"] for row in corrected)
    assert "use corrected.csv" not in output and "the same command with" not in output


@pytest.mark.nightly
def test_two_thousand_columns_can_be_learned_from(tmp_path):
    rng = np.random.default_rng(0)
    clean = rng.choice(["no", "yes"], 300)
    given = np.where(rng.random(300) < 0.1, np.where(clean == "no", "yes", "no"), clean)
    values = rng.normal(0.5 * (clean == "yes")[:, None], 1, (300, 2000)).round(2)
    pd.DataFrame(values).assign(default=given).to_csv(tmp_path / "loans.csv", index=False)
    correct(tmp_path / "loans.csv")
    found, wrong, mistaken = flagged_well(tmp_path / "loans.subsvms", clean)
    assert found > 0.7 * wrong and mistaken <= 2


def test_rows_are_named_by_a_column_and_found_by_their_line(tmp_path):
    rows, _ = make_rows(400)
    for i, row in enumerate(rows):
        row["line"] = "two\nlines" if i % 2 else "one"
        row["number"] = i % 50  # would be a feature
    path = write(tmp_path / "loans.csv", rows)
    correct(path, "--id", "number")
    folder = tmp_path / "loans.subsvms"
    issues = read(folder / "issues.csv")
    assert list(issues[0])[:4] == ["row", "line", "number", "given_label"] and "line (column)" in issues[0]
    lines = path.read_bytes().split(b"\n")
    for issue in issues:
        row = rows[int(issue["row"]) - 1]
        assert issue["number"] == str(row["number"])
        assert lines[int(issue["line"]) - 1].startswith(row["id"].encode())
    record = json.loads((folder / "run.json").read_text())
    assert record["options"]["id_column"] == "number"
    assert "Not used: the column 'number' names the rows." in record["found"]["remarks"]
    head = f">{issues[0]['row']}, <bdi>{issues[0]['number']}</bdi></th>"
    assert head in (folder / "report.html").read_text()
    exported = tmp_path / "out.jsonl"
    call("export", folder, "--to", "jsonl", "--output", exported)
    first = json.loads(exported.read_text().splitlines()[0])
    assert list(first)[:2] == ["row", "id"] and first["id"] == issues[0]["number"]
    desk = ReviewDesk(folder)
    assert desk.brief(0)["id"] == desk.describe(int(issues[0]["row"]))["id"] == issues[0]["number"]
    desk.decisions.close()
    for name, message in (("nummer", "'number'"), ("default", "the label of")):
        assert message in correct(path, "--id", name, "--force", code=2).output


def test_the_printed_command_repeats_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, _ = make_rows(40)
    for row in rows:
        row["label source"] = row.pop("who")
    write(tmp_path / "my loans.csv", rows)
    output = correct("my loans.csv").output
    said = " ".join(output.split())
    assert "40 rows." in said and "For 1 rows" not in said and "Of the 1 labels" not in said
    assert "errors of one person or source can look right: see them with --by 'label source'." in said
    (line,) = [line for line in output.splitlines() if "to repeat the run: " in line]
    words = shlex.split(line.partition("to repeat the run: ")[2])
    assert words[0] == "subsvms"
    call(*words[1:])
    for name in ("corrected.csv", "issues.csv"):
        one, other = (tmp_path / f"my loans{way}.subsvms" / name for way in ("", ".repeated"))
        assert one.read_bytes() == other.read_bytes()
