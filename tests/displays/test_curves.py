import numpy as np
from numpy.testing import assert_array_equal

from subsvms.certificates import certified_curve
from subsvms.datasets import make_separable_gaussians
from subsvms.displays import CertifiedCurveDisplay, RegularityDisplay
from subsvms.theory import estimate_regularity


def test_the_curve_shows_the_share_of_rows_that_withstand_each_number_of_changes(corrector):
    correction = corrector.correction_
    display = CertifiedCurveDisplay.from_estimator(corrector)
    for m, share in zip(*display.line_.get_data(), strict=True):
        assert share == np.mean(correction.withstands >= m)
    assert display.share[-1] == 0
    assert display.level == correction.level
    assert display.ax_.get_legend().get_texts()[0].get_text() == "each with confidence 99.9 %"
    assert display.ax_.get_xlabel() == "changed labels (or whole rows)"
    assert display.ax_.get_ylabel() == "share of verdicts certified"
    assert display.line_.get_drawstyle() == "steps-mid"


def test_the_curve_can_end_at_a_given_number_of_changes_and_falls_at_once_without_certificates():
    display = CertifiedCurveDisplay.from_predictions([0, 2, 5], max_changes=3)
    expected = certified_curve([0, 2, 5], 3)
    assert_array_equal(display.n_changes, expected.n_changes)
    assert_array_equal(display.share, expected.share)
    assert display.ax_.get_legend() is None
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


def test_the_display_draws_the_curve_its_band_and_the_threshold():
    X, y = make_separable_gaussians(100, 3, random_state=0)
    options = dict(sizes=[8, 16, 32], n_trials=40, random_state=0)
    found = estimate_regularity(X, y, **options)
    display = RegularityDisplay.from_regularity(found, name="made")
    np.testing.assert_array_equal(display.line_.get_xydata(), np.stack([found.sizes, found.theta], 1))
    band = display.band_.get_paths()[0].get_extents()
    assert (band.y0, band.y1) == (found.interval.min(), found.interval.max())
    assert display.threshold_.get_ydata()[0] == found.threshold
    assert "made" in display.ax_.get_legend().get_texts()[0].get_text()
    second = RegularityDisplay.from_table(X, y, ax=display.ax_, **options)
    assert second.ax_ is display.ax_ and second.line_.get_color() != display.line_.get_color()
    np.testing.assert_array_equal(second.line_.get_xydata(), display.line_.get_xydata())
