"""The labels that follow from all that people did, and the table with them, in the format of the original.

Rows that nobody decided keep their given label, or follow the suggestion where the run flagged them or filled
a label in. After answers of an audit or a confirmation, what they prove is followed in any case, and of the
suggestions only those that stand. Rows that people left out are not written.
"""

import shlex
from contextlib import closing
from dataclasses import dataclass, replace
from operator import itemgetter, ne
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.desk.opened import Desk, open_acts, refuse_old
from subsvms.app.desk.questions import Confirm, Reach, Sample, Turns, list_answers, take
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.names import AUDIT, CORRECTED, FINAL
from subsvms.app.options import tell_flags, write_command
from subsvms.app.quoting import show
from subsvms.app.runs.answer_store import Answer
from subsvms.app.runs.describe import describe_audit
from subsvms.app.runs.folder import prepare_place
from subsvms.app.runs.outputs import get_ending, show_given
from subsvms.app.runs.parts import check_final, write_final
from subsvms.app.runs.record import Input, read_record
from subsvms.app.tables.files import find_output_format
from subsvms.app.tables.table import keep_rows, write_table
from subsvms.exceptions import Sentence, TableError, format_count, join_sentences


@dataclass(frozen=True, eq=False)
class Result:
    """What people answered about a run's folder, and what follows: nothing before the first answer."""

    turns: Turns | None  # the audit, the confirmation if there is no audit, or the target
    sample: Sample | None  # the rows of the estimate
    answers: list[Answer]  # all of them
    action: str  # of the run: it is for what is confirmed

    @classmethod
    def read(cls, desk: Desk) -> "Result":
        """Return what was found about a run that is open."""
        refuse_old(desk.folder, desk.decisions)
        begun, answers = desk.decisions.begun, desk.decisions.answers
        said = [answer for some in answers.values() for answer in some]
        scores = desk.read_scores() if said else None
        works: dict[str, Any] = {}
        with desk.fitting():
            for kind in (Confirm, Turns, Reach, Sample):
                if scores is not None and answers.get(kind.part):
                    works[kind.part] = kind.begin(begun[kind.part], scores)
                    take(works[kind.part], list_answers(answers, kind.part))
        turns = works.get("audit") or works.get("confirm") or works.get("until")
        return cls(turns, works.get("estimate"), said, desk.options.action)

    @property
    def answered(self) -> dict[int, Any]:
        """Labels that people gave, by row from 1; the audit, which asks again, counts more."""
        works = (work for work in (self.sample, self.turns) if work is not None)
        return {row + 1: label for work in works for row, label in work.labels.items()}

    @property
    def passed(self) -> dict[int, Any]:
        """Labels of sets that passed, without anybody having seen them, by row from 1."""
        if self.turns is None:
            return {}
        seen = {} if self.sample is None else self.sample.answers
        return {row + 1: label for row, label in self.turns.changed.items() if row not in seen}

    @property
    def unseen(self) -> dict[int, Any]:
        """Those of them that get this label: what is confirmed only if the run fixes labels."""
        acted = {} if self.action == "fix" else self.confirmed
        return {row: label for row, label in self.passed.items() if row not in acted}

    @property
    def confirmed(self) -> dict[int, Any]:
        """Those of them in what the run changed or held back: its action is for them."""
        confirmed = {} if self.turns is None else self.turns.confirmed
        return {row: label for row, label in self.passed.items() if row - 1 in confirmed}

    @property
    def standing(self) -> dict[int, Any]:
        """Suggestions of the run that stand, but are not followed by themselves, by row from 1."""
        stands = {} if self.turns is None else self.turns.list_standing(self.action)
        return {row + 1: label for row, label in stands.items()}

    @property
    def claims(self) -> list[str]:
        """What may be said, in sentences."""
        said = [] if self.turns is None else [self.turns.said]
        later = 0 if self.turns is None else len(self.turns.changed) - len(self.passed)
        if later:
            said.append(
                f"Of the labels changed without being seen {later} {'was' if later == 1 else 'were'} "
                "answered for the estimate, which counts more."
            )
        if self.sample is not None and self.sample.finished:
            said.append(self.sample.said)
        return said

    def describe(self) -> dict[str, Any] | None:
        """Return what the report says about it, plain values; None if nobody has answered."""
        if not self.answers:
            return None
        found: dict[str, Any] = {
            "claims": self.claims, "people": len({answer.who for answer in self.answers}),
            "last": max(answer.at for answer in self.answers), "figures": [], "sets": [],
            "stands": bool(self.standing),
        }  # fmt: skip
        if self.turns is not None:
            found |= describe_audit(self.turns.audit.outcome, len(self.unseen))
        return found


