"""What the displays share: colours, axes, class names, and how they are made from an estimator."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from subsvms.exceptions import require_extra

COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7"  # Okabe and Ito's, distinct for colour-blind readers
LONGEST_NAME = 24  # characters of a class name


class Display:
    """A picture with a `from_correction`, which can also be made from a fitted `LabelCorrector`."""

    from_correction: Any

    @classmethod
    def from_estimator(cls, corrector: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the correction of a fitted `LabelCorrector`."""
        check_is_fitted(corrector, "correction_")
        return cls.from_correction(corrector.correction_, ax=ax, **options)


def open_axes(ax, figsize, layout="constrained"):
    if ax is not None:
        return ax.figure, ax
    require_extra("Drawing", "app", "matplotlib")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout=layout)


def short_names(classes, write=repr):
    names = [write(name) for name in np.asarray(classes).tolist()]
    return [name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…" for name in names]
