"""The audit page in a real browser, against a real server."""

import csv
import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from browsers import HOSTILE, answer_in_turns, stored_answers, until
from loans import read, write
from web_pages import PAPER

from subsvms.app.desk.audit import AuditDesk, ConfirmDesk, EstimateDesk, UntilDesk
from subsvms.app.desk.score import ScoreDesk
from subsvms.app.options import Options, Work
from subsvms.app.runs.job import do_job
from subsvms.app.runs.parquet_files import read_scores
from subsvms.audit import Audit, run_audit

pytestmark = pytest.mark.slow
KEYS = {"no": "1", "yes": "2"}
SCREENS = {"wide": dict(width=1200, height=800), "phone": dict(width=390, height=844, scheme="dark")}


def list_keys(clean):
    """Return the key of the right answer to each row."""
    return {row: KEYS[label] for row, label in enumerate(clean, start=1)}


def audit_in_memory(folder, clean, n_answers):
    """Return the audit of the library with the same answers, in the order in which it asks."""
    with closing(AuditDesk(folder, create=False)) as desk:
        ranking = read_scores(desk.folder, desk.table).rank()
    audit = Audit(ranking, n_answers, repeat=True, random_state=0)
    return run_audit(audit, lambda row: str(clean[row]))


def test_fifty_answers_by_keyboard_alone_are_those_of_the_library(audit, folder, finished):
    ann = audit(n_answers=50)()
    log = answer_in_turns({"Ann": ann}, list_keys(finished.clean))
    expected = audit_in_memory(folder, finished.clean, 50)
    asked = [row + 1 for row, _ in expected.state["answers"]]
    assert [row for _, row, _ in log] == asked and 50 < len(asked) <= 90  # some came again
    ann.see("#claim", str(expected.claim))
    ann.see("#next", f"subsvms apply {folder}")
    ann.see("#total", f"50 of 50 labels, {len(asked)} of at most 90 questions")
    assert [(row, who) for row, _, who in stored_answers(folder)] == [(row, "Ann") for row in asked]


def test_after_an_answer_a_line_says_what_the_label_was(audit, finished):
    ann = audit(n_answers=12, repeat=False)()
    row = ann.row
    given = read(finished.table)[row - 1]["default"]
    other = {"no": "yes", "yes": "no"}[given]
    ann.press("c")
    ann.see("#said", f"That you cannot tell is stored. The label was “{given}”; suggested was “{other}”.")
    row = ann.row
    given = read(finished.table)[row - 1]["default"]
    ann.press("1")
    ann.see("#said", f"“no” is stored. The label was “{given}”; suggested was “")
    ann.see("#total", "2 of 12 labels")
    assert ann.page.evaluate("document.activeElement.id") == "question"


def test_before_the_first_question_the_page_says_what_an_answer_means_and_asks_for_a_name(audit, folder):
    bob = audit(n_answers=12)(name="", begin=False)
    said = (
        "An answer stands.",
        "You may stop at any time",
        "Some questions come again",
        "12 rows",
        "at most 21 questions",
    )
    for words in said:
        bob.see("#start", words)
    assert stored_answers(folder) == []
    until(bob.page, "document.activeElement.id === 'begin'")
    bob.page.keyboard.press("Enter")
    bob.page.wait_for_selector("#name-dialog[open]")
    bob.page.keyboard.press("Escape")
    bob.see("#said.wrong", "A name is needed to begin.")
    bob.page.keyboard.press("1")  # not yet an answer
    bob.page.click("#begin")
    bob.page.wait_for_selector("#name-dialog[open]")
    bob.page.keyboard.type("  Bob <b> ")
    bob.page.keyboard.press("Enter")
    bob.settle()
    bob.see("#person", "Answering as Bob <b>")
    row = bob.row
    bob.press("1")
    assert stored_answers(folder) == [(row, "no", "Bob <b>")]
    shown = bob.row
    bob.page.reload()  # goes on at once
    bob.settle()
    assert bob.view == "ask" and bob.row == shown


