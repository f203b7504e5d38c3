"""Learn from a sample of a table how to judge its labels: train SVMs, and learn from their votes a rule.

From the votes come the noise, the overlap of the classes, the rule from both, and notes for the user.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.isotonic import IsotonicRegression

from subsvms._columns import Table
from subsvms._effort import Effort, announce, one_stage
from subsvms.certificates._vote import CERTIFICATE_LEVEL
from subsvms.correction import _notes as words
from subsvms.correction._choice import Choice, choose_ensemble
from subsvms.correction._copies import Copies, find_contradictory, find_copies
from subsvms.correction._groups import Groups, find_kin, form_groups, note_few_voters, weigh_kin
from subsvms.correction._judge import Learned, mix_votes
from subsvms.correction._noise import SMALLEST_CLASS, estimate_noise, is_solvable, rank_evidence
from subsvms.correction._other_judges import ask_trees, make_votes
from subsvms.correction._overlap import CloserLook, SVMLook, find_overlap, update_overlap
from subsvms.correction._rule import Halt, Rule, Settings, apply_rule, find_lacking, keep_labels
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._rows import take_rows
from subsvms.ensemble._sampling import Drawing, find_large, subset_size
from subsvms.ensemble._training import fit_numbered
from subsvms.ensemble._votes import Votes, count_votes
from subsvms.exceptions import Note, format_percent, is_far_beyond

# Shares of the labels that the vote contradicts and above which a note warns: of a class; of a table, if some
# change although errors that depend on the class alone explain far fewer (with 1/5, attacks did harm without
# a warning); of a table, whatever explains them.
OF_CLASS, UNEXPLAINED, OF_TABLE = 1 / 2, 1 / 10, 1 / 3
AGAINST, STRETCH = -4.0, 0.08  # standard deviations, share of rows: clean mushrooms have a stretch of 0.05
DIVIDED = (-0.1, 0.05)  # mean values on both sides of zero that such a stretch spans


class Sample(NamedTuple):
    """The rows to learn from, in the order of their numbers; SVMs are trained on some of them, the pool."""

    X: Table  # (n_rows, n_features)
    given: np.ndarray  # (n_rows,): class numbers; -1 where a label is missing
    rows: np.ndarray  # (n_rows,): numbers of the rows in the table, from 0
    drawing: Drawing
    verified: np.ndarray | None = None  # (n_rows,): class numbers that people decided; -1 elsewhere
    groups: np.ndarray | None = None  # (n_rows,): numbers of groups, if the user names them


def learn(
    sample: Sample, classes: np.ndarray, prepared: SubSVMClassifier | dict, settings: Settings,
    level: float = CERTIFICATE_LEVEL,
) -> Learned:  # fmt: skip
    """Train SVMs on the pool, and learn from their votes on the sample how to judge any row of the table."""
    # They are not trained on verified labels: the most doubtful rows are verified first, and the noise of the
    # others would no longer be the same. (Tried: more wrong labels in 20 of 50 runs, fewer in 20.)
    X, given, rows, drawing, verified, named = sample
    in_pool = drawing.in_pool(rows, given)
    precomputed = getattr(prepared, "kernel", "") == "precomputed"  # then rows are no features
    copies = Copies.none(len(rows)) if precomputed else find_copies(X)
    groups = form_groups(copies, X, in_pool, named, find=not drawing.is_whole)
    sample = sample._replace(groups=None if groups is None else groups.numbers)
    model, second, choice = train_models(sample, in_pool, classes, prepared)
    if groups is not None:
        subsets = (one.subsets_ for one in (model, second) if one is not None)
        own, size = groups.numbers[in_pool], model.subsets_.shape[1]
        redrawn = find_large(own, given[in_pool], size, model.sampling_bias).any()
        groups = groups.seen_by(subsets, np.flatnonzero(in_pool), bool(redrawn))
    votes = collect_votes(model, X, in_pool, groups)
    if second is not None:
        votes = replace(votes, second=collect_votes(second, X, in_pool, groups, 1).mean_value)
    contradictory = np.zeros(len(given), dtype=bool)
    if copies.left_alone:
        contradictory[in_pool] = find_contradictory(copies.equal[in_pool], given[in_pool])
    few = np.flatnonzero(drawing.in_sample(rows))
    numbers = None if groups is None else groups.numbers[few]
    rule, notes = learn_rule(
        classes, given[few], votes.take(few), settings, drawing.sizes,
        look=SVMLook(model, X if len(few) == len(rows) else take_rows(X, few, model.kernel), numbers),
        contradictory=contradictory[few], verified=None if verified is None else verified[few],
        second_weight=choice.second_weight if choice else 0.0,
    )  # fmt: skip
    kin = find_kin(copies, given, rows, named)
    return Learned(
        model, choice, rule, (*notes, *note_few_voters(groups, votes, model.n_estimators)), rows, votes,
        in_pool, contradictory, drawing.capped, level, second=None if second is None else second.voters_,
        groups=groups, kin=kin, joint=weigh_kin(kin, rule, votes, given, rows),
    )  # fmt: skip


def learn_judged(
    p: np.ndarray, judge: str, given: np.ndarray, classes: np.ndarray, settings: Settings,
    look: CloserLook | None, copies: Copies, named: np.ndarray | None = None, *,
    rows: np.ndarray | None = None, sizes: np.ndarray | None = None, verified: np.ndarray | None = None,
    level: float = CERTIFICATE_LEVEL,
) -> Learned:  # fmt: skip
    """Learn from out-of-sample probabilities (n_rows, n_classes) of any judge, as `learn` does from SVMs."""
    rows = np.arange(len(given)) if rows is None else rows
    votes, alone = make_votes(p), np.zeros(len(given), dtype=bool)
    contradictory = find_contradictory(copies.equal, given) & bool(copies.left_alone)
    rule, notes = learn_rule(
        classes, given, votes, settings, sizes, look=look, judge=judge, contradictory=contradictory,
        verified=verified,
    )  # fmt: skip
    kin = find_kin(copies, given, rows, named)
    return Learned(
        None, None, rule, notes, rows, votes, alone, contradictory, False, level, judged_by=judge, kin=kin,
        joint=weigh_kin(kin, rule, votes, given, rows),
    )  # fmt: skip


def train_models(
    sample: Sample, in_pool: np.ndarray, classes: np.ndarray, prepared: SubSVMClassifier | dict
) -> tuple[SubSVMClassifier, SubSVMClassifier | None, Choice | None]:
    """Train an ensemble on the pool: the one that is given, or the best that is found."""
    # `prepared` holds the parameters of the latter that are not chosen from the data. Beside the best there
    # may be a second ensemble, which helps to rank labels.
    X, drawing, pool = sample.X, sample.drawing, np.flatnonzero(in_pool)
    labels, whole = sample.given[pool], len(pool) == len(in_pool)
    groups = None if sample.groups is None else sample.groups[pool]
    if not isinstance(prepared, dict):
        size = subset_size(prepared.subsample_size, drawing.n_rows, len(classes))
        prepared.set_params(subsample_size=min(size, len(pool)))
        trained_on = X if whole else take_rows(X, pool, prepared.kernel)
        return fit_numbered(prepared, trained_on, classes, labels, groups=groups), None, None
    trained_on = X if whole else X[pool]
    how: dict[str, Any] = {"n_jobs": prepared.get("n_jobs"), "groups": groups}
    choice = choose_ensemble(trained_on, labels, drawing.sizes, drawing.n_rows, **how)
    model, second = choice.make_model(**prepared), choice.make_second(**prepared)
    fit_numbered(model, trained_on, classes, labels, groups=groups)
    if second is not None:
        fit_numbered(second, trained_on, classes, labels, groups=groups)
        if model.voters_.intercept.dtype == np.float32:  # then it is enough to rank by, and half of the time
            second.voters_ = second.voters_.astype(np.float32)
    return model, second, choice


def collect_votes(
    model: SubSVMClassifier, X: Table, in_pool: np.ndarray, groups: Groups | None = None, ensemble: int = 0
) -> Votes:
    """Return the out-of-bag votes on the rows that SVMs were trained on, and all votes on the others."""
    pool, others = np.flatnonzero(in_pool), np.flatnonzero(~in_pool)
    if len(others) == 0:
        return model.oob_votes_
    asked = X[others]
    if model.kernel == "precomputed":
        asked = np.ascontiguousarray(asked[:, pool])
    effort = Effort.of(model, partial(announce, "voting on the sample"))
    bags = None if groups is None else groups.find_bags(groups.numbers[others], ensemble)
    votes = count_votes(model.voters_, asked, effort, bags=bags)
    return mix_votes(model.oob_votes_, pool, votes, others)


def learn_rule(
    classes: np.ndarray, given: np.ndarray, votes: Votes, settings: Settings, sizes: np.ndarray | None = None,
    *, look: CloserLook | None, judge: str | None = None, contradictory: np.ndarray | None = None,
    verified: np.ndarray | None = None, second_weight: float = 0.0,
) -> tuple[Rule, tuple[Note, ...]]:  # fmt: skip
    """Return what the votes on a table, or on a sample of it, say about any row of it, and notes on them."""
    announce("judging labels")
    useless = np.zeros(len(given), dtype=bool) if contradictory is None else contradictory
    decided = np.full(len(given), -1) if verified is None else verified
    judged = np.flatnonzero(((given >= 0) | (decided >= 0)) & (votes.n_voters > 0) & ~useless)
    noise = estimate_noise(votes.mean_value[judged], given[judged], classes, decided[judged])
    seen = np.bincount(given[given >= 0], minlength=len(classes))
    lacking = find_lacking(noise, votes.mean_value[judged], given[judged])
    rule = Rule(noise, seen if sizes is None else sizes, seen, settings, lacking=lacking)
    by_noise = keep_labels(apply_rule(rule, votes, given), given, useless, Halt.DUPLICATE)
    sampled = bool(rule.sizes.sum() > rule.seen.sum())  # then other rows may change, if none of these does
    if settings.rule == "posterior" and (sampled or by_noise.flagged.any()):
        with one_stage("checking that no change does harm"):
            overlap = find_overlap(look, given, votes, by_noise, sampled=sampled)
            weight, doubt = ask_trees(look, noise, given, votes, by_noise)
            overlap = overlap._replace(weight=np.maximum(overlap.weight, weight), doubt=doubt)
        rule = replace(rule, overlap=update_overlap(overlap, by_noise, given, decided))
    if votes.second is not None:
        heard = judged[~np.isnan(votes.second[judged, 0])]
        second = estimate_noise(votes.second[heard], given[heard], classes, decided[heard])
        rule = replace(rule, second=(second, second_weight))
    told = np.where(useless, -1, given)  # such rows have a note of their own
    changing = settings.action != "review" and bool(by_noise.flagged.any())
    notes = gather_notes(rule, votes, told, judge, changing=changing)
    if look is None and settings.rule == "posterior" and by_noise.flagged.any():
        notes = (*notes, words.UNCHECKED)
    return rule, notes


def gather_notes(
    rule: Rule, votes: Votes, given: np.ndarray, judge: str | None = None, *, changing: bool = True
) -> tuple[Note, ...]:  # fmt: skip
    noise, sizes = rule.noise, rule.sizes
    counted = zip(map(str, noise.classes), rule.seen.tolist(), sizes.tolist(), strict=True)
    notes = words.format_scarce([(name, seen, size) for name, seen, size in counted if seen < SMALLEST_CLASS])
    if not noise.explained:
        return (*notes, words.UNEXPLAINED if judge is None else words.UNPREDICTED)
    if not is_solvable(noise.matrix):
        notes.append(words.HARDLY_TOLD_APART)
    judged = (given >= 0) & (votes.n_voters > 0)
    against = votes.contradict(given)
    contradicted = []
    for c, name in enumerate(noise.classes):
        own = against[judged & (given == c)]
        share = np.mean(own) if rule.seen[c] >= SMALLEST_CLASS and len(own) else 0.0
        if share > OF_CLASS:
            contradicted.append(f"{str(name)!r} ({format_percent(share)})")
    whole = against[judged].sum() / max(judged.sum(), 1)
    beyond = is_far_beyond(noise.error_rate_interval, whole)
    too_many = whole > (UNEXPLAINED if beyond and changing else OF_TABLE)
    if contradicted or too_many:
        half = too_many and not beyond
        notes.append(words.format_contradicted(contradicted, whole if too_many else None, judge, half=half))
    if len(sizes) == 2:
        stretch = find_reversal(votes.mean_value[judged, 1], given[judged] == 1)
        if stretch > 0:
            notes.append(words.format_reversed(stretch, judge))
    return tuple(notes)


def find_reversal(u: np.ndarray, is_given: np.ndarray) -> float:
    """Return the share of rows in a stretch around u = 0 along which labels run against the votes, or 0."""
    # Isotonic regression is flat where the labels fall while u grows. A flat step that spans zero, with ranks
    # that say more than chance, is what flips of the rows nearest the border leave behind.
    low, high = DIVIDED
    eta = IsotonicRegression().fit_transform(u, is_given)
    middle = eta[np.argmin(np.abs(u))]
    step = np.flatnonzero(np.isclose(eta, middle))
    if u[step].min() > low or u[step].max() < high or len(step) < STRETCH * len(u):
        return 0.0
    return len(step) / len(u) if rank_evidence(u[step], is_given[step]) < AGAINST else 0.0
