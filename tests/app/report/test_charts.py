import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from web_pages import Page

from subsvms.app.report import charts as module
from subsvms.app.report.charts import MAX_CLASSES, MAX_NAME, N_MARKS, draw_charts, shorten
from subsvms.app.report.text import format_percent

NAMES = [
    ["</text><script>ran = 1</script>", "$x^2$ & <b>'\""], ["a\x00\x1bb\nc", "\ud800\ufffe"],
    ["日本語", "العربية हिन्दी 🙂"], ["species of the north " * 50, "species of the south " * 50],
    ["", " "], [0, 1], [False, True],
]  # fmt: skip


def test_charts_show_the_numbers_of_the_correction(charts, correction):
    assert list(charts) == ["noise", "map", "votes", "certified"]
    written = re.findall(r">([\d.]+\xa0%)<", charts["noise"])
    assert written == [format_percent(share) for share in correction.noise.matrix.ravel()]
    for label in ("labelled 'no'", "flagged above", "labelled 'yes'", "flagged below", "majority, about 0"):
        assert label in Page(charts["votes"]).text
    n_flagged = sum(int(count) for count in re.findall(r"-?[\d.]+: (\d+) rows</text>", charts["votes"]))
    assert n_flagged == correction.flagged.sum()
    assert f"the most certain one {correction.withstands.max()};" in charts["certified"]


def test_a_share_between_none_and_all_is_not_written_as_one_of_them(correction):
    matrix = np.array([[0.9996, 0.0004], [0.0, 1.0]])
    rare = replace(correction, noise=replace(correction.noise, matrix=matrix))
    svg = draw_charts(rare)["noise"].replace("\xa0", " ")
    assert [line for line in Page(svg).text.splitlines() if "%" in line][:4] == [
        "> 99.9 %",
        "< 0.1 %",
        "0 %",
        "100 %",
    ]
    assert "Of true &#39;no&#39;, &gt; 99.9 % keep their label." in svg


def test_a_histogram_is_as_high_as_the_shares_of_rows(correction):
    values = correction.votes.mean_value[correction.given == 1, 1]
    (area,) = module.lay_out_side(values, np.zeros(len(values), dtype=bool), np.nan, 1, "flagged")
    assert area["levels"].sum() == pytest.approx(1.0)
    assert area["levels"][-8:].sum() == pytest.approx(np.mean(values >= 0.6))  # eight bins of 0.05


def test_charts_take_their_text_colour_from_the_page(charts):
    for svg in charts.values():
        page = Page(svg)
        assert re.match(r'<svg viewBox="0 0 340 [\d.]+" width="100%"', svg)
        assert page.tags[0][1]["fill"] == "currentColor"
        assert all("fill" not in attributes for tag, attributes in page.tags if tag == "text")
        assert "#" not in svg.replace("url(#votes-hatch)", "").replace("&#", "")  # colours mean classes
        assert "<style" not in svg and "<image" not in svg


def test_charts_need_no_matplotlib_and_are_the_same_each_time(correction, features, charts, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert draw_charts(correction, features=features) == charts


@pytest.mark.parametrize("names", NAMES, ids=range(len(NAMES)))
def test_class_names_of_any_kind_can_be_drawn(names, correction):
    drawn = draw_charts(replace(correction, classes=np.array(names, dtype=object)))
    for svg in drawn.values():
        assert {tag for tag, _ in Page(svg).tags} <= {"svg", "g", "path", "text", "rect", "pattern"}
    for name in names:
        assert shorten(str(name)) in Page(drawn["noise"]).text
        assert repr(shorten(name) if isinstance(name, str) else name) in Page(drawn["votes"]).text


def test_long_names_lose_their_middle():
    short = shorten("product_category_shoes")
    assert len(short) == MAX_NAME and short.startswith("product") and short.endswith("shoes")
    assert shorten("x" * MAX_NAME) == "x" * MAX_NAME


@pytest.mark.parametrize("n_classes", [2, 5, 6, MAX_CLASSES])
@pytest.mark.parametrize("name", ["a", "x" * MAX_NAME])
def test_a_matrix_stays_inside_its_chart(n_classes, name):
    svg = module.render("matrix.svg", module.lay_out_moves(np.eye(n_classes, dtype=int), [name] * n_classes))
    page = Page(svg)
    width, height = map(float, page.tags[0][1]["viewbox"].split()[2:])
    cells = [attributes for tag, attributes in page.tags if tag == "rect"]
    assert len(cells) == n_classes**2
    for cell in cells:
        assert 0 <= float(cell["x"]) and float(cell["x"]) + float(cell["width"]) <= width
        assert 0 <= float(cell["y"]) and float(cell["y"]) + float(cell["height"]) <= height
    assert ("rotate(-45)" in svg) == (name != "a")


def read_cells(svg):
    """Return the texts of a matrix by their place: {(y, x): text}."""
    body = svg[: svg.index('text-anchor="end"')]
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" dy="0.35em"[^>]*>([^<]+)</text>', body)
    return {(float(y), float(x)): text for x, y, text in found}


def test_several_classes_have_a_heat_map_of_counts():
    counts = np.array([[0, 4, 0], [1, 0, 2], [0, 1234, 0]])
    svg = module.render("matrix.svg", module.lay_out_moves(counts, ["a", "b", "c"]))
    texts = [text for _, text in sorted(read_cells(svg).items())]
    assert texts == ["·", "4", "1", "·", "2", "1,234", "·"]
    depths = [float(depth) for depth in re.findall(r'fill-opacity="([\d.]+)"', svg)]
    assert max(depths) == pytest.approx(module.DEEPEST) and len(depths) == 4
    about = Page(svg).tags[0][1]["aria-label"]
    assert "by given and suggested label: 1,241 of 1,241." in about and "From 'c': 1,234 to 'b'." in about


@pytest.mark.parametrize("n_classes", [13, 60, 200])
def test_of_many_classes_the_largest_cells_are_shown(n_classes):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.05, (n_classes, n_classes)) * (1 - np.eye(n_classes, dtype=int))
    counts[0, 1], counts[5, 7], counts[n_classes - 1, 2] = 50, 40, 30
    names = [f"class {i}" for i in range(n_classes)]
    svg = module.render("matrix.svg", module.lay_out_moves(counts, names))
    cells = [attributes for tag, attributes in Page(svg).tags if tag == "rect"]
    assert len(cells) <= MAX_CLASSES**2
    assert {"50", "40", "30"} <= set(read_cells(svg).values())
    lines, columns = module.choose_cells(counts)
    shown = counts[np.ix_(lines, columns)].sum()
    assert f"({shown:,} of {counts.sum():,} flagged rows)" in svg
    assert len(svg) < 40_000 and float(re.search(r'<g font-size="([\d.]+)"', svg)[1]) >= 7