@dataclass(frozen=True)
class Labels:
    """The labels that a table gets, by row from 1, and where they come from; a row is in one of these."""

    decided: dict[int, Any]  # by people in a review
    answered: dict[int, Any]  # by people in an audit, or for an estimate
    unseen: dict[int, Any]  # of sets that passed, without anybody having seen them
    followed: dict[int, Any]  # suggestions
    dropped: set[int]  # rows that people left out

    @classmethod
    def find(cls, desk: ReviewDesk, result: Result, undecided: str) -> "Labels":
        """Return the labels that follow from all that people did."""
        followed = {}
        if undecided == "suggestion":
            fills = desk.options.fill_missing and desk.record.found.explained
            acted = np.flatnonzero((desk.flagged & (result.turns is None)) | ((desk.given < 0) & fills))
            followed = {int(desk.rows[i]): desk.labels[desk.suggested[i]] for i in acted} | result.standing
        dropped = {row for row, label in desk.settled.items() if label is None}
        if desk.options.action == "drop":
            dropped |= result.confirmed.keys() - desk.settled.keys() - result.answered.keys()
        taken, found = set(dropped), []
        for labels in (desk.settled, result.answered, result.unseen, followed):  # the first counts
            found.append({row: label for row, label in labels.items() if row not in taken})
            taken |= labels.keys()
        return cls(found[0], found[1], found[2], found[3], dropped)

    @property
    def known(self) -> set[int]:
        """The rows about which people or an audit said something."""
        return self.dropped | self.decided.keys() | self.answered.keys() | self.unseen.keys()


@dataclass(frozen=True)
class Applied:
    """A table with the labels that people decided."""

    path: Path
    labels: Labels
    n_rows: int  # rows that are written
    n_kept: int  # issues that nobody decided, and that stay as they were given
    differing: tuple[int, ...]  # labels that differ from the given ones: decided, answered, unseen, followed
    room: str = "audit"  # or "confirmation": where they were answered
    remarks: tuple[str, ...] = ()  # what may be said about them, in sentences

    @property
    def n_changed(self) -> int:
        """How many labels differ from the given ones, from whatever source."""
        return sum(self.differing)

    @property
    def sources(self) -> str:
        """Where the labels come from, as far as people and audits gave them."""
        if not self.labels.known:
            return "nobody has decided on a row"
        counts = [len(some) for some in (self.labels.decided, self.labels.answered, self.labels.unseen)]
        told = [
            "" if n == of else f" ({n:,} of them differ{'s' * (n == 1)})"
            for n, of in zip(self.differing, counts, strict=False)
        ]
        parts, (n_decided, n_answered, n_unseen) = [], counts
        if n_decided or not (n_answered or n_unseen):
            parts.append(f"{format_count(n_decided, 'row was', 'rows were')} decided by people{told[0]}")
        if n_answered:
            was = "" if parts else " was" if n_answered == 1 else " were"
            parts.append(f"{n_answered:,}{was} answered in the {self.room}{told[1]}")
        if n_unseen:
            by = "it" if n_answered else f"the {self.room}"
            parts.append(f"{format_count(n_unseen, 'was', 'were')} changed by {by} unseen{told[2]}")
        return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)

    @property
    def changed(self) -> str:
        """How many labels differ from the given ones."""
        differ = "differs from the one given" if self.n_changed == 1 else "differ from those given"
        return f"{self.n_changed:,} of {format_count(self.n_rows, 'label')} {differ}"

    @property
    def words(self) -> str:
        """What became of the labels, in sentences."""
        n_followed, n_dropped = len(self.labels.followed), len(self.labels.dropped)
        followed = format_count(n_followed, "follows the suggestion", "follow the suggestion")
        kept = format_count(self.n_kept, "keeps the label as given", "keep the label as given")
        rest = " and ".join([followed] * (n_followed > 0) + [kept] * (self.n_kept > 0))
        out = f" {format_count(n_dropped, 'row is left out.', 'rows are left out.')}" * (n_dropped > 0)
        others = "other issues" if self.labels.known else "issues"
        sources = self.sources
        return (
            f"{self.changed}. {sources[0].upper()}{sources[1:]}.{rest and f' Of the {others}, {rest}.'}{out}"
        )

    def __str__(self) -> str:
        return join_sentences([self.words, f"The table is in {self.path}.", *self.remarks])


