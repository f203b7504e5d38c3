"""The result of a correction: new labels, how sure they are, what changed and why."""

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from subsvms._callers import renamed_attribute
from subsvms._labels import name_labels
from subsvms._validation import check_rows
from subsvms.correction._choice import Choice
from subsvms.correction._copies import Witnesses
from subsvms.correction._frames import FrameStyle, build_frame, find_rows, list_carriers, list_rows
from subsvms.correction._groups import Kin
from subsvms.correction._html import render_html
from subsvms.correction._noise import NoiseEstimate
from subsvms.correction._notes import (
    NOTED,
    Case,
    Found,
    format_held_back,
    format_keeper,
    format_many,
    format_reason,
)
from subsvms.correction._rule import Halt
from subsvms.correction._verdicts import Verdicts
from subsvms.exceptions import InputError, format_rates

FEWEST_LISTED = 50  # with fewer flagged or held back, the most doubtful of the others are suspicious, too


@dataclass(frozen=True, eq=False, kw_only=True)
class Correction(Verdicts):
    """What is thought of each label, and what is done about it. Rows are in the user's order.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    given, verified : ndarray of int of shape (n_rows,)
        Class numbers, as given and as people decided; -1 where there is none. (`verified` may be None.)
    judgement : Judgement
        Probabilities and suggestions, row by row.
    votes : Votes
        Out-of-bag votes; for rows without a label, the votes of all SVMs. For another judge its
        probabilities: as shares of the votes of one voter.
    noise : NoiseEstimate
        How often each class is given another label, and what share of the labels the votes contradict.
    withstands : ndarray of int of shape (n_rows,) or None
        Number of changed labels that the winner of the vote on this row certainly survives; None, and not
        in the frame, for judges other than SVMs, about which nothing is proved. 0 for rows of groups.
    level : float
        How sure each of these certificates is.
    settings : Settings
        What the user asked for.
    witnesses : Witnesses or None
        Unsuspicious rows to compare the flagged rows with; None if X does not hold finite numbers.
    audited : ndarray of bool of shape (n_rows,) or None
        Labels that answers changed unseen: in sets that an audit found, whatever the action is.
    audit : Outcome or None
        Of that audit; `print(correction.audit.claim)` says what may be said after it.
    choice : Choice or None
        The SVMs that were chosen from the data, and what they were compared with; None if they were given.
    judge : str or None
        Who judged, in words, if not SVMs.
    consensus : Consensus or None
        What several people's answers say, if these judged the labels of the majority (`subsvms.annotators`).
    kin : Kin or None
        Rows that are copies of each other, and equal rows with different labels, by their numbers.
    style, origin
        The data frame library of the user's table, and the table, if `correct_table` read it.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms import correct_labels
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat(["cat", "dog"], 300)
    >>> X = rng.normal(0.3 + 0.4 * (clean == "dog")[:, None], 0.12, (600, 4))
    >>> y = np.where(np.arange(600) < 60, "dog", clean)  # a fifth of the cats
    >>> correction = correct_labels(X, y, random_state=0)
    >>> correction.labels[:3], correction.changed[:3]
    (array(['cat', 'cat', 'cat'], dtype='<U3'), array([ True,  True,  True]))
    >>> print(correction.explain(0))
    fix: 100 % of 938 SVMs vote 'cat', the label is 'dog'; probability of 'cat' is 0.949, the largest
    """

    classes: np.ndarray
    noise: NoiseEstimate
    withstands: Any
    level: float
    witnesses: Witnesses | None = None
    audit: Any = None
    style: FrameStyle = FrameStyle()
    choice: Choice | None = None
    judge: str | None = None
    consensus: Any = None  # of several people, in place of the rule: `subsvms.annotators`
    kin: Kin | None = None  # rows that are copies of each other, if they were looked for
    origin: Any = None  # of `correct_table`: it shows rows, and makes the report and the review

    certainty = renamed_attribute("certainty", "level")

    def __repr__(self) -> str:
        found, right = self._found, ""
        # A plain vote gives no probabilities, and those from before an audit know nothing of its answers.
        if found.n_changed and not self._is_plain_vote and self.audit is None:
            sure = np.where(self.decided, 1.0, self.confidence)  # people are taken to be right
            right = f", about {sure[self.changed].sum():.0f} rightly"
        noise = self.noise
        rates = format_rates(noise.error_rate, noise.error_rate_interval, noise.contradicted, self.judge)
        counted = f"{found.n_flagged} of {found.n_labels} labels flagged, {found.n_changed} changed{right}"
        before = "" if self.audit is None else " before the answers"
        return f"Correction({counted}, {rates}{before})"

    @property
    def _found(self):
        flagged, unknown = self.flagged, self._is_plain_vote or not self.flagged.any()
        return Found(
            n_labels=int(np.sum(self.given >= 0)), n_flagged=int(flagged.sum()), action=self.settings.action,
            n_changed=int(self.changed.sum()),
            n_unseen=None if self.audited is None else int(self._unseen.sum()),
            explained=self.noise.explained,
            precision=None if unknown else float(self.confidence[flagged].mean()),
            n_standing=0 if self.audit is None else int(self.changed[self.audit.claim.standing].sum()),
            judge=self.judge,
        )  # fmt: skip

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know: what may be wrong (a warning, too), changes held back, columns that were not used."""
        unused = () if self.origin is None else self.origin.remarks
        halts = Counter(self.judgement.halt[self.held_back].tolist())
        named = [halt for halt in Halt if halts[halt] and halt not in NOTED]  # those have their own
        kept_by = [(format_keeper(halt, self.settings, self.judge), halts[halt]) for halt in named]
        held_back = [format_held_back(int(self.flagged.sum()), kept_by)] if kept_by else []
        copies = self.kin.tell() if self.kin else []
        return (*self._cautions, *self._many, *held_back, *copies, *unused)

    @property
    def _cautions(self):
        return self.judgement.notes if self.origin is None else (*self.judgement.notes, *self.origin.notes)

    @property
    def _many(self):
        if self.consensus is not None:
            return ()
        labels = self.given[self.flagged], self.given[~self.missing], self.judgement.suggested[self.flagged]
        flagged, sizes, joined = (np.bincount(one, minlength=len(self.classes)).tolist() for one in labels)
        limits, notes = self.noise.rate_interval, self.judgement.notes
        return format_many(self.classes.tolist(), flagged, sizes, joined, limits, notes)

    @property
    def suggested_labels(self) -> np.ndarray:
        """The labels that the rule would give."""
        return self.classes[self.judgement.suggested]

    @property
    def labels(self) -> np.ndarray:
        """The labels after the action, of the same type as the given ones; None where there is none."""
        return name_labels(self.classes, self._numbers)

    @property
    def reason(self) -> list[str]:
        """Why, in words: the vote, the probability and the threshold of each row."""
        return self._explain(np.arange(len(self)))

    @overload
    def explain(self, rows: int) -> str: ...
    @overload
    def explain(self, rows: Any = None, *, index: Any = None) -> Any: ...
    def explain(self, rows: Any = None, *, index: Any = None) -> Any:
        """Return the reason for one row, in words; a list for several.

        Parameters
        ----------
        rows : int, array-like of int, or array-like of bool of shape (n_rows,)
            Row numbers in the user's order, from 0, whatever the index of a data frame says; or which rows.
        index : label or list of labels
            Instead of `rows`: labels of the index of a pandas data frame, as for `loc`.
        """
        if (rows is None) == (index is None):
            raise InputError("Give either rows, by number from 0, or index, labels of a data frame's index.")
        try:
            numbers = check_rows(rows, len(self)) if index is None else find_rows(self.style, index)
        except InputError as error:
            if index is not None or self.style.index is None:
                raise
            raise InputError(f"{error} Labels of the index are given as explain(index=...).") from None
        reasons = self._explain(np.atleast_1d(numbers))
        return reasons if numbers.ndim else reasons[0]

    def _explain(self, rows):
        if self.consensus is not None:
            acts = self.action[rows].tolist()
            return [f"{act}: {why}" for act, why in zip(acts, self.consensus.explain(rows), strict=True)]
        names = [repr(name) for name in self.classes.tolist()]
        compared = self.compared[rows]
        columns = {
            "given": self.given[rows], "compared": compared, "n_voters": self.votes.n_voters[rows],
            "winner": self.votes.counts[rows].argmax(axis=1),
            "n_votes": self.votes.counts[rows].max(axis=1), "p_given": self._own_posterior[rows],
            "p_compared": self.judgement.posterior[rows, compared], "action": self.action[rows],
            "halt": self.judgement.halt[rows],
        }  # fmt: skip
        cases = map(Case, *(columns[name].tolist() for name in Case._fields))
        return [format_reason(case, names, self.settings, self.judge) for case in cases]

    def to_frame(self, *, witnesses: bool = False, carriers: bool = False) -> Any:
        """Return a data frame with a line for each row: pandas with the user's index, or polars with numbers.

        Parameters
        ----------
        witnesses : bool, default=False
            Whether to add the columns `supporting` and `opposing`: for a flagged row the nearest unsuspicious
            rows with the suggested label, and with the given one.
        carriers : bool, default=False
            Whether to add the columns `flips`, `carriers` and `carried`, after `correct_table`: for a flagged
            row with whose suggestion a second judge, a linear committee, agrees, how many labels would have
            to be wrong for its verdict to turn; the five rows whose labels weigh most; and the share of the
            lead that each of them carries.

        Returns
        -------
        DataFrame
            Of the user's library; for arrays and Arrow of pandas, or else polars, where `index` has the
            number of the row. `withstands` is about the winner of the vote, which is not `suggested_label`
            where the rule keeps a label against the vote; it is left out if other judges than SVMs judged.
        """
        columns: dict[str, Any] = {
            "is_label_issue": self.flagged, "label_quality": self.label_quality,
            "given_label": name_labels(self.classes, self.given), "suggested_label": self.suggested_labels,
            "corrected_label": self.labels, "vote_share": self.vote_share, "confidence": self.confidence,
            "withstands": self.withstands, "action": self.action, "reason": self.reason,
        }  # fmt: skip
        if self.withstands is None:
            del columns["withstands"]
        if witnesses:
            if self.witnesses is None:
                advice = "correct with n_witnesses above 0 and finite numbers in X"
                raise ValueError(f"There are no witnesses: {advice}.")
            for name in ("supporting", "opposing"):
                found = getattr(self.witnesses, name)
                columns[name] = list_rows(self.style, len(self), self.witnesses.rows, found)
        if carriers:
            flagged = np.flatnonzero(self.flagged)
            found = self._need_origin("look for carriers in").find_carriers(self, flagged)
            columns |= list_carriers(self.style, len(self), flagged, found)
        return build_frame(columns, self.style)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what was found, the worst rows, and where to go on."""
        return render_html(self)

    def report(self, path: str | os.PathLike) -> Any:
        """Write a page to pass on, such as "report.html", and return its path; a file there is replaced."""
        return self._need_origin("report on").write_report(self, path)

    def review(
        self, folder: str | os.PathLike | None = None, *, port: int | None = None, browser: bool = True,
        block: bool | None = None,
    ) -> Any:  # fmt: skip
        """Open a page on this machine on which people decide about the suspicious labels, worst first.

        Parameters
        ----------
        folder : path-like, optional
            Where to keep the table, what was found, and the decisions, as `subsvms correct` does; by default
            a new temporary folder. If it holds this correction already, its review goes on.
        port : int, default=None
            The first to try, by default that of `subsvms review`; ports in use are skipped.
        browser : bool, default=True
        block : bool, default=None
            Whether to wait until Ctrl-C. By default only programs wait; notebooks and consoles go on.

        Returns
        -------
        Review
            With `address`, `folder`, `decided` (what people decided, for `verified=`) and `close()`.
        """
        return self._need_origin("review").open_review(self, folder, port=port, browser=browser, block=block)

    def _need_origin(self, what):
        if self.origin is None:
            kept = "correct_table keeps the table that it reads, correct_labels does not"
            raise InputError(f"There is no table to {what}: {kept}.")
        return self.origin


