"""Draw what a correction found: the noise of each class, the votes, the certificates; and regularity.

Displays as scikit-learn has them: each can be made from a correction, from a fitted `LabelCorrector` or from
plain arrays; it keeps its data, draws itself with `plot`, and keeps what it drew in attributes that end in
`_`, to be changed by hand. matplotlib is imported where something is drawn, and not before.
"""

from subsvms.curve_display import CertifiedCurveDisplay
from subsvms.noise_display import NoiseMatrixDisplay
from subsvms.regularity_display import RegularityDisplay
from subsvms.votes_display import VotesDisplay, find_thresholds

__all__ = [
    "CertifiedCurveDisplay",
    "NoiseMatrixDisplay",
    "RegularityDisplay",
    "VotesDisplay",
    "find_thresholds",
]
