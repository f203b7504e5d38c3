import re

import pytest
from web_pages import Page, make_row, make_witness

from subsvms.app.report.page import LONG, MAX_BYTES, MAX_ROWS, lay_out_row, render_rows
from subsvms.app.report.text import MAX_WHOLE


def render(*rows):
    return "".join(render_rows(list(rows)))


def test_rows_have_a_rank_and_numbers_to_sort_by():
    html = render(make_row(), make_row(row=18, quality=0.0004))
    keys = re.findall(r'data-v="([^"]*)"', html)
    assert keys == ["1", "17", "0.98", "0.02", "2", "18", "0.98", "0.0004"]
    assert "&lt;\xa00.1\xa0%" in html
    assert [tag for tag, _ in Page(html).tags].count("tbody") == 4  # one for each row, one in each comparison
    assert html.count("<details open>") == 1


def test_a_row_without_a_label_has_no_quality():
    html = render(make_row(given=None, quality=0.0))
    assert "no label" in html and re.search(r'class="own n" data-name="[^"]+" data-v=""></td>', html)


def test_a_witness_that_lacks_a_value_does_not_shift_the_others():
    html = render(make_row(supporting=[{"row": 1, "label": "yes"}, make_witness(["41", "nurse"])]))
    assert "↑" in html and html.count("<b>≠</b>&nbsp;nurse") == 2


def test_differing_values_are_marked_and_equal_ones_are_not():
    values = [["age", "39"], ["sum", "39"], ["job", "cook"], ["note", "x" * LONG]]
    row = make_row(values=values, supporting=[make_witness(["39.0", "38", "Cook", "y"])], opposing=[])
    marks = [line["cells"][0]["mark"] for line in lay_out_row(row)["lines"]]
    assert marks == ["", "↓", "≠", "≠"]
    assert render(row).count('<td class="d">') == 3


def test_long_text_is_shown_whole_to_a_limit_that_is_said():
    text = "one <b>word</b> & a line\nbreak. " * 20
    html = render(make_row(values=[["note", text], ["age", "3"]], supporting=[make_witness(["short", "4"])]))
    assert text.strip() in Page(html).text and "The first" not in html
    assert "Compare with 2 rows" in html
    html = render(make_row(values=[["note", "x" * MAX_WHOLE + "…"]]))
    assert "x" * MAX_WHOLE + "…" in html and "The first 5,000 characters." in html
    assert len(render(make_row(values=[["note", "x" * 10_000_000]]))) < 20_000


def test_a_value_is_compared_in_a_cell_only_if_all_of_them_fit():
    card = lay_out_row(make_row(values=[["note", "short"]], supporting=[make_witness(["y" * (LONG + 1)])]))
    assert card["lines"] == [] and card["texts"][0]["column"] == "note"


def test_wide_rows_are_cut():
    witness = make_witness(["0"] * 500)
    row = make_row(values=[[f"c{i}", "0"] for i in range(500)], supporting=[witness] * 9, opposing=[witness])
    html = render(row)
    assert "460 more columns are not shown" in html and "c39<" in html and "c40<" not in html
    assert html.count("<td>0</td>") == 40 * (1 + 3 + 1)
    assert len(render_rows([make_row()] * 70)) == MAX_ROWS


@pytest.mark.parametrize("value", ["&" * 100_000, "語" * 100_000, "0.123456789"], ids=["&", "語", "0"])
def test_rows_of_any_table_take_little_room(value):
    witness = make_witness([value] * 40)
    values = [[f"column {i}", value] for i in range(40)]
    rows = [make_row(values=values, supporting=[witness] * 3, opposing=[witness] * 3)] * 50
    pieces = render_rows(rows)
    size = sum(len(piece.encode()) for piece in pieces)
    assert size <= MAX_BYTES or len(pieces) == 1
    assert len(pieces) == (50 if value.startswith("0") else 1 if value.startswith("&") else len(pieces))


def test_the_labels_that_carry_a_suggestion_are_named_with_their_weights():
    carriers = [{"row": 5, "label": "<b>yes", "weight": 0.031}, {"row": 9, "label": "yes", "weight": 0.02}]
    html = render(make_row(flips=82, carriers=carriers))
    assert "At least 82 labels would have to be wrong for its verdict to turn" in html
    assert "row 5 (“<bdi>&lt;b&gt;yes</bdi>”, 3.1" in html and html.index("row 5 (") < html.index("row 9 (")
    assert "One wrong label could turn its verdict" in render(make_row(flips=1, carriers=carriers))
    unproved = "How many wrong labels the vote withstands cannot be proved."  # and not: none
    assert unproved in render(make_row(flips=82, carriers=carriers, withstands=0)) and unproved not in html


def test_nothing_is_said_about_a_judge_that_does_not_agree():
    assert "second judge" not in render(make_row(flips=None, carriers=None)) + render(make_row())
