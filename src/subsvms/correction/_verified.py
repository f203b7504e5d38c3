"""Apply labels that people verified: they stand, and make the rule more careful about the other rows."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import poisson

from subsvms.correction._rule import Halt, Judgement, Settings

SUREST = 0.98  # beliefs in a wrong label are cut here: one refusal in fifty is no surprise
CHANCE = 0.1  # a number of refusals this probable, or more, says nothing against the rule


def apply_verified(
    judgement: Judgement, given: np.ndarray, verified: np.ndarray, settings: Settings
) -> Judgement:
    """Return the judgement in which verified rows are settled, and others are judged in their light.

    It comes last: verified rows are not a random sample but the most doubtful ones, and a rule that no longer
    saw them would think the rest clean.

    Parameters
    ----------
    judgement : Judgement
    given, verified : ndarray of int of shape (n_rows,)
        Class numbers; -1 where there is no label, or no decision.
    settings : Settings
    """
    decided = verified >= 0
    posterior = temper(judgement.posterior, given, verified)
    rows = np.arange(len(given))
    firm = posterior[rows, judgement.suggested] > settings.min_confidence
    flagged = judgement.flagged & ~decided & (firm | (settings.rule == "majority"))
    kept = (judgement.flagged & ~flagged) | (decided & (given >= 0))
    return replace(
        judgement,
        posterior=posterior,
        suggested=np.where(kept, given, judgement.suggested),
        flagged=flagged,
        quality=np.where(decided & (given >= 0), verified == given, judgement.quality),
        halt=np.where(decided, np.int8(Halt.VERIFIED), judgement.halt),
    )


def temper(posterior: np.ndarray, given: np.ndarray, verified: np.ndarray) -> np.ndarray:
    """Return posteriors that believe in wrong labels no more than people did.

    Let w be the posterior probability that a given label is wrong. People verified some: z = 1 if it was
    indeed wrong. The shift b that maximises, with the logistic function s,

        sum z log s(logit w + b) + (1 - z) log(1 - s(logit w + b)) - b^2 / 2

    is the most probable one under a standard normal prior. Only b < 0 is used: what people decide may stop
    changes but never starts one. Refusals that the posteriors predict stop nothing: b = 0 if this many
    refusals or more have probability `CHANCE` or more under a Poisson distribution with mean sum(1 - w). The
    posteriors of verified rows become certain.

    Parameters
    ----------
    posterior : ndarray of shape (n_rows, n_classes)
    given, verified : ndarray of int of shape (n_rows,)
        Class numbers; -1 where there is no label, or no decision.
    """
    rows, own = np.arange(len(given)), np.maximum(given, 0)
    known = given >= 0
    wrong = 1.0 - posterior[rows, own]
    believed = np.clip(wrong, 1.0 - SUREST, SUREST)
    asked = np.flatnonzero((verified >= 0) & known)
    found_wrong = verified[asked] != given[asked]
    by_chance = poisson.sf(np.sum(~found_wrong) - 1, np.sum(1.0 - believed[asked]))
    b = find_shift(believed[asked], found_wrong) if by_chance < CHANCE else 0.0
    shifted = posterior.copy()
    if b < 0:
        less = np.minimum(expit(logit(believed) + b), wrong)
        shifted *= np.where(known & (wrong > 0), less / np.where(wrong > 0, wrong, 1.0), 1.0)[:, None]
        shifted[rows[known], own[known]] = 1.0 - less[known]
    decided = np.flatnonzero(verified >= 0)
    shifted[decided] = np.eye(posterior.shape[1])[verified[decided]]
    return shifted


def find_shift(wrong: np.ndarray, found_wrong: np.ndarray) -> float:
    """Return the most probable shift of logits: the root of the derivative, which decreases in b."""
    return brentq(lambda b: np.sum(found_wrong - expit(logit(wrong) + b)) - b, -20.0, 20.0, xtol=1e-15)