def apply_labels(
    folder: str | Path, *, undecided: str = "keep", output: Path | None = None, force: bool = False
) -> Applied:
    """Write the table with the labels that people decided or answered, and those that an audit changes."""
    if undecided not in ("keep", "suggestion"):
        raise TableError("{undecided} must be keep or suggestion; got {got}.", got=show(undecided))
    with closing(ReviewDesk(folder, create=False)) as desk:
        path = _choose_output(desk, output, force=force)
        result = Result.read(desk)
        labels = Labels.find(desk, result, undecided)
        check_labels(desk, labels, undecided)
        write_decided(desk, path, labels, force=force)
        differing = tuple(
            sum(map(ne, some.values(), desk.source.labels_of(list(some))))
            for some in (labels.decided, labels.answered, labels.unseen, labels.followed)
        )
        n_rows = desk.source.n_rows - len(labels.dropped)
        n_kept = len(desk.place.keys() - labels.known - labels.followed.keys())
        remarks = (*result.claims, *remark_on_audit(desk, labels, result))
        room = "confirmation" if isinstance(result.turns, Confirm) else "audit"
        done = Applied(path, labels, n_rows, n_kept, differing, room, remarks)
        try:  # the report follows the table: without it, nothing was applied
            desk.add_to_report(result.describe(), _describe_final(desk, done, result.claims, undecided))
        except TableError as error:
            return replace(done, remarks=(*done.remarks, error.args[0]))
        return done


def check_labels(desk: ReviewDesk, labels: Labels, undecided: str) -> None:
    """Raise an error if there is nothing to write, or a decision about a row that does not exist."""
    n_rows, folder = desk.source.n_rows, str(desk.folder)
    if not labels.known and undecided == "keep":
        raise TableError(
            "Nothing has been decided in {folder!r}, so nothing was written: decide with subsvms review "
            "{command}, or follow the suggestions with {undecided=suggestion}.",
            folder=folder, command=shlex.quote(folder),
        )  # fmt: skip
    for row in (*labels.followed, *labels.known):
        if not 1 <= row <= n_rows:
            raise TableError(f"A decision is about row {row}, but the table has {n_rows} rows.")
    if len(labels.dropped) == n_rows:
        raise TableError("All rows are left out, so nothing was written: decide otherwise about some.")


