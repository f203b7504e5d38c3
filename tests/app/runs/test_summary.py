"""The summary of a run: plain values, none too long, and nothing claimed that is not known."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from loans import make_rows, write

from subsvms.app.options import Options
from subsvms.app.runs import summary as words_of
from subsvms.app.runs.describe import CHARACTERS_SHOWN, TEXT_SHOWN, bound_wrong
from subsvms.app.runs.issues import Issues, find_issues
from subsvms.app.runs.run import Finding, run_in_memory
from subsvms.app.runs.summary import Written, format_listing, format_result, list_steps
from subsvms.app.runs.tally import add_doubt
from subsvms.app.tables.table import read_table
from subsvms.correction._copies import Witnesses
from subsvms.correction._notes import format_contradicted
from subsvms.correction._rule import Halt

WRITTEN = {"folder": "my loans.subsvms", "files": [["corrected.csv", ""], ["issues.csv", ""]]}


def summarise(run, rows, n_issues, *, n_labels=0, doubt=0, label_notes=None, **output):
    """Return the summary of a run in which so many issues were found, and these rows are shown."""
    issues = find_issues(run.correction, run.features.X)
    if not len(rows):
        issues = Issues(run.correction, Witnesses(np.array([], dtype=int), [], []))
    notes = run.correction.judgement.notes if label_notes is None else label_notes
    finding = Finding(run, run, np.arange(len(run.correction)), issues, n_issues, n_labels, doubt, notes)
    return words_of.summarise(finding, Written(**output))


def change(summary, **values):
    """Return a summary with other values, each in the part that has it."""
    parts = vars(summary).items()
    return replace(
        summary,
        **{name: replace(one, **{k: values[k] for k in values.keys() & vars(one)}) for name, one in parts},
    )


def list_all(summary):
    """Return which labels are listed, as a summary with these values says it."""
    return format_listing(summary.counted, summary.noise, summary.listed)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rows, _ = make_rows(300)
    for row in rows:
        row["note"] = "word " * 1000 + row["colour"]
    return read_table(write(tmp_path_factory.mktemp("summary") / "t.csv", rows), "default")


@pytest.fixture(scope="module")
def run(table):
    return run_in_memory(table, Options("default", n_estimators=50))


def test_a_summary_is_plain_and_its_values_are_cut_short(run):
    run = replace(run, seconds={"reading": 1.2, "voting": 2.3})
    issues = find_issues(run.correction, run.features.X)
    summary = summarise(run, issues.rows, len(issues))
    assert json.loads(json.dumps(summary.flatten(), allow_nan=False)) == summary.flatten()
    values = [value for row in summary.listed.worst for _, value in row["values"]]
    assert values and max(map(len, values)) == TEXT_SHOWN + 1
    others = [value for row in summary.listed.worst for side in row["supporting"] for value in side["values"]]
    assert others and max(map(len, others)) == CHARACTERS_SHOWN + 1
    assert summary.about.sample is None
    assert {line["use"] for line in summary.about.columns} == {"Numbers", "Categories", None}
    assert summary.told.next == ["Nothing was written; finding the wrong labels took 3.5 seconds."]
    words = " ".join(summary.told.words)
    assert "would be changed" in words and "were changed" not in words
    assert "were changed" in " ".join(summarise(run, [], 0, **WRITTEN).told.words)


FLAT = """
    title label version finished features columns_used columns judge sample rule action ensemble parameters
    digest versions seconds rows labelled missing filled flagged changed dropped verified held_back audited
    unclaimed kept_by explained error_rate error_rate_interval noise_matrix expected_precision
    consensus_wrong contradicted_share classes moves groups people agreement worst n_worst n_labels
    expected_wrong certified noticed kin notes remarks standing words listing next folder model files
