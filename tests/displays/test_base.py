import subprocess
import sys

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from subsvms import LabelCorrector
from subsvms.displays import CertifiedCurveDisplay, NoiseMatrixDisplay, VotesDisplay

DISPLAYS = [NoiseMatrixDisplay, VotesDisplay, CertifiedCurveDisplay]
SOME = {
    NoiseMatrixDisplay: (["a", "a", "b"], ["a", "b", "b"]),
    VotesDisplay: ([-0.5, 0.1, 0.7], ["a", "b", "b"]),
    CertifiedCurveDisplay: ([0, 2, 5],),
}


def test_importing_the_displays_does_not_import_matplotlib():
    code = "import sys, subsvms.displays; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_corrector_that_is_not_fitted_is_refused(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(LabelCorrector())
    assert not plt.get_fignums()


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("data", ["corrector", "blobs"])
def test_a_display_draws_on_the_axes_it_is_given(display, data, request):
    corrector = request.getfixturevalue(data)
    for source, arguments in (
        (display.from_estimator, [corrector]),
        (display.from_correction, [corrector.correction_]),
        (display.from_predictions, SOME[display]),
    ):
        ax = Figure().subplots()
        drawn = source(*arguments, ax=ax)
        assert isinstance(drawn, display)
        assert drawn.ax_ is ax and drawn.figure_ is ax.figure
        drawn.figure_.canvas.draw()
    assert not plt.get_fignums()  # no other figure was opened


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_axes_a_display_opens_one_figure_and_draws_within_it(display, blobs, assert_within_the_page):
    drawn = display.from_estimator(blobs)
    assert plt.get_fignums() == [drawn.figure_.number]
    assert_within_the_page(drawn.figure_)
    assert drawn.plot() is drawn  # again, in another figure
    assert len(plt.get_fignums()) == 2
