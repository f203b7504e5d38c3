"""Draw what a correction found, and how regular a table is.

Displays work as in scikit-learn. Each is made from a correction, a fitted `LabelCorrector` or plain arrays
(regularity: from a measurement or a table); it keeps its data, draws itself with `plot`, and keeps what it
drew in attributes that end in `_`, to be changed by hand. `ax` is where to draw, by default in a new figure,
and further options of what makes a display are those of its `plot`. matplotlib, which is part of
`subsvms[app]`, is only imported when something is drawn.
"""

from subsvms._callers import find_moved
from subsvms.displays._curves import CertifiedCurveDisplay, RegularityDisplay
from subsvms.displays._noise import NoiseMatrixDisplay
from subsvms.displays._votes import VotesDisplay

__all__ = ["CertifiedCurveDisplay", "NoiseMatrixDisplay", "RegularityDisplay", "VotesDisplay"]

__getattr__ = find_moved(__name__, {"find_thresholds": "_votes"})
