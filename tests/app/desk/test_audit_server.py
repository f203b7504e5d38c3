"""The server of the audit page: requests and answers, what it gives away, and attacks that are refused."""

import re

import pytest
from answered_audits import read_answers
from browsers import ask, get, post
from loans import read

from subsvms.app.desk.audit import AuditDesk, EstimateDesk, UntilDesk


class Client:
    """Sends requests to the page of a desk one after the other."""

    def __init__(self, desk):
        self.desk = desk

    def get(self, url):
        return ask(self.desk, get(url))[0]

    def post(self, url, **body):
        return ask(self.desk, post(url, body))[0]

    def ask(self, who="Ann"):
        return self.post("api/question", who=who).json()["question"]

    def answer(self, question, answer, **changes):
        body = {"who": "Ann", "row": question["row"], "id": question["id"], "label": answer} | changes
        return self.post("api/answer", **body)


@pytest.fixture
def client(folder):
    return Client(AuditDesk(folder, n_answers=20))


def test_a_question_shows_the_row_but_not_its_label(client, folder):
    question = client.ask()
    row = read(folder.with_name("loans.csv"))[question["row"] - 1]
    del row["default"]
    assert dict(zip(question["columns"], question["values"], strict=True)) == row
    assert set(question) == {"id", "row", "columns", "values"} and client.ask() == question


def test_nothing_gives_label_suggestion_or_vote_away_before_the_answer(client):
    sent = [client.get(path) for path in ("", "api/meta", "api/progress")]
    for i in range(8):
        before = client.post("api/question", who="Ann")
        sent.append(before)
        sent.append(client.answer(before.json()["question"], ["yes", "no", None][i % 3]))
    keys = {name for answer in sent[1:] for name in re.findall(r'"(\w+)":(?!null)', answer.text)}
    assert keys == {
        "title", "label", "classes", "folder", "part", "is_blind", "progress", "sentence", "share", "total",
        "answers", "finished", "stands", "question", "id", "row",
        "columns", "values", "told", "marks", "media", "hosts",
    }  # fmt: skip


def stored(folder):
    return len(read_answers(folder))


REFUSED = [  # the sentences are made, and tested, at the desk
    ({"label": "maybe"}, 400), ({"label": 1}, 400), ({"row": 10**9}, 409), ({"row": "1"}, 409),
    ({"id": 7}, 409), ({"id": None, "row": 1}, 409), ({"who": " "}, 400),
]  # fmt: skip


def test_hostile_answers_are_refused_in_one_sentence_and_nothing_is_stored(client, folder):
    question = client.ask()
    for changes, status in REFUSED:
        found = client.answer(question, "yes", **changes)
        assert found.status_code == status and found.json()["error"].endswith("."), changes
        assert stored(folder) == 0 and client.ask() == question
    found = client.post("api/answer", who="Ann", row=question["row"], id=question["id"])
    assert found.status_code == 400 and stored(folder) == 0
    assert found.json()["error"] == "An answer must name a label, or null for “cannot tell”."


def test_a_second_press_and_an_old_tab_are_refused_and_get_the_right_question(client, folder):
    first = client.ask()
    found = client.answer(first, "yes").json()
    following = found["question"]
    assert stored(folder) == 1 == found["progress"]["answers"] and following == client.ask() != first
    again = client.answer(first, "no")
    assert again.status_code == 409 and again.json()["question"] == following and stored(folder) == 1
    assert "This was answered in the meantime" in again.json()["error"]


def test_who_leaves_lets_others_have_the_question(client):
    mine = client.ask("Ann")
    assert client.ask("Bob")["row"] != mine["row"]
    client.post("api/leave", who="Ann")
    assert client.ask("Cid")["row"] == mine["row"]


def test_an_old_address_names_the_command_of_this_page(client):
    (answer,) = ask(client.desk, ("GET", "/old/", {}))
    assert "open the whole address that subsvms audit printed last." in answer.json()["error"]


def test_an_estimate_has_other_words(folder):
    client = Client(EstimateDesk(folder, n_answers=12))
    page = client.get("").text
    assert "You see 12 rows of the table" in page and "come again" not in page
    assert "Some questions come again" in Client(AuditDesk(folder)).get("").text
    assert client.answer(client.ask(), "yes").json()["told"]["given"] in ("yes", "no")


def test_the_page_of_a_target_says_that_nothing_is_claimed_before_the_end(folder):
    client = Client(UntilDesk(folder, error_rate=0.1))
    page = client.get("").text
    assert "nothing is claimed before all questions are answered" in page and "more suspicious than" in page
    told = client.answer(client.ask(), "yes").json()
    assert told["told"]["given"] in ("yes", "no") and " of about " in told["progress"]["total"]
