"""Draw the votes for a class, by given label, and the thresholds beyond which labels are flagged.

Where the rule changes labels can be read off its result. Let u be the out-of-bag mean value of a class. With
two classes and the rule "posterior" a label is flagged beyond some u, one for each given label, since the
posterior grows with u; this threshold is taken halfway between the last row that is kept and the first that
is flagged. Other rules, `max_error_rate` and more classes need not separate the rows at one u. Then no line
is drawn, and a tick marks each flagged row.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, column_or_1d

from subsvms._labels import drop_missing, find_missing
from subsvms.correction._result import Correction
from subsvms.displays._base import COLOURS, Display, open_axes, short_names

FAINT = "0.55"  # grey
LINES = "--", "-."  # styles of the two thresholds, in case colours are not enough
ROOM, STRIP = 1.4, -0.11  # ends of the y axis, in heights of the histograms: for the legend, for ticks below


class VotesDisplay(Display):
    """Histograms of the votes for one class, by given label, and thresholds beyond which labels are flagged.

    Parameters
    ----------
    values : array-like of shape (n_rows,)
        Out-of-bag mean value u of the class, from -1 to 1; NaN for a row without votes.
    given : array-like of int of shape (n_rows,)
        Class numbers; -1 for a row without a label.
    classes : array-like of shape (n_classes,)
        Their names.
    thresholds : pair of float, optional
        Values u above which a row labelled *another* class is flagged, and below which a row labelled *this*
        class is flagged. NaN for no line.
    class_number : int, default=1
        The class that the values belong to.
    flagged : array-like of bool of shape (n_rows,), optional
        Rows whose label is thought wrong, of this class or suggested for it. Where no threshold separates
        them from the others, each is marked by a tick.

    Attributes
    ----------
    histograms_, lines_, ticks_ : list
        For rows labelled another class, and for rows labelled this class: the histogram, the threshold or
        None, and, where there is no threshold, their flagged rows or None.
    middle_, legend_, ax_, figure_
        The line at zero, and matplotlib's Legend, Axes and Figure.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from subsvms.displays import VotesDisplay
    >>> values = [-0.9, -0.7, -0.5, 0.2, 0.6, 0.8]
    >>> given = ["ham", "ham", "spam", "spam", "ham", "spam"]
    >>> proposed = ["ham", "ham", "spam", "spam", "spam", "spam"]
    >>> display = VotesDisplay.from_predictions(values, given, proposed)
    >>> display.thresholds.round(2)
    array([-0.05,   nan])
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ["labelled 'ham'", 'flagged above -0.05: 1 row', 'majority, about 0', "labelled 'spam'", 'none flagged']
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, values: ArrayLike, given: ArrayLike, classes: ArrayLike, *, thresholds: ArrayLike | None = None,
        class_number: int = 1, flagged: ArrayLike | None = None,
    ):  # fmt: skip
        self.values, self.given, self.classes = values, given, classes
        self.thresholds, self.class_number, self.flagged = thresholds, class_number, flagged

    def plot(
        self, *, ax: Any = None, bins: int = 50, density: bool = False, hist_kw: dict[str, Any] | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:  # fmt: skip
        """Draw the histograms and the thresholds.

        Parameters
        ----------
        bins : int, default=50
            Number of bins from -1 to 1; an even number, so that none crosses zero.
        density : bool, default=False
            Whether each histogram has the area 1, so that a rare class is drawn as large as a common one.
        hist_kw, line_kw : dict, optional
            For `ax.hist`, and for `ax.axvline` of the thresholds.
        """
        values, given = np.asarray(self.values, dtype=float), np.asarray(self.given)
        names = short_names(self.classes)
        _check_class_number(self.class_number, len(names))
        check_consistent_length(values, given, self.flagged)
        flagged = None if self.flagged is None else np.asarray(self.flagged, dtype=bool)
        thresholds = [np.nan, np.nan] if self.thresholds is None else list(np.asarray(self.thresholds, float))
        shown, own = np.isfinite(values) & (given >= 0), given == self.class_number
        this = names[self.class_number]
        other = names[1 - self.class_number] if len(names) == 2 else "another class"
        self.figure_, self.ax_ = open_axes(ax, (7.0, 4.6))
        edges = np.linspace(-1.0, 1.0, bins + 1)
        self.histograms_, self.lines_, self.ticks_ = [], [], []
        columns: list[list[Any]] = []  # of the legend
        for side, (rows, name) in enumerate(((shown & ~own, other), (shown & own, this))):
            options = {"histtype": "stepfilled", "alpha": 0.45, "label": f"labelled {name}"}
            options |= {"color": COLOURS[side], "edgecolor": COLOURS[side], "linewidth": 1.2}
            scaled = density and rows.any()  # without rows the density is not a number
            bars = self.ax_.hist(values[rows], edges, density=scaled, **(options | (hist_kw or {})))[2][0]
            marked = None if flagged is None else values[rows & flagged]
            into = f" as {this}" if side == 0 and len(names) > 2 else ""
            line, ticks = self._mark(side, thresholds[side], marked, into, line_kw or {})
            self.histograms_.append(bars)
            self.lines_.append(line)
            self.ticks_.append(ticks)
            columns.append([bars, *(mark for mark in (line, ticks) if mark is not None)])
            if marked is not None and len(marked) == 0:
                columns[-1] += self.ax_.plot([], [], " ", label="none flagged")
        middle = "majority, about 0" if len(names) == 2 else "neither for nor against"
        faint = {"color": FAINT, "linewidth": 0.9, "linestyle": ":"}
        self.middle_ = self.ax_.axvline(0.0, ymax=0.8, label=middle, **faint)
        handles = [*columns[0], self.middle_, *columns[1]]
        self._finish(handles, f"out-of-bag mean value of class {this}", density)
        return self

    def _mark(self, side, threshold, marked, into, line_kw):
        """Draw a threshold, or a tick for each flagged row, and return both; either may be None."""
        rows = "" if marked is None else f": {len(marked)} row{'s' * (len(marked) != 1)}"
        if np.isfinite(threshold):
            label = f"flagged{into} {'below' if side else 'above'} {threshold:.2f}{rows}"
            options = {"color": COLOURS[side], "linestyle": LINES[side], "linewidth": 1.8, "label": label}
            options["ymax"] = 0.8  # the legend is above it
            return self.ax_.axvline(threshold, **(options | line_kw)), None
        if marked is None or len(marked) == 0:
            return None, None
        share = (2 * side + 1) / 4 * STRIP / (STRIP - ROOM)  # of the axes: two lines of ticks in the strip
        (ticks,) = self.ax_.plot(
            marked, np.full(len(marked), share), "|", color=COLOURS[side], markersize=7, markeredgewidth=1.1,
            transform=self.ax_.get_xaxis_transform(), label=f"flagged{into}{rows}",
        )  # fmt: skip
        return None, ticks

    def _finish(self, handles, xlabel, density):
        """Label the axes and put the legend where there are no rows."""
        self.ax_.set(xlim=(-1.0, 1.0), xlabel=xlabel, ylabel="density" if density else "rows")
        self.ax_.set_xticks(np.linspace(-1.0, 1.0, 5))
        if self.ax_.get_yscale() == "linear":
            top = max(bars.get_xy()[:, 1].max() for bars in self.histograms_) or 1.0
            ticks = any(mark is not None for mark in self.ticks_)
            self.ax_.set_ylim(STRIP * top if ticks else 0.0, ROOM * top)
        width = self.ax_.get_window_extent().width / self.figure_.dpi * 72  # in points
        size = float(np.clip(width / 45, 5.0, 8.5))  # a line of the legend is about 42 font sizes wide
        style = {"loc": "upper center", "ncols": 2, "fontsize": size, "framealpha": 1.0}
        self.legend_ = self.ax_.legend(handles=handles, **style)

    @classmethod
    def from_correction(
        cls, correction: Correction, *, class_number: int = 1, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the votes on a class that a correction is based on, of rows with a label and with votes."""
        _check_class_number(class_number, len(correction.classes))
        given, values = correction.given, correction.votes.mean_value[:, class_number]
        proposed = np.where(correction.flagged, correction.judgement.suggested, given)
        display = cls._from_numbers(values, given, proposed, correction.classes, class_number)
        return display.plot(ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, values: ArrayLike, given: ArrayLike, proposed: ArrayLike | None = None, *,
        class_number: int = 1, ax: Any = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw votes on any rows, such as those of another model.

        Parameters
        ----------
        values : array-like of shape (n_rows,)
            Mean value of the class, from -1 to 1.
        given : array-like of shape (n_rows,)
            Labels; rows without one (None or NaN) are left out.
        proposed : array-like of shape (n_rows,), optional
            Labels after the correction; a row is flagged where this differs from the given label.
        class_number : int, default=1
            The class to draw, in the sorted order of the labels.
        """
        both = [given] if proposed is None else [given, proposed]
        check_consistent_length(values, *both)
        missing = [find_missing(labels) for labels in both]
        known = [column_or_1d(drop_missing(labels, lost)) for labels, lost in zip(both, missing, strict=True)]
        classes, found = np.unique(np.concatenate(known), return_inverse=True)
        numbers = np.full((len(both), len(missing[0])), -1)
        numbers[~np.array(missing)] = found
        own, *new = numbers
        changed = np.where(new[0] >= 0, new[0], own) if new else None
        return cls._from_numbers(values, own, changed, classes, class_number).plot(ax=ax, **options)

    @classmethod
    def _from_numbers(cls, values, given, proposed, classes, class_number):
        flagged = thresholds = None
        if proposed is not None:
            concerned = (given == class_number) | (proposed == class_number)
            flagged = (proposed != given) & (given >= 0) & concerned
            thresholds = find_thresholds(values, given == class_number, flagged, used=given >= 0)
        more = {"thresholds": thresholds, "class_number": class_number, "flagged": flagged}
        return cls(values, given, classes, **more)


def find_thresholds(
    values: ArrayLike, own: np.ndarray, flagged: np.ndarray, *, used: np.ndarray | None = None
) -> np.ndarray:
    """Return the two values beyond which rows are flagged, NaN where no value separates the rows."""
    # Rows that are labelled another class are flagged above the first, those of this class below the second.
    # Each is halfway between the nearest two rows.
    values = np.asarray(values, dtype=float)
    looked_at = np.isfinite(values) if used is None else np.isfinite(values) & used
    thresholds = np.full(2, np.nan)
    for side, (rows, sign) in enumerate(((looked_at & ~own, 1.0), (looked_at & own, -1.0))):
        kept, gone = sign * values[rows & ~flagged], sign * values[rows & flagged]
        if len(kept) and len(gone) and kept.max() < gone.min():
            thresholds[side] = sign * (kept.max() + gone.min()) / 2.0
    return thresholds


def _check_class_number(class_number, n_classes):
    if not 0 <= class_number < n_classes:
        expected = f"class_number must lie between 0 and {n_classes - 1}, the last class"
        raise ValueError(f"{expected}; got {class_number!r}.")
