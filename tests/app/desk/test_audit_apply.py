"""The table after an audit, and what the report says."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from answered_audits import answer_all, decide, make_folder, person_of
from loans import call, read
from nasty_texts import assert_refused

from subsvms.app.desk.apply import apply_labels
from subsvms.app.desk.audit import AuditDesk, ConfirmDesk, EstimateDesk
from subsvms.app.report import place_audit, place_final
from subsvms.app.runs.record import read_record
from subsvms.app.tables.files import digest_bytes
from subsvms.exceptions import TableError


@pytest.fixture
def finished_audit(tmp_path):
    made = make_folder(tmp_path, action="fix")
    desk = AuditDesk(made.folder)
    answer_all(desk, person_of(made.clean))
    return SimpleNamespace(desk=desk, **vars(made))


def list_labels(path):
    return [row["default"] for row in read(path)]


def test_labels_follow_the_audit(finished_audit, tmp_path):
    desk = finished_audit.desk
    done = apply_labels(finished_audit.folder, output=tmp_path / "f.csv")
    wanted = desk.work.audit.labels
    assert list_labels(tmp_path / "f.csv") == ["" if label is None else label for label in wanted]
    n_unseen = len(desk.work.changed)
    assert (len(done.labels.answered), len(done.labels.unseen), len(done.labels.decided)) == (50, n_unseen, 0)
    given = desk.table.labels
    assert done.n_changed == sum(new != old for new, old in zip(wanted, given, strict=True))
    claim = str(desk.work.audit.claim)
    assert claim in str(done)
    n = sum(done.labels.answered[row] != given[row - 1] for row in done.labels.answered)
    assert n < 50 and n + n_unseen == done.n_changed  # what is said adds up
    said = (
        f"given. 50 were answered in the audit ({n} of them differ) and {n_unseen} were changed by it unseen."
    )
    assert said in str(done)
    said = " ".join(call("apply", finished_audit.folder, "--output", tmp_path / "g.csv").output.split())
    assert claim in said
    assert (tmp_path / "g.csv").read_bytes() == (tmp_path / "f.csv").read_bytes()


@pytest.mark.parametrize("action", ["fix", "drop", "weight", "review"])
def test_answers_of_an_audit_leave_what_is_confirmed_to_the_action(tmp_path, action):
    made = make_folder(tmp_path, missing=(), action=action)
    confirmation = ConfirmDesk(made.folder)
    answer_all(confirmation, person_of(made.clean))
    first = apply_labels(made.folder, output=tmp_path / "f.csv")
    desk = AuditDesk(made.folder, repeat=False)
    answer_all(desk, person_of(made.clean), most=1)
    one = apply_labels(made.folder, output=tmp_path / "g.csv")
    row = desk.log[-1].row
    for before, now in ((first.labels.dropped, one.labels.dropped), (first.labels.unseen, one.labels.unseen)):
        assert set(now) == set(before) - {row}
    answer_all(desk, person_of(made.clean))
    last = apply_labels(made.folder, output=tmp_path / "h.csv")
    rows = {row + 1 for row in desk.work.confirmed}
    assert len(rows) > 50 and last.labels.dropped == (rows if action == "drop" else set())
    passed = {row + 1 for row in desk.work.changed}
    assert last.labels.unseen.keys() == (passed if action == "fix" else passed - rows)
    follow = apply_labels(made.folder, output=tmp_path / "i.csv", undecided="suggestion").labels.followed
    assert follow.keys() == (rows if action in ("weight", "review") else set())
    assert desk.progress()["stands"] == (action in ("weight", "review"))
    told = f"Confirmed, but left as given after the action {action}: {len(rows)} suggestions"
    assert (told in str(last)) == (action in ("weight", "review"))


def test_only_for_missing_labels_are_suggestions_followed_without_the_audit(finished_audit, tmp_path):
    done = apply_labels(finished_audit.folder, undecided="suggestion", output=tmp_path / "f.csv")
    wanted = finished_audit.desk.work.audit.labels
    found = np.array(list_labels(tmp_path / "f.csv"), dtype=object)
    known = [i for i in range(600) if i not in (3, 8)]
    assert found[known].tolist() == wanted[known].tolist()
    assert set(found[[3, 8]]) <= {"no", "yes"} and len(done.labels.followed) == 2


def test_changes_of_the_run_that_the_audit_did_not_confirm_are_counted(tmp_path):
    made = make_folder(tmp_path, missing=(), action="fix")
    desk = AuditDesk(made.folder)
    given = desk.table.labels.tolist()
    answer_all(desk, lambda row: given[row])  # a person who keeps every label
    done = apply_labels(made.folder)
    corrected, final = (list_labels(made.folder / name) for name in ("corrected.csv", "final.csv"))
    cells = enumerate(zip(corrected, final, given, strict=True))
    undone = {i for i, (new, last, old) in cells if new != old == last} - {one.row - 1 for one in desk.log}
    words = f"{len(undone)} labels that the run changed are as given here: answers did not confirm them."
    assert len(undone) > 1 and words in str(done)


def test_an_audit_that_has_decided_nothing_leaves_the_suggestions_that_stand(made, tmp_path):
    desk = AuditDesk(made.folder)
    n_flagged = int(desk.work.audit.ranking.flagged.sum())
    answer_all(desk, person_of(made.clean), most=2)
    done = apply_labels(made.folder, output=tmp_path / "f.csv")
    assert len(done.labels.unseen) == 0 and "So far no other label is changed." in str(done)
    assert done.n_changed == sum(label != desk.table.labels[row] for row, label in desk.work.labels.items())
    assert str(done).endswith(
        f"Kept without a claim, but left as given: {n_flagged - 2} suggestions, which undecided='suggestion' "
        "follows."
    )
    section = read_section(made.folder)
    assert "The questions go on: what is said above holds for the answers so far." in section
    done = apply_labels(made.folder, output=tmp_path / "g.csv", undecided="suggestion")
    assert len(done.labels.followed) == n_flagged - 2 + 2  # and two labels that were missing


def test_decisions_of_the_review_count_more_and_the_claim_says_so(finished_audit, tmp_path):
    row = next(iter(finished_audit.desk.work.changed)) + 1
    decide(finished_audit.folder, "keep", row)
    done = apply_labels(finished_audit.folder, output=tmp_path / "f.csv")
    assert list_labels(tmp_path / "f.csv")[row - 1] == finished_audit.desk.table.labels[row - 1]
    assert len(done.labels.decided) == 1
    assert str(done).endswith(
        "That is about the labels before 1 decision about the same rows on the review page, which count more."
    )


def test_decisions_before_the_audit_stand_and_are_not_part_of_it(made, tmp_path):
    rows = decide(made.folder, "keep", n=8)
    desk = AuditDesk(made.folder)
    answer_all(desk, person_of(made.clean))
    done = apply_labels(made.folder, output=tmp_path / "f.csv")
    labels = list_labels(tmp_path / "f.csv")
    assert [labels[row - 1] for row in rows] == [desk.table.labels[row - 1] for row in rows]
    assert len(done.labels.decided) == 8 and "review page" not in str(done)


def test_answers_of_an_estimate_are_labels(made, tmp_path):
    desk = EstimateDesk(made.folder, n_answers=40)
    answer_all(desk, person_of(made.clean))
    done = apply_labels(made.folder, output=tmp_path / "f.csv")
    assert len(done.labels.answered) == 40 and len(done.labels.unseen) == 0
    assert str(done).endswith(desk.progress()["claim"])
    labels = list_labels(tmp_path / "f.csv")
    assert all(labels[row] == made.clean[row] for row in desk.work.rows)
    flagged = apply_labels(made.folder, undecided="suggestion", output=tmp_path / "g.csv")
    assert len(flagged.labels.followed) > 10  # there is no audit that they would contradict


def test_without_answers_nothing_is_written(made, tmp_path):
    before = sorted(made.folder.iterdir())
    assert assert_refused("Nothing has been decided in ", apply_labels, made.folder) == (
        f"Nothing has been decided in {str(made.folder)!r}, so nothing was written: decide with subsvms "
        f"review {made.folder}, or follow the suggestions with undecided='suggestion'."
    )
    assert sorted(made.folder.iterdir()) == before


# The report


def read_section(folder):
    page = (folder / "report.html").read_text()
    found = re.search(r'<section id="audit".*?</section>', page, re.DOTALL)
    return None if found is None else " ".join(re.sub("<[^>]*>", " ", found[0]).split())


def test_the_report_gets_a_section_when_the_audit_ends(made):
    desk = AuditDesk(made.folder)
    assert read_section(made.folder) is None
    answer_all(desk, person_of(made.clean), most=30)
    assert read_section(made.folder) is None
    answer_all(desk, person_of(made.clean))
    section = read_section(made.folder)
    claim = desk.work.audit.claim
    assert str(claim) in section and "Labels checked 50 of 50" in section
    assert "Changed without being seen 0" in section and len(desk.work.confirmed) > 100
    first = claim.sets[0]
    assert f"Changes of the run {first.n_rows} {first.n_checked} {first.n_hits} " in section
    assert "Answered by 1 person, last on 20" in section
    page, named = (made.folder / "report.html").read_text(), read_record(made.folder).report
    assert digest_bytes(page.encode()) != named == digest_bytes(place_audit(page, None).encode())
    estimate = EstimateDesk(made.folder, n_answers=20)
    answer_all(estimate, person_of(made.clean), who="Bob")
    section = read_section(made.folder)
    assert str(claim) in section and estimate.progress()["claim"] in section
    assert "Answered by 2 people" in section


def find_shown(folder):
    """Return the text of the report that a reader sees."""
    page = (folder / "report.html").read_text().partition("<body>")[2]
    page = re.sub(r"<script>.*?</script>|<div hidden>.*?</div>", "", page, flags=re.DOTALL)
    return " ".join(re.sub("<[^>]*>", "", page).split())


def test_after_apply_the_report_names_the_final_table_and_no_other(tmp_path):
    made = make_folder(tmp_path, missing=(), action="fix")
    assert "If you agree, use corrected.csv in place of loans.csv." in find_shown(made.folder)
    answer_all(AuditDesk(made.folder), person_of(made.clean))
    assert f"The table with these labels is written by subsvms apply {made.folder}" in find_shown(made.folder)
    done = apply_labels(made.folder)

    shown = find_shown(made.folder)
    assert f"Use final.csv: {done.n_changed} of 600 labels differ from those given." in shown
    assert done.words in shown and "Use final.csv in place of loans.csv." in shown
    assert f"then subsvms apply {made.folder} --force" in shown
    for gone in ("use corrected.csv", "were corrected", "is written by"):
        assert gone not in shown
    assert shown.count(str(made.folder)) == 3  # to review, to apply, and to repeat the run
    answer_all(EstimateDesk(made.folder, n_answers=20), person_of(made.clean))
    assert "Use final.csv: " in find_shown(made.folder)  # the section on an audit leaves the other alone
    page = place_final(place_audit((made.folder / "report.html").read_text(), None), None)
    assert digest_bytes(page.encode()) == read_record(made.folder).report


def test_after_a_review_the_report_names_the_final_table_too(made, tmp_path):
    decide(made.folder, "keep")
    done = apply_labels(made.folder, output=tmp_path / "f.csv")
    shown = find_shown(made.folder)
    assert f"Use {tmp_path / 'f.csv'}: {done.changed}." in shown and read_section(made.folder) is None
    assert f"apply {made.folder} --output {tmp_path / 'f.csv'} --force" in shown


def test_where_nobody_decided_the_report_does_not_say_that_people_did(made):
    done = apply_labels(made.folder, undecided="suggestion")
    shown = find_shown(made.folder)
    n = len(done.labels.followed)
    assert n and not done.labels.known and done.words in shown
    assert f"Nobody has decided on a row. Of the issues, {n} follow the suggestion" in done.words
    assert "people decided" not in shown and "decide on more rows" not in shown
    assert f"To decide on rows, and to write it again: subsvms review {made.folder}, then " in shown
    assert f"subsvms apply {made.folder} --undecided suggestion --force" in shown
    decide(made.folder, "keep")
    assert apply_labels(made.folder, undecided="suggestion", force=True).labels.known
    shown = find_shown(made.folder)
    assert shown.count("people decided") == 3 and "To decide on more rows" in shown


def test_a_table_that_cannot_be_written_leaves_the_report_alone(made, tmp_path, monkeypatch):
    answer_all(AuditDesk(made.folder), person_of(made.clean), most=15)

    def fail(*values, **options):
        raise TableError("The disk is full.")

    monkeypatch.setattr("subsvms.app.desk.apply.write_table", fail)
    with pytest.raises(TableError, match=r"^The disk is full\.$"):
        apply_labels(made.folder, output=tmp_path / "f.csv")
    assert read_section(made.folder) is None


@pytest.mark.parametrize("change", [lambda page: page + " ", lambda page: "", lambda page: "\udcff", None])
def test_a_report_that_was_changed_is_left_alone(made, tmp_path, change):
    path = made.folder / "report.html"
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text()), errors="surrogateescape")
    before = path.read_bytes() if path.exists() else None
    answer_all(AuditDesk(made.folder, n_answers=10, repeat=False), person_of(made.clean))
    done = apply_labels(made.folder, output=tmp_path / "f.csv")
    assert str(done).endswith(
        f"{str(path)!r} was changed after the run wrote it, so nothing was added to it: restore it."
    )
    assert (path.read_bytes() if path.exists() else None) == before


def test_names_in_the_report_do_no_harm(made):
    page = (made.folder / "report.html").read_text()
    said = place_audit(page, {"claims": ["<script>x</script><!-- end of audit -->"], "people": 1})
    assert "<script>x" not in said and place_audit(said, None) == page
