"""What counts as decided, judged and agreed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from subsvms.app.desk.progress import Progress, assess
from subsvms.app.runs.acts import Decision

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
        said = {w: (one.verdict == "drop", one.label) for w, one in single.items() if one.verdict != "skip"}
        for pair in ("AB", "AC", "BC"):
            if set(pair) <= set(said):
                pairs.setdefault(pair, []).append(said[pair[0]] == said[pair[1]])
    if not pairs:
        assert found["agreement"] is None
    else:
        same = pairs["".join(found["agreement"]["people"])]
        assert len(same) == found["agreement"]["both"] == max(map(len, pairs.values()))
        assert sum(same) == found["agreement"]["same"]
