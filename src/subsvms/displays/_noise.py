"""Draw the noise matrix."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix
from sklearn.utils import check_consistent_length, column_or_1d

from subsvms._labels import drop_missing, find_missing
from subsvms.correction._result import Correction
from subsvms.displays._base import Display, open_axes, short_names

MOST_TEXT = 20  # classes; in a larger matrix the numbers are too small to read
WIDE = 0.64  # width of a letter in font sizes; that of a digit in DejaVu Sans
DARK = 0.179  # luminance at which black and white text have the same contrast, 4.6 (WCAG 2.1)


class NoiseMatrixDisplay(Display):
    """The noise matrix as an image: which labels the rows of each class were given.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        P(given column | true row).
    classes : array-like of shape (n_classes,)
        Their names.
    error_rate : float, optional
        Share of all labels that are wrong, for the title.

    Attributes
    ----------
    im_, colorbar_, ax_, figure_
        matplotlib's AxesImage, Colorbar (or None), Axes and Figure.
    text_ : ndarray of matplotlib Text of shape (n_classes, n_classes), or None
        The percentages; None if they are left out.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from subsvms.displays import NoiseMatrixDisplay
    >>> clean, given = ["ham"] * 4 + ["spam"] * 4, ["ham"] * 4 + ["spam"] * 3 + ["ham"]
    >>> display = NoiseMatrixDisplay.from_predictions(clean, given)
    >>> display.matrix
    array([[1.  , 0.  ],
           [0.25, 0.75]])
    >>> display.text_[1, 0].get_text(), display.ax_.get_title()
    ('25.0 %', 'error rate 12.5 %')
    >>> plt.close(display.figure_)
    """

    def __init__(self, matrix: ArrayLike, classes: ArrayLike, *, error_rate: float | None = None):
        self.matrix, self.classes, self.error_rate = matrix, classes, error_rate

    def plot(
        self, *, ax: Any = None, cmap: Any = "Blues", include_values: bool | None = None,
        colorbar: bool = True, xticks_rotation: float | str | None = None,
        text_kw: dict[str, Any] | None = None,
    ) -> Self:  # fmt: skip
        """Draw the matrix.

        Parameters
        ----------
        cmap : str or matplotlib Colormap, default="Blues"
        include_values : bool, optional
            Whether to write the percentage in each cell; by default up to 20 classes.
        colorbar : bool, default=True
        xticks_rotation : float or {"vertical", "horizontal"}, optional
            Rotation of the class names below the matrix; by default long names are rotated.
        text_kw : dict, optional
            For `ax.text`.
        """
        matrix, names = np.asarray(self.matrix, dtype=float), short_names(self.classes, str)
        n_classes = len(names)
        if matrix.shape != (n_classes, n_classes):
            expected = f"matrix must have a row and a column for each of {n_classes} classes"
            raise ValueError(f"{expected}; got shape {matrix.shape}.")
        wide = 3.0 + 0.45 * max(n_classes, 4)
        # "compressed" makes the colour bar as high as the image
        self.figure_, self.ax_ = open_axes(ax, (wide, wide - 0.6), layout="compressed")
        self.im_ = self.ax_.imshow(matrix, cmap=cmap, vmin=0.0, vmax=1.0, interpolation="nearest")
        style = {"label": "share of the true class", "format": lambda share, _: f"{100 * share:.0f} %"}
        self.colorbar_ = self.figure_.colorbar(self.im_, ax=self.ax_, **style) if colorbar else None
        self.ax_.set(xlabel="given label", ylabel="true label")
        self._write_names(names, xticks_rotation)
        if self.error_rate is not None:
            self.ax_.set_title(f"error rate {100 * self.error_rate:.1f} %")
        include_values = n_classes <= MOST_TEXT if include_values is None else include_values
        self.text_ = self._write_values(matrix, text_kw or {}) if include_values else None
        return self

    def _cell_points(self):
        """Return the width of a cell in points, roughly, because the layout is not done yet."""
        extent = self.ax_.get_window_extent()
        return min(extent.width, extent.height) / self.figure_.dpi * 72 / len(self.im_.get_array())

    def _write_names(self, names, rotation):
        cell, every = self._cell_points(), np.arange(len(names))
        size = float(np.clip(0.9 * cell, 4.0, 10.0))
        if rotation is None:
            rotation = 45 if WIDE * size * max(map(len, names)) > cell else "horizontal"
        tilted = rotation not in (0, 90, "horizontal", "vertical")
        place = {"ha": "right", "rotation_mode": "anchor"} if tilted else {}
        self.ax_.set_xticks(every, names, size=size, rotation=rotation, **place)
        self.ax_.set_yticks(every, names, size=size)

    def _write_values(self, matrix, text_kw):
        digits = 1 if len(matrix) <= 8 else 0
        size = float(np.clip(self._cell_points() / (1.1 * WIDE * len(f"{100:.{digits}f} %")), 4.0, 10.0))
        text = np.empty(matrix.shape, dtype=object)
        for cell, share in np.ndenumerate(matrix):
            dark = _luminance(self.im_.to_rgba(share)) < DARK
            options = {"ha": "center", "va": "center", "size": size, "color": "white" if dark else "black"}
            text[cell] = self.ax_.text(cell[1], cell[0], f"{100 * share:.{digits}f} %", **(options | text_kw))
        return text

    @classmethod
    def from_correction(cls, correction: Correction, *, ax: Any = None, **options: Any) -> Self:
        """Draw the noise that a correction has estimated."""
        noise = correction.noise
        return cls(noise.matrix, noise.classes, error_rate=noise.error_rate).plot(ax=ax, **options)

    @classmethod
    def from_predictions(cls, clean: ArrayLike, given: ArrayLike, *, ax: Any = None, **options: Any) -> Self:
        """Count the noise of labels whose truth is known, and draw it; rows without a label are left out."""
        check_consistent_length(clean, given)
        missing = find_missing(clean) | find_missing(given)
        true_labels, given_labels = (column_or_1d(drop_missing(y, missing)) for y in (clean, given))
        classes = np.union1d(true_labels, given_labels)
        matrix = confusion_matrix(true_labels, given_labels, labels=classes, normalize="true")
        error_rate = float(np.mean(true_labels != given_labels))
        return cls(matrix, classes, error_rate=error_rate).plot(ax=ax, **options)


def _luminance(rgba):
    """Return how bright a colour looks, from 0 for black to 1 for white (WCAG 2.1)."""
    light = np.asarray(rgba[:3])
    light = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    return float(light @ [0.2126, 0.7152, 0.0722])
