"""Write the table with the labels after an audit, an estimate and a review, whichever there are."""

from pathlib import Path

from subsvms.app.audit.result import read_decisions, read_result, write_section
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
    return apply_decisions(folder, undecided=undecided, output=output, force=force, find_audited=find_audited)


def find_audited(run: OpenedRun) -> Audited | None:
    """Return what an audit and an estimate found about a run; the report is written again with it."""
    if not (run.folder / AUDIT).exists():
        return None
    result = read_result(run)
    remarks = list(result.claims)
    audited = {} if result.turns is None else result.unseen | result.answered
    later = len(read_decisions(run).keys() & audited.keys())
    if later:
        remarks.append(
            f"That is about the labels before {format_count(later, 'decision')} about the same rows on the "
            "review page, which count more."
        )
    try:
        write_section(run, result)
    except TableError as error:
        remarks.append(str(error))
    return Audited(result.answered, result.unseen, tuple(remarks), complete=result.turns is not None)
