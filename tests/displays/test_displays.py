import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import confusion_matrix
from sklearn.preprocessing import minmax_scale

from subsvms import LabelCorrector, adversaries
from subsvms.certificates import certified_curve
from subsvms.displays import CertifiedCurveDisplay, NoiseMatrixDisplay, VotesDisplay, find_thresholds
from subsvms.displays._noise import _luminance

DISPLAYS = [NoiseMatrixDisplay, VotesDisplay, CertifiedCurveDisplay]
SOME = {
    NoiseMatrixDisplay: (["a", "a", "b"], ["a", "b", "b"]),
    VotesDisplay: ([-0.5, 0.1, 0.7], ["a", "b", "b"]),
    CertifiedCurveDisplay: ([0, 2, 5],),
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def attacked_cancer(seed):
    X, y = load_breast_cancer(return_X_y=True)
    return minmax_scale(X), adversaries.directed_flips(y, rho=0.5, alpha=0.5, random_state=seed).labels


@pytest.fixture(scope="module")
def cancer():
    X, y = attacked_cancer(0)
    return LabelCorrector(n_estimators=200, random_state=0).fit(X, np.array(["bad", "good"])[y])


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(500, centers=4, n_features=5, cluster_std=3.0, random_state=0)
    y = adversaries.uniform_flips(y, error_rate=0.2, random_state=0).labels
    return LabelCorrector(n_estimators=200, random_state=0).fit(minmax_scale(X), y)


def legend_texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def assert_within_the_page(figure):
    figure.canvas.draw()
    drawn, page = figure.get_tightbbox(), figure.bbox_inches
    assert drawn.x0 >= 0 and drawn.y0 >= 0 and drawn.x1 <= page.x1 and drawn.y1 <= page.y1


# All of them


@pytest.mark.parametrize("module", ["subsvms", "subsvms.displays"])
def test_importing_does_not_import_matplotlib(module):
    code = f"import sys, {module}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_corrector_that_is_not_fitted_is_told_so(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(LabelCorrector())
    assert not plt.get_fignums()


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("data", ["cancer", "blobs"])
def test_it_draws_on_the_axes_it_is_given(display, data, request):
    corrector = request.getfixturevalue(data)
    for source, origin in (
        (display.from_estimator, corrector),
        (display.from_correction, corrector.correction_),
    ):
        ax = Figure().subplots()
        drawn = source(origin, ax=ax)
        assert isinstance(drawn, display)
        assert drawn.ax_ is ax and drawn.figure_ is ax.figure
        drawn.figure_.canvas.draw()
    ax = Figure().subplots()
    assert display.from_predictions(*SOME[display], ax=ax).ax_ is ax
    assert not plt.get_fignums()  # nothing was opened beside it


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_axes_it_opens_one_figure(display, cancer):
    drawn = display.from_estimator(cancer)
    assert plt.get_fignums() == [drawn.figure_.number]
    assert drawn.plot() is drawn  # again, in a figure of its own
    assert len(plt.get_fignums()) == 2


@pytest.mark.parametrize("display", DISPLAYS)
def test_what_is_drawn_lies_within_the_figure(display, blobs):
    assert_within_the_page(display.from_estimator(blobs).figure_)


# The noise matrix


def test_the_matrix_of_a_correction_is_its_estimate(blobs):
    display, noise = NoiseMatrixDisplay.from_estimator(blobs), blobs.correction_.noise
    assert_array_equal(display.im_.get_array(), noise.matrix)
    assert display.im_.get_clim() == (0, 1)
    assert display.ax_.get_title() == f"error rate {noise.error_rate:.1%}"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("given label", "true label")
    assert [name.get_text() for name in display.ax_.get_xticklabels()] == list("0123")
    for cell, text in np.ndenumerate(display.text_):
        assert text.get_text() == f"{noise.matrix[cell]:.1%}"
        assert text.get_position() == cell[::-1]  # columns are given labels


@pytest.mark.parametrize("n_classes", [2, 3, 9, 20])
def test_the_matrix_of_known_labels_agrees_with_scikit_learn(n_classes, seed):
    rng = np.random.default_rng(seed)
    names = np.array([f"class {c}" for c in range(n_classes)])
    clean, given = names[rng.integers(n_classes, size=(2, 500))]
    display = NoiseMatrixDisplay.from_predictions(clean, given.tolist())
    assert_allclose(display.matrix, confusion_matrix(clean, given, normalize="true"))
    assert display.error_rate == np.mean(clean != given)
    assert display.text_.shape == (n_classes, n_classes)
    assert_within_the_page(display.figure_)
    bar = display.colorbar_.ax.get_window_extent().height
    assert bar == pytest.approx(display.ax_.get_window_extent().height, rel=0.01)
    renderer = display.figure_.canvas.get_renderer()
    width = display.ax_.get_window_extent().width / n_classes
    assert max(text.get_window_extent(renderer).width for text in display.text_.flat) < width


def test_rows_that_lack_a_label_are_not_counted():
    display = NoiseMatrixDisplay.from_predictions(["a", "a", "b", None], ["a", None, "a", "b"])
    assert_array_equal(display.classes, ["a", "b"])
    assert_array_equal(display.matrix, [[1, 0], [1, 0]])
    assert display.error_rate == 0.5


def test_a_class_without_rows_has_a_line_of_zeros():
    display = NoiseMatrixDisplay.from_predictions([0, 0, 1], [0, 2, 1])
    assert_array_equal(display.matrix[2], [0, 0, 0])


@pytest.mark.parametrize("cmap", ["Blues", "viridis", "Greys"])
def test_numbers_are_readable_on_their_cell(cmap):
    matrix = np.linspace(0, 1, 100).reshape(10, 10)
    display = NoiseMatrixDisplay(matrix, np.arange(10)).plot(cmap=cmap)
    for cell, text in np.ndenumerate(display.text_):
        ink, paper = (
            _luminance(matplotlib.colors.to_rgba(text.get_color())),
            display.im_.to_rgba(matrix[cell]),
        )
        light = sorted([ink, _luminance(paper)])
        assert (light[1] + 0.05) / (light[0] + 0.05) > 4.5  # WCAG 2.1, level AA


def test_luminance_is_that_of_the_standard():
    assert _luminance((0, 0, 0, 1)) == 0
    assert _luminance((1, 1, 1, 1)) == pytest.approx(1)
    assert _luminance((1, 0, 0, 1)) == pytest.approx(0.2126)


def test_many_classes_are_drawn_without_numbers():
    assert NoiseMatrixDisplay(np.eye(21), np.arange(21)).plot().text_ is None
    assert NoiseMatrixDisplay(np.eye(21), np.arange(21)).plot(include_values=True).text_ is not None
    assert NoiseMatrixDisplay(np.eye(3), np.arange(3)).plot(include_values=False).text_ is None


def test_the_matrix_takes_its_options():
    display = NoiseMatrixDisplay(np.eye(2), ["x" * 40, "b"]).plot(colorbar=False, text_kw={"color": "red"})
    assert display.colorbar_ is None
    assert display.ax_.get_title() == ""
    assert display.text_[0, 0].get_color() == "red"
    first = display.ax_.get_xticklabels()[0]
    assert first.get_text().endswith("…") and first.get_rotation() == 45
    display.plot(xticks_rotation="vertical")
    assert display.ax_.get_xticklabels()[0].get_rotation() == 90


def test_a_matrix_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="a line and a column for each of 3 classes"):
        NoiseMatrixDisplay(np.eye(2), np.arange(3)).plot()


