"""Audits: a few answers by a person, then the rest of the table with a guarantee."""

from subsvms.audit._audit import Audit
from subsvms.audit._claim import CheckedSet, Claim, PassedRing, Progress
from subsvms.audit._confirm import Confirmation, confirm
from subsvms.audit._estimate import ErrorRate, draw_rows, estimate_error_rate
from subsvms.audit._people import SimulatedAnnotator, run_audit
from subsvms.audit._ranking import Ranking
from subsvms.audit._target import Target, certify_target

__all__ = [
    "Audit", "CheckedSet", "Claim", "Confirmation", "ErrorRate", "PassedRing", "Progress",
    "Ranking", "SimulatedAnnotator", "Target", "certify_target", "confirm", "draw_rows",
    "estimate_error_rate", "run_audit",
]  # fmt: skip