def test_the_heat_map_can_count_the_rows_of_a_larger_table(correction):
    names = np.array(["a", "b", "c"], dtype=object)
    three = replace(correction, classes=names, noise=replace(correction.noise, classes=names))
    moves = np.zeros((3, 3), dtype=int)
    assert "moves" not in draw_charts(three, moves=moves)
    moves[2, 0] = 77_777
    assert "77,777" in draw_charts(three, moves=moves)["moves"]
    counts = module.count_moves(three)
    assert counts.sum() == correction.flagged.sum() and np.trace(counts) == 0


def test_charts_that_would_show_nothing_are_left_out(correction):
    unexplained = replace(correction, noise=replace(correction.noise, evidence=np.zeros(2)))
    fragile = replace(correction, withstands=np.zeros(len(correction), dtype=int))
    assert list(draw_charts(unexplained)) == ["votes", "certified"]
    assert list(draw_charts(fragile)) == ["noise", "votes"]
    fragile.withstands[:3] = 1  # fewer than one in a hundred
    assert list(draw_charts(fragile)) == ["noise", "votes"]
    wide = np.array([[0.0, 0.5], [0.1, 0.6]])
    vague = replace(correction, noise=replace(correction.noise, rate_interval=wide))
    assert list(draw_charts(vague)) == ["votes", "certified"]


def test_the_matrix_has_question_marks_where_a_rate_is_not_known(correction):
    wide = np.array([[0.0, 0.1], [0.0, 0.5]])
    half = replace(correction, noise=replace(correction.noise, rate_interval=wide))
    svg = draw_charts(half)["noise"]
    assert svg.count(">?<") == 2 and len(re.findall(r">[\d.]+\xa0%<", svg)) == 2
    assert "Of true &#39;yes&#39;, it is not known how many keep their label." in svg


def test_flagged_rows_without_a_threshold_are_marked_a_few_hundred_times_at_most():
    values = np.random.default_rng(0).uniform(-1, 1, 10_000)
    _, marks = module.lay_out_side(values, np.ones(len(values), dtype=bool), np.nan, 0, "flagged")
    assert marks["label"] == "flagged: 10000 rows" and len(marks["places"]) == N_MARKS + 1
    assert np.abs(np.sort(marks["places"]) - np.linspace(0, 1, N_MARKS + 1)).max() < 1e-9


def test_votes_and_matrix_show_the_colour_and_mark_of_each_class(correction, charts):
    def list_marks(svg):
        return re.findall(r'class="on-class" data-class="(\d)".*?>(\w)<', svg)

    assert list_marks(charts["votes"]) == [("0", "N"), ("1", "Y")]
    assert list_marks(charts["noise"]) == [("0", "N"), ("1", "Y")] * 2
    three = replace(correction, classes=np.array(["ham", "spam", "eggs"], dtype=object))
    chart = module.lay_out_votes(three, three.classes.tolist())
    number = module.choose_class(three)
    shown = [(one.get("number"), one.get("mark")) for one in chart["layers"] if one["kind"] == "area"]
    assert shown == [(None, None), (number, "HSE"[number])]  # all others together are no class


def test_rows_without_a_label_are_left_out_of_the_charts(correction):
    given = correction.given.copy()
    given[:100] = -1
    n_yes = int(np.sum(given == 1))
    assert f"Rows labelled &#39;yes&#39;: {n_yes}," in draw_charts(replace(correction, given=given))["votes"]


@pytest.mark.parametrize("top", [0.011, 0.07, 0.35, 1.0])
def test_ticks_are_few_and_cover_most_of_the_axis(top):
    ticks = module.choose_ticks(top, 0.001)
    assert 3 <= len(ticks) <= 6 and ticks[0] == 0 and 0.5 * top < ticks[-1] <= top
