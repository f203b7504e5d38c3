"""Judge given labels one by one: which are thought wrong, and what they should be.

The rule "posterior" changes a label where the probability of another class exceeds `min_confidence`: with
0.5 that leaves the fewest wrong labels in expectation. The rule "majority" is the paper's: the class with the
most out-of-bag votes. It needs no estimate, but counts rare and common classes alike and harms clean labels.

Some things stop either rule (`Halt`). A row that every SVM was trained on keeps its label: none of them can
judge it. No label is changed from or to a class that is smaller than `SMALLEST_CLASS`. If the votes do not
predict the labels, nothing changes. Rows with equal features and different labels keep them where rows are
equal by nature (`_copies`); elsewhere they are judged together (`weigh_copies`). `max_error_rate` is the
largest share of labels to change, surest first.

The rule "posterior" takes overlap of the classes into account (`_overlap`): let o_b be the probability that
rows that would join class b belong where they are. Then P(true b) is multiplied by 1 - o_b, and the rest goes
to the given label. With two classes trees also judge these rows (`_other_judges`): they can raise o_b, and
whether a label is changed, and nothing else, follows the smaller of two probabilities. Labels that only the
rate of a class speaks against stay if overlap explains as much (`is_outnumbered`).

Ranks (`rank_quality`) are averaged with those from second votes, of SVMs that hardly learn noise that depends
on the row (`_choice`); nothing else depends on these.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from subsvms.correction._noise import SMALLEST_CLASS, UNSEEN, NoiseEstimate
from subsvms.correction._noise_softmax import compute_posterior
from subsvms.ensemble._votes import Votes, pick_best
from subsvms.exceptions import WIDE, Note

UNKNOWN_RATE = 0.2  # of the noise that the rule may not know of
# Share of rows expected on another class's side. With most labels of a class wrong, tables whose classes are
# separate have 0.04 to 0.1; in a census that was attacked it is 0.105 to 0.15
MIXED = 0.1
SUREST, LACKING = 0.1, 1.0  # share of rows; standard deviations: .67 to 1.28 did as well
TIES = 1e-3  # share of the quality that is the mean value itself, so that every row has its own


class Halt(IntEnum):
    """What kept a label, if it was not the rule itself; `_notes` has the reasons in words."""

    NONE = 0
    UNASKED = 1
    UNEXPLAINED = 2
    SMALL = 3
    CAPPED = 5
    TOLD_APART = 7
    UNTESTED = 8
    VERIFIED = 9
    DUPLICATE = 10
    REFUSED = 11
    UNAUDITED = 12
    OUTNUMBERED = 13
    DISPUTED = 14
    COPIES = 15  # of changed labels, too: what is thought of them rests on their copies


BY_OVERLAP = (Halt.TOLD_APART, Halt.UNTESTED, Halt.REFUSED)  # the posterior says so already


@dataclass(frozen=True)
class Settings:
    """What the user asked for."""

    rule: str = "posterior"  # {"posterior", "majority"}
    action: str = "fix"  # {"fix", "drop", "weight", "review"}
    max_error_rate: float | None = None
    min_confidence: float | None = None  # None: being the most probable class is enough
    fill_missing: bool = True  # whether rows without a label get the suggested one, and whether they do so
    fill_unexplained: bool = True  # even if the columns do not explain the labels


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is thought of each label. A row without a given label (-1) is judged by its votes alone."""

    posterior: np.ndarray  # (n_rows, n_classes): probability of each class
    # (n_rows,): class numbers; the given label unless it is flagged, or kept by `max_error_rate` alone
    suggested: np.ndarray
    flagged: np.ndarray  # (n_rows,): whether the label is thought wrong, and may be changed
    rival: np.ndarray  # (n_rows,): the best class other than the given one
    score: np.ndarray  # (n_rows,): what the best class rests on: its probability, or its share of the votes
    quality: np.ndarray  # (n_rows,): how credible the given label is, from 0 to 1; NaN without one
    halt: np.ndarray  # (n_rows,): what kept the label (`Halt`), if not the rule itself
    notes: tuple[Note, ...] = ()  # what the user must know


class Overlap(NamedTuple):
    """How far overlap of the classes explains what noise alone would change."""

    weight: np.ndarray  # (n_classes,): for rows that would join each class
    # (n_classes,): whether too few rows of the sample would join the class for a test; their weight is one
    untested: np.ndarray
    refused: tuple[int, ...] = ()  # classes that people, and not the features, say rows do not join
    # (n_classes,): how much less probable trees find these changes (`_other_judges`)
    doubt: np.ndarray | float = 0.0


