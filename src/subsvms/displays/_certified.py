"""Draw how many verdicts are certified to withstand how many changed labels."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from subsvms._callers import renamed, renamed_attribute
from subsvms.certificates import certified_curve
from subsvms.correction._result import Correction
from subsvms.displays._base import COLOURS, Display, open_axes


class CertifiedCurveDisplay(Display):
    """Share of the verdicts that are certain to stand, against the number of changed labels.

    Parameters
    ----------
    n_changes : array-like of int of shape (n_points,)
        Numbers of changed labels, ascending.
    share : array-like of shape (n_points,)
        Share of the rows whose verdict withstands that many.
    level : float, optional
        Confidence of each certificate, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    subsvms.certificates.certified_curve : The numbers.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from subsvms.displays import CertifiedCurveDisplay
    >>> display = CertifiedCurveDisplay.from_predictions([0, 0, 1, 3])
    >>> display.n_changes, display.share
    (array([0, 1, 2, 3, 4]), array([1.  , 0.5 , 0.25, 0.25, 0.  ]))
    >>> display = CertifiedCurveDisplay.from_predictions([2, 2, 5], ax=display.ax_, name="more SVMs")
    >>> plt.close(display.figure_)
    """

    confidence = renamed_attribute("confidence", "level")

    @renamed(confidence="level")
    def __init__(self, n_changes: ArrayLike, share: ArrayLike, *, level: float | None = None):
        self.n_changes = n_changes
        self.share = share
        self.level = level

    def plot(self, *, ax: Any = None, name: str | None = None, **curve_kw: Any) -> Self:
        """Draw the curve; several curves can share axes.

        Parameters
        ----------
        name : str, optional
            Name of the curve, for the legend.
        **curve_kw
            For `ax.step`.
        """
        self.figure_, self.ax_ = open_axes(ax, (6.4, 4.4))
        from matplotlib.ticker import MaxNLocator  # after `open_axes`, which says if matplotlib is missing

        sure = None if self.level is None else f"each with confidence {100 * self.level:g}%"
        label = ", ".join(part for part in (name, sure) if part)
        options = {"where": "mid", "linewidth": 1.8, "clip_on": False}  # "mid": flat around whole numbers
        options["color"] = COLOURS[len(self.ax_.lines) % len(COLOURS)]
        if label:
            options["label"] = label
        (self.line_,) = self.ax_.step(self.n_changes, self.share, **(options | curve_kw))
        self.ax_.set(
            xlim=(0.0, max(self.ax_.dataLim.x1, 1.0)), ylim=(0.0, 1.02),
            xlabel="changed labels (or whole rows)", ylabel="share of verdicts certified",
        )  # fmt: skip
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.grid(color="0.9")
        self.ax_.set_axisbelow(True)
        if label:
            self.ax_.legend(loc="best")
        return self

    @classmethod
    def from_correction(cls, correction: Correction, *, ax: Any = None, **options: Any) -> Self:
        """Draw the certificates of a correction.

        Returns
        -------
        CertifiedCurveDisplay
            For all rows; a row without votes withstands nothing.
        """
        if correction.withstands is None:
            raise ValueError("This correction has no certificates: only votes of SVMs, the default, have.")
        return cls.from_predictions(correction.withstands, level=correction.level, ax=ax, **options)

    @classmethod
    @renamed(confidence="level")
    def from_predictions(
        cls,
        withstands: ArrayLike,
        *,
        level: float | None = None,
        max_changes: int | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw certificates as `subsvms.certificates.count_withstood` returns them.

        Parameters
        ----------
        withstands : array-like of int of shape (n_rows,)
            Number of changes that each verdict withstands.
        level : float, optional
            How sure each certificate is.
        max_changes : int, optional
            Where the curve ends; by default where no verdict is certain any more.
        """
        withstands = np.asarray(withstands)
        last = int(withstands.max(initial=0)) + 1 if max_changes is None else max_changes
        curve = certified_curve(withstands, last)
        return cls(curve.n_changes, curve.share, level=level).plot(ax=ax, **options)