# The votes


@pytest.mark.parametrize("min_confidence", [0.5, 0.8])
def test_thresholds_part_flagged_rows_from_kept_ones(min_confidence, seed):
    X, y = attacked_cancer(seed)
    corrector = LabelCorrector(n_estimators=200, min_confidence=min_confidence, random_state=seed).fit(X, y)
    correction = corrector.correction_
    assert correction.flagged.any()
    for class_number in (0, 1):
        display = VotesDisplay.from_estimator(corrector, class_number=class_number)
        u, own = correction.votes.mean_value[:, class_number], correction.given == class_number
        for side, rows, beyond in ((0, ~own, u > display.thresholds[0]), (1, own, u < display.thresholds[1])):
            assert_array_equal(correction.flagged[rows], beyond[rows])
            if correction.flagged[rows].any():
                assert display.lines_[side].get_xdata()[0] == display.thresholds[side]
            else:
                assert display.lines_[side] is None
            assert display.ticks_[side] is None


def test_the_histograms_count_every_judged_row(cancer):
    display, given = VotesDisplay.from_estimator(cancer, bins=20), cancer.correction_.given
    values = cancer.correction_.votes.mean_value[:, 1]
    for side, bars in enumerate(display.histograms_):
        expected = np.histogram(values[given == side], np.linspace(-1, 1, 21))[0]
        assert bars.get_xy()[:, 1].max() == expected.max()
    texts = legend_texts(display)
    assert "labelled 'bad'" in texts and "labelled 'good'" in texts
    for side, word in enumerate(["above", "below"]):
        n_flagged = np.sum(cancer.correction_.flagged & (given == side))
        assert f"flagged {word} {display.thresholds[side]:.2f}: {n_flagged} rows" in texts


