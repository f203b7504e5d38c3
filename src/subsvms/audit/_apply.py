"""What answers do to a correction: the one that the questions were made from."""

from dataclasses import replace

import numpy as np

from subsvms.audit._claim import Outcome
from subsvms.audit._interview import Interview
from subsvms.audit._ranking import Ranking
from subsvms.correction import Correction
from subsvms.correction._rule import Halt, keep_labels
from subsvms.exceptions import InputError


def apply_answers(found: Interview, correction: Correction, outcome: Outcome, *, relabel: bool) -> Correction:
    """Return the correction with what people said, and what follows for rows that nobody looked at.

    The action is applied to rows of the first sets, if these passed. Rows of sets that an audit found get the
    suggested label, whatever the action is, if `relabel`. Changes that stand are as they were, others are
    taken back.
    """
    if Ranking.of(correction).digest != found.ranking.digest:
        raise InputError(f"The {found.what} was made from another correction: apply it to that one.")
    if not found.claim.n_answers:
        return correction
    verified = np.full(len(correction), -1) if correction.verified is None else correction.verified.copy()
    for row, number in found.decided.items():
        verified[row] = number
    claim = found.claim
    passed, confirmed, stands = np.zeros((3, len(correction)), dtype=bool)
    passed[claim.changed], confirmed[found.confirmed], stands[claim.standing] = True, True, True
    decided = verified >= 0
    judgement = keep_labels(
        correction.judgement, correction.given, correction.flagged & ~passed & ~stands & ~decided,
        Halt.UNAUDITED,
    )  # fmt: skip
    judgement = keep_labels(judgement, correction.given, decided, Halt.VERIFIED)
    known = decided & ~correction.missing
    judgement = replace(
        judgement, suggested=np.where(passed, found.ranking.suggested, judgement.suggested),
        flagged=judgement.flagged | passed, halt=np.where(passed, np.int8(Halt.NONE), judgement.halt),
        quality=np.where(known, verified == correction.given, judgement.quality),
    )  # fmt: skip
    audited = passed & ((relabel & ~confirmed) | (correction.settings.action == "fix"))
    return replace(correction, judgement=judgement, verified=verified, audited=audited, audit=outcome)
