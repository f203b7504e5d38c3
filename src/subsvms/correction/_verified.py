"""Labels that people verified, or an audit changed: they stand, and tell noise from overlap.

The noise is learned from verified ones, too (`_noise`).

The features say with which probability the rows that would join class b overlap with it (`_overlap`). If they
do, people keep every label; if not, they answer as the posteriors say. So the odds of noise and overlap are
multiplied by those of the answers: people can stop changes, and allow some that the features speak against.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from subsvms.correction._noise_curve import SLIP
from subsvms.correction._overlap import EVEN
from subsvms.correction._result import Correction
from subsvms.correction._rule import Halt, Judgement, Overlap, keep_labels


def apply_verified(judgement: Judgement, given: np.ndarray, verified: np.ndarray) -> Judgement:
    """Return the judgement in which verified rows are as people decided, and certain.

    It comes after the rule: verified rows are not a random sample but the most doubtful ones, and a rule that
    no longer saw them would think the rest clean. Only the limit on changes comes later.
    """
    decided = verified >= 0
    labelled = decided & (given >= 0)
    posterior = judgement.posterior.copy()
    posterior[decided] = np.eye(posterior.shape[1])[verified[decided]]
    return replace(
        judgement,
        posterior=posterior,
        suggested=np.where(labelled, given, judgement.suggested),
        flagged=judgement.flagged & ~decided,
        quality=np.where(labelled, verified == given, judgement.quality),
        halt=np.where(decided, np.int8(Halt.VERIFIED), judgement.halt),
    )


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


def update_overlap(
    overlap: Overlap, judgement: Judgement, given: np.ndarray, verified: np.ndarray
) -> Overlap:
    """Return how far overlap explains changes, after people looked at some of them."""
    agreement = weigh_agreement(judgement, given, verified)
    heard = (agreement != 0.0) & ~overlap.untested
    least = EVEN / (1.0 + EVEN)  # what the features say is never certain: people know better
    weight = expit(logit(np.clip(overlap.weight, least, 1.0 - least)) - agreement)
    weight = np.where(heard, weight, overlap.weight)
    refused = np.flatnonzero((overlap.weight <= 0.5) & (weight > 0.5))
    return overlap._replace(weight=weight, refused=tuple(refused.tolist()))


def weigh_agreement(judgement: Judgement, given: np.ndarray, verified: np.ndarray) -> np.ndarray:
    """Return how far people agree with a judgement, for each class that labels would change to.

    These are the log odds of their answers about the flagged rows: if the posteriors are right, against if
    every given label is, because the classes overlap there. As in `_noise_curve`, an answer may be a slip.
    Classes without agreement of their own share that about all classes, if it is worse.
    """
    n_classes = judgement.posterior.shape[1]
    rows = np.flatnonzero(judgement.flagged & (verified >= 0))
    answers = verified[rows]
    agreed, kept = judgement.posterior[rows, answers], answers == given[rows]
    odds = ((1.0 - SLIP) * agreed + SLIP / n_classes) / ((1.0 - SLIP) * kept + SLIP / n_classes)
    own = np.bincount(judgement.suggested[rows], weights=np.log(odds), minlength=n_classes)
    return np.where(own > 0.0, own, np.minimum(own, own.sum()))
