"""What a verdict withstands: exactly, for a linear committee, and with confidence, for the vote of SVMs."""

from subsvms._callers import find_moved
from subsvms.certificates._exact import ExactCertificate, LabelFlips, certify, find_turning_flips
from subsvms.certificates._standing import Standing, count_standing
from subsvms.certificates._vote import CertifiedCurve, certified_curve, count_withstood

__all__ = [
    "CertifiedCurve", "ExactCertificate", "LabelFlips", "Standing", "certified_curve", "certify",
    "count_standing", "count_withstood", "find_turning_flips",
]  # fmt: skip

__getattr__ = find_moved(__name__, {"changed_draw": "_vote"})
