"""Audits: a few answers by a person, then the rest of the table with a guarantee.

- `_ranking`: what an audit starts from;
- `_confirm`: the first questions: are the changes of the rule right?
- `_audit`: the questions after these, in their order;
- `_interview`: what both share: answers, their order, and what may be said;
- `_repeats`: questions that are asked once more;
- `_locate`: where wrong labels probably are: a model of the answers;
- `_choose`: which set of rows to ask about;
- `_rings`: sets of rows, and when they pass;
- `_evidence`: what random answers prove about a set, with the proof; `_exact` computes it;
- `_apply`: what follows for a correction;
- `_claim`: the same in plain words;
- `_estimate`: how many labels are wrong in all;
- `_target`: asking until at most a share of the labels is wrong; `_forecast`: how long that takes;
- `_people`: asking a person, or a simulated one.
"""

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
