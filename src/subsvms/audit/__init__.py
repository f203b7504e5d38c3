"""Audits: fifty answers by a person, then the rest of the table with a guarantee.

- `_ranking`: what an audit starts from;
- `_locate`: the first sample;
- `_model`: which rows are probably wrong, to place a set of them;
- `_rings`: sets of rows, and when they pass;
- `_evidence`: what random answers prove about a set, with the proof;
- `_audit`: the questions in their order, and what may be said;
- `_claim`: the same in plain words;
- `_estimate`: how many labels are wrong in all;
- `_people`: a simulated person, for tests.
"""

from subsvms.audit._audit import Audit, Progress, run_audit
from subsvms.audit._claim import Claim, PassedRing
from subsvms.audit._estimate import ErrorRate, draw_rows, estimate_error_rate
from subsvms.audit._people import SimulatedAnnotator
from subsvms.audit._ranking import Ranking

__all__ = [
    "Audit", "Claim", "ErrorRate", "PassedRing", "Progress", "Ranking", "SimulatedAnnotator", "draw_rows",
    "estimate_error_rate", "run_audit",
]  # fmt: skip