def test_plain_keys_and_buttons_answer_and_nothing_else_does(audit, folder):
    ann = audit(n_answers=12)()
    for key in ("Control+1", "Alt+2", "3", "9", "x", "?"):
        ann.page.keyboard.press(key)
    ann.page.wait_for_selector("#help-dialog[open]")
    ann.page.keyboard.press("1")
    ann.page.wait_for_timeout(300)
    assert stored_answers(folder) == []
    ann.close_dialog()
    ann.press("0")
    reached = []
    for _ in range(3):
        ann.page.keyboard.press("Tab")
        reached.append(ann.page.evaluate("document.activeElement.textContent.trim()"))
        style = ann.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid", reached
    assert reached == ["no1", "yes2", "Cannot tell 0"]
    ann.page.keyboard.press("Shift+Tab")
    ann.press("Enter")
    assert [label for _, label, _ in stored_answers(folder)] == [None, "yes"]


def test_an_estimate_asks_about_random_rows_and_ends_with_its_sentence(audit, folder, finished):
    ann = audit(n_answers=12, open_desk=EstimateDesk)()
    ann.see("#sentence", "Labels drawn at random: 0 of 12")
    answer_in_turns({"Ann": ann}, list_keys(finished.clean))
    ann.see("#claim", str(EstimateDesk(folder).progress()["claim"]))
    ann.see("#claim", "Of 12 labels drawn at random ")
    ann.see("#next", f"subsvms audit {folder}")


def test_a_target_is_reached_by_keyboard_and_ends_with_its_sentence(audit, folder, finished):
    ann = audit(error_rate=0.3, open_desk=UntilDesk)()
    ann.see("#about", "A target for the wrong labels in “default”")
    answer_in_turns({"Ann": ann}, list_keys(finished.clean))
    ann.see("#claim", str(UntilDesk(folder).progress()["claim"]))
    ann.see("#claim", " are wrong now, if your answers are right.")
    ann.see("#next", f"subsvms apply {folder}")


def test_claims_at_any_stop_stand_below_the_question(audit, folder, finished):
    ann = audit(error_rate=0.3, any_stop=True, open_desk=UntilDesk)(begin=False)
    ann.see("#start", "After each answer the page says how many labels are wrong at most")
    bob = audit(open_desk=UntilDesk)(name="Bob")
    bob.press("c")
    bob.see("#sentence", "labels are wrong, if your answers are right")
    bob.page.click("#so-far summary")
    bob.see("#holds", "labels (")
    bob.see(
        "#holds", "are wrong now, the 1 about which you could not tell among them, if your answers are right."
    )


def test_a_score_is_reached_by_keyboard_and_nothing_else_follows(audit, finished, tmp_path):
    rows = [row | {"default": row["default"] or "no"} for row in read(finished.table)]
    guesses = [row | {"guess": row["default"] if i % 5 else "no"} for i, row in enumerate(rows)]
    table = write(tmp_path / "predictions.csv", guesses)
    how = {"label": "default", "prediction": ["guess"], "n_answers": 12, "open_desk": ScoreDesk}
    ann = audit(table, **how)()
    ann.see("#about", "The score of a model on the true labels, not those in “default”")
    for _ in range(12):
        assert "guess" not in ann.page.locator("#values").inner_text()
        ann.press("1")
    ann.see("#claim", "the accuracy on the true labels is between ")
    ann.see("#claim", "if the 12 answers are right; with the labels as given it is ")
    assert not ann.page.locator("#next").is_visible()


CLASSES = ["<i>c</i>"] + [f"kind {chr(97 + k)}" for k in range(11)]


@pytest.fixture(scope="module")
def corrected_kinds(tmp_path_factory):
    """The folder of a run with twelve classes and hostile text: not to be changed."""
    rng = np.random.default_rng(0)
    kinds = CLASSES[1:] + CLASSES[:1]
    rows = [
        {
            "x": f"{k + rng.normal(0, 0.3):.2f}", "y": f"{k % 3 + rng.normal(0, 0.3):.2f}",
            "<b>note</b>": HOSTILE[i % len(HOSTILE)], "kind": kinds[k],
        }
        for i, k in enumerate(rng.integers(12, size=240))
    ]  # fmt: skip
    table = write(tmp_path_factory.mktemp("many") / "kinds & <b>more.csv", rows)
    return Path(do_job(str(table), Options(label="kind", n_estimators=100), Work(n_jobs=1)).written.folder)


@pytest.fixture
def many(corrected_kinds, tmp_path):
    """A copy of it."""
    shutil.copytree(corrected_kinds.parent, tmp_path / "many")
    return tmp_path / "many" / corrected_kinds.name


