import numpy as np

from subsvms.datasets import make_separable_gaussians
from subsvms.displays import RegularityDisplay
from subsvms.theory import estimate_regularity


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
