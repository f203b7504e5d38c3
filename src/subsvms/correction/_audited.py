"""Put what an audit found into a correction: answers, and labels that changed without being seen."""

from dataclasses import replace
from typing import Any

import numpy as np

from subsvms.correction._result import Correction
from subsvms.correction._rule import Halt, keep_labels


def apply_audited(
    correction: Correction, verified: np.ndarray, audited: np.ndarray, outcome: Any
) -> Correction:
    """Return the correction with the changes of an audit in place of those of the rule."""
    decided = verified >= 0
    judgement = keep_labels(correction.judgement, correction.given, ~audited & ~decided, Halt.UNAUDITED)
    judgement = keep_labels(judgement, correction.given, decided, Halt.VERIFIED)
    known = decided & ~correction.missing
    judgement = replace(
        judgement,
        suggested=np.where(audited, judgement.rival, judgement.suggested),
        flagged=audited,
        halt=np.where(audited, np.int8(Halt.NONE), judgement.halt),
        quality=np.where(known, verified == correction.given, judgement.quality),
    )
    return replace(correction, judgement=judgement, verified=verified, audited=audited, audit=outcome)
