"""What is decided about each label: by the rule, by people, and by an audit.

Every row carries an *action*:

- ``keep``     the label stands;
- ``fix``      it is replaced by the suggested one;
- ``drop``     the label is thought wrong, and `fit_resample` leaves the row out;
- ``weight``   the row stays, weighted by the probability of its label;
- ``review``   the row is only flagged, for a person to look at;
- ``missing``  there was no label: the suggested one is filled in, or the row stays without one (`Settings`).
  Such rows are never counted as noise;
- ``verified`` the label is what a person decided;
- ``audited``  it is replaced by the suggested one: an audit (`subsvms.audit`) showed most labels of a set to
  be wrong.
"""

from dataclasses import dataclass

import numpy as np

from subsvms.correction._rule import BY_OVERLAP, Halt, Judgement, Settings
from subsvms.ensemble._votes import Votes


@dataclass(frozen=True, eq=False, kw_only=True)
class Verdicts:
    """What is thought of each label, and what is done about it."""

    given: np.ndarray  # (n_rows,): class numbers; -1 where there was no label
    judgement: Judgement
    votes: Votes
    settings: Settings
    verified: np.ndarray | None = None  # (n_rows,): class numbers that people decided; -1 elsewhere
    audited: np.ndarray | None = None  # (n_rows,): labels that an audit changed unseen

    def __len__(self) -> int:
        return len(self.given)

    @property
    def flagged(self) -> np.ndarray:
        """Rows whose label is thought wrong."""
        return self.judgement.flagged

    @property
    def missing(self) -> np.ndarray:
        """Rows that came without a label."""
        return self.given < 0

    @property
    def filled(self) -> np.ndarray:
        """Rows that came without a label and get the suggested one."""
        return self.missing & ~self.decided & self.settings.fill_missing

    @property
    def decided(self) -> np.ndarray:
        """Rows whose label a person verified."""
        return np.zeros(len(self), dtype=bool) if self.verified is None else self.verified >= 0

    @property
    def _unseen(self) -> np.ndarray:
        """Rows whose label answers about others changed; in sets that an audit found with any action."""
        return np.zeros(len(self), dtype=bool) if self.audited is None else self.audited

    @property
    def compared(self) -> np.ndarray:
        """The class that speaks against each label: the suggested one, or else the best of the others."""
        return np.where(self.flagged | self.missing, self.judgement.suggested, self.judgement.rival)

    @property
    def held_back(self) -> np.ndarray:
        """Rows whose label stands although another is more probable, or would be without overlap."""
        other = self.judgement.posterior[np.arange(len(self)), self.judgement.rival]
        doubted = (self._own_posterior < other) | np.isin(self.judgement.halt, BY_OVERLAP)
        return ~self.missing & ~self.flagged & doubted & ~self.decided

    @property
    def contradicted(self) -> np.ndarray:
        """Rows for whose label (without one: the first class) fewer SVMs vote than for another class."""
        return self.votes.contradict(self.given)

    @property
    def label_quality(self) -> np.ndarray:
        """How credible the given label is, from 0 to 1, to rank labels by; NaN without one.

        Its probability, averaged with what it would be if a fifth of each class were wrong; the more
        overlap explains what looks wrong, the more the latter counts. So it also averages over noise that the
        rule does not know of: quality and confidence of a row do not add up to one, even with two classes.
        If SVMs were chosen from the data, it is also averaged with what the votes of the paper's smaller SVMs
        say (`votes.second`), where these predict the given labels about as well.
        `(1 - label_quality[rows]).sum()` is how many of these labels are expected to be wrong.
        """
        return self.judgement.quality

    @property
    def _numbers(self) -> np.ndarray:
        """The class number of each row after the action; -1 where there is still no label."""
        numbers = np.where(self.filled | self._fixed, self.judgement.suggested, self.given)
        return numbers if self.verified is None else np.where(self.decided, self.verified, numbers)

    @property
    def changed(self) -> np.ndarray:
        """Rows whose label differs from the given one; rows without a label do not count."""
        return ~self.missing & (self._numbers != self.given)

    @property
    def _fixed(self) -> np.ndarray:
        """Rows that get the suggested label in place of the given one."""
        return (self.flagged & (self.settings.action == "fix")) | self._unseen

    @property
    def kept(self) -> np.ndarray:
        """Rows that are still in the table; all but those that are dropped."""
        return ~(self.flagged & (self.settings.action == "drop")) | self._fixed

    @property
    def sample_weight(self) -> np.ndarray:
        """Weight of each row, flagged or not: the probability of its label if the action is "weight".

        It is one where something other than the rule, overlap or the user's limit on changes kept the
        label, and where a person decided.
        """
        weight = np.where(self.kept, 1.0, 0.0)
        if self.settings.action == "weight":
            free = np.isin(self.judgement.halt, (Halt.NONE, Halt.CAPPED, Halt.COPIES, *BY_OVERLAP))
            weight = np.where(free, self._own_posterior, 1.0)
            weight = np.where(self.missing, np.where(self.filled, self.confidence, 0.0), weight)
        return np.where(self.decided | self._unseen, 1.0, weight)

    @property
    def _own_posterior(self) -> np.ndarray:
        return self.judgement.posterior[np.arange(len(self)), np.maximum(self.given, 0)]

    @property
    def vote_share(self) -> np.ndarray:
        """Share of the SVMs that vote for the suggested label; NaN for a row that every SVM saw.

        For another judge it is the probability that the judge gives that label.
        """
        return self.votes.share[np.arange(len(self)), self.judgement.suggested]

    @property
    def confidence(self) -> np.ndarray:
        """Probability of the suggested label; with the rule "majority", its share of the votes.

        It is what the rule goes by, and takes the noise to be as estimated; `label_quality` does not.
        """
        if self._is_plain_vote:
            return self.vote_share
        return self.judgement.posterior[np.arange(len(self)), self.judgement.suggested]

    def share_out(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class in some rows, (n_rows, n_classes): one that adds up."""
        # That of the given label is its `label_quality`; the rest is shared out among the others as the rule
        # has them. So a suggestion is never more probable than that the given label is wrong.
        given, places = self.given[rows], np.flatnonzero(self.given[rows] >= 0)
        p, quality = self.judgement.posterior[rows].copy(), self.label_quality[rows][places]
        p[places, given[places]] = 0.0
        p[places] += np.finfo(float).tiny * (p[places].sum(axis=1, keepdims=True) == 0)
        p[places, given[places]] = 0.0
        p[places] *= ((1.0 - quality) / p[places].sum(axis=1))[:, None]
        p[places, given[places]] = quality
        return p

    @property
    def action(self) -> np.ndarray:
        """What is done about each row."""
        kinds = {"verified": self.decided, "missing": self.missing, "audited": self._unseen}
        return np.select([*kinds.values(), self.flagged], [*kinds, self.settings.action], "keep")

    @property
    def _is_plain_vote(self) -> bool:
        return self.settings.rule == "majority"
