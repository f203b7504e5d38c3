"""The server of the review page: requests and answers, and attacks that are refused."""

import asyncio
import json
import os
from contextlib import closing

import httpx
import numpy as np
import pytest
from browsers import HOST, TOKEN, ask, get, post
from loans import read

from benchmarks.review import make_folder
from subsvms.app.desk.guard import HEADERS
from subsvms.app.desk.review import Filter, ReviewDesk
from subsvms.app.desk.server import make_app


def decide(row, verdict, who, **more):
    return post("api/decide", {"row": row, "verdict": verdict, "who": who, **more})


def send(url, content):
    headers = {"content-type": "application/json"}
    return "POST", f"/{TOKEN}/{url}", {"content": content, "headers": headers}


def test_filters_are_those_of_a_plain_loop(quiet, finished):
    issues, rows = read(finished.folder / "issues.csv"), read(finished.table)
    asked = {
        "given=yes": lambda issue, row: issue["given_label"] == "yes",
        "suggested=yes": lambda issue, row: issue["suggested_label"] == "yes",
        "low=0.9": lambda issue, row: 1 - float(issue["label_quality"] or 1) >= 0.9,
        "high=0.9": lambda issue, row: 1 - float(issue["label_quality"] or 1) <= 0.9,
        "column=colour&value=red": lambda issue, row: row["colour"] == "red",
        "search=GREEN": lambda issue, row: any(
            "green" in cell.lower() for n, cell in row.items() if n != "default"
        ),
        "search=onerror": lambda issue, row: "onerror" in row["note"],
        "status=open": lambda issue, row: True,
        "status=decided": lambda issue, row: False,
    }
    for words, keeps in asked.items():
        (answer,) = ask(quiet, get(f"api/issues?limit=200&{words}"))
        expected = [int(issue["row"]) for issue in issues if keeps(issue, rows[int(issue["row"]) - 1])]
        assert [issue["row"] for issue in answer.json()["issues"]] == expected[:200], words
    (answer,) = ask(quiet, get("api/issues?limit=200&sort=row"))
    found = [issue["row"] for issue in answer.json()["issues"]]
    assert found == sorted(found)


def test_an_issue_shows_its_values_witnesses_and_history(desk, folder):
    issue, rows = read(folder / "issues.csv")[0], read(folder.with_name("loans.csv"))
    row = int(issue["row"])
    _, answer = ask(desk, decide(row, "keep", "Ann"), get(f"api/issues/{row}?viewer=Ann"))
    found = answer.json()
    names = [column["name"] for column in found["columns"]]
    values = dict(zip(names, found["values"], strict=True))
    assert values == {name: cell for name, cell in rows[row - 1].items() if name != "default"}
    assert [one["row"] for one in found["supporting"]] == [int(n) for n in issue["supporting"].split()]
    witness = found["supporting"][0]
    assert witness["values"] == [rows[witness["row"] - 1][name] for name in names]
    assert [entry["verdict"] for entry in found["history"]] == ["keep"] and found["decision"]["who"] == "Ann"


def test_decisions_are_counted_and_give_the_expected_precision(desk):
    rows = desk.rows[desk.flagged][:10].tolist()
    answers = ask(
        desk,
        *(decide(row, "accept", "Ann") for row in rows[:8]),
        decide(rows[8], "label", "Ann", label=desk.brief(desk.place[rows[8]])["suggested"]),
        decide(rows[9], "keep", "Ann"),
        get("api/state?since=0"),
    )
    state = answers[-1].json()
    assert (state["decided"], state["judged"], state["accepted"]) == (10, 10, 9)
    assert (state["low"], state["high"]) == pytest.approx((0.606, 0.995), abs=0.001)
    assert state["last"] == 10 and sorted(state["rows"]) == sorted(rows)


def test_all_rows_of_a_filter_are_decided_at_once_if_they_are_as_many_as_shown(desk):
    n = len(desk.find(Filter(given="yes", status="open")))
    body = {"filter": {"given": "yes", "status": "open"}, "verdict": "accept", "who": "Ann", "note": "batch"}
    wrong, right, after, undone = ask(
        desk,
        post("api/decide-all", {**body, "expect": n + 1}),
        post("api/decide-all", {**body, "expect": n}),
        get("api/issues?status=decided&note=yes&viewer=Ann"),
        post("api/undo", {"who": "Ann"}),
    )
    assert wrong.status_code == 409 and f"The filter finds {n} rows now" in wrong.json()["error"]
    assert right.json()["rows"] == n == after.json()["total"] and right.json()["judged"] == 0
    assert undone.json()["decided"] == 0 and len(undone.json()["rows"]) == n