def remark_on_audit(desk: ReviewDesk, labels: Labels, result: Result) -> list[str]:
    """Return what to know beside the claim: which rows were decided later, or are not as the run has them."""
    if result.turns is None:
        return []
    remarks = []
    later = len(desk.decisions.given_labels.keys() & (result.unseen.keys() | result.answered.keys()))
    if later:
        remarks.append(
            f"That is about the labels before {format_count(later, 'decision')} about the same rows on the "
            "review page, which count more."
        )
    known = labels.known | labels.followed.keys()
    undone = len(set(desk.rows[desk.flagged].tolist()) - known - result.standing.keys())
    if undone and desk.options.action == "fix":
        changed = format_count(undone, "label that the run changed is", "labels that the run changed are")
        them = "it" if undone == 1 else "them"
        remarks.append(f"{changed} as given here: answers did not confirm {them}.")
    standing, action = result.standing.keys() - known, desk.options.action
    proved = standing & result.confirmed.keys()
    told = {
        f"Confirmed, but left as given after the action {action}": len(proved),
        "Kept without a claim, but left as given": len(standing - proved),
    }
    for what, n in told.items():
        if n:
            words = "{what}: {n}, which {undecided=suggestion} follows."
            remarks.append(Sentence(words, what=what, n=format_count(n, "suggestion")))
    return remarks


def _choose_output(desk: ReviewDesk, output: Path | None, *, force: bool) -> Path:
    if desk.in_parts:
        path = desk.check_folder(Path(output or desk.folder / FINAL))
        prepare_place(path, force=force, check=check_final)
        return path
    path = Path(output or desk.folder / f"{FINAL}{get_ending(desk.table)}")
    find_output_format(path)
    desk.check_output(path, force=force)
    return path


def write_decided(desk: ReviewDesk, path: Path, new: Labels, *, force: bool) -> None:
    """Write the table with other labels in some rows, and without some."""
    changes = new.followed | new.unseen | new.answered | new.decided
    if desk.in_parts:
        write_final(desk.record, path, changes, new.dropped, force=force)
        return
    table = desk.table
    labels, keep = table.labels.copy(), np.ones(len(table), dtype=bool)
    for row, label in changes.items():
        labels[row - 1] = label
    keep[[row - 1 for row in new.dropped]] = False
    kept = table if keep.all() else keep_rows(table, keep)
    write_table(kept, path, labels[keep], show_given(kept), force=force)


def _describe_final(desk: ReviewDesk, done: Applied, claims: list[str], undecided: str) -> dict[str, Any]:
    inside = done.path.resolve().parent == desk.folder.resolve()
    folder = str(desk.folder)
    options: dict[str, Any] = {} if undecided == "keep" else {"undecided": undecided}
    options |= {} if inside else {"output": done.path}
    return {
        "file": done.path.name if inside else str(done.path), "title": desk.title,
        "before": CORRECTED if desk.in_parts else f"{CORRECTED}{get_ending(desk.table)}",
        "changed": done.changed, "words": done.words, "decided": bool(done.labels.known),
        "remarks": [tell_flags(remark) for remark in done.remarks if remark not in claims],
        "review": write_command("review", folder),
        "apply": write_command("apply", folder, **options, force=True),
    }  # fmt: skip


def read_verified(path: Path, label: str) -> tuple[tuple[tuple[int, Any], ...], Input]:
    """Return the label that people gave each row of an earlier run, None for rows left out, and its input.

    Answers of an audit count less than what was verified before the run, and that less than decisions. Labels
    that an audit changed without anybody having seen them are not among them.
    """
    record, folder = read_record(path), path if path.is_dir() else path.parent
    reviewed = record.options.label
    if reviewed != label:
        raise TableError(
            f"The decisions in {str(path)!r} are about the column {show(reviewed)}, not {show(label)}: "
            "give the folder of a run on the same labels."
        )
    with closing(open_acts(folder)) as decisions:
        decided, is_asked = decisions.given_labels, any(decisions.answers.values())
    answered = {}
    if is_asked or (folder / AUDIT).exists():
        with closing(Desk(folder)) as desk:
            answered = Result.read(desk).answered
    labels = answered | dict(record.options.verified) | decided
    if not labels:
        raise TableError(
            f"There are no decisions in {str(path)!r}: make some with subsvms review or subsvms audit."
        )
    return tuple(sorted(labels.items(), key=itemgetter(0))), record.input
