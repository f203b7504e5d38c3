"""Audits: fifty answers by a person, then the rest of the table with a guarantee.

- `_ranking`: what an audit starts from;
- `_locate`: where wrong labels probably are: the first sample, and a model of the answers;
- `_rings`: sets of rows, and when they pass;
- `_evidence`: what random answers prove about a set, with the proof;
- `_audit`: the questions in their order, and what may be said;
- `_claim`: the same in plain words;
- `_estimate`: how many labels are wrong in all;
- `_people`: asking a person, or a simulated one.
"""

from subsvms.audit._audit import Audit
from subsvms.audit._claim import Claim, PassedRing, Progress
from subsvms.audit._estimate import ErrorRate, draw_rows, estimate_error_rate
from subsvms.audit._people import SimulatedAnnotator, run_audit
from subsvms.audit._ranking import Ranking

__all__ = [
    "Audit", "Claim", "ErrorRate", "PassedRing", "Progress", "Ranking", "SimulatedAnnotator", "draw_rows",
    "estimate_error_rate", "run_audit",
]  # fmt: skip