def test_the_legend_lies_above_the_rows(blobs):
    display = VotesDisplay.from_estimator(blobs)
    display.figure_.canvas.draw()
    highest = max(bars.get_window_extent().y1 for bars in display.histograms_)
    assert display.legend_.get_window_extent().y0 > highest


def test_several_classes_are_one_against_the_others(blobs):
    correction = blobs.correction_
    display = VotesDisplay.from_estimator(blobs, class_number=2)
    assert {"labelled another class", "labelled 2", "neither for nor against"} <= set(legend_texts(display))
    moved = np.where(correction.flagged, correction.judgement.suggested, correction.given)
    concerned = correction.flagged & ((correction.given == 2) | (moved == 2))
    assert_array_equal(display.flagged, concerned)
    for side, rows in enumerate([correction.given != 2, correction.given == 2]):
        if display.ticks_[side] is not None:
            assert display.lines_[side] is None
            marked = correction.votes.mean_value[rows & concerned, 2]
            assert_array_equal(display.ticks_[side].get_xdata(), marked)


def test_flagged_rows_without_a_threshold_get_ticks():
    values, given = [-0.8, -0.2, 0.5, 0.9], [0, 0, 0, 1]
    display = VotesDisplay.from_predictions(values, given, [0, 1, 0, 1])
    assert np.isnan(display.thresholds).all()
    assert display.lines_ == [None, None]
    assert_array_equal(display.ticks_[0].get_xdata(), [-0.2])
    assert legend_texts(display)[1::3] == ["flagged: 1 row", "none flagged"]
    display.figure_.canvas.draw()
    assert display.ticks_[0].get_window_extent().y1 < display.ax_.transData.transform((0, 0))[1]


def test_clean_labels_give_no_lines():
    X, y = load_breast_cancer(return_X_y=True)
    display = VotesDisplay.from_estimator(
        LabelCorrector(n_estimators=200, random_state=0).fit(minmax_scale(X), y)
    )
    assert display.lines_ == display.ticks_ == [None, None]
    assert legend_texts(display).count("none flagged") == 2


def test_rows_without_label_or_voters_are_left_out():
    values = [-0.5, np.nan, 0.3, 0.9, 0.9]
    display = VotesDisplay.from_predictions(values, ["a", "a", "b", None, None], ["a", "b", "b", "a", "b"])
    assert_array_equal(display.given, [0, 0, 1, -1, -1])
    assert [bars.get_xy()[:, 1].max() for bars in display.histograms_] == [1, 1]
    assert np.isnan(display.thresholds).all()  # no flagged row has voters
    assert legend_texts(display).count("none flagged") == 2


def test_a_correction_with_missing_labels_is_drawn():
    X, y = attacked_cancer(0)
    y = y.astype(object)
    y[::10] = None
    correction = LabelCorrector(n_estimators=200, random_state=0).fit(X, y).correction_
    display = VotesDisplay.from_correction(correction)
    counted = sum(
        bars.get_xy()[:, 1].max() for bars in VotesDisplay.from_correction(correction, bins=1).histograms_
    )
    assert counted == np.sum(~correction.missing)
    assert not display.flagged[::10].any()


def test_without_proposed_labels_nothing_is_said_of_flags():
    display = VotesDisplay.from_predictions([-0.5, 0.5], ["a", "b"])
    assert display.thresholds is None and display.flagged is None
    assert legend_texts(display) == ["labelled 'a'", "majority, about 0", "labelled 'b'"]


