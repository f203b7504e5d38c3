"""What an audit, and an estimate, found: labels for the table, sentences, and a section of the report."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from subsvms._atomic import explaining, write_whole
from subsvms.app.desk.desk import Desk
from subsvms.app.desk.store import AuditFile, Book
from subsvms.app.desk.turns import Sample, Turns, begin_sample, begin_turns, check_state, take
from subsvms.app.names import AUDIT, DECISIONS, RECORD, REPORT, SCORES
from subsvms.app.report import place_audit, place_final
from subsvms.app.runs.decisions import Decisions, holds_decisions
from subsvms.app.runs.describe import describe_audit
from subsvms.app.runs.scores import Scores, read_scores
from subsvms.app.tables.files import digest_bytes, digest_file
from subsvms.exceptions import InputError, TableError


@dataclass(frozen=True, eq=False)
class Result:
    """What people answered about a run's folder, and what follows."""

    book: Book
    turns: Turns | None  # the audit
    sample: Sample | None  # the rows of the estimate

    @property
    def answered(self) -> dict[int, Any]:
        """Labels that people gave, by row from 1; the audit, which asks again, counts more."""
        works = (work for work in (self.sample, self.turns) if work is not None)
        return {row + 1: label for work in works for row, label in work.labels.items()}

    @property
    def unseen(self) -> dict[int, Any]:
        """Labels that the audit changes without anybody having seen them, by row from 1."""
        if self.turns is None:
            return {}
        seen = {} if self.sample is None else self.sample.answers
        return {row + 1: label for row, label in self.turns.changed.items() if row not in seen}

    @property
    def claims(self) -> list[str]:
        """What may be said, in sentences."""
        audited = [] if self.turns is None else [self.turns.said]
        later = 0 if self.turns is None else len(self.turns.changed) - len(self.unseen)
        if later:
            audited.append(
                f"Of the labels changed without being seen {later} {'was' if later == 1 else 'were'} "
                "answered for the estimate, which counts more."
            )
        known = self.sample is not None and self.sample.finished
        return audited + ([str(self.sample.error_rate)] if known and self.sample is not None else [])


def read_result(run: Desk, scores: Scores | None = None) -> Result:
    """Return what was found about a run that is open; without an audit.json, nothing."""
    file = AuditFile(run.folder)
    book = file.read()
    if book.audit is None and book.estimate is None:
        return Result(book, None, None)
    scores = read_own_scores(run) if scores is None else scores
    turns = sample = None
    try:
        if book.audit is not None:
            turns = begin_turns(book.audit, scores)
            take(turns, book.audit.answers)
            check_state(turns, book.audit)
        if book.estimate is not None:
            sample = begin_sample(book.estimate, scores)
            take(sample, book.estimate.answers)
    except InputError as error:
        raise file.misfit(error) from None
    return Result(book, turns, sample)


def read_own_scores(run: Desk) -> Scores:
    """Return the scores of a run, as it wrote them: the order of the questions follows from them."""
    scores = read_scores(run.folder, run.table)
    if digest_file(run.folder / SCORES) != run.record.files.get(SCORES):
        raise TableError(
            f"{str(run.folder / SCORES)!r} was changed after the run wrote it: run subsvms correct again."
        )
    return scores


def read_answered(folder: Path) -> dict[int, Any]:
    """Return the labels that people gave in the audit and for the estimate of a folder, by row from 1.

    Those that an audit changed without anybody having seen them are not among them.
    """
    if not (folder / AUDIT).exists():
        return {}
    return read_result(Desk(folder, "its audit")).answered


def read_decisions(run: Desk) -> dict[int, Any]:
    """Return the labels that people decided on the review page, by row from 1; None for rows left out."""
    path = run.folder / DECISIONS
    if not holds_decisions(path):
        return {}
    decisions = Decisions(path, run.folder / RECORD, labels=run.labels)
    try:
        return {
            row: one.label
            for row, one in decisions.current.items()
            if one.label is not None or one.verdict == "drop"
        }
    finally:
        decisions.close()


# The report


def write_section(run: Desk, result: Result | None, final: Mapping[str, Any] | None = None) -> None:
    """Write what was found into the report of the run; without these sections it is as the run wrote it."""
    path = run.folder / REPORT
    with explaining(path):
        page = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        before = place_audit(place_final(page, None) or "", None)
        if before is None or digest_bytes(before.encode()) != run.record.report:
            raise TableError(
                f"{str(path)!r} was changed after the run wrote it, so nothing was added to it: restore it."
            )
        after: Any = page
        if result is not None:
            told = describe_result(result)
            if final is None:
                told["apply"] = shlex.join(["subsvms", "apply", str(run.folder)])
            after = place_audit(page, told)
        after = after if final is None else place_final(after, final)
        if after != page:
            write_whole(path, after.encode())


def describe_result(result: Result) -> dict[str, Any]:
    """Return what the report says about an audit and an estimate: plain values."""
    book = result.book
    answers = [answer for part in (book.audit, book.estimate) if part is not None for answer in part.answers]
    found: dict[str, Any] = {
        "claims": result.claims,
        "people": len({answer.who for answer in answers}),
        "last": max((answer.at for answer in answers), default=None),
        "figures": [],
        "rings": [],
    }
    if result.turns is not None:
        outcome = replace(result.turns.audit.outcome, claim=result.turns.claim)
        found |= describe_audit(outcome, len(result.unseen))
    return found
