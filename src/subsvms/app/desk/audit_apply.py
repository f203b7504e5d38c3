"""Write the table with the labels after an audit, an estimate and a review, whichever there are."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from subsvms.app.desk.apply import Applied, Audited, apply_decisions
from subsvms.app.desk.desk import Desk
from subsvms.app.desk.result import Result, read_decisions, read_result, write_section
from subsvms.app.desk.review import format_count
from subsvms.app.names import AUDIT, CORRECTED
from subsvms.app.runs.options import write_command
from subsvms.app.runs.outputs import get_ending
from subsvms.exceptions import TableError


def apply_labels(
    folder: str | Path, *, undecided: str = "keep", output: Path | None = None, force: bool = False
) -> Applied:
    """Write the table with the labels that people decided or answered, and those that an audit changes."""
    opened: list[tuple[Desk, Result | None]] = []

    def find(run: Desk) -> Audited | None:
        result = read_result(run) if (run.folder / AUDIT).exists() else None
        opened.append((run, result))
        return None if result is None else find_audited(run, result)

    done = apply_decisions(folder, undecided=undecided, output=output, force=force, find_audited=find)
    for run, result in opened:  # the report follows the table: without it, nothing was applied
        try:
            claims = () if result is None else result.claims
            write_section(run, result, describe_final(run, done, claims, undecided))
        except TableError as error:
            done = replace(done, remarks=(*done.remarks, str(error)))
    return done


def describe_final(run: Desk, done: Applied, claims: Sequence[str], undecided: str) -> dict[str, Any]:
    """Return what the report says about the final table: plain values."""
    inside = done.path.resolve().parent == run.folder.resolve()
    folder = str(run.folder)
    options: dict[str, Any] = {} if undecided == "keep" else {"undecided": undecided}
    options |= {} if inside else {"output": done.path}
    return {
        "file": done.path.name if inside else str(done.path),
        "title": run.title,
        "before": CORRECTED if run.in_parts else f"{CORRECTED}{get_ending(run.table)}",
        "changed": done.changed,
        "words": done.words,
        "decided": done.decided,
        "remarks": [remark for remark in done.remarks if remark not in claims],
        "review": write_command("review", folder),
        "apply": write_command("apply", folder, **options, force=True),
    }


def find_audited(run: Desk, result: Result) -> Audited:
    """Return what an audit and an estimate found about a run."""
    remarks = list(result.claims)
    audited = {} if result.turns is None else result.unseen | result.answered
    later = len(read_decisions(run).keys() & audited.keys())
    if later:
        remarks.append(
            f"That is about the labels before {format_count(later, 'decision')} about the same rows on the "
            "review page, which count more."
        )
    return Audited(result.answered, result.unseen, tuple(remarks), complete=result.turns is not None)
