"""Judge any rows of a table with what was learned from a sample of it (`_learn`).

The judgement of a row depends on its features, its label, its number and what was learned, and on no other
row. So a table can be split into any batches and judged anywhere, and each row gets the bits it would get
alone. A small table is its own sample.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from subsvms._columns import Table
from subsvms._effort import ONE_THREAD, Effort, announce
from subsvms.certificates._vote import CERTIFICATE_LEVEL, count_withstood
from subsvms.correction import _rule as rules
from subsvms.correction._choice import Choice
from subsvms.correction._copies import find_witnesses
from subsvms.correction._groups import Groups, Kin
from subsvms.correction._notes import SPARED, format_spared
from subsvms.correction._result import Correction, list_suspicious
from subsvms.correction._rule import Cutoff, Judgement, Rule, Settings
from subsvms.ensemble._votes import Voters, Votes, count_votes
from subsvms.exceptions import Note


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from a sample of a table and the votes on it: it judges any rows of that table."""

    model: Any  # the SVMs that vote; None for other judges, which have judged all rows
    choice: Choice | None  # if they were chosen from the data
    rule: Rule
    notes: tuple[Note, ...]  # on the votes, without those on labels that were kept
    rows: np.ndarray  # (n_rows,): numbers of the rows that were learned from, sorted
    votes: Votes  # on these rows, by SVMs that were not trained on them
    in_pool: np.ndarray  # (n_rows,): whether SVMs were trained on them
    contradictory: np.ndarray  # (n_rows,): which of them keep their labels, by `find_contradictory`
    capped: bool  # as in `Drawing`
    level: float = CERTIFICATE_LEVEL
    cutoff: Cutoff | None = None  # the last label that may change, if `max_error_rate` limits them
    second: Voters | None = None  # other SVMs, which only rank labels
    judged_by: str | None = None  # in words, if not by SVMs
    groups: Groups | None = None  # rows that belong together, if there are any
    kin: Kin | None = None  # which of the rows are copies
    joint: np.ndarray | None = None  # (n_rows, n_classes): by `weigh_copies`; None if there are no such rows

    @property
    def settings(self) -> Settings:
        """What was asked for, as far as the votes allow it."""
        settings = self.rule.settings
        allowed = settings.fill_unexplained or self.rule.noise.explained
        return replace(settings, fill_missing=settings.fill_missing and allowed)

    def find(self, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of those rows that were learned from, and which of the rows these are."""
        if rows is None:
            return np.array([], dtype=int), np.array([], dtype=int)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        found = np.flatnonzero(self.rows[places] == rows)
        return places[found], found

    def vote(
        self, X: Table, rows: np.ndarray | None = None, effort: Effort = ONE_THREAD,
        groups: np.ndarray | None = None,
    ) -> Votes:  # fmt: skip
        """Return the votes on rows; on those of the pool, of the SVMs that were not trained on them."""
        # Without row numbers they cannot be recognised, and all SVMs vote. `groups` numbers the rows' groups,
        # if the user names them, -1 for groups that no SVM saw.
        places, found = self.find(rows)
        known = self.votes.take(places)
        if len(found) == X.shape[0]:
            return known
        others = np.setdiff1d(np.arange(X.shape[0]), found, assume_unique=True)
        asked = X[others] if len(found) else X
        if self.model.kernel == "precomputed":
            asked = np.ascontiguousarray(asked[:, self.rows[self.in_pool]])
        main = second = None
        if self.groups is not None:
            own = None if groups is None else groups[others]
            if groups is None and self.groups.finder is not None:
                own = self.groups.finder.find(asked)
            main = self.groups.find_bags(own, 0)
            second = None if main is None or self.second is None else self.groups.find_bags(own, 1)
        votes = count_votes(self.model.voters_, asked, effort, bags=main)
        if self.second is not None:
            votes = replace(votes, second=count_votes(self.second, asked, effort, bags=second).mean_value)
        return mix_votes(known, found, votes, others)

    def apply_rule(self, given: np.ndarray, votes: Votes, rows: Any, verified: Any = None) -> Judgement:
        """Judge labels without the limit on changes; the verdicts of people come last."""
        places, found = self.find(rows)
        contradictory = np.zeros(len(given), dtype=bool)
        contradictory[found] = self.contradictory[places]
        judgement = rules.apply_rule(self.rule, votes, given)
        judgement = rules.keep_labels(judgement, given, contradictory, rules.Halt.DUPLICATE)
        if self.joint is not None and len(found):
            joint = np.full((len(given), self.joint.shape[1]), np.nan)
            joint[found] = self.joint[places]
            judgement = rules.settle_copies(judgement, self.rule, given, joint)
        return judgement if verified is None else rules.apply_verified(judgement, given, verified)

    def limit(self, score: np.ndarray, quality: np.ndarray, rows: np.ndarray) -> "Learned":
        """Return the same with a limit on changes, from all rows of the table that the rule flags."""
        limit = self.rule.settings.max_error_rate
        if limit is None:
            return self
        allowed = rules.count_allowed(limit, int(self.rule.sizes.sum()))
        return replace(self, cutoff=rules.find_cutoff(score, quality, rows, allowed))

    def judge(
        self, given: np.ndarray, votes: Votes, rows: Any = None, verified: Any = None, **more: Any
    ) -> Correction:
        """Return what is thought of labels on which votes have been counted; `more` is for the result."""
        judgement = self.apply_rule(given, votes, rows, verified)
        if self.cutoff is not None and rows is not None:
            judgement = self.cutoff.apply(judgement, rows)
        kept = {reason: int(np.sum(judgement.halt == reason)) for reason in SPARED}
        notes = (*self.notes, *(format_spared(n_rows, reason) for reason, n_rows in kept.items() if n_rows))
        against = votes.contradict(given)[(given >= 0) & (votes.n_voters > 0)]
        noise = replace(self.rule.noise, contradicted=float(against.mean()) if len(against) else None)
        return Correction(
            classes=noise.classes, given=given, judgement=replace(judgement, notes=notes), votes=votes,
            noise=noise, withstands=self.certify(given, votes, rows), level=self.level, choice=self.choice,
            settings=self.settings, verified=verified, judge=self.judged_by, **more,
        )  # fmt: skip

    def certify(self, given: np.ndarray, votes: Votes, rows: np.ndarray | None) -> np.ndarray | None:
        """Return how many changed labels the winner of the vote on each row certainly survives, if known."""
        if self.model is None:
            return None
        if self.model.class_weight == "balanced":  # then every SVM depends on the sizes of the classes
            return np.zeros(len(given), dtype=int)
        places, found = self.find(rows)
        trained = np.full(len(given), -1)
        own = found[self.in_pool[places]]
        trained[own] = given[own]
        withstood = count_withstood(
            votes, self.model.class_sizes_, trained, self.model.subsets_.shape[1],
            p=self.model.sampling_bias, level=self.level, pooled=self.capped,
        )  # fmt: skip
        if self.groups is None:
            return withstood
        alone = votes.n_voters == len(self.model.subsets_)  # no SVM saw a row of their group
        alone[found] = ~self.groups.grouped[places]
        return np.where(alone & (not self.groups.redrawn), withstood, 0)  # it is proved for single rows


def mix_votes(some: Votes, places: np.ndarray, others: Votes, other_places: np.ndarray) -> Votes:
    """Return the votes on rows, from those on the rows in some places and in all others."""
    if len(places) == 0:
        return others
    return some.join(others).take(np.argsort(np.concatenate([places, other_places])))


def judge_table(
    learned: Learned, X: Table, given: np.ndarray, verified: np.ndarray | None = None,
    groups: np.ndarray | None = None, **more: Any,
) -> Correction:  # fmt: skip
    """Return what is thought of all labels of a table; `more` is for the result."""
    rows = np.arange(len(given))
    effort = Effort.of(learned.model, partial(announce, "voting on the other rows"))
    return judge_votes(learned, given, learned.vote(X, rows, effort, groups), verified, **more)


def judge_votes(
    learned: Learned, given: np.ndarray, votes: Votes, verified: np.ndarray | None = None, **more: Any
) -> Correction:
    rows = np.arange(len(given))
    if learned.rule.settings.max_error_rate is not None:
        judgement = learned.apply_rule(given, votes, rows, verified)
        flagged = judgement.flagged
        learned = learned.limit(judgement.score[flagged], judgement.quality[flagged], rows[flagged])
    return learned.judge(given, votes, rows, verified, kin=learned.kin, **more)


def add_witnesses(correction: Correction, X: Table, n: int, *, precomputed: bool = False) -> Correction:
    """Return a correction with witnesses for the flagged rows, among the rows that are not suspicious."""
    if n == 0:
        return correction
    announce("finding witnesses")
    suspicious = list_suspicious(correction)
    flagged = suspicious[correction.flagged[suspicious]]
    witnesses = find_witnesses(
        X, correction.given, flagged, correction.compared[flagged], suspicious=suspicious,
        n_witnesses=n, precomputed=precomputed,
    )  # fmt: skip
    return replace(correction, witnesses=witnesses)
