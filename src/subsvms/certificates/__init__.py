"""What a verdict withstands: exactly, for a linear committee, and with confidence, for the vote of SVMs."""

from subsvms.certificates._exact import ExactCertificate, LabelFlips, certify, find_turning_flips
from subsvms.certificates._standing import Standing, count_standing
from subsvms.certificates._vote import CONFIDENCE as CONFIDENCE
from subsvms.certificates._vote import CertifiedCurve, certified_curve, changed_draw, count_withstood

__all__ = [
    "CertifiedCurve", "ExactCertificate", "LabelFlips", "Standing", "certified_curve", "certify",
    "changed_draw", "count_standing", "count_withstood", "find_turning_flips",
]  # fmt: skip
