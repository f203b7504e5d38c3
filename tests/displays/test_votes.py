import numpy as np
import pytest
from corrections import make_corrector
from numpy.testing import assert_allclose, assert_array_equal

from subsvms.displays import VotesDisplay
from subsvms.displays._votes import find_thresholds


def legend_texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


@pytest.mark.parametrize("min_confidence", [0.5, 0.8])
def test_thresholds_separate_flagged_rows_from_kept_ones(min_confidence, attacked_cancer):
    corrector = make_corrector(min_confidence=min_confidence).fit(*attacked_cancer)
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


def test_the_histograms_count_every_judged_row(corrector):
    correction = corrector.correction_
    display, given = VotesDisplay.from_estimator(corrector, bins=20), correction.given
    values = correction.votes.mean_value[:, 1]
    for side, bars in enumerate(display.histograms_):
        expected = np.histogram(values[given == side], np.linspace(-1, 1, 21))[0]
        assert bars.get_xy()[:, 1].max() == expected.max()
    texts = legend_texts(display)
    assert "labelled 'bad'" in texts and "labelled 'good'" in texts
    for side, word in enumerate(["above", "below"]):
        n_flagged = np.sum(correction.flagged & (given == side))
        assert f"flagged {word} {display.thresholds[side]:.2f}: {n_flagged} rows" in texts


def test_with_several_classes_one_is_drawn_against_the_others_below_the_legend(blobs):
    correction = blobs.correction_
    display = VotesDisplay.from_estimator(blobs, class_number=2)
    display.figure_.canvas.draw()
    highest = max(bars.get_window_extent().y1 for bars in display.histograms_)
    assert display.legend_.get_window_extent().y0 > highest
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


def test_rows_without_label_or_voters_are_left_out():
    values = [-0.5, np.nan, 0.3, 0.9, 0.9]
    display = VotesDisplay.from_predictions(values, ["a", "a", "b", None, None], ["a", "b", "b", "a", "b"])
    assert_array_equal(display.given, [0, 0, 1, -1, -1])
    assert [bars.get_xy()[:, 1].max() for bars in display.histograms_] == [1, 1]
    assert np.isnan(display.thresholds).all()  # no flagged row has voters
    assert display.lines_ == display.ticks_ == [None, None]
    assert legend_texts(display).count("none flagged") == 2


def test_thresholds_and_options_can_be_given_by_hand_and_without_them_no_flags_are_mentioned():
    display = VotesDisplay([-0.5, 0.5], [0, 1], ["a", "b"], thresholds=(0.3, np.nan))
    display.plot(hist_kw={"log": True}, line_kw={"linewidth": 5})
    assert display.ax_.get_yscale() == "log"
    assert display.lines_[0].get_xdata()[0] == 0.3 and display.lines_[0].get_linewidth() == 5
    assert display.lines_[1] is None and "flagged above 0.30" in legend_texts(display)
    display = VotesDisplay.from_predictions([-0.5, 0.5], ["a", "b"])
    assert display.thresholds is None and display.flagged is None
    assert legend_texts(display) == ["labelled 'a'", "majority, about 0", "labelled 'b'"]


@pytest.mark.parametrize("given", [[0, 0], [1, 1], [-1, -1]])
@pytest.mark.parametrize("density", [False, True])
def test_a_label_without_rows_can_be_drawn(given, density):
    display = VotesDisplay([-0.5, 0.5], given, ["a", "b"]).plot(density=density)
    display.figure_.canvas.draw()
    assert display.ax_.get_ylabel() == ("density" if density else "rows")


@pytest.mark.parametrize("class_number", [-1, 2])
def test_a_class_that_does_not_exist_is_refused(class_number, corrector):
    with pytest.raises(ValueError, match="class_number must lie between 0 and 1"):
        VotesDisplay.from_estimator(corrector, class_number=class_number)
    with pytest.raises(ValueError, match="class_number must lie between 0 and 1"):
        VotesDisplay.from_predictions([0.1, 0.2], ["a", "b"], class_number=class_number)


def test_thresholds_lie_halfway_between_rows_swap_with_the_classes_and_do_not_lie_on_a_row():
    rng = np.random.default_rng(0)
    u, own = rng.uniform(-1, 1, 100), rng.random(100) < 0.5
    flagged = np.where(own, u < -0.4, u > 0.2)
    above, below = find_thresholds(u, own, flagged)
    assert above == (u[~own & flagged].min() + u[~own & ~flagged].max()) / 2
    assert below == (u[own & flagged].max() + u[own & ~flagged].min()) / 2
    assert_allclose(find_thresholds(-u, ~own, flagged), [-below, -above])
    u, own = np.array([0.1, 0.5, 0.5]), np.zeros(3, dtype=bool)
    for flagged in ([False, False, True], [True, True, True]):
        assert np.isnan(find_thresholds(u, own, np.array(flagged))).all()