@dataclass(frozen=True, eq=False)
class Rule:
    """What was learned from the votes on a table, or on a sample of it: it judges any row of that table."""

    noise: NoiseEstimate
    sizes: np.ndarray  # (n_classes,): rows of the table that are given each class
    seen: np.ndarray  # (n_classes,): how many of them the rule was learned from
    settings: Settings
    overlap: Overlap | None = None  # None if nothing is known of it
    # What second votes show of the noise, and their weight where labels are ranked (`_choice`)
    second: tuple[NoiseEstimate, float] | None = None
    lacking: np.ndarray | None = None  # (n_classes,): bool, `find_lacking`; None: no class


def apply_rule(rule: Rule, votes: Votes, given: np.ndarray) -> Judgement:
    """Judge labels one by one: what is thought of a row depends on no other row."""
    noise, sizes, settings = rule.noise, rule.sizes, rule.settings
    n_classes = len(noise.classes)
    overlap = rule.overlap or Overlap(np.zeros(n_classes), np.zeros(n_classes, dtype=bool))
    asked = votes.n_voters > 0
    known = given >= 0
    values = np.where(asked[:, None], votes.mean_value, 0.0)
    by_noise = noise.judge(values, given)
    by_noise[known & ~asked] = np.eye(n_classes)[given[known & ~asked]]
    posterior = make_room(by_noise, given, overlap.weight)
    # A class that is left alone is not filled in, either.
    posterior, by_noise, share = (fill_large(p, known, rule.seen) for p in (posterior, by_noise, votes.share))

    def choose(probability):
        """Return the best class of each row, what it rests on, and whether that is enough for a change."""
        scores = np.where(asked[:, None], share if settings.rule == "majority" else probability, 0.0)
        best = pick_best(scores, sizes, given)
        score = scores[np.arange(len(given)), best]
        firm = score > (settings.min_confidence or 0.0)
        if settings.rule == "majority" and (settings.min_confidence or 0.0) <= 0.5:
            firm[:] = True  # the winner need not have half of the votes
        return scores, best, score, known & asked & (best != given) & firm

    alone = choose(by_noise)
    scores, best, score, wanted = choose(posterior) if overlap.weight.any() else alone
    _, joined, _, by_noise_alone = alone
    spared = by_noise_alone & ~wanted & (overlap.weight[joined] > 0.5)  # else the label is just probable
    doubt = np.broadcast_to(overlap.doubt, n_classes)[best]
    least = max(0.5, settings.min_confidence or 0.0)
    small = rule.seen < SMALLEST_CLASS
    halts = {
        Halt.UNASKED: ~asked, Halt.UNEXPLAINED: np.full(len(given), not noise.explained),
        Halt.SMALL: (known & small[given]) | small[joined],
        Halt.UNTESTED: spared & overlap.untested[joined],
        Halt.REFUSED: spared & np.isin(joined, overlap.refused), Halt.TOLD_APART: spared,
        Halt.DISPUTED: wanted & (doubt > 0) & (score * (1.0 - doubt) <= least),
        Halt.OUTNUMBERED: wanted & is_outnumbered(rule, values, given, best),
    }  # fmt: skip
    halt = np.select(list(halts.values()), [np.int8(reason) for reason in halts], np.int8(Halt.NONE))
    flagged = wanted & (halt == Halt.NONE)
    others = np.where(np.arange(n_classes) == given[:, None], -1.0, scores)
    quality = rank_quality(values, noise, by_noise, given, overlap.weight)
    if rule.second is not None and votes.second is not None:
        noise, weight = rule.second
        heard = ~np.isnan(votes.second[:, 0])
        values = np.where(heard[:, None], votes.second, 0.0)
        second = rank_quality(values, noise, noise.judge(values, given), given, overlap.weight)
        quality = np.where(heard, (1.0 - weight) * quality + weight * second, quality)
    return Judgement(
        posterior=posterior, suggested=np.where(flagged | ~known, best, given), flagged=flagged,
        rival=pick_best(others, sizes), score=score, quality=np.where(known & ~asked, 1.0, quality),
        halt=halt,
    )  # fmt: skip


