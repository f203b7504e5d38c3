"""From votes to a judgement of a whole table: the noise, the overlap of classes, and the rule from both."""

from dataclasses import replace

import numpy as np
from sklearn.isotonic import IsotonicRegression

from subsvms._effort import announce, one_stage
from subsvms._sentences import Note, format_percent
from subsvms.correction._noise import SMALLEST_CLASS, estimate_noise, is_solvable, rank_evidence
from subsvms.correction._overlap import CloserLook, find_overlap
from subsvms.correction._rule import (
    Halt,
    Rule,
    Settings,
    apply_rule,
    keep_labels,
)
from subsvms.correction._verified import update_overlap
from subsvms.correction._words import (
    HARDLY_TOLD_APART,
    SPARED,
    UNCHECKED,
    UNEXPLAINED,
    UNPREDICTED,
    format_contradicted,
    format_reversed,
    format_scarce,
    format_spared,
)
from subsvms.ensemble._votes import Votes

# Shares of the labels of a table, and of a class, that the vote contradicts and above which a note warns.
OF_TABLE, OF_CLASS = 1 / 3, 1 / 2
AGAINST, STRETCH = -4.0, 0.08  # standard deviations, share of rows: clean mushrooms have a stretch of 0.05
DIVIDED = (-0.1, 0.05)  # mean values on both sides of zero that such a stretch spans


def learn_rule(
    classes: np.ndarray,
    given: np.ndarray,
    votes: Votes,
    settings: Settings,
    sizes: np.ndarray | None = None,
    *,
    look: CloserLook | None,
    judge: str | None = None,
    contradictory: np.ndarray | None = None,
    verified: np.ndarray | None = None,
) -> tuple[Rule, tuple[Note, ...]]:
    """Return what the votes on a table, or on a sample of it, say about any row of it, and notes on them."""
    announce("judging labels")
    useless = np.zeros(len(given), dtype=bool) if contradictory is None else contradictory
    decided = np.full(len(given), -1) if verified is None else verified
    judged = np.flatnonzero(((given >= 0) | (decided >= 0)) & (votes.n_voters > 0) & ~useless)
    noise = estimate_noise(votes.mean_value[judged], given[judged], classes, decided[judged])
    seen = np.bincount(given[given >= 0], minlength=len(classes))
    rule = Rule(noise, seen if sizes is None else sizes, seen, settings)
    by_noise = keep_labels(apply_rule(rule, votes, given), given, useless, Halt.DUPLICATE)
    sampled = bool(rule.sizes.sum() > rule.seen.sum())  # then other rows may change, if none of these does
    if settings.rule == "posterior" and (sampled or by_noise.flagged.any()):
        with one_stage("checking that no change does harm"):
            overlap = find_overlap(look, given, votes, by_noise, sampled=sampled)
        rule = replace(rule, overlap=update_overlap(overlap, by_noise, given, decided))
    notes = gather_notes(rule, votes, given, judge)
    if look is None and settings.rule == "posterior" and by_noise.flagged.any():
        notes = (*notes, UNCHECKED)
    return rule, notes


def note_kept(halt: np.ndarray) -> list[Note]:
    """Return notes on the labels that something other than the rule kept, a sentence for each reason."""
    counts = {reason: int(np.sum(halt == reason)) for reason in SPARED}
    return [format_spared(n_rows, reason) for reason, n_rows in counts.items() if n_rows]


def gather_notes(rule: Rule, votes: Votes, given: np.ndarray, judge: str | None = None) -> tuple[Note, ...]:
    """Return what the user must know before using the result, a sentence or two per note."""
    noise, sizes = rule.noise, rule.sizes
    counted = zip(map(str, noise.classes), rule.seen.tolist(), sizes.tolist(), strict=True)
    notes = format_scarce([(name, seen, size) for name, seen, size in counted if seen < SMALLEST_CLASS])
    if not noise.explained:
        return (*notes, UNEXPLAINED if judge is None else UNPREDICTED)
    if not is_solvable(noise.matrix):
        notes.append(HARDLY_TOLD_APART)
    judged = (given >= 0) & (votes.n_voters > 0)
    against = judged & (votes.winners(sizes, given) != given)
    contradicted = []
    for c, name in enumerate(noise.classes):
        own = against[judged & (given == c)]
        share = np.mean(own) if rule.seen[c] >= SMALLEST_CLASS and len(own) else 0.0
        if share > OF_CLASS:
            contradicted.append(f"{str(name)!r} ({format_percent(share)})")
    whole = against.sum() / max(judged.sum(), 1)
    if contradicted or whole > OF_TABLE:
        notes.append(format_contradicted(contradicted, whole if whole > OF_TABLE else None, judge))
    if len(sizes) == 2:
        stretch = find_reversal(votes.mean_value[judged, 1], given[judged] == 1)
        if stretch > 0:
            notes.append(format_reversed(stretch, judge))
    return tuple(notes)


def find_reversal(u: np.ndarray, is_given: np.ndarray) -> float:
    """Return the share of rows in a stretch around u = 0 along which labels run against the votes, or 0.

    Isotonic regression is flat where the labels fall while u grows. A flat step that spans zero, with ranks
    that say more than chance, is what flips of the rows nearest the border leave behind.
    """
    low, high = DIVIDED
    eta = IsotonicRegression().fit_transform(u, is_given)
    middle = eta[np.argmin(np.abs(u))]
    step = np.flatnonzero(np.isclose(eta, middle))
    if u[step].min() > low or u[step].max() < high or len(step) < STRETCH * len(u):
        return 0.0
    return len(step) / len(u) if rank_evidence(u[step], is_given[step]) < AGAINST else 0.0