"""


def test_programs_read_the_same_names_in_the_same_order_whatever_the_parts_are(run):
    assert list(summarise(run, [], 0).flatten()) == FLAT.split()


@pytest.mark.parametrize("action", ["fix", "drop", "review"])
def test_labels_before_and_after_are_those_of_the_correction(table, action):
    labels = table.labels.copy()
    labels[:7] = None
    unlabelled = replace(table, labels=labels)
    verified = tuple((row, str(table.labels[row - 1])) for row in (1, 20, 21))
    options = Options("default", n_estimators=50, action=action, verified=verified, fill_missing=True)
    run = run_in_memory(unlabelled, options)
    correction = run.correction
    lines = {line["name"]: line for line in summarise(run, [], 0).listed.classes}
    for name, line in lines.items():
        given, after = correction.classes[correction.given] == name, correction.labels == name
        given &= ~correction.missing
        assert line["rows"] == given.sum()
        assert line["after"] == (after & correction.kept).sum()
        assert line["changed"] == (correction.changed & given).sum()
        assert line["changed_to"] == (correction.changed & after).sum()
        assert line["filled"] == (correction.missing & after).sum()
        assert line["left_out"] == (~correction.kept & given).sum()
    if action != "fix":
        right = correction.confidence[correction.flagged].sum()
        words = " ".join(summarise(run, [], 0).told.words)
        assert f"about {right:.0f} of the suggestions are expected to be right." in words
    total = {key: sum(line[key] for line in lines.values()) for key in ("filled", "left_out", "changed")}
    assert total["filled"] == 7
    assert (total["left_out"] > 0) == (action == "drop") and (total["changed"] > 0) == (action == "fix")


def test_the_plain_vote_claims_no_probability(table):
    run = run_in_memory(table, Options("default", n_estimators=50, rule="majority"))
    summary = summarise(run, [], 0)
    assert summary.counted.changed > 0 and summary.noise.expected_precision is None
    assert "gives no probabilities" in " ".join(summary.told.words)


def test_the_labels_listed_are_counted_and_so_are_those_expected_to_be_wrong(table):
    for options in (Options("default"), Options("default", min_confidence=0.9)):
        run = run_in_memory(table, replace(options, n_estimators=200))
        issues, correction = find_issues(run.correction, run.features.X), run.correction
        doubt = add_doubt(correction, issues.rows)
        summary = summarise(run, [], len(issues), n_labels=issues.n_labels, doubt=doubt)
        counts = {
            what: int(count) for count, what in re.findall(r"(\d+) (flag|held|most)", summary.told.listing)
        }
        assert summary.counted.flagged and counts["flag"] == summary.counted.flagged
        assert (
            counts.get("held", 0) == summary.counted.held_back
            and sum(counts.values()) == summary.listed.n_labels
        )
        expected = np.sum(1 - correction.label_quality[issues.rows])
        assert summary.listed.expected_wrong == pytest.approx(expected, abs=1e-6)
        assert f"about {expected:.0f} are expected to be wrong" in " ".join(summary.told.words)


def test_what_kept_a_label_is_said(table):
    """Without a limit or a guard, it is not said that one of them kept a label."""
    run = run_in_memory(table, Options("default", n_estimators=200, min_confidence=0.97))
    words = " ".join(summarise(run, [], 0).told.words)
    assert run.tally.held_back and "but a probability of at most 0.97 kept the given one." in words
    limited = Options("default", n_estimators=200, min_confidence=0.9, max_error_rate=0.01)
    run = run_in_memory(table, limited)
    halts = run.correction.judgement.halt[run.correction.held_back].tolist()
    by_confidence, by_limit = halts.count(Halt.NONE), halts.count(Halt.CAPPED)
    assert run.tally.held_back == len(halts) and by_confidence and by_limit
    words = " ".join(summarise(run, [], 0).told.words)
    assert f"{by_confidence} by a probability of at most 0.9, {by_limit} by the limit on changes" in words


def test_a_rate_is_not_named_beside_a_wide_interval(run):
    noise = replace(
        run.correction.noise, error_rate_interval=np.array([0.0, 0.5]),
        rate_interval=np.array([[0.0, 0.02], [0.0, 0.9]]),
    )  # fmt: skip
    summary = summarise(replace(run, correction=replace(run.correction, noise=noise)), [], 0)
    assert summary.noise.error_rate is None and summary.noise.error_rate_interval == [0.0, 0.5]
    assert summary.told.words[0].endswith(" labels: not known (0 to 50 %).")
    assert summary.noise.contradicted_share == run.correction.contradicted.mean()
    assert summary.told.words[1].startswith("The votes contradict ")
    first, second = summary.listed.classes
    assert first["rate"] is not None and second["rate"] is None
    assert first["estimated_wrong"] is None and second["estimated_wrong"] is not None  # each from the other
    nothing = replace(noise, rate_interval=np.array([[0.0, 0.02], [0.0, 1.0]]))
    assert np.array_equal(bound_wrong(nothing, run.tally.given)[1], [0.0, 1.0])


@pytest.mark.parametrize(
    "expected, flagged, worth", [(18.0, 0, True), (9.9, 0, False), (60.0, 40, False), (60.0, 30, True)]
)
def test_many_wrong_labels_of_which_few_are_flagged_lead_to_an_audit(run, expected, flagged, worth):
    summary = change(summarise(run, [], 1, **WRITTEN), expected_wrong=expected, flagged=flagged)
    summary = change(summary, error_rate_interval=[0.0, 0.05], contradicted_share=0.09)
    asked = (
        "To check about fifty labels, and to change others with a guarantee: subsvms audit 'my loans.subsvms'"
    )
    assert (f"The rule changes few of them. {asked}" in list_steps(summary)) is worth
    far = list_steps(change(summary, contradicted_share=0.11))
    assert f"The table alone cannot show how many labels are wrong. {asked}" in far
    assert any(step.endswith(": subsvms audit 'my loans.subsvms' --estimate 50") for step in far)
    assert any("--estimate" in step for step in list_steps(change(summary, error_rate_interval=[0.0, 0.2])))
    assert not any("--estimate" in step for step in list_steps(summary))


def test_a_result_that_a_note_warns_of_is_not_recommended(run):
    use = "If you agree, use corrected.csv in place of t.csv."
    assert summarise(run, [], 9, **WRITTEN).told.next[-1] == use
    warned = summarise(run, [], 9, label_notes=[format_contradicted(["'a'"], None)], **WRITTEN)
    assert use not in warned.told.next
    assert warned.told.next[-1] == (
        "Do not use corrected.csv before you have confirmed its changes: a note says why."
    )


def test_where_nothing_is_changed_it_says_what_is_worth_a_look_and_how(table):
    run = run_in_memory(table, Options("default", n_estimators=200, min_confidence=1.0))
    issues = find_issues(run.correction, run.features.X)
    assert not run.tally.n_flagged
    summary = summarise(run, issues.rows, len(issues), n_labels=issues.n_labels, **WRITTEN)
    expected = np.sum(1 - run.correction.label_quality[issues.rows[:50]])
    assert summary.told.next[:3] == [
        "Look at the worst rows (report.html), or at all of them (issues.csv).",
        f"Worth a look: the first 50 labels in issues.csv; expected wrong: about {expected:.0f}.",
        "To check the labels that were held back with at most 15 answers, about two minutes: subsvms confirm "
        "'my loans.subsvms'",
    ]


def test_where_labels_were_changed_a_few_answers_are_recommended(run):
    summary = change(summarise(run, [], 9, **WRITTEN), flagged=40, held_back=4)
    said = ", and to check what was held back, with at most 19 answers, about three minutes: subsvms confirm "
    assert f"To confirm these changes{said}'my loans.subsvms'" in list_steps(summary)
    said = "To check what is flagged, and what was held back, with at most 19 answers, about three minutes: "
    steps = list_steps(change(summary, action="review"))
    assert f"{said}subsvms confirm 'my loans.subsvms'" in steps
    assert not any("these changes" in step for step in steps)
    for counts in ({"flagged": 0, "held_back": 0}, {"audited": 3}):
        assert not any("subsvms confirm" in step for step in list_steps(change(summary, **counts)))


def test_more_wrong_labels_listed_than_estimated_in_all_are_explained(run):
    summary = change(summarise(run, [], 9), n_labels=9, flagged=0, held_back=0, expected_wrong=4.0)
    counts = "9 most doubtful, none of them flagged"
    listed = f"Of the 9 labels listed ({counts}), about 4 are expected to be wrong"
    assert list_all(change(summary, error_rate_interval=[0.0, 0.5])) == f"{listed}."
    beyond = f"{listed}, also by noise that the rule cannot correct."
    assert list_all(change(summary, error_rate_interval=[0.0, 0.01])) == beyond
    one = change(summary, n_labels=1, held_back=1, expected_wrong=0.93, kept_by=[["a test", 1]])
    assert list_all(one) == "The label listed (held back) is wrong with probability 93 %."
    held_back = "For 1 row, another label is more probable, but a test kept the given one."
    assert held_back in format_result(one.about, one.counted, one.noise, "", dry=True)
    for n_more, explained in ((0, True), (5, False)):  # two expected numbers about the same labels
        summary = summarise(run, [], 99, n_labels=run.tally.n_flagged + run.tally.held_back + n_more)
        assert ("also by noise that the rule cannot correct" in summary.told.listing) == explained


def test_names_with_spaces_that_cannot_be_seen_are_quoted(tmp_path):
    rows, _ = make_rows(300)
    for row in rows:
        row["default"] = {"no": "no ", "yes": "not sure"}[row["default"]]
    table = read_table(write(tmp_path / "t.csv", rows), "default")
    summary = summarise(run_in_memory(table, Options("default", n_estimators=50)), [1], 9)
    names = {"'no '", "not sure"}
    assert {line["name"] for line in summary.listed.classes} == names
    assert {move[key] for move in summary.listed.moves for key in ("given", "suggested")} == names
    assert {row[key] for row in summary.listed.worst for key in ("given", "suggested")} == names
