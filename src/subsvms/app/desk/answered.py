"""What people answered about a run's folder, and what follows: labels, claims, and what the report says."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsvms.app.desk.opened import Desk, open_acts, refuse_old
from subsvms.app.desk.questions import Confirm, Reach, Sample, Turns, forecast_targets, take
from subsvms.app.names import SCORE_PARTS, SCORES
from subsvms.app.runs.answer_store import Answer
from subsvms.app.runs.describe import describe_audit
from subsvms.app.runs.parquet_files import Scores, read_score_parts, read_scores
from subsvms.app.runs.record import read_record
from subsvms.app.tables.files import digest_file
from subsvms.exceptions import TableError


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
        works: dict[str, Any] = {}
        scores = read_own_scores(desk) if any(answers.values()) else None
        with desk.fitting():
            for kind in (Confirm, Turns, Reach, Sample):
                if scores is not None and answers.get(kind.part):
                    works[kind.part] = kind.begin(begun[kind.part], scores)
                    first = answers.get("confirm", []) if kind is Turns else []
                    take(works[kind.part], [*first, *answers[kind.part]])
        said = [answer for some in answers.values() for answer in some]
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
    def left_out(self) -> set[int]:
        """Rows that are left out because it is confirmed that their label is wrong."""
        return set(self.confirmed) if self.action == "drop" else set()

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
            said.append(str(self.sample.error_rate))
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
        return (
            found
            if self.turns is None
            else found | describe_audit(self.turns.audit.outcome, len(self.unseen))
        )


def read_own_scores(desk: Desk) -> Scores:
    """Return the scores of a run, as it wrote them: the order of the questions follows from them."""
    folder, source = desk.folder, desk.source
    if desk.in_parts:
        scores = read_score_parts(folder, source.label_type, source.classes, source.n_rows)
    else:
        scores = read_scores(folder, desk.table)
    for path in (folder / SCORE_PARTS).glob("*.parquet") if desk.in_parts else (folder / SCORES,):
        if digest_file(path) != desk.record.files.get(path.relative_to(folder).as_posix()):
            raise TableError(f"{str(path)!r} was changed after the run wrote it: run subsvms correct again.")
    return scores


def ask_forecasts(folder: Path, rates: list[float], **how: Any) -> dict[float, Any] | None:
    """Return about how many answers some targets take; None if one was begun and answered."""
    with closing(Desk(folder)) as desk:
        decided = desk.decisions.given_labels.keys()
        answered = desk.decisions.answers
        if answered.get("until"):
            return None
        known = {answer.row for answer in answered.get("estimate", [])}
        return forecast_targets(read_own_scores(desk), known | decided, rates, **how)


def count_answers(folder: Path) -> dict[str, int]:
    """Return the number of answers of each "audit", "confirm", "until" and "estimate" that was begun."""
    read_record(folder)  # an error says that this is not the folder of a run
    with closing(open_acts(folder)) as decisions:
        refuse_old(folder, decisions)
        return {part: len(answers) for part, answers in decisions.answers.items()}
