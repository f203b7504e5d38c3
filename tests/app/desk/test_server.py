"""The server of the review page: requests and answers, and attacks that are refused."""

import asyncio
import json
import os

import httpx
import numpy as np
import pytest
from browsers import HOST, TOKEN, ask, get, post
from loans import read

from subsvms.app.desk.evidence import Columns
from subsvms.app.desk.guard import HEADERS
from subsvms.app.desk.review import Filter, Progress
from subsvms.app.desk.server import make_app, open_socket


def decide(row, verdict, who, **more):
    return post("api/decide", {"row": row, "verdict": verdict, "who": who, **more})


def send(url, content):
    headers = {"content-type": "application/json"}
    return "POST", f"/{TOKEN}/{url}", {"content": content, "headers": headers}


def test_issues_are_paged_worst_first(quiet, finished):
    first, second = ask(quiet, get("api/issues?limit=5"), get("api/issues?limit=5&offset=5"))
    issues = read(finished.folder / "issues.csv")
    shown = [*first.json()["issues"], *second.json()["issues"]]
    assert [issue["row"] for issue in shown] == [int(issue["row"]) for issue in issues[:10]]
    assert first.json()["total"] == len(issues)


def test_filters_are_those_of_a_plain_loop(quiet, finished):
    issues, rows = read(finished.folder / "issues.csv"), read(finished.table)
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
        (answer,) = ask(quiet, get(f"api/issues?limit=200&{words}"))
        expected = [int(issue["row"]) for issue in issues if keeps(issue, rows[int(issue["row"]) - 1])]
        assert [issue["row"] for issue in answer.json()["issues"]] == expected[:200], words
    (answer,) = ask(quiet, get("api/issues?limit=200&sort=row"))
    found = [issue["row"] for issue in answer.json()["issues"]]
    assert found == sorted(found)


def test_an_issue_shows_its_values_witnesses_and_history(desk, folder):
    issue, rows = read(folder / "issues.csv")[0], read(folder.with_name("loans.csv"))
    row = int(issue["row"])
    _, answer = ask(desk, decide(row, "keep", "Ann"), get(f"api/issues/{row}"))
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
        *(decide(row, "accept", "Ann") for row in rows[:9]),
        decide(rows[9], "keep", "Ann"),
        get("api/state?since=0"),
    )
    state = answers[-1].json()
    assert (state["decided"], state["judged"], state["accepted"]) == (10, 10, 9)
    assert (state["low"], state["high"]) == pytest.approx((0.606, 0.995), abs=0.001)
    assert state["last"] == 10 and sorted(state["rows"]) == sorted(rows)


def test_another_label_that_is_the_suggested_one_counts_as_accepted(desk):
    row = int(desk.rows[0])
    suggested = desk.classes[desk.suggested[0]]
    body = {"row": row, "verdict": "label", "label": suggested, "who": "Ann"}
    (answer,) = ask(desk, post("api/decide", body))
    assert answer.json()["issue"]["decision"]["verdict"] == "accept"


def test_all_rows_of_a_filter_are_decided_at_once_if_they_are_as_many_as_shown(desk):
    n = len(desk.find(Filter(given="yes", status="open")))
    body = {"filter": {"given": "yes", "status": "open"}, "verdict": "accept", "who": "Ann"}
    wrong, right, after, undone = ask(
        desk,
        post("api/decide-all", {**body, "expect": n + 1}),
        post("api/decide-all", {**body, "expect": n}),
        get("api/issues?given=yes&status=decided"),
        post("api/undo", {"who": "Ann"}),
    )
    assert wrong.status_code == 409 and f"The filter finds {n} rows now" in wrong.json()["error"]
    assert right.json()["rows"] == n == after.json()["total"]
    assert undone.json()["decided"] == 0 and len(undone.json()["rows"]) == n


