"""What an audit, and an estimate, found: labels for the table, sentences, and a section of the report."""

import shlex
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from subsvms._atomic import explaining, write_whole
from subsvms.app.desk.desk import Desk, open_acts
from subsvms.app.desk.questions import Sample, Turns, take
from subsvms.app.names import REPORT, SCORE_PARTS, SCORES
from subsvms.app.report import place_audit, place_final
from subsvms.app.runs.acts import Answer
from subsvms.app.runs.describe import describe_audit
from subsvms.app.runs.record import Input, read_record
from subsvms.app.runs.scores import Scores
from subsvms.app.tables.files import digest_bytes, digest_file
from subsvms.app.words import show
from subsvms.exceptions import InputError, TableError


@dataclass(frozen=True, eq=False)
class Result:
    """What people answered about a run's folder, and what follows."""

    turns: Turns | None  # the audit
    sample: Sample | None  # the rows of the estimate
    answers: list[Answer]  # all of them

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


def read_result(desk: Desk) -> Result | None:
    """Return what was found about a run that is open; None without an audit or an estimate."""
    begun, answers = desk.decisions.begun, desk.decisions.answers
    if not begun:
        return None
    scores, turns, sample = read_own_scores(desk), None, None
    try:
        if "audit" in begun:
            turns = Turns.begin(begun["audit"], scores)
            take(turns, answers["audit"])
        if "estimate" in begun:
            sample = Sample.begin(begun["estimate"], scores)
            take(sample, answers["estimate"])
    except InputError as error:
        raise desk.misfit(error) from None
    return Result(turns, sample, [answer for some in answers.values() for answer in some])


def read_own_scores(desk: Desk) -> Scores:
    """Return the scores of a run, as it wrote them: the order of the questions follows from them."""
    scores = desk.source.read_scores()
    parts = (desk.folder / SCORE_PARTS).glob("*.parquet")
    for path in parts if desk.in_parts else (desk.folder / SCORES,):
        name = path.relative_to(desk.folder).as_posix()
        if digest_file(path) != desk.record.files.get(name):
            raise TableError(f"{str(path)!r} was changed after the run wrote it: run subsvms correct again.")
    return scores


def read_answered(folder: Path) -> dict[int, Any]:
    """Return the labels that people gave in the audit and for the estimate of a folder, by row from 1."""
    with closing(Desk(folder)) as desk:
        result = read_result(desk)
        return {} if result is None else result.answered


def list_begun(folder: Path) -> set[str]:
    """Return which of "audit" and "estimate" were begun in the folder of a run."""
    read_record(folder)  # an error says that this is not the folder of a run
    with closing(open_acts(folder)) as decisions:
        return set(decisions.begun)


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
        decided, is_audited = decisions.given_labels, bool(decisions.begun)
    answered = read_answered(folder) if is_audited else {}
    labels = answered | dict(record.options.verified) | decided
    if not labels:
        raise TableError(
            f"There are no decisions in {str(path)!r}: make some with subsvms review or subsvms audit."
        )
    return tuple(sorted(labels.items(), key=itemgetter(0))), record.input


# The report


def write_section(desk: Desk, result: Result | None, final: Mapping[str, Any] | None = None) -> None:
    """Write what was found into the report of the run; without these sections it is as the run wrote it."""
    path = desk.folder / REPORT
    with explaining(path):
        page = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        before = place_audit(place_final(page, None) or "", None)
        if before is None or digest_bytes(before.encode()) != desk.record.report:
            raise TableError(
                f"{str(path)!r} was changed after the run wrote it, so nothing was added to it: restore it."
            )
        after: Any = page
        if result is not None:
            told = describe_result(result)
            if final is None:
                told["apply"] = shlex.join(["subsvms", "apply", str(desk.folder)])
            after = place_audit(page, told)
        after = after if final is None else place_final(after, final)
        if after != page:
            write_whole(path, after.encode())


def describe_result(result: Result) -> dict[str, Any]:
    """Return what the report says about an audit and an estimate: plain values."""
    found: dict[str, Any] = {
        "claims": result.claims,
        "people": len({answer.who for answer in result.answers}),
        "last": max((answer.at for answer in result.answers), default=None),
        "figures": [],
        "rings": [],
    }
    if result.turns is not None:
        outcome = replace(result.turns.audit.outcome, claim=result.turns.claim)
        found |= describe_audit(outcome, len(result.unseen))
    return found