def test_thresholds_can_be_given_by_hand():
    display = VotesDisplay([-0.5, 0.5], [0, 1], ["a", "b"], thresholds=(0.3, np.nan)).plot()
    assert display.lines_[0].get_xdata()[0] == 0.3 and display.lines_[1] is None
    assert "flagged above 0.30" in legend_texts(display)


@pytest.mark.parametrize("given", [[0, 0], [1, 1], [-1, -1]])
@pytest.mark.parametrize("density", [False, True])
def test_a_label_that_nobody_has_can_be_drawn(given, density):
    display = VotesDisplay([-0.5, 0.5], given, ["a", "b"]).plot(density=density)
    display.figure_.canvas.draw()
    assert display.ax_.get_ylabel() == ("density" if density else "rows")


def test_the_votes_take_their_options():
    display = VotesDisplay([-0.5, 0.5], [0, 1], ["a", "b"], thresholds=(0.3, -0.3))
    display.plot(hist_kw={"log": True}, line_kw={"linewidth": 5})
    assert display.ax_.get_yscale() == "log"
    assert display.lines_[1].get_linewidth() == 5


@pytest.mark.parametrize("class_number", [-1, 2])
def test_a_class_that_is_not_there_is_refused(class_number, cancer):
    with pytest.raises(ValueError, match="class_number must lie between 0 and 1"):
        VotesDisplay.from_estimator(cancer, class_number=class_number)
    with pytest.raises(ValueError, match="class_number must lie between 0 and 1"):
        VotesDisplay.from_predictions([0.1, 0.2], ["a", "b"], class_number=class_number)


def test_thresholds_lie_half_way_and_swap_with_the_class(seed):
    rng = np.random.default_rng(seed)
    u, own = rng.uniform(-1, 1, 100), rng.random(100) < 0.5
    flagged = np.where(own, u < -0.4, u > 0.2)
    above, below = find_thresholds(u, own, flagged)
    assert above == (u[~own & flagged].min() + u[~own & ~flagged].max()) / 2
    assert below == (u[own & flagged].max() + u[own & ~flagged].min()) / 2
    assert_allclose(find_thresholds(-u, ~own, flagged), [-below, -above])


def test_equal_values_on_both_sides_have_no_threshold():
    u, own = np.array([0.1, 0.5, 0.5]), np.zeros(3, dtype=bool)
    assert np.isnan(find_thresholds(u, own, np.array([False, False, True]))).all()
    assert np.isnan(find_thresholds(u, own, np.ones(3, dtype=bool))).all()


# The certificates


def test_the_curve_is_the_share_that_withstands(cancer):
    correction = cancer.correction_
    display = CertifiedCurveDisplay.from_estimator(cancer)
    for m, share in zip(*display.line_.get_data(), strict=True):
        assert share == np.mean(correction.withstands >= m)
    assert display.share[-1] == 0
    assert display.confidence == correction.certainty
    assert display.ax_.get_legend().get_texts()[0].get_text() == "each with confidence 99.9%"
    assert display.ax_.get_xlabel() == "changed labels (or whole rows)"
    assert display.ax_.get_ylabel() == "share of verdicts certified"
    assert display.line_.get_drawstyle() == "steps-mid"


def test_the_curve_can_end_earlier():
    display = CertifiedCurveDisplay.from_predictions([0, 2, 5], max_changes=3)
    expected = certified_curve([0, 2, 5], 3)
    assert_array_equal(display.n_changes, expected.n_changes)
    assert_array_equal(display.share, expected.share)
    assert display.ax_.get_legend() is None


def test_nothing_certified_is_a_curve_that_falls_at_once():
    display = CertifiedCurveDisplay.from_predictions([0, 0])
    assert_array_equal(display.share, [1, 0])
    assert display.ax_.get_xlim() == (0, 1)


def test_several_curves_share_their_axes():
    first = CertifiedCurveDisplay.from_predictions([0, 2, 9], name="first")
    second = CertifiedCurveDisplay.from_predictions([1, 1], ax=first.ax_, name="second", linewidth=4)
    assert first.line_.get_color() != second.line_.get_color()
    assert second.line_.get_linewidth() == 4
    assert first.ax_.get_xlim() == (0, 10)
    assert [text.get_text() for text in first.ax_.get_legend().get_texts()] == ["first", "second"]


def test_no_rows_have_no_curve():
    with pytest.raises(ValueError, match="at least one row"):
        CertifiedCurveDisplay.from_predictions([])
