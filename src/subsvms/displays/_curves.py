"""Draw curves: how many verdicts withstand how many changed labels, and how few rows teach an SVM enough."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from subsvms._callers import renamed, renamed_attribute
from subsvms.certificates import certified_curve
from subsvms.correction._result import Correction
from subsvms.displays._base import COLOURS, Display, open_axes
from subsvms.theory._regularity import Regularity, estimate_regularity


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
    line_, ax_, figure_
        matplotlib's Line2D, Axes and Figure.

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
        self.n_changes, self.share, self.level = n_changes, share, level

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

        sure = None if self.level is None else f"each with confidence {100 * self.level:g} %"
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
        _finish(self.ax_, label)
        return self

    @classmethod
    def from_correction(cls, correction: Correction, *, ax: Any = None, **options: Any) -> Self:
        """Draw the certificates of all rows of a correction; a row without votes withstands nothing."""
        if correction.withstands is None:
            raise ValueError("This correction has no certificates: only votes of SVMs, the default, have.")
        return cls.from_predictions(correction.withstands, level=correction.level, ax=ax, **options)

    @classmethod
    @renamed(confidence="level")
    def from_predictions(
        cls, withstands: ArrayLike, *, level: float | None = None, max_changes: int | None = None,
        ax: Any = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw certificates as `subsvms.certificates.count_withstood` returns them.

        The curve ends at `max_changes`, by default where no verdict is certain any more.
        """
        withstands = np.asarray(withstands)
        last = int(withstands.max(initial=0)) + 1 if max_changes is None else max_changes
        curve = certified_curve(withstands, last)
        return cls(curve.n_changes, curve.share, level=level).plot(ax=ax, **options)


class RegularityDisplay:
    """Error rate theta of SVMs that were trained on r rows, against r.

    Parameters
    ----------
    regularity : Regularity
        As returned by `subsvms.theory.estimate_regularity`.

    Attributes
    ----------
    line_, band_, threshold_, ax_, figure_
        theta against r, its confidence interval, the error rate that counts as regular, and matplotlib's Axes
        and Figure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from subsvms.datasets import make_separable_gaussians
    >>> from subsvms.displays import RegularityDisplay
    >>> X, y = make_separable_gaussians(300, 2, random_state=0)
    >>> display = RegularityDisplay.from_table(X, y, sizes=[2, 4, 8], n_trials=50, random_state=0)
    >>> display.ax_.get_xlabel()
    'rows in a subset, r'
    """

    def __init__(self, regularity: Regularity) -> None:
        self.regularity = regularity

    def plot(self, ax: Any = None, *, name: str | None = None, **curve_kw: Any) -> Self:
        """Draw the curve; several curves can share axes.

        Parameters
        ----------
        name : str, optional
            For the legend.
        **curve_kw
            For matplotlib's `plot`.
        """
        found = self.regularity
        self.figure_, self.ax_ = open_axes(ax, (6.4, 4.4))
        n_before = len([line for line in self.ax_.lines if line.get_gid() == "theta"])
        options: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 1.8, "gid": "theta"}
        options["color"] = COLOURS[n_before % len(COLOURS)]
        if name:
            options["label"] = name
        (self.line_,) = self.ax_.plot(found.sizes, found.theta, **(options | curve_kw))
        low, high = found.interval.T
        faint = {"color": self.line_.get_color(), "alpha": 0.2, "linewidth": 0}
        self.band_ = self.ax_.fill_between(found.sizes, low, high, **faint)
        self.threshold_ = self.ax_.axhline(found.threshold, color="0.35", linewidth=1, linestyle="--")
        self.ax_.annotate(
            f"regular below {found.threshold:g}", (1, found.threshold), (-4, 4), ha="right", va="bottom",
            xycoords=("axes fraction", "data"), textcoords="offset points", color="0.35", fontsize=9,
        )  # fmt: skip
        self.ax_.set_xscale("log", base=2)
        self.ax_.xaxis.set_major_formatter("{x:g}")
        named = {"xlabel": "rows in a subset, r", "ylabel": "error rate on class-balanced draws"}
        self.ax_.set(ylim=(0, None), **named)
        _finish(self.ax_, name)
        return self

    @classmethod
    def from_regularity(cls, regularity: Regularity, *, ax: Any = None, **options: Any) -> Self:
        """Draw what `subsvms.theory.estimate_regularity` returned."""
        return cls(regularity).plot(ax=ax, **options)

    @classmethod
    def from_table(cls, X: Any, y: Any, *, ax: Any = None, name: str | None = None, **options: Any) -> Self:
        """Measure regularity, with the options of `subsvms.theory.estimate_regularity`, and draw it."""
        return cls(estimate_regularity(X, y, **options)).plot(ax=ax, name=name)


def _finish(ax, label):
    """Draw a grid, and a legend if the curve has a name."""
    ax.grid(color="0.9")
    ax.set_axisbelow(True)
    if label:
        ax.legend(loc="best")
