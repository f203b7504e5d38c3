"""The reviewers' desk and its server: filters, decisions, and attacks that are refused."""

import asyncio
import json
import shutil

import httpx
import numpy as np
import pyarrow as pa
import pytest
from loans import call, make_rows, read, write
from pyarrow import parquet

from subsvms.app.review import open_socket
from subsvms.app.review.apply import apply_decisions
from subsvms.app.review.desk import Desk, Filter
from subsvms.app.review.exchange import export_issues, import_decisions
from subsvms.app.review.server import HEADERS, make_app
from subsvms.app.runs.job import read_verified
from subsvms.exceptions import TableError

TOKEN, HOST = "t0ken", "127.0.0.1:8765"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a run on a small table with strange content."""
    folder = tmp_path_factory.mktemp("run")
    rows, _ = make_rows(500, wrong=0.2)
    for i, row in enumerate(rows):
        row["note"] = "<img src=x onerror=alert(1)>" if i % 2 else "plain \u2603"
    for i in (3, 8):
        rows[i]["default"] = ""
    path = write(folder / "loans.csv", rows)
    call("correct", path, "--label", "default", "--quiet", "--svms", 200)
    return folder / "loans.subsvms"


@pytest.fixture
def desk(made):
    for path in made.glob("decisions.sqlite*"):
        path.unlink()
    found = Desk(made)
    yield found
    found.decisions.close()


def ask(desk, *requests):
    """Send requests one after the other and return the answers."""

    async def work():
        transport = httpx.ASGITransport(app=make_app(desk, TOKEN, {HOST}), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return [await client.request(method, url, **options) for method, url, options in requests]

    return asyncio.run(work())


def get(url, **options):
    return "GET", f"/{TOKEN}/{url}", options


def post(url, body, **options):
    return "POST", f"/{TOKEN}/{url}", {"json": body, **options}


def send(url, content):
    headers = {"content-type": "application/json"}
    return "POST", f"/{TOKEN}/{url}", {"content": content, "headers": headers}


def test_issues_are_paged_worst_first(desk, made):
    first, second = ask(desk, get("api/issues?limit=5"), get("api/issues?limit=5&offset=5"))
    issues = read(made / "issues.csv")
    shown = [*first.json()["issues"], *second.json()["issues"]]
    assert [issue["row"] for issue in shown] == [int(issue["row"]) for issue in issues[:10]]
    assert first.json()["total"] == len(issues)


def test_filters_are_those_of_a_plain_loop(desk, made):
    issues, rows = read(made / "issues.csv"), read(made.with_name("loans.csv"))
    asked = {
        "given=yes": lambda issue, row: issue["given_label"] == "yes",
        "suggested=yes": lambda issue, row: issue["suggested_label"] == "yes",
        "low=0.9": lambda issue, row: float(issue["confidence"]) >= 0.9,
        "high=0.9": lambda issue, row: float(issue["confidence"]) <= 0.9,
        "column=colour&value=red": lambda issue, row: row["colour"] == "red",
        "search=GREEN": lambda issue, row: any(
            "green" in cell.lower() for n, cell in row.items() if n != "default"
        ),
        "search=onerror": lambda issue, row: "onerror" in row["note"],
        "status=open": lambda issue, row: True,
        "status=decided": lambda issue, row: False,
    }
    for words, keeps in asked.items():
        (answer,) = ask(desk, get(f"api/issues?limit=200&{words}"))
        expected = [int(issue["row"]) for issue in issues if keeps(issue, rows[int(issue["row"]) - 1])]
        assert [issue["row"] for issue in answer.json()["issues"]] == expected[:200], words
    (answer,) = ask(desk, get("api/issues?limit=200&sort=row"))
    found = [issue["row"] for issue in answer.json()["issues"]]
    assert found == sorted(found)


def test_an_issue_tells_its_values_witnesses_and_history(desk, made):
    issue, rows = read(made / "issues.csv")[0], read(made.with_name("loans.csv"))
    row = int(issue["row"])
    _, answer = ask(
        desk, post("api/decide", {"row": row, "verdict": "keep", "who": "Ann"}), get(f"api/issues/{row}")
    )
    found = answer.json()
    values = dict(zip(found["columns"], found["values"], strict=True))
    assert values == {name: cell for name, cell in rows[row - 1].items() if name != "default"}
    assert [one["row"] for one in found["supporting"]] == [int(n) for n in issue["supporting"].split()]
    witness = found["supporting"][0]
    assert witness["values"] == [cell for name, cell in rows[witness["row"] - 1].items() if name != "default"]
    assert [entry["verdict"] for entry in found["history"]] == ["keep"] and found["decision"]["who"] == "Ann"


def test_decisions_are_counted_and_tell_the_expected_precision(desk):
    rows = desk.rows[desk.flagged][:10].tolist()
    answers = ask(
        desk,
        *(post("api/decide", {"row": row, "verdict": "accept", "who": "Ann"}) for row in rows[:9]),
        post("api/decide", {"row": rows[9], "verdict": "keep", "who": "Ann"}),
        get("api/state?since=0"),
    )
    state = answers[-1].json()
    assert (state["decided"], state["judged"], state["accepted"]) == (10, 10, 9)
    assert state["low"] == pytest.approx(0.606, abs=0.001) and state["high"] == pytest.approx(
        0.995, abs=0.001
    )
    assert state["last"] == 10 and sorted(state["rows"]) == sorted(rows)


def test_another_label_that_is_the_suggested_one_counts_as_accepted(desk):
    row = int(desk.rows[0])
    suggested = desk.classes[desk.suggested[0]]
    answers = ask(
        desk, post("api/decide", {"row": row, "verdict": "label", "label": suggested, "who": "Ann"})
    )
    assert answers[0].json()["issue"]["decision"]["verdict"] == "accept"


def test_all_rows_of_a_filter_are_decided_at_once_if_they_are_as_many_as_told(desk):
    n = len(desk.find(Filter(given="yes", status="open")))
    body = {"filter": {"given": "yes", "status": "open"}, "verdict": "accept", "who": "Ann"}
    wrong, right, after, undone = ask(
        desk,
        post("api/decide-all", {**body, "expect": n + 1}),
        post("api/decide-all", {**body, "expect": n}),
        get("api/issues?given=yes&status=decided"),
        post("api/undo", {"who": "Ann"}),
    )
    assert wrong.status_code == 409 and f"There are {n} such rows now" in wrong.json()["error"]
    assert right.json()["rows"] == n == after.json()["total"]
    assert undone.json()["decided"] == 0 and len(undone.json()["rows"]) == n


def test_undo_is_ones_own_and_ends(desk):
    row = int(desk.rows[0])
    answers = ask(
        desk,
        post("api/decide", {"row": row, "verdict": "accept", "who": "Ann"}),
        post("api/undo", {"who": "Bob"}),
        post("api/undo", {"who": "Ann"}),
        post("api/undo", {"who": "Ann"}),
    )
    assert [answer.status_code for answer in answers] == [200, 409, 200, 409]


ATTACKS = {
    "no token": (("GET", "/", {}), 403),
    "wrong token": (("GET", "/wrong/api/issues", {}), 403),
    "token later in the path": (("GET", f"/x/{TOKEN}/api/issues", {}), 403),
    "another name of this machine": (get("api/issues", headers={"host": "evil.example"}), 421),
    "a foreign page reads": (get("api/issues", headers={"origin": "http://evil.example"}), 403),
    "a foreign page posts": (
        post("api/undo", {"who": "Ann"}, headers={"origin": "http://evil.example"}),
        403,
    ),
    "another site on this machine": (
        post("api/undo", {"who": "A"}, headers={"sec-fetch-site": "same-site"}),
        403,
    ),
    "path traversal": (get("static/../server.py"), 404),
    "encoded path traversal": (get("static/%2e%2e/server.py"), 404),
    "absolute path": (get("static//etc/passwd"), 404),
    "an oversized body": (
        send("api/decide", b"x" * 10**6),
        413,
    ),
    "malformed JSON": (
        send("api/decide", b'{"row"'),
        400,
    ),
    "deep JSON": (
        send("api/undo", b"[" * 60000),
        400,
    ),
    "no JSON object": (post("api/decide", [1]), 400),
    "a form": (("POST", f"/{TOKEN}/api/decide", {"data": {"row": "1"}}), 415),
    "a row that is no issue": (post("api/decide", {"row": 10**9, "verdict": "accept", "who": "A"}), 404),
    "a row that is true": (post("api/decide", {"row": True, "verdict": "accept", "who": "A"}), 404),
    "no name": (post("api/undo", {}), 400),
    "an unknown filter": (get("api/issues?given=nobody"), 400),
    "an unknown word": (get("api/issues?drop=table"), 400),
    "a negative offset": (get("api/issues?offset=-1"), 400),
    "a huge number": (get(f"api/issues?offset={'9' * 5000}"), 400),
    "confidence that is none": (get("api/issues?low=nan"), 400),
    "an unknown column": (get("api/values?column=secret"), 400),
    "an issue that is none": (get("api/issues/99999999"), 404),
    "reading by post": (post("api/meta", {}), 405),
    "deciding by get": (get("api/decide"), 405),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused_and_the_server_stays_up(desk, name):
    request, status = ATTACKS[name]
    answer, alive = ask(desk, request, get("api/state"))
    assert answer.status_code == status, answer.text
    assert alive.status_code == 200 and alive.json()["decided"] == 0
    for header, value in HEADERS.items():
        assert answer.headers[header] == value and alive.headers[header] == value


@pytest.mark.parametrize("verdict", ["delete", "", None, 3, {"a": 1}])
def test_an_unknown_verdict_is_refused(desk, verdict):
    row = int(desk.rows[0])
    (answer,) = ask(desk, post("api/decide", {"row": row, "verdict": verdict, "who": "Ann"}))
    assert answer.status_code == 400 and desk.decisions.current == {}


def test_a_database_that_breaks_is_told_and_the_server_stays_up(desk):
    row = int(desk.rows[0])
    desk.decisions.connection.execute("DROP TABLE decisions")
    broken, alive = ask(
        desk, post("api/decide", {"row": row, "verdict": "accept", "who": "Ann"}), get("api/issues?limit=1")
    )
    assert broken.status_code == 503 and "nothing was stored" in broken.json()["error"]
    assert alive.status_code == 200


def test_many_at_once_are_written_together_and_none_is_lost(desk):
    rows = desk.rows.tolist()

    async def work():
        transport = httpx.ASGITransport(app=make_app(desk, TOKEN, {HOST}))
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            bodies = [{"row": row, "verdict": "accept", "who": f"P{row % 7}"} for row in rows]
            calls = [client.post(f"/{TOKEN}/api/decide", json=body) for body in bodies]
            return await asyncio.gather(*calls)

    answers = asyncio.run(work())
    assert {answer.status_code for answer in answers} == {200}
    assert set(desk.decisions.current) == set(rows)
    assert len({answer.json()["act"] for answer in answers}) == len(rows)


def test_a_busy_port_is_stepped_over():
    first = open_socket(18765)
    second = open_socket(first.getsockname()[1])
    assert second.getsockname()[1] > first.getsockname()[1] and second.getsockname()[0] == "127.0.0.1"
    first.close()
    second.close()


def test_a_table_that_changed_cannot_be_reviewed(made, tmp_path):
    shutil.copytree(made, tmp_path / "loans.subsvms")
    with pytest.raises(TableError, match="There is no file"):
        Desk(tmp_path / "loans.subsvms")
    (tmp_path / "loans.csv").write_text(made.with_name("loans.csv").read_text().replace("red", "pink"))
    with pytest.raises(TableError, match="has changed since the run"):
        Desk(tmp_path / "loans.subsvms")
    with pytest.raises(TableError, match="run.json"):
        Desk(tmp_path)


def test_apply_writes_what_was_decided_and_nothing_else(desk, made, tmp_path):
    flagged = desk.rows[desk.flagged].tolist()
    accept, keep, other = flagged[0], flagged[1], flagged[2]
    filled = int(desk.rows[desk.given < 0][0])
    opposite = {"yes": "no", "no": "yes"}
    desk.decide_many([([desk.settle(accept, "accept", None), desk.settle(keep, "keep", None)], "Ann")])
    desk.decide_many([([desk.settle(other, "skip", None), desk.settle(filled, "accept", None)], "Bob")])
    original = read(made.with_name("loans.csv"))
    suggested = {int(row): desk.classes[code] for row, code in zip(desk.rows, desk.suggested, strict=True)}
    for undecided in ("keep", "suggestion"):
        done = apply_decisions(made, undecided=undecided, output=tmp_path / f"{undecided}.csv")
        final = read(tmp_path / f"{undecided}.csv")
        assert done.n_changed == sum(a != b for a, b in zip(final, original, strict=True))
        assert final[accept - 1]["default"] == opposite[original[accept - 1]["default"]]
        assert final[keep - 1]["default"] == original[keep - 1]["default"]
        assert final[filled - 1]["default"] == suggested[filled]
        for row in flagged[2:]:
            expected = suggested[row] if undecided == "suggestion" else original[row - 1]["default"]
            assert final[row - 1]["default"] == expected
        untouched = set(range(1, len(original) + 1)) - set(desk.rows.tolist())
        assert all(final[row - 1] == original[row - 1] for row in untouched)
    with pytest.raises(TableError, match="exists already"):
        apply_decisions(made, output=tmp_path / "keep.csv")
    with pytest.raises(TableError, match="keep or suggestion"):
        apply_decisions(made, undecided="maybe")


@pytest.mark.parametrize("format", ["jsonl", "label-studio", "spotlight"])
def test_what_is_exported_comes_back_as_decisions(desk, made, tmp_path, format):
    done = export_issues(made, format, output=tmp_path / f"out.{format}")
    assert done.n_issues == len(desk)
    rows = desk.rows[desk.flagged][:3].tolist()
    labels = {row: ("yes", "no")[i % 2] for i, row in enumerate(rows)}
    if format == "jsonl":
        path = tmp_path / "back.jsonl"
        lines = [json.loads(line) for line in done.path.read_text().splitlines()]
        for line in lines:
            line["label"] = labels.get(line["row"])
        path.write_text("\n".join(map(json.dumps, lines)))
    elif format == "label-studio":
        path = tmp_path / "back.json"
        tasks = json.loads(done.path.read_text())
        assert all(task["predictions"][0]["result"][0]["value"]["choices"] for task in tasks)
        for task in tasks:
            label = labels.get(task["data"]["row"])
            result = [{"type": "choices", "value": {"choices": [label]}}]
            task["annotations"] = [{"completed_by": {"email": "a@b.c"}, "result": result}] if label else []
        path.write_text(json.dumps(tasks))
    else:
        path = tmp_path / "back.parquet"
        frame = parquet.read_table(done.path)
        assert set(frame["row"].to_pylist()) == set(desk.rows.tolist())
        parquet.write_table(pa.table({"row": rows, "label": [labels[row] for row in rows]}), path)
    found = import_decisions(made, path, who="Cid")
    assert found.n_decisions == 3
    desk.refresh()
    assert {row: decision.label for row, decision in desk.decisions.current.items()} == labels
    who = {decision.who for decision in desk.decisions.current.values()}
    assert who == ({"a@b.c"} if format == "label-studio" else {"Cid"})


@pytest.mark.parametrize(
    "text, message",
    [
        ("row,label\n999999,yes\n", "which is no issue"),
        ("row,label\nx,yes\n", "which is no issue"),
        ("label\nyes\n", "must say the row"),
        ("row,label\n{row},maybe\n", "no class 'maybe'"),
    ],
)
def test_an_import_that_makes_no_sense_takes_over_nothing(desk, made, tmp_path, text, message):
    path = tmp_path / "back.csv"
    good = f"{desk.rows[0]},yes"
    path.write_text(text.replace("{row}", str(desk.rows[1])) + (good if "row" in text else ""))
    with pytest.raises(TableError, match=message):
        import_decisions(made, path)
    desk.refresh()
    assert desk.decisions.current == {}


def test_the_commands_for_people_work_from_the_command_line(desk, made, tmp_path):
    row = int(desk.rows[0])
    (tmp_path / "d.csv").write_text(f"row,label\n{row},{desk.classes[desk.suggested[0]]}\n")
    assert "1 decisions were taken over" in call("export", made, "--import", tmp_path / "d.csv").output
    assert "issues are in" in call("export", made, "--to", "jsonl", "--output", tmp_path / "i.jsonl").output
    assert "1 of 500 labels differ" in " ".join(
        call("apply", made, "--output", tmp_path / "f.csv").output.split()
    )
    assert "Give either --to" in call("export", made, code=2).output
    assert "must be one of" in call("export", made, "--to", "excel", code=2).output
    assert "run.json" in call("review", tmp_path, code=2).output


def test_decisions_of_people_are_never_replaced_by_a_new_run(desk, made):
    desk.decide_many([([desk.settle(int(desk.rows[0]), "accept", None)], "Ann")])
    result = call("correct", made.with_name("loans.csv"), "--label", "default", "--force", code=2)
    assert "decisions that people made" in " ".join(result.output.split())


def test_decided_rows_are_verified_in_the_next_run_and_the_record_repeats_that(desk, made, tmp_path):
    rows = desk.rows[desk.flagged][:20].tolist()
    desk.decide_many(
        [([desk.settle(row, "keep" if i % 2 else "accept", None) for i, row in enumerate(rows)], "Ann")]
    )
    words = ("correct", made.with_name("loans.csv"), "--label", "default", "--svms", 200, "--quiet")
    call(*words, "--decisions", made, "--output", tmp_path / "next")
    corrected, original = read(tmp_path / "next/corrected.csv"), read(made.with_name("loans.csv"))
    for i, row in enumerate(rows):
        agrees = corrected[row - 1]["default"] == original[row - 1]["default"]
        assert agrees == bool(i % 2)
    assert not {str(row) for row in rows} & {issue["row"] for issue in read(tmp_path / "next/issues.csv")}
    call("correct", "--from", tmp_path / "next", "--output", tmp_path / "again", "--quiet")
    for name in ("corrected.csv", "issues.csv"):
        assert (tmp_path / "next" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_an_empty_list_of_issues_can_be_opened(tmp_path):
    rows, _ = make_rows(300, wrong=0.0)
    call("correct", write(tmp_path / "t.csv", rows), "--label", "default", "--quiet", "--max-error-rate", 0)
    desk = Desk(tmp_path / "t.subsvms")
    (answer,) = ask(desk, get("api/issues"))
    assert answer.json()["total"] == len(desk)
    desk.decisions.close()


def test_a_hundred_thousand_issues_are_paged_quickly(desk):
    """Not a timed test: it only shows that nothing grows with the page."""
    big = 100_000
    desk.rows = np.arange(1, big + 1)
    desk.place = {row: i for i, row in enumerate(desk.rows.tolist())}
    desk.given = np.tile([0, 1], big // 2)
    desk.suggested, desk.confidence = 1 - desk.given, np.linspace(1, 0.5, big)
    desk.columns_of_issues["is_label_issue"] = [True] * big
    desk.status, desk.flagged = np.zeros(big, dtype=np.int8), np.ones(big, dtype=bool)
    desk.accepted = np.zeros(big, dtype=bool)
    (answer,) = ask(desk, get("api/issues?given=yes&sort=confidence&offset=40000&limit=50"))
    assert answer.json()["total"] == big // 2 and len(answer.json()["issues"]) == 50
    assert len(answer.content) < 20_000


def test_two_desks_see_each_others_decisions_whoever_decides_first(desk, made):
    other = Desk(made)
    first, second = desk.rows[:2].tolist()
    other.decide_many([([other.settle(first, "accept", None)], "Bob")])
    desk.decide_many([([desk.settle(second, "accept", None)], "Ann")])
    desk.refresh()
    assert desk.count()["decided"] == 2 and first not in desk.rows[desk.find(Filter(status="open"))]
    other.decisions.close()


def test_what_was_decided_before_stands_in_the_rounds_after(desk, made, tmp_path):
    flagged = desk.rows[desk.flagged].tolist()
    desk.decide_many([([desk.settle(row, "accept", None) for row in flagged[:8]], "Ann")])
    table = made.with_name("loans.csv")
    words = ("correct", table, "--label", "default", "--svms", 200, "--quiet")
    call(*words, "--decisions", made)
    second = made.with_name("loans.reviewed.subsvms")
    done = apply_decisions(second, output=tmp_path / "final.csv")
    assert done.n_decided == 8 and done.n_changed == 8
    assert len(read_verified(second, "default")[0]) == 8
    result = call("correct", table, "--label", "colour", "--decisions", made, "--svms", 50, code=2)
    assert "are about the column 'default', not 'colour'" in " ".join(result.output.split())
    shutil.rmtree(second)


@pytest.mark.parametrize("kind", ["bool", "int", "formula"])
def test_labels_of_any_kind_survive_review_apply_export_and_import(tmp_path, kind):
    rows, _ = make_rows(300, wrong=0.2)
    classes = {"bool": (False, True), "int": (0, 7), "formula": ("-no", "=yes()")}[kind]
    labels = [classes[row["default"] == "yes"] for row in rows]
    columns = {name: [float(row[name] or "nan") for row in rows] for name in ("age", "size")}
    parquet.write_table(pa.table({**columns, "y": labels}), tmp_path / "t.parquet")
    call("correct", tmp_path / "t.parquet", "--label", "y", "--quiet", "--svms", 200)
    folder = tmp_path / "t.subsvms"
    exported = export_issues(folder, "jsonl")
    lines = [json.loads(line) for line in exported.path.read_text().split("\n") if line]
    flagged = [line for line in lines if line["is_label_issue"]][:3]
    written = {"bool": str.lower, "int": lambda label: f"{label}.0", "formula": str}[kind]
    text = ["row,label"] + [f"{line['row']},{written(line['suggested'])}" for line in flagged]
    (tmp_path / "d.csv").write_text("\n".join(text))
    assert import_decisions(folder, tmp_path / "d.csv").n_decisions == 3
    apply_decisions(folder)
    final = parquet.read_table(folder / "final.parquet")["y"].to_pylist()
    changed = [i + 1 for i, (new, old) in enumerate(zip(final, labels, strict=True)) if new != old]
    assert sorted(changed) == sorted(line["row"] for line in flagged) and set(final) == set(classes)


def test_text_with_odd_line_ends_comes_back(tmp_path):
    rows, _ = make_rows(300, wrong=0.2)
    for row in rows:
        row["note"] = "a\u2028b\x85c"
    call("correct", write(tmp_path / "t.csv", rows), "--label", "default", "--quiet", "--svms", 200)
    done = export_issues(tmp_path / "t.subsvms", "jsonl")
    assert import_decisions(tmp_path / "t.subsvms", done.path).n_decisions == 0


def test_a_row_wider_than_a_megabyte_can_be_reviewed(tmp_path):
    rows, _ = make_rows(200, wrong=0.2)
    for i, row in enumerate(rows):
        row |= {f"c{j}": chr(97 + i % 3) * 1990 if i < 4 else "" for j in range(560)}
    path = write(tmp_path / "t.csv", rows)
    call("correct", path, "--label", "default", "--quiet", "--svms", 50, "--only", "age", "--only", "size")
    desk = Desk(tmp_path / "t.subsvms")
    assert len(desk) == len(desk.rows)
    desk.decisions.close()


def test_a_review_that_decided_nothing_does_not_stand_in_the_way_of_a_new_run(desk, made):
    call("correct", made.with_name("loans.csv"), "--label", "default", "--svms", 200, "--force", "--quiet")
