"""The reviewers' desk: what can be opened, and what others decide at the same time."""

import pytest
from pyarrow import parquet

from subsvms.app.desk.review import Filter, ReviewDesk
from subsvms.app.runs.acts import Act, NothingToUndo
from subsvms.exceptions import TableError


def test_a_table_that_changed_cannot_be_reviewed(folder):
    table = folder.with_name("loans.csv")
    table.write_text(table.read_text().replace("red", "pink"))
    with pytest.raises(TableError, match="has changed since the run"):
        ReviewDesk(folder)
    table.unlink()
    with pytest.raises(TableError, match="There is no file"):
        ReviewDesk(folder)
    with pytest.raises(TableError, match="run.json"):
        ReviewDesk(folder.parent)


def test_an_empty_list_of_issues_can_be_opened(folder):
    path = folder / "issues.parquet"
    parquet.write_table(parquet.read_table(path).slice(0, 0), path)
    desk = ReviewDesk(folder)
    assert len(desk) == 0 and len(desk.find(Filter())) == 0 and desk.progress.describe()["issues"] == 0
    desk.decisions.close()


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


def test_a_folder_of_an_earlier_version_has_no_carriers(folder):
    path = folder / "issues.parquet"
    parquet.write_table(parquet.read_table(path).drop_columns(["flips", "carriers", "carried"]), path)
    desk = ReviewDesk(folder)
    issue = desk.describe(int(desk.rows[0]))
    assert issue["flips"] is None and issue["carriers"] is None
    desk.decisions.close()


def test_two_desks_see_each_others_decisions_whoever_decides_first(desk, folder):
    other = ReviewDesk(folder)
    first, second = desk.rows[:2].tolist()
    other.decide_many([Act([other.settle(first, "accept", None)], "Bob")])
    desk.decide_many([Act([desk.settle(second, "accept", None)], "Ann")])
    desk.refresh()
    assert (
        desk.progress.describe()["decided"] == 2 and first not in desk.rows[desk.find(Filter(status="open"))]
    )
    other.decisions.close()


@pytest.mark.parametrize("what", ["decide", "undo"])
def test_what_others_decided_is_counted_even_if_storing_fails(desk, folder, what):
    other = ReviewDesk(folder)
    first, second = desk.rows[:2].tolist()
    other.decide_many([Act([other.settle(first, "accept", None)], "Bob")])
    with pytest.raises(NothingToUndo if what == "undo" else ValueError):
        if what == "undo":
            desk.undo("Ann")
        else:
            desk.decide_many([Act([(second, "label", "not a class")], "Ann")])
    desk.refresh()
    assert (
        desk.progress.describe()["decided"] == 1 and first not in desk.rows[desk.find(Filter(status="open"))]
    )
    other.decisions.close()