def test_people_undo_and_redo_only_what_they_did(desk):
    row, who = int(desk.rows[0]), {"who": "Ann"}
    answers = ask(
        desk, decide(row, "accept", "Ann"), post("api/undo", {"who": "Bob"}), post("api/undo", who),
        post("api/undo", who), post("api/redo", who), post("api/redo", who), post("api/undo", who),
        decide(row, "drop", "Bob"), post("api/redo", who),
    )  # fmt: skip
    assert [answer.status_code for answer in answers] == [200, 409, 200, 409, 200, 409, 200, 200, 409]
    undone, redone, nothing, refused = (answers[i].json() for i in (2, 4, 5, 8))
    assert undone["rows"] == redone["rows"] == [row] and (undone["decided"], redone["decided"]) == (0, 1)
    assert "nothing to redo" in nothing["error"] and "Bob decided differently since" in refused["error"]


UNKNOWN = [
    "given=nobody", "drop=table", "verdict=delete", "status=lost", "sort=best", "note=no", "offset=-1",
    f"offset={'9' * 5000}", "low=nan",
]  # fmt: skip
ATTACKS = {
    "no token": (("GET", "/", {}), 403),
    "wrong token": (("GET", "/wrong/api/issues", {}), 403),
    "token later in the path": (("GET", f"/x/{TOKEN}/api/issues", {}), 403),
    "another name of this machine": (get("api/issues", headers={"host": "evil.example"}), 421),
    "a foreign page reads": (get("api/issues", headers={"origin": "http://evil.example"}), 403),
    "a foreign page posts": (post("api/undo", {"who": "A"}, headers={"origin": "http://evil.example"}), 403),
    "another site on this machine": (post("api/undo", {}, headers={"sec-fetch-site": "same-site"}), 403),
    "path traversal": (get("static/../server.py"), 404),
    "encoded path traversal": (get("static/%2e%2e/server.py"), 404),
    "absolute path": (get("static//etc/passwd"), 404),
    "an oversized body": (send("api/decide", b"x" * 10**6), 413),
    "malformed JSON": (send("api/decide", b'{"row"'), 400),
    "deep JSON": (send("api/undo", b"[" * 60000), 400),
    "not a JSON object": (post("api/decide", [1]), 400),
    "a form": (("POST", f"/{TOKEN}/api/decide", {"data": {"row": "1"}}), 415),
    "a row that is not an issue": (decide(10**9, "accept", "A"), 404),
    "a last act before the first": (post("api/decide", {"row": 1, "who": "A", "seen": -5}), 400),
    "a last act beyond all": (post("api/decide", {"row": 1, "who": "A", "seen": 10**30}), 400),
    "a last act that is not a number": (post("api/decide", {"row": 1, "who": "A", "seen": "1"}), 400),
    "a row that is true": (decide(True, "accept", "A"), 404),
    "no name": (post("api/undo", {}), 400),
    **{words[:30]: (get(f"api/issues?{words}"), 400) for words in UNKNOWN},
    "an unknown column": (get("api/values?column=secret"), 400),
    "an issue that does not exist": (get("api/issues/99999999"), 404),
    "reading by post": (post("api/meta", {}), 405),
    "deciding by get": (get("api/decide"), 405),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused_and_the_server_stays_up(quiet, name):
    request, status = ATTACKS[name]
    answer, alive = ask(quiet, request, get("api/state"))
    assert answer.status_code == status, answer.text
    assert alive.status_code == 200 and alive.json()["decided"] == 0
    for header, value in HEADERS.items():
        assert answer.headers[header] == value and alive.headers[header] == value


def test_an_unknown_verdict_is_refused(quiet):
    row = int(quiet.rows[0])
    answers = ask(quiet, *(decide(row, verdict, "Ann") for verdict in ("delete", "", None, 3, {"a": 1})))
    assert {answer.status_code for answer in answers} == {400} and quiet.decisions.current == {}


def test_a_database_that_breaks_is_reported_and_the_server_stays_up(desk):
    row = int(desk.rows[0])
    desk.decisions.file.connection.execute("DROP TABLE decisions")
    broken, alive = ask(desk, decide(row, "accept", "Ann"), get("api/issues?limit=1"))
    assert broken.status_code == 503 and "it is damaged" in broken.json()["error"]
    assert alive.status_code == 200


def test_a_file_that_is_gone_is_reported_until_it_is_back(desk, folder):
    first, second = desk.rows[:2].tolist()
    away = folder.with_name("elsewhere")
    (kept,) = ask(desk, decide(first, "accept", "Ann", seen=0))
    os.rename(folder, away)
    answers = ask(
        desk, decide(second, "accept", "Ann", seen=0), post("api/undo", {"who": "Ann"}), get("api/state"),
        post("api/decide-all", {"filter": {}, "verdict": "skip", "who": "Ann", "expect": len(desk)}),
    )  # fmt: skip
    assert {answer.status_code for answer in answers} == {503}
    assert all("put it back, or stop the page" in answer.json()["error"] for answer in answers)
    os.rename(away, folder)
    again, state = ask(desk, decide(second, "accept", "Ann", seen=0), get("api/state"))
    assert kept.status_code == again.status_code == 200 and state.json()["decided"] == 2


def test_two_who_answer_at_once_unseen_give_a_dispute_and_whoever_knows_is_asked(desk):
    row = int(desk.rows[0])
    first, second = ask(desk, decide(row, "accept", "Ann", seen=0), decide(row, "keep", "Bob", seen=0))
    assert (first.status_code, second.status_code) == (200, 200)
    assert not first.json()["is_disputed"] and second.json()["is_disputed"] and second.json()["disputed"] == 1
    assert [one.who for one in desk.decisions.stacks[row]] == ["Ann", "Bob"]  # beside, not over it
    again, listed, settled = ask(
        desk, decide(row, "accept", "Ann", seen=first.json()["act"], note="sure"),
        get("api/issues?status=disputed&viewer=Cid"), decide(row, "accept", "Cid", seen=second.json()["act"]),
    )  # fmt: skip
    theirs = again.json()["issue"]["decision"]
    assert again.status_code == 409 and "Bob decided differently" in again.json()["error"]
    assert theirs["verdict"] == "keep" and theirs["act"] == second.json()["act"]
    (shown,) = listed.json()["issues"]
    assert shown["row"] == row and shown["decision"]["who"] == "Bob"  # whoever settles it must know
    assert settled.json()["disputed"] == 0 and desk.decisions.latest(row).who == "Cid"


def test_nobody_is_told_what_others_decided_before_an_answer_of_their_own(desk):
    row, other = desk.rows[:2].tolist()
    ask(
        desk,
        decide(other, "keep", "Ann"),
        decide(row, "keep", "Ann", note="a secret"),
        decide(other, "skip", "Bob"),
    )
    for viewer, status in (("Bob", "all"), ("", "decided"), ("Bob", "second")):
        listed, shown = ask(
            desk, get(f"api/issues?status={status}&viewer={viewer}"), get(f"api/issues/{row}?viewer={viewer}")
        )
        (found,) = [issue for issue in listed.json()["issues"] if issue["row"] == row]
        assert found["decision"] == shown.json()["decision"] and shown.json()["history"] == []
        assert {name for name, value in found["decision"].items() if value} == {"act", "hidden"}
        assert "secret" not in listed.text + shown.text and "Ann" not in listed.text + shown.text
    for words in ("verdict=keep", "who=Ann", "note=yes"):  # nor by what a filter finds
        theirs, hers = ask(desk, get(f"api/issues?{words}&viewer=Bob"), get(f"api/issues?{words}&viewer=Ann"))
        assert (theirs.json()["total"], hers.json()["total"]) == (0, 1)
    (skipped,) = ask(desk, get(f"api/issues/{other}?viewer=Bob"))  # to skip is no answer
    assert [one["who"] for one in skipped.json()["history"]] == ["Bob"]
    act = shown.json()["decision"]["act"]
    told, second = ask(
        desk, decide(row, "accept", "Bob", seen=act), get("api/issues?status=second&viewer=Bob")
    )
    assert told.status_code == 200 and second.json()["total"] == 0  # stored beside Ann's, without a question
    assert told.json()["disputed"] == 1 and told.json()["issue"]["decision"]["who"] == "Bob"
    (shown,) = ask(desk, get(f"api/issues/{row}?viewer=Bob"))
    assert [one["who"] for one in shown.json()["history"]] == ["Ann", "Bob"]


def test_decisions_on_all_rows_do_not_replace_what_others_just_decided_unasked(desk):
    one, two = desk.rows[:2].tolist()
    (listed,) = ask(desk, get("api/issues"))
    ask(desk, decide(one, "keep", "Ann"), decide(two, "keep", "Bob"))
    body = {"filter": {}, "verdict": "accept", "who": "Cid", "expect": len(desk)}
    asked, kept = ask(
        desk,
        post("api/decide-all", body | {"seen": listed.json()["last"]}),
        post("api/decide-all", body | {"seen": listed.json()["last"], "keep_theirs": True}),
    )
    assert asked.status_code == 409 and asked.json()["differing"] == 2
    assert asked.json()["names"] == ["Ann", "Bob"]
    assert kept.json()["rows"] == len(desk) - 2 and desk.decisions.latest(one).who == "Ann"
    (mine,) = ask(desk, post("api/decide-all", body | {"seen": asked.json()["last"]}))
    assert mine.json()["rows"] == len(desk) and desk.decisions.latest(one).who == "Cid"


def test_a_missing_label_cannot_be_kept(desk):
    missing = desk.rows[desk.given < 0].tolist()
    one, shown, kept = ask(
        desk,
        decide(missing[0], "keep", "Ann"),
        get("api/issues?sort=row"),
        post("api/decide-all", {"filter": {}, "verdict": "keep", "who": "Ann", "expect": len(desk)}),
    )
    assert one.status_code == 400 and f"Row {missing[0]} has no label to keep" in one.json()["error"]
    assert [issue["row"] for issue in shown.json()["issues"] if issue["given"] is None] == missing
    assert kept.json()["rows"] == len(desk) - len(missing)
    only = {"filter": {"status": "open"}, "verdict": "keep", "who": "Ann", "expect": len(missing)}
    (none,) = ask(desk, post("api/decide-all", only))
    assert none.status_code == 400 and "no label to keep" in none.json()["error"]


def test_a_person_with_an_old_or_incomplete_address_sees_a_page(quiet):
    accept = {"accept": "text/html,application/xhtml+xml"}
    page, program = ask(quiet, ("GET", "/old/", {"headers": accept}), ("GET", "/old/", {}))
    assert page.status_code == 403 and page.headers["content-type"].startswith("text/html")
    assert "<p>This address is incomplete, or a newer one has replaced it" in page.text
    assert "that subsvms review printed last" in program.json()["error"]


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


@pytest.mark.slow
def test_a_page_of_a_hundred_thousand_issues_is_small(tmp_path):
    with closing(ReviewDesk(make_folder(tmp_path, 100_000))) as desk:
        (answer,) = ask(desk, get("api/issues?given=yes&sort=confidence&offset=40000&limit=50"))
        assert len(desk) == 100_000 and answer.json()["total"] == np.sum(desk.given == 1)
    assert len(answer.json()["issues"]) == 50 and len(answer.content) < 30_000


def test_a_row_can_be_left_out_with_a_note_and_found_again(desk):
    first, second, third = desk.rows[:3].tolist()
    *_, by_verdict, by_who, by_note, state, detail = ask(
        desk,
        post("api/decide", {"row": first, "verdict": "drop", "who": "Ann", "note": " torn page "}),
        post("api/decide", {"row": second, "verdict": "skip", "who": "Bob", "note": ""}),
        decide(third, "accept", "Bob"),
        get("api/issues?verdict=drop&viewer=Ann"), get("api/issues?who=Bob&viewer=Bob"),
        get("api/issues?note=yes&viewer=Ann"), get("api/state"), get(f"api/issues/{first}?viewer=Ann"),
    )  # fmt: skip
    rows = [[issue["row"] for issue in one.json()["issues"]] for one in (by_verdict, by_who, by_note)]
    assert rows == [[first], [second, third], [first]]
    names = ("decided", "skipped", "dropped", "open", "judged")
    assert [state.json()[name] for name in names] == [2, 1, 1, len(desk) - 3, 1]
    assert detail.json()["decision"]["note"] == "torn page" and detail.json()["history"][0]["note"]
    assert desk.meta["people"] == ["Ann", "Bob"]


@pytest.mark.parametrize("note", [7, ["x"], {"a": 1}, "x" * 2001, "\ud800", "a\0b", True], ids=range(7))
def test_a_note_that_is_none_is_refused(quiet, note):
    body = {"row": int(quiet.rows[0]), "filter": {}, "expect": len(quiet), "verdict": "skip", "who": "Ann"}
    content = json.dumps(body | {"note": note})
    for answer in ask(quiet, send("api/decide", content), send("api/decide-all", content)):
        assert answer.status_code == 400 and "at most 2,000 characters" in answer.json()["error"]
        assert len(answer.json()["error"]) < 300 and quiet.decisions.last == 0


def test_issues_are_paged_worst_first_as_the_bar_shows(quiet, finished):
    answers = ask(quiet, get("api/issues?limit=20"), get("api/issues?limit=180&offset=20"))
    issues = [issue for answer in answers for issue in answer.json()["issues"]]
    written = read(finished.folder / "issues.csv")
    assert [issue["row"] for issue in issues] == [int(issue["row"]) for issue in written[:200]]
    assert answers[0].json()["total"] == len(written)
    shown = [issue["expected"] for issue in issues if issue["expected"] is not None]
    assert shown == sorted(shown, reverse=True) and len(shown) > 10
    assert all(issue["given"] is None for issue in issues if issue["expected"] is None)