def correct_few(place, labels):
    """Correct a small table whose values tell these labels apart, and return the folder of the run."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(len(labels), size=120)
    rows = [{"x": f"{k + rng.normal(0, 0.2):.2f}", "label": labels[k]} for k in numbers]
    table = write(place / "few.csv", rows)
    return Path(do_job(str(table), Options(label="label", n_estimators=50), Work(n_jobs=1)).written.folder)


@pytest.mark.parametrize("labels", [list("017"), list("0123456789")], ids=["few", "many"])
def test_labels_that_are_digits_are_their_own_keys(audit, tmp_path, labels):
    place = correct_few(tmp_path, labels)
    ann = audit(place, n_answers=12)()
    assert ann.page.locator("#answers kbd").all_inner_texts()[-1] == "c"
    for key in ("0", "1", "7", "c"):
        ann.press(key)
    assert [label for _, label, _ in stored_answers(place)] == ["0", "1", "7", None]
    shown = [one for one in ann.page.locator("#buttons button, #found li").all_inner_texts() if one]
    assert [one.split() for one in shown] == [[label, label] for label in labels]
    ann.page.keyboard.press("?")
    ann.see("#help-dialog", "0 to 9")
    assert not ann.page.locator("#zero").is_visible()
    ann.close_dialog()


def test_a_label_of_the_name_cannot_tell_is_told_from_the_answer(audit, tmp_path):
    place = correct_few(tmp_path, ["cannot tell", "sure"])
    ann = audit(place, n_answers=12)()
    ann.see("#untold", "Cannot tell (which is not the label of this name)")
    ann.press("1")
    ann.see("#said", "“cannot tell” is stored.")
    ann.press("0")
    ann.see("#said", "That you cannot tell is stored.")
    assert [label for _, label, _ in stored_answers(place)] == ["cannot tell", None]


def test_with_many_classes_keys_and_a_list_that_is_searched_answer(audit, many):
    ann = audit(many, n_answers=12)()
    assert ann.page.evaluate("document.activeElement.id") == "question"
    assert not ann.page.locator("#finder").is_visible()
    assert ann.page.locator("#buttons kbd").all_inner_texts() == list("123456789")
    ann.page.keyboard.press("/")
    until(ann.page, "document.activeElement.id === 'search'")
    assert ann.page.locator("#found [role=option]").count() == 12
    for hint in ("#buttons kbd >> nth=0", "#untold kbd"):  # these keys are typed now
        assert not ann.page.locator(hint).is_visible()
    assert ann.list_faults() == []
    ann.page.keyboard.type("1c0no such label")  # letters, and no answers
    ann.see("#left", "No label has this text.")
    assert ann.list_faults() == [] and stored_answers(many) == []
    ann.page.keyboard.press("Control+a")
    ann.page.keyboard.press("Delete")
    ann.page.keyboard.press("Enter")  # nothing is chosen yet
    ann.page.keyboard.type("KIND")
    ann.page.keyboard.press("ArrowDown")
    ann.page.keyboard.press("ArrowDown")
    first = ann.row
    ann.press("Enter")
    second = ann.row
    ann.page.keyboard.press("/")
    ann.page.keyboard.type("<i>")
    assert ann.page.locator("#found [role=option]").count() == 1
    ann.press("Enter")
    third = ann.row
    ann.page.keyboard.press("/")
    ann.page.keyboard.type("kind b")
    ann.page.keyboard.press("Escape")
    assert ann.page.locator("#untold kbd").is_visible() and not ann.page.locator("#finder").is_visible()
    ann.press("c")
    labels = {first: "kind c", second: "<i>c</i>", third: None}
    for number, place in ((1, "#untold"), (9, "#main"), (2, "#help-button")):  # wherever the focus is
        labels[ann.row] = CLASSES[number - 1]
        ann.page.focus(place)
        ann.press(str(number))
    assert stored_answers(many) == [(row, label, "Ann") for row, label in labels.items()]
    last = ann.row
    ann.page.click("#open-search")
    ann.page.click("#found >> text=kind b")
    ann.see("#said", "“kind b” is stored.")
    assert stored_answers(many)[-1] == (last, "kind b", "Ann")


def test_an_audit_with_many_classes_is_answered_to_its_end_by_keyboard(audit, many):
    with closing(AuditDesk(many)) as desk:
        given = {row: desk.labels[number] for row, number in enumerate(desk.scores.given, start=1)}
    ann = audit(many, repeat=True)()
    while ann.view == "ask":
        number = CLASSES.index(given[ann.row]) + 1
        if number <= 9:
            ann.press(str(number))
        else:
            ann.page.keyboard.press("/")
            ann.page.keyboard.type(given[ann.row])
            ann.press("Enter")
    ann.see("#claim", "0 of them were wrong")
    assert {label for _, label, _ in stored_answers(many)} <= set(CLASSES)


def test_a_confirmation_ends_with_its_sentence_by_keyboard_alone(audit, folder, finished):
    ann = audit(open_desk=ConfirmDesk)(begin=False)
    most = ConfirmDesk(folder).work.most_questions
    ann.see("#about", "Are the changes of “default” right?")
    ann.see("#start", f"You see at most {most} rows")
    ann.begin()
    ann.see("#sentence", " changes of the run: 0 of at most ")
    assert "Row " not in ann.page.inner_text("#ask")
    log = answer_in_turns({"Ann": ann}, list_keys(finished.clean))
    assert len(log) <= most and len(stored_answers(folder, "confirm")) == len(log)
    with closing(ConfirmDesk(folder)) as desk:
        ann.see("#claim", desk.progress()["claim"])
    ann.see("#total", f"{len(log)} of at most {most} questions")
    ann.see("#next", f"subsvms apply {folder}")
    ann.see("#more", f"subsvms audit {folder}")
    assert ann.list_faults() == []


@pytest.mark.parametrize("width, scheme", [(375, "dark"), (375, "light"), (1200, "dark")])
def test_the_page_fits_the_screen_and_shows_whole_text(audit, many, width, scheme):
    ann = audit(many)(width=width, height=740, scheme=scheme)
    with open(many.parent / "kinds & <b>more.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for _ in range(3):
        assert ann.overflow <= 0
        note = rows[ann.row - 1]["<b>note</b>"].strip()
        assert note in ann.page.evaluate("document.getElementById('values').textContent")
        for part in ("#open-search", "#untold"):
            box = ann.page.locator(part).bounding_box()
            assert box["y"] + box["height"] <= 740 and box["x"] + box["width"] <= width
        ann.page.click("#untold")
        ann.page.wait_for_timeout(50)
        ann.settle()
    assert ann.page.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER[scheme]


@pytest.mark.parametrize("screen", SCREENS)
def test_no_rule_of_axe_is_broken_in_any_state_of_the_page(audit, finished, screen):
    ann = audit(n_answers=10, repeat=False)(begin=False, **SCREENS[screen])
    assert ann.list_faults() == [] and ann.page.get_attribute("#said", "aria-live") == "polite"
    ann.page.click("#begin")
    ann.settle()
    assert ann.list_faults() == []
    for open_dialog in (lambda: ann.page.keyboard.press("?"), lambda: ann.page.click("#person")):
        open_dialog()
        assert ann.list_faults() == []
        ann.close_dialog()
    answer_in_turns({"Ann": ann}, dict.fromkeys(range(1, len(finished.clean) + 1), "1"))
    assert ann.view == "end" and ann.list_faults() == []


def test_progress_never_goes_back_and_the_end_writes_the_table(audit, folder, finished):
    ann = audit(n_answers=12)()
    reached = [0.0]
    for row, key in zip(range(99), "12" * 50, strict=False):
        assert ann.view == "ask", row
        ann.press(key)
        reached.append(ann.page.evaluate("document.getElementById('progress').value"))
        if ann.view == "end":
            break
    assert reached == sorted(reached) and reached[-1] == 1 and len(set(reached)) == len(reached)
    size = "parseFloat(getComputedStyle(document.getElementById('claim')).fontSize)"
    assert ann.page.evaluate(size) >= 24  # pixels
    for said in ("The table is in", "already exists", "The table is in"):
        if said == "already exists":
            ann.page.reload()
            ann.page.wait_for_selector("#write")
        ann.page.click("#write")
        ann.see("#written", said)
        if said == "already exists":
            ann.see("#write", "Replace the table that is there")
            ann.forget("409")
    assert Path(folder, "final.csv").is_file()
