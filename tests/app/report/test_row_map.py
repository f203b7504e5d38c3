import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from web_pages import Page

from subsvms import SubSVMClassifier, adversaries, correct_labels
from subsvms.app.report import draw_charts, row_map
from subsvms.app.report.row_map import find_directions, lay_out_map, name_places, spread_out


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(1)
    clean = np.arange(600) % 4
    X = rng.normal(0, 1, (4, 6))[clean] * 2 + rng.normal(0, 0.3, (600, 6))
    given = adversaries.uniform_flips(clean, error_rate=0.1, random_state=0).labels
    labels = np.array(["ant", "bee", "cat", "dog"], dtype=object)[given]
    return X, clean, correct_labels(X, labels, estimator=SubSVMClassifier(n_estimators=200), random_state=0)


def list_points(chart, kind):
    return [tuple(place) for group in chart["groups"] if group["kind"] == kind for place in group["places"]]


def test_classes_lie_apart_and_flagged_rows_lie_with_their_true_class(several):
    X, clean, correction = several
    directions = find_directions(X, correction.votes.share)
    assert np.allclose(directions.T @ directions, np.eye(2), atol=1e-9)
    places = X @ directions
    centres = np.array([np.median(places[clean == number], axis=0) for number in range(4)])
    nearest = np.argmin(((places[:, None] - centres) ** 2).sum(axis=2), axis=1)
    flagged = correction.flagged
    assert flagged.sum() > 40 and np.mean(nearest[flagged] == clean[flagged]) > 0.8
    assert np.mean(nearest[flagged] == correction.given[flagged]) < 0.2


def test_all_points_lie_on_the_map_and_flagged_ones_are_crosses(several):
    X, _, correction = several
    chart = lay_out_map(correction, X, ["ant", "bee", "cat", "dog"])
    points = list_points(chart, "dots") + list_points(chart, "crosses")
    assert all(0 <= x <= row_map.WIDTH and 0 <= y <= row_map.HEIGHT for x, y in points)
    assert [group["label"] for group in chart["groups"]] == [
        *(f"labelled {name!r}" for name in ("ant", "bee", "cat", "dog")),
        f"flagged: {correction.flagged.sum()} rows",
    ]
    assert [group.get("number") for group in chart["groups"]] == [0, 1, 2, 3, None]  # of their colours
    assert len(list_points(chart, "crosses")) > 0.9 * correction.flagged.sum()  # some lie on each other
    assert {name for _, _, name in chart["names"]} <= {"ant", "bee", "cat", "dog"} and chart["names"]


def test_two_classes_have_two_shapes(correction, features):
    chart = lay_out_map(correction, features, ["no", "yes"])
    assert [group["label"].partition(":")[0] for group in chart["groups"]] == [
        "labelled 'no'", "labelled 'yes'", "flagged, labelled 'no'", "flagged, labelled 'yes'",
    ]  # fmt: skip
    assert [group["round"] for group in chart["groups"]] == [True, False, True, False]
    counts = [int(re.search(r": (\d+) row", group["label"])[1]) for group in chart["groups"][2:]]
    assert sum(counts) == correction.flagged.sum()


def test_sparse_features_give_the_same_map(several, correction, features):
    for c, X, names in ((several[2], several[0], list("abcd")), (correction, features, list("ab"))):
        dense, thin = (lay_out_map(c, table, names) for table in (X, sparse.csr_matrix(X)))
        assert list_points(dense, "crosses") == list_points(thin, "crosses")


def test_the_map_is_the_same_each_time_and_small(correction, features):
    many = np.repeat(np.arange(len(correction)), 30)
    rng = np.random.default_rng(0)
    large = replace(
        correction, given=correction.given[many], votes=correction.votes.take(many),
        judgement=replace(
            correction.judgement,
            **{name: value[many] for name, value in vars(correction.judgement).items() if np.ndim(value) > 0
               and len(value) == len(correction)},
        ),
    )  # fmt: skip
    X = features[many] + rng.normal(0, 0.1, (len(many), 4))
    svg = draw_charts(replace(large, withstands=correction.withstands[many]), features=X)["map"]
    assert svg == draw_charts(replace(large, withstands=correction.withstands[many]), features=X)["map"]
    chart = lay_out_map(large, X, ["no", "yes"])
    assert large.flagged.sum() > row_map.MAX_FLAGGED
    assert 0.8 * row_map.MAX_FLAGGED < len(list_points(chart, "crosses")) <= row_map.MAX_FLAGGED
    assert 0.8 * row_map.MAX_OTHERS < len(list_points(chart, "dots")) <= row_map.MAX_OTHERS
    assert len(svg) < 50_000


def test_there_is_no_map_where_there_is_nothing_to_show(correction, features):
    assert "map" in draw_charts(correction, features=features)
    assert "map" not in draw_charts(correction)
    assert "map" not in draw_charts(correction, features=features[:, :1])
    assert "map" not in draw_charts(correction, features=np.zeros((len(correction), 3)))
    unexplained = replace(correction, noise=replace(correction.noise, evidence=np.zeros(2)))
    assert "map" not in draw_charts(unexplained, features=features)


def test_names_of_classes_are_escaped_and_do_not_cover_each_other(several):
    X, _, correction = several
    names = np.array(["<script>", "a & b", "'\"", "x" * 100], dtype=object)
    page = Page(draw_charts(replace(correction, classes=names), features=X)["map"])
    assert {tag for tag, _ in page.tags} <= {"svg", "g", "path", "text"}
    places = np.array([[100, 100], [100, 105], [300, 200]])
    found = name_places(places, np.arange(3), np.zeros(3, dtype=bool), ["one", "two", "three"])
    assert [name for _, _, name in found] == ["one", "three"]


def test_rows_are_drawn_without_repetition():
    assert spread_out(np.arange(10), 20).tolist() == list(range(10))
    drawn = spread_out(np.arange(100, 200), 20)
    assert len(set(drawn.tolist())) == 20 and np.all(np.diff(drawn) > 0)
