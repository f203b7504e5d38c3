"""The reviewers' desk: what can be opened, and what others decide at the same time."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nasty_texts import assert_refused
from pyarrow import parquet

from subsvms.app.desk.review import Filter, ReviewDesk
from subsvms.app.desk.standing import Progress, assess
from subsvms.app.runs.answer_store import Act, Decision, NothingToUndo


def test_a_table_that_changed_cannot_be_reviewed(folder):
    table = folder.with_name("loans.csv")
    table.write_text(table.read_text().replace("red", "pink"))
    assert_refused("has changed since the run", ReviewDesk, folder)
    table.unlink()
    assert_refused("There is no file", ReviewDesk, folder)
    assert_refused("run.json", ReviewDesk, folder.parent)


def test_an_empty_list_of_issues_and_one_of_an_earlier_version_can_be_opened(folder):
    path = folder / "issues.parquet"
    parquet.write_table(parquet.read_table(path).drop_columns(["flips", "carriers", "carried"]), path)
    with closing(ReviewDesk(folder)) as desk:
        issue = desk.describe(int(desk.rows[0]))
        assert issue["flips"] is None and issue["carriers"] is None
    parquet.write_table(parquet.read_table(path).slice(0, 0), path)
    with closing(ReviewDesk(folder)) as desk:
        assert len(desk) == 0 == desk.progress.describe()["issues"] and len(desk.find(Filter())) == 0


def test_the_labels_that_carry_a_suggestion_are_shown_with_their_weights(desk):
    found = [desk.describe(int(row)) for row in desk.rows]
    known = [issue for issue in found if issue["flips"] is not None]
    assert len(known) > 5 and all((issue["carriers"] is None) == (issue["flips"] is None) for issue in found)
    for issue in known:
        weights = [carrier["weight"] for carrier in issue["carriers"]]
        assert weights == sorted(weights, reverse=True) and 1 <= len(weights) <= 5
        for carrier in issue["carriers"]:
            assert carrier["label"] == str(desk.table.labels[carrier["row"] - 1])
            assert carrier["row"] != issue["row"] or issue["flips"] < 5


@pytest.mark.parametrize("what", ["decide", "decide wrongly", "undo"])
def test_what_others_decided_is_counted_even_if_storing_fails(desk, folder, what):
    other = ReviewDesk(folder)
    first, second = desk.rows[:2].tolist()
    other.decide_many([Act([other.settle(first, "accept", None)], "Bob")])
    if what == "decide":
        desk.decide_many([Act([desk.settle(second, "accept", None)], "Ann")])
    else:
        with pytest.raises(NothingToUndo if what == "undo" else ValueError):
            desk.undo("Ann") if what == "undo" else desk.decide_many([Act([(second, "label", "x")], "Ann")])
    desk.refresh()
    assert desk.progress.describe()["decided"] == (2 if what == "decide" else 1)
    assert first not in desk.rows[desk.find(Filter(status="open"))]
    other.decisions.close()


# What counts as decided, judged and agreed

AT = "2026-01-01T00:00:00.000+00:00"


def decide(verdict, who="Ann", n_rows=1, label="yes", note=None):
    label = None if verdict in ("skip", "drop") else label
    return Decision(1, 7, verdict, label, who, AT, note, n_rows)


def test_only_single_decisions_are_judgements():
    assert not assess([decide("accept", n_rows=273)]).judged
    assert assess([decide("keep"), decide("accept", n_rows=273)])[4:6] == (True, False)
    assert not assess([decide("drop")]).judged and not assess([decide("skip")]).judged
    for verdict in ("skip", "drop"):
        assert not assess([decide("accept"), decide(verdict)]).judged
        assert assess([decide("accept"), decide(verdict, "Bob")]).judged
    assert assess([decide("accept", n_rows=3), decide("accept", "Bob", n_rows=3)]).opinions == {}


def test_a_row_that_is_left_out_is_decided_and_may_be_disputed():
    standing = assess([decide("accept", "Ann"), decide("drop", "Bob", note="torn")])
    assert standing.dropped and standing.disputed and standing.noted and standing.status == 1
    assert not assess([decide("accept", "Ann"), decide("skip", "Bob")]).disputed


STACKS = st.lists(
    st.builds(
        decide, st.sampled_from(["accept", "keep", "skip", "drop"]), st.sampled_from("ABC"),
        st.sampled_from([1, 2]), st.sampled_from(["yes", "no"]),
    ),
    max_size=4,
)  # fmt: skip


@given(steps=st.lists(st.tuples(st.integers(0, 3), STACKS), max_size=12))
def test_counts_are_those_of_a_plain_loop(steps):
    progress, stacks = Progress(np.array([True, True, False, True])), {}
    for place, stack in steps:
        progress.note(place, stack)
        stacks[place] = stack
    found = progress.describe()
    latest = [stack[-1].verdict for stack in stacks.values() if stack]
    assert found["skipped"] == latest.count("skip") and found["dropped"] == latest.count("drop")
    assert found["decided"] == len(latest) - found["skipped"]
    assert found["open"] == 4 - len(latest) and found["issues"] == 4
    assert found["judged"] == sum(assess(stack).judged for place, stack in stacks.items() if place != 2)
    pairs = {}
    for stack in stacks.values():
        single = {one.who: one for one in stack if one.n_rows == 1}
        said = {w: one.verdict == "drop" or one.label for w, one in single.items() if one.verdict != "skip"}
        for pair in ("AB", "AC", "BC"):
            if set(pair) <= set(said):
                pairs.setdefault(pair, []).append(said[pair[0]] == said[pair[1]])
    if not pairs:
        assert found["agreement"] is None
    else:
        same = pairs["".join(found["agreement"]["people"])]
        assert len(same) == found["agreement"]["both"] == max(map(len, pairs.values()))
        assert sum(same) == found["agreement"]["same"]