def test_people_undo_only_what_they_did_until_nothing_is_left(desk):
    row = int(desk.rows[0])
    answers = ask(
        desk,
        decide(row, "accept", "Ann"),
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
    "a last act that is not a number": (post("api/decide", {"row": 1, "who": "A", "seen": "1"}), 400),
    "a row that is true": (decide(True, "accept", "A"), 404),
    "no name": (post("api/undo", {}), 400),
    "an unknown filter": (get("api/issues?given=nobody"), 400),
    "an unknown word": (get("api/issues?drop=table"), 400),
    "an unknown verdict": (get("api/issues?verdict=delete"), 400),
    "an unknown status": (get("api/issues?status=lost"), 400),
    "an unknown order": (get("api/issues?sort=best"), 400),
    "an unknown kind of note": (get("api/issues?note=no"), 400),
    "a negative offset": (get("api/issues?offset=-1"), 400),
    "a huge number": (get(f"api/issues?offset={'9' * 5000}"), 400),
    "confidence that is not a number": (get("api/issues?low=nan"), 400),
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


@pytest.mark.parametrize("verdict", ["delete", "", None, 3, {"a": 1}])
def test_an_unknown_verdict_is_refused(quiet, verdict):
    row = int(quiet.rows[0])
    (answer,) = ask(quiet, post("api/decide", {"row": row, "verdict": verdict, "who": "Ann"}))
    assert answer.status_code == 400 and quiet.decisions.current == {}


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


def test_who_decides_otherwise_than_another_just_did_is_asked(desk):
    row = int(desk.rows[0])
    first, second = ask(desk, decide(row, "accept", "Ann", seen=0), decide(row, "keep", "Bob", seen=0))
    theirs = second.json()["issue"]["decision"]
    assert first.status_code == 200 and second.status_code == 409
    assert "Ann decided differently" in second.json()["error"] and theirs["verdict"] == "accept"
    (third,) = ask(desk, decide(row, "keep", "Bob", seen=theirs["act"]))
    assert third.json()["issue"]["decision"]["who"] == "Bob" and third.json()["disputed"] == 1


def test_rows_that_people_decided_differently_can_be_listed(desk):
    one, two, three = desk.rows[:3].tolist()
    *_, listed, undone, none = ask(
        desk,
        *(decide(row, "accept", "Ann") for row in (one, two, three)),
        *(decide(row, "accept", "Bob") for row in (one, two)),
        decide(one, "keep", "Bob"),
        decide(three, "skip", "Bob"),
        get("api/issues?status=disputed"),
        decide(one, "accept", "Bob"),
        get("api/issues?status=disputed"),
    )
    assert [issue["row"] for issue in listed.json()["issues"]] == [one]
    assert undone.json()["disputed"] == 0 and none.json()["total"] == 0


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
    assert "<p>This address is incomplete, or it was printed by a page that has ended" in page.text
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


def test_a_port_in_use_is_skipped():
    first = open_socket(18765)
    second = open_socket(first.getsockname()[1])
    assert second.getsockname()[1] > first.getsockname()[1] and second.getsockname()[0] == "127.0.0.1"
    first.close()
    second.close()


def test_a_page_of_a_hundred_thousand_issues_is_small(desk):
    big = 100_000
    desk.rows = np.arange(1, big + 1)
    desk.place = {row: i for i, row in enumerate(desk.rows.tolist())}
    desk.given = np.tile([0, 1], big // 2)
    desk.suggested, desk.confidence = 1 - desk.given, np.linspace(1, 0.5, big)
    desk.flagged, desk.expected = np.ones(big, dtype=bool), np.linspace(1, 0.5, big)
    desk.progress = Progress(desk.flagged)
    desk.compared = [([], [])] * big
    desk.about = Columns(desk)
    desk.source._find = lambda rows: (np.zeros(len(rows), dtype=int), np.zeros(len(rows), dtype=int))
    (answer,) = ask(desk, get("api/issues?given=yes&sort=confidence&offset=40000&limit=50"))
    assert answer.json()["total"] == big // 2 and len(answer.json()["issues"]) == 50
    assert len(answer.content) < 30_000


def test_a_row_can_be_left_out_with_a_note_and_found_again(desk):
    first, second, third = desk.rows[:3].tolist()
    *_, by_verdict, by_who, by_note, state, detail = ask(
        desk,
        post("api/decide", {"row": first, "verdict": "drop", "who": "Ann", "note": " torn page "}),
        post("api/decide", {"row": second, "verdict": "skip", "who": "Bob", "note": ""}),
        decide(third, "accept", "Bob"),
        get("api/issues?verdict=drop"), get("api/issues?who=Bob"), get("api/issues?note=yes"),
        get("api/state"), get(f"api/issues/{first}"),
    )  # fmt: skip
    rows = [[issue["row"] for issue in one.json()["issues"]] for one in (by_verdict, by_who, by_note)]
    assert rows == [[first], [second, third], [first]]
    names = ("decided", "skipped", "dropped", "open", "judged")
    assert [state.json()[name] for name in names] == [2, 1, 1, len(desk) - 3, 1]
    assert detail.json()["decision"]["note"] == "torn page" and detail.json()["history"][0]["note"]
    assert desk.meta["people"] == ["Ann", "Bob"]


def test_skipping_everything_decides_nothing(desk):
    body = {"filter": {}, "expect": len(desk), "verdict": "skip", "who": "Ann"}
    (answer,) = ask(desk, post("api/decide-all", body))
    found = answer.json()
    assert (found["decided"], found["skipped"], found["open"]) == (0, len(desk), 0)
    assert found["judged"] == 0 and found["low"] is None


def test_deciding_all_at_once_is_no_judgement(desk):
    flagged, row = int(desk.flagged.sum()), int(desk.rows[0])
    body = {"filter": {"low": "0"}, "expect": len(desk), "verdict": "accept", "who": "Ann", "note": "batch"}
    first, second, noted = ask(
        desk, post("api/decide-all", body),
        decide(row, "keep", "Ann"), get("api/issues?note=yes"),
    )  # fmt: skip
    assert first.json()["decided"] == len(desk) >= flagged > 1 and first.json()["judged"] == 0
    assert (second.json()["judged"], second.json()["accepted"]) == (1, 0)
    assert noted.json()["total"] == len(desk)


def test_agreement_is_that_of_the_two_who_share_most_rows(desk):
    rows = desk.rows[:6].tolist()
    answers = ask(
        desk,
        *(decide(row, "accept", "Ann") for row in rows),
        *(decide(row, "drop", "Bob") for row in rows[:1]),
        *(decide(row, "accept", "Bob") for row in rows[1:4]),
        decide(rows[5], "accept", "Cid"),
    )
    assert answers[0].json()["agreement"] is None
    found = answers[-1].json()
    assert found["agreement"] == {"people": ["Ann", "Bob"], "both": 4, "same": 3} and found["disputed"] == 1


def test_redo_answers_as_undo_does(desk):
    row = int(desk.rows[0])
    who = {"who": "Ann"}
    *_, undone, redone, nothing = ask(
        desk, post("api/decide", {"row": row, "verdict": "accept", **who}),
        post("api/undo", who), post("api/redo", who), post("api/redo", who),
    )  # fmt: skip
    assert undone.json()["rows"] == redone.json()["rows"] == [row]
    assert (undone.json()["decided"], redone.json()["decided"]) == (0, 1)
    assert nothing.status_code == 409 and "nothing to redo" in nothing.json()["error"]


def test_redo_says_who_decided_differently_since(desk):
    row = int(desk.rows[0])
    *_, refused = ask(
        desk, decide(row, "accept", "Ann"),
        post("api/undo", {"who": "Ann"}), decide(row, "drop", "Bob"),
        post("api/redo", {"who": "Ann"}),
    )  # fmt: skip
    assert refused.status_code == 409 and "Bob decided differently since" in refused.json()["error"]
    assert desk.decisions.current[row].who == "Bob"


NOTES = [7, ["x"], {"a": 1}, "x" * 2001, "\ud800", "a\0b", True]


@pytest.mark.parametrize("note", NOTES, ids=range(len(NOTES)))
@pytest.mark.parametrize("url", ["api/decide", "api/decide-all"])
def test_a_note_that_is_none_is_refused(quiet, url, note):
    content = json.dumps({
        "row": int(quiet.rows[0]), "filter": {}, "expect": len(quiet), "verdict": "skip", "who": "Ann",
        "note": note,
    })  # fmt: skip
    (answer,) = ask(quiet, send(url, content))
    assert answer.status_code == 400 and "at most 2,000 characters" in answer.json()["error"]
    assert len(answer.json()["error"]) < 300 and quiet.decisions.last == 0


def test_the_bar_is_what_worst_sorts_by(quiet):
    (answer,) = ask(quiet, get("api/issues?limit=200"))
    issues = answer.json()["issues"]
    shown = [issue["expected"] for issue in issues if issue["expected"] is not None]
    assert shown == sorted(shown, reverse=True) and len(shown) > 10
    assert all(issue["given"] is None for issue in issues if issue["expected"] is None)