def fill_large(posterior: np.ndarray, known: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return probabilities by which rows without a label belong to no class that is too small to judge."""
    small = seen < SMALLEST_CLASS
    if known.all() or not small.any() or small.all():
        return posterior
    some = np.where(small, 0.0, posterior)
    total = some.sum(axis=1, keepdims=True)
    some = np.where(total > 0, some / np.where(total > 0, total, 1.0), ~small / np.sum(~small))
    return np.where(known[:, None], posterior, some)


def is_outnumbered(rule: Rule, values: np.ndarray, given: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return whether a change rests on the rate of a class alone, and overlap explains it as well."""
    # Where rows that look alike are given the present label clearly more often than the new one, only the
    # noise of the new class speaks for the change, and most of that class must be labelled wrongly. Unless
    # the surest rows have the labels that noise leaves them (`find_lacking`), or labels are wrong in both
    # directions, overlap and an attack look the same. (Without this limit, flips of 5 % that were chosen to
    # harm an SVM became 17 to 27 % of wrong labels in a census.)
    if rule.settings.rule == "majority" or rule.lacking is None:
        return np.zeros(len(given), dtype=bool)
    rows, noise = np.arange(len(given)), rule.noise
    eta = noise.expect(values) @ noise.matrix  # P(given each label | values)
    own = np.maximum(given, 0)
    outnumbered = eta[rows, best] < eta[rows, own] - WIDE
    return rule.lacking[best] & outnumbered & (noise.rate_interval[own, 1] <= WIDE)


def find_lacking(noise: NoiseEstimate, values: np.ndarray, given: np.ndarray) -> np.ndarray | None:
    """Return for which classes the rows that look most like them lack the label; None if they are apart."""
    # Noise by class takes labels from sure and unsure rows alike. Whoever chooses flips takes the surest:
    # fewer of these have the label than the noise says. With three and more classes, any may lack some.
    if 1.0 - noise.expect(values).max(axis=1).sum() / max(len(given), 1) <= MIXED:
        return None
    n_classes, lacking = len(noise.classes), np.ones(len(noise.classes), dtype=bool)
    values, given = values[given >= 0], given[given >= 0]
    for b in range(n_classes) if n_classes == 2 else ():
        surest = np.argsort(-values[:, b], kind="stable")[: max(SMALLEST_CLASS, int(SUREST * len(given)))]
        eta = (noise.expect(values[surest]) @ noise.matrix)[:, b]
        missing = (eta - (given[surest] == b)).sum()
        lacking[b] = missing > LACKING * np.sqrt((eta * (1.0 - eta)).sum())
    return lacking


def make_room(posterior: np.ndarray, given: np.ndarray, overlap: np.ndarray) -> np.ndarray:
    """Return the probability of each class where overlap explains part of what noise would."""
    rows = np.flatnonzero(given >= 0)
    roomy = posterior.copy()
    roomy[rows] *= 1.0 - overlap
    roomy[rows, given[rows]] = 0.0
    roomy[rows, given[rows]] = 1.0 - roomy[rows].sum(axis=1)
    return roomy


def rank_quality(
    values: np.ndarray, noise: NoiseEstimate, posterior: np.ndarray, given: np.ndarray, overlap: np.ndarray
) -> np.ndarray:
    """Return how credible each given label is: its probability, averaged over two beliefs about the noise."""
    # One belief is that the noise is as the rule thinks. The other is that a share `UNKNOWN_RATE` of each
    # class is given another label, all equally likely, because noise may depend on what the rule does not
    # look at. So a label that the votes contradict also ranks low in a class that seems free of noise, where
    # the first belief alone calls every label right. The second has the weight `UNSEEN`; the more overlap
    # explains what the rule would change, the more.
    q = noise.expect(values)
    n_classes = q.shape[1]
    evenly = UNKNOWN_RATE / (n_classes - 1)
    spread = np.full((n_classes, n_classes), evenly) + (1.0 - UNKNOWN_RATE - evenly) * np.eye(n_classes)
    unseen = UNSEEN + (1.0 - UNSEEN) * overlap
    mixed = (1.0 - unseen) * posterior + unseen * compute_posterior(q, spread, given)
    rows, own = np.arange(len(given)), np.maximum(given, 0)
    mixed[rows, own] = 0.0
    quality = (1.0 - TIES) * (1.0 - mixed.sum(axis=1)) + TIES * (1.0 + values[rows, own]) / 2.0
    return np.where(given >= 0, quality, np.nan)


def keep_labels(judgement: Judgement, given: np.ndarray, rows: np.ndarray, halt: Halt) -> Judgement:
    """Return the judgement with the labels of these rows (bool) kept as given, for this reason."""
    rows = rows & (given >= 0)
    return replace(
        judgement, suggested=np.where(rows, given, judgement.suggested), flagged=judgement.flagged & ~rows,
        halt=np.where(rows, np.int8(halt), judgement.halt),
    )  # fmt: skip


def weigh_copies(rule: Rule, votes: Votes, given: np.ndarray, sets: list[np.ndarray]) -> np.ndarray:
    """Return the probability of each class for rows of which some are equal, and NaN for all other rows."""
    # Equal rows are of one class c. With q_c its probability by the votes of SVMs that saw none of them, and
    # T labels of which a share `UNKNOWN_RATE` is wrong, it is proportional to q_c times the product of T[c,
    # g] over their labels.
    n_classes = len(rule.noise.classes)
    joint = np.full((len(given), n_classes), np.nan)
    evenly = UNKNOWN_RATE / (n_classes - 1)
    spread = np.log(np.where(np.eye(n_classes, dtype=bool), 1.0 - UNKNOWN_RATE, evenly))
    for rows in sets if rule.noise.explained else ():
        heard = rows[votes.n_voters[rows] > 0]
        if len(heard):
            q = rule.noise.expect(votes.mean_value[heard].mean(axis=0)[None])[0]
            joint[rows] = softmax(np.log(np.maximum(q, 1e-9)) + spread[:, given[rows]].sum(axis=1))
    return joint


def settle_copies(judgement: Judgement, rule: Rule, given: np.ndarray, joint: np.ndarray) -> Judgement:
    """Return the judgement in which rows are judged with their copies, as `weigh_copies` says."""
    rows = np.flatnonzero(~np.isnan(joint[:, 0]) & ~np.isin(judgement.halt, (Halt.UNASKED, Halt.UNEXPLAINED)))
    if len(rows) == 0 or rule.settings.rule == "majority":
        return judgement
    names = ("posterior", "suggested", "flagged", "rival", "score", "quality", "halt")
    changed: dict[str, Any] = {name: getattr(judgement, name).copy() for name in names}
    p, own, small = joint[rows], given[rows], rule.seen < SMALLEST_CLASS
    best = pick_best(p, rule.sizes, own)
    score = p[np.arange(len(rows)), best]
    free = (best != own) & ~small[own] & ~small[best] & (score > (rule.settings.min_confidence or 0.0))
    others = np.where(np.arange(p.shape[1]) == own[:, None], -1.0, p)
    changed["posterior"][rows], changed["score"][rows], changed["flagged"][rows] = p, score, free
    changed["suggested"][rows], changed["rival"][rows] = np.where(free, best, own), others.argmax(axis=1)
    changed["quality"][rows], changed["halt"][rows] = p[np.arange(len(rows)), own], np.int8(Halt.COPIES)
    return replace(judgement, **changed)


def apply_verified(judgement: Judgement, given: np.ndarray, verified: np.ndarray) -> Judgement:
    """Return the judgement in which verified rows are as people decided, and certain."""
    # It comes after the rule: verified rows are the most doubtful ones, and a rule that no longer saw them
    # would think the rest clean. Only the limit on changes comes later.
    decided = verified >= 0
    labelled = decided & (given >= 0)
    posterior = judgement.posterior.copy()
    posterior[decided] = np.eye(posterior.shape[1])[verified[decided]]
    return replace(
        judgement, posterior=posterior, flagged=judgement.flagged & ~decided,
        suggested=np.where(labelled, given, judgement.suggested),
        quality=np.where(labelled, verified == given, judgement.quality),
        halt=np.where(decided, np.int8(Halt.VERIFIED), judgement.halt),
    )  # fmt: skip


# The limit on changes


class Cutoff(NamedTuple):
    """The last label that `max_error_rate` lets change, surest first; equal ones by row number."""

    score: float
    quality: float
    row: int

    def apply(self, judgement: Judgement, rows: np.ndarray) -> Judgement:
        """Return the judgement with the labels beyond the last one kept; `rows` are row numbers."""
        score, quality = judgement.score, judgement.quality
        tied = (quality < self.quality) | ((quality == self.quality) & (rows <= self.row))
        free = judgement.flagged & ((score > self.score) | ((score == self.score) & tied))
        capped = judgement.flagged & ~free
        return replace(judgement, flagged=free, halt=np.where(capped, np.int8(Halt.CAPPED), judgement.halt))


def find_cutoff(score: np.ndarray, quality: np.ndarray, rows: np.ndarray, allowed: int) -> Cutoff | None:
    """Return where changes end, from all flagged rows of a table; None if all of them may change."""
    if len(rows) <= allowed:
        return None
    if allowed == 0:
        return Cutoff(np.inf, -np.inf, -1)
    last = np.lexsort((rows, quality, -score))[allowed - 1]
    return Cutoff(float(score[last]), float(quality[last]), int(rows[last]))


def count_allowed(max_error_rate: float, n_labels: int) -> int:
    return int(np.floor(max_error_rate * n_labels + 1e-9))