def list_suspicious(correction: Correction) -> np.ndarray:
    """Return the suspicious rows: flagged, held back, the most doubtful of the others, without a label."""
    # Before them come equal rows with different labels, if they are rare. Each kind has its worst first. Rows
    # that people decided are not among them.
    flagged, held_back, undecided = correction.flagged, correction.held_back, ~correction.decided
    first = list_first(correction)
    flagged, held_back = flagged.copy(), held_back.copy()
    for kind in (flagged, held_back, undecided):
        kind[first] = False
    plain = undecided & ~correction.missing & ~flagged & ~held_back & (correction.votes.n_voters > 0)
    kinds = (flagged, held_back, plain, correction.missing & undecided)
    parts = [np.flatnonzero(which) for which in kinds]
    parts = [part[np.argsort(correction.label_quality[part], kind="stable")] for part in parts]
    n_more = FEWEST_LISTED - len(first) - len(parts[0]) - len(parts[1])
    parts[2] = parts[2][: max(0, n_more) if correction.noise.explained else 0]
    return np.concatenate([first, *parts])


def list_first(correction: Correction) -> np.ndarray:
    """Return equal rows with different labels, if they are rare: the most doubtful first, set by set."""
    sets = [] if correction.kin is None else correction.kin.first
    sets = [rows[~correction.decided[rows]] for rows in sets]
    quality = correction.label_quality
    sets = [rows[np.argsort(quality[rows], kind="stable")] for rows in sets if len(rows)]
    sets.sort(key=lambda rows: quality[rows[0]])
    return np.concatenate([np.zeros(0, dtype=int), *sets])
