import numpy as np
import pytest
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import confusion_matrix

from subsvms.displays import NoiseMatrixDisplay
from subsvms.displays._noise import _luminance


def test_the_matrix_of_a_correction_is_its_estimate(blobs):
    display, noise = NoiseMatrixDisplay.from_estimator(blobs), blobs.correction_.noise
    assert_array_equal(display.im_.get_array(), noise.matrix)
    assert display.im_.get_clim() == (0, 1)
    assert display.ax_.get_title() == f"error rate {100 * noise.error_rate:.1f} %"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("given label", "true label")
    assert [name.get_text() for name in display.ax_.get_xticklabels()] == list("0123")
    for cell, text in np.ndenumerate(display.text_):
        assert text.get_text() == f"{100 * noise.matrix[cell]:.1f} %"
        assert text.get_position() == cell[::-1]  # columns are given labels


@pytest.mark.parametrize("n_classes", [2, 20])
def test_the_matrix_of_known_labels_agrees_with_scikit_learn(n_classes, assert_within_the_page):
    rng = np.random.default_rng(0)
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


def test_rows_that_lack_a_label_are_not_counted_and_a_class_without_rows_has_zeros():
    display = NoiseMatrixDisplay.from_predictions(["a", "a", "b", None], ["a", None, "a", "b"])
    assert_array_equal(display.classes, ["a", "b"])
    assert_array_equal(display.matrix, [[1, 0], [1, 0]])
    assert display.error_rate == 0.5
    display = NoiseMatrixDisplay.from_predictions([0, 0, 1], [0, 2, 1])
    assert_array_equal(display.matrix[2], [0, 0, 0])


@pytest.mark.parametrize("cmap", ["Blues", "viridis", "Greys"])
def test_the_numbers_contrast_with_their_cells(cmap):
    assert _luminance((0, 0, 0, 1)) == 0
    assert _luminance((1, 1, 1, 1)) == pytest.approx(1)
    assert _luminance((1, 0, 0, 1)) == pytest.approx(0.2126)
    matrix = np.linspace(0, 1, 49).reshape(7, 7)
    display = NoiseMatrixDisplay(matrix, np.arange(7)).plot(cmap=cmap)
    for cell, text in np.ndenumerate(display.text_):
        ink, paper = to_rgba(text.get_color()), display.im_.to_rgba(matrix[cell])
        dark, light = sorted([_luminance(ink), _luminance(paper)])
        assert (light + 0.05) / (dark + 0.05) > 4.5  # WCAG 2.1, level AA


def test_many_classes_are_drawn_without_numbers_and_other_shapes_refused():
    assert NoiseMatrixDisplay(np.eye(21), np.arange(21)).plot().text_ is None
    assert NoiseMatrixDisplay(np.eye(21), np.arange(21)).plot(include_values=True).text_ is not None
    assert NoiseMatrixDisplay(np.eye(3), np.arange(3)).plot(include_values=False).text_ is None
    with pytest.raises(ValueError, match="a row and a column for each of 3 classes"):
        NoiseMatrixDisplay(np.eye(2), np.arange(3)).plot()


def test_the_options_of_the_matrix_are_used():
    display = NoiseMatrixDisplay(np.eye(2), ["x" * 40, "b"]).plot(colorbar=False, text_kw={"color": "red"})
    assert display.colorbar_ is None
    assert display.ax_.get_title() == ""
    assert display.text_[0, 0].get_color() == "red"
    first = display.ax_.get_xticklabels()[0]
    assert first.get_text().endswith("…") and first.get_rotation() == 45
    display.plot(xticks_rotation="vertical")
    assert display.ax_.get_xticklabels()[0].get_rotation() == 90
