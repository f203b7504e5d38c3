"""One run over a table: what it says about the columns."""

from dataclasses import replace

import pytest
from loans import make_rows, write

from subsvms.app.runs.options import Options
from subsvms.app.runs.run import LABELLERS, correct_table
from subsvms.app.tables.table import read_table


def test_a_column_that_may_say_who_labelled_is_pointed_out(tmp_path):
    rows, _ = make_rows(200)
    for row in rows:
        row["annotator"] = row.pop("who")
    table, options = (
        read_table(write(tmp_path / "t.csv", rows), "default"),
        Options("default", n_estimators=5),
    )
    (note,) = correct_table(table, options).table_notes
    assert "'annotator' may say who labelled a row" in note and "by='annotator'" in note
    run = correct_table(table, replace(options, by=("annotator",)))
    assert run.table_notes == () and "Not used: the column 'annotator' groups the rows." in run.remarks


@pytest.mark.parametrize("name", ["coder", "coder_2", "WorkerId", "n_workers", "operator", "the rater"])
def test_names_of_who_labels_are_known(name):
    assert LABELLERS.search(name)


@pytest.mark.parametrize("name", ["encoder", "barcoder", "coworkers", "cooperator", "workerless", "grater"])
def test_longer_words_say_nothing_about_who_labels(name):
    assert not LABELLERS.search(name)
