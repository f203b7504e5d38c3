"""Draw what a correction found: the noise of each class, the votes, the certificates; and regularity.

Displays as scikit-learn has them: each can be made from a correction, from a fitted `LabelCorrector` or from
plain arrays; it keeps its data, draws itself with `plot`, and keeps what it drew in attributes that end in
`_`, to be changed by hand. matplotlib is imported where something is drawn, and not before.
"""

from subsvms.displays._certified import CertifiedCurveDisplay
from subsvms.displays._noise import NoiseMatrixDisplay
from subsvms.displays._regularity import RegularityDisplay
from subsvms.displays._votes import VotesDisplay, find_thresholds

__all__ = [
    "CertifiedCurveDisplay",
    "NoiseMatrixDisplay",
    "RegularityDisplay",
    "VotesDisplay",
    "find_thresholds",
]
