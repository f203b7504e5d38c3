"""Write the table with the labels after an audit, an estimate and a review, whichever there are."""

from dataclasses import replace
from pathlib import Path

from subsvms.app.audit.result import Result, read_decisions, read_result, write_section
from subsvms.app.review.apply import Applied, Audited, apply_decisions
from subsvms.app.review.desk import format_count
from subsvms.app.runs.names import AUDIT
from subsvms.app.runs.opened import OpenedRun
from subsvms.exceptions import TableError


def apply_labels(
    folder: str | Path, *, undecided: str = "keep", output: Path | None = None, force: bool = False
) -> Applied:
    """Write the table with the labels that people decided or answered, and those that an audit changes.

    Parameters
    ----------
    folder : path-like
        Of a run.
    undecided, output, force
        As in `subsvms.app.review.apply.apply_decisions`.
    """
    found: list[tuple[OpenedRun, Result]] = []

    def find(run: OpenedRun) -> Audited | None:
        if not (run.folder / AUDIT).exists():
            return None
        found.append((run, read_result(run)))
        return find_audited(*found[-1])

    done = apply_decisions(folder, undecided=undecided, output=output, force=force, find_audited=find)
    for run, result in found:  # the report follows the table: without it, nothing was applied
        try:
            write_section(run, result)
        except TableError as error:
            done = replace(done, remarks=(*done.remarks, str(error)))
    return done


def find_audited(run: OpenedRun, result: Result) -> Audited:
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
