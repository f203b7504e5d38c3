"""Draw how few rows teach an SVM enough."""

from typing import Any, Self

from subsvms.displays._base import COLOURS, open_axes
from subsvms.theory._regularity import Regularity, estimate_regularity


class RegularityDisplay:
    """Error rate theta of SVMs that were trained on r rows, against r.

    Parameters
    ----------
    regularity : Regularity
        As returned by `subsvms.theory.estimate_regularity`.

    Attributes
    ----------
    line_ : matplotlib Line2D
        theta against r.
    band_ : matplotlib PolyCollection
        The confidence interval of theta.
    threshold_ : matplotlib Line2D
        The error rate that counts as regular.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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
        self.band_ = self.ax_.fill_between(
            found.sizes, low, high, color=self.line_.get_color(), alpha=0.2, linewidth=0
        )
        self.threshold_ = self.ax_.axhline(found.threshold, color="0.35", linewidth=1, linestyle="--")
        self.ax_.annotate(
            f"regular below {found.threshold:g}", (1, found.threshold), (-4, 4), ha="right", va="bottom",
            xycoords=("axes fraction", "data"), textcoords="offset points", color="0.35", fontsize=9,
        )  # fmt: skip
        self.ax_.set_xscale("log", base=2)
        self.ax_.xaxis.set_major_formatter("{x:g}")
        self.ax_.set(
            ylim=(0, None), xlabel="rows in a subset, r", ylabel="error rate on class-balanced draws"
        )
        self.ax_.grid(color="0.9")
        self.ax_.set_axisbelow(True)
        if name:
            self.ax_.legend(loc="best")
        return self

    @classmethod
    def from_regularity(cls, regularity: Regularity, *, ax: Any = None, **options: Any) -> Self:
        """Draw what `subsvms.theory.estimate_regularity` returned."""
        return cls(regularity).plot(ax=ax, **options)

    @classmethod
    def from_table(cls, X: Any, y: Any, *, ax: Any = None, name: str | None = None, **options: Any) -> Self:
        """Measure regularity and draw it.

        Parameters
        ----------
        X, y
            As in `subsvms.theory.estimate_regularity`.
        name : str, optional
            For the legend.
        **options
            Those of `subsvms.theory.estimate_regularity`.
        """
        return cls(estimate_regularity(X, y, **options)).plot(ax=ax, name=name)
