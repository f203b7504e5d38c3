import pytest
from corrections import attacked, quick

from subsvms.correction import _notes
from subsvms.correction._notes import (
    KEEPERS,
    Case,
    Found,
    format_done,
    format_keeper,
    format_many,
    format_reason,
    format_spared,
    format_vote,
)
from subsvms.correction._rule import Halt, Settings
from subsvms.exceptions import Note


def test_reasons_name_vote_probability_and_threshold(cancer):
    X, y = cancer
    given = attacked(y, 0)
    for row in quick(X, given, min_confidence=0.6).to_frame().itertuples():
        assert row.reason.startswith(row.action + ": ")
        assert f"of {row.suggested_label} is {row.confidence:.3f}" in row.reason
        assert "SVMs vote" in row.reason and f"is {row.confidence:.3f}" in row.reason
        assert "0.6" in row.reason or "trees that learned" in row.reason
    capped = quick(X, given, max_error_rate=0.02).to_frame()
    assert capped["is_label_issue"].sum() == int(0.02 * len(y))
    assert capped["reason"].str.contains("max_error_rate").any()
    majority = quick(X, given, rule="majority", min_confidence=0.8).to_frame()
    assert majority["reason"].str.contains("most votes").all()
    assert majority["reason"].str.contains("more than 0.8 of them").all()


@pytest.mark.parametrize("p, winner, action, halt, said", [
    (0.984, 1, "keep", 0, ", but of the rows with such votes and the label 'X' about 98 in 100 are 'X', "
     "if errors depend on the class alone: votes often contradict right labels where classes overlap; "
     "probability of 'X' is 0.984, "),
    (0.999, 1, "keep", 0, " more than 99 in 100 are 'X', "),
    (0.984, 0, "keep", 0, " vote 'X'; probability"),
    (0.984, 1, "keep", int(Halt.TOLD_APART), " vote 'C'; probability"),
    (0.3, 1, "keep", 0, " vote 'C'; probability"),  # held back by min_confidence
    (0.3, 0, "fix", 0, " and the label 'X' about 70 in 100 are 'C', if errors"),
    (0.3, 1, "fix", 0, " vote 'C', the label is 'X'; probability"),
])  # fmt: skip
def test_the_reason_says_why_the_votes_and_the_probability_differ(p, winner, action, halt, said):
    case = Case(0, 1, 100, winner, 89, p, 1 - p, action, halt)
    assert said in format_reason(case, ["'X'", "'C'"], Settings())
    assert "such votes" not in format_reason(case, ["'X'", "'C'"], Settings(rule="majority"))


def test_only_a_unanimous_vote_is_shown_as_all_or_none():
    for n_votes in range(538):
        said = format_vote(["'cat'"], 537, 0, n_votes)
        assert said.startswith("100 % of") == (n_votes == 537)
        assert said.startswith("0 % of") == (n_votes == 0)
        assert format_vote(["'cat'"], 1, 0, n_votes / 537, "A forest").endswith(" 100 %") == (n_votes == 537)


def test_what_kept_a_label_is_named():
    named = {halt: format_keeper(halt, Settings(min_confidence=0.8)) for halt in Halt}
    assert named[Halt.NONE] == "a probability of at most 0.8"
    assert named[Halt.CAPPED] == "the limit on changes"
    assert set(_notes.SPARED) <= set(KEEPERS)
    assert format_keeper(Halt.NONE, Settings(rule="majority")) == "the plain vote"
    said = format_keeper(Halt.NONE, Settings(rule="majority"), "LogisticRegression")
    assert said == "the largest share that LogisticRegression gives"


VERDICTS = [  # what was found, in a sentence, and what was done about it
    (Found(9, 1, "fix", precision=0.9), "1 of 9 labels looks wrong and was corrected.",
     "1 was changed; the new label is right with probability 90 %."),
    (Found(9, 2, "fix", precision=0.5), "2 of 9 labels look wrong and were corrected.",
     "2 were changed; about 1 of the new labels are expected to be right."),
    (Found(9, 2, "drop"), "2 of 9 labels look wrong and their rows were left out.",
     "2 rows were left out, following the plain vote, which gives no probabilities."),
    (Found(9, 1, "weight", precision=1.0), "1 of 9 labels looks wrong and its row counts for less.",
     "1 is flagged, and every row has a weight; the suggestion is right with probability 100 %."),
    (Found(9, 4, "review", precision=0.5),
     "4 of 9 labels look wrong and should be reviewed; nothing was changed.",
     "4 are flagged for review, and none was changed; about 2 of the suggestions are expected to be right."),
    (Found(9999, 0, "fix"), "Nothing to fix: none of 9,999 labels looks wrong enough to change.",
     "None was changed."),
    (Found(9, 0, "fix", n_changed=2), "Nothing to fix: none of 9 labels looks wrong enough to change.",
     "No other label was changed."),
    (Found(9, 0, "fix", explained=False), "The columns do not explain the labels, so none was changed.",
     "None was changed."),
    (Found(9, 2, "fix", n_changed=3, n_unseen=2), "3 of 9 labels were changed after people had answered.",
     "3 were changed: 1 after an answer about it; 2 unseen, as answers about others confirm."),
    (Found(900, 93, "fix", n_changed=101, n_unseen=0, n_standing=91),
     "101 of 900 labels were changed after people had answered.",
     "101 were changed: 10 after answers about them; 91 by the rule, without a claim."),
    (Found(90, 9, "drop", n_changed=5, n_unseen=2),
     "5 of 90 labels were changed after people had answered. 7 more look wrong and their rows were left out.",
     "5 were changed: 3 after answers about them; 2 unseen, as answers about others confirm."),
    (Found(9, 0, "fix", n_unseen=0), "0 of 9 labels were changed after people had answered.",
     "None was changed: the answers confirmed no change."),
]  # fmt: skip


@pytest.mark.parametrize("found, verdict, done", VERDICTS)
def test_a_verdict_is_said_the_same_everywhere(found, verdict, done):
    assert _notes.format_verdict(found) == verdict and format_done(found) == done
    assert format_done(Found(9, 2, "drop"), dry=True).startswith("2 rows would be left out, ")
    assert format_done(Found(9, 0, "fix"), dry=True) == "None would be changed."


def test_a_note_has_a_kind_and_is_about_one_label_or_several():
    one, several = (format_spared(n, Halt.REFUSED) for n in (1, 3))
    assert one.startswith("1 label that looks wrong was kept: ")
    assert several.startswith("3 labels that look wrong were kept: ") and several.kind == "spared"
    assert format_spared(2, Halt.UNTESTED).parameter == "pool_size"
    assert not _notes.is_distrusted([one, several])
    words = "For 12 rows, another label is more probable, but the limit on changes kept the given one."
    assert _notes.format_held_back(0, [("the limit on changes", 12)]) == words


def test_a_note_says_that_a_rate_is_not_known_if_labels_change_to_the_class_and_no_other_note_does():
    def tell(flagged, joined, limits, notes=()):
        return [note.kind for note in format_many(["a", "b"], flagged, [100, 100], joined, limits, notes)]

    known, unknown = (0.0, 0.05), (0.0, 0.4)
    assert tell([3, 0], [0, 3], [known, unknown]) == ["unsure"]
    assert tell([3, 0], [0, 3], [unknown, known]) == tell([0, 0], [0, 0], [unknown, unknown]) == []
    assert tell([20, 0], [0, 20], [known, unknown]) == ["many"]
    assert tell([3, 0], [0, 3], [known, unknown], [Note("contradicted", "")]) == []
