"""Whether the labels of a table pass, for pipelines: two questions, whose answers do not flicker.

*Errors by class.* It fails if the lower end of `NoiseEstimate.error_rate_interval` is above the limit. The
share of labels that the votes contradict is said beside it and decides nothing: overlap looks the same.

*New rows.* A baseline knows the rows that were accepted. Of the N_c rows that are given label c, let the
votes contradict K_c, and let m_c be new. If new rows with a label come from where the known ones with that
label came from, any m_c of the N_c are as likely to be the new ones, however a table is judged: so the number
of contradicted new rows is a sum over c of independent hypergeometric (N_c, K_c, m_c). If so many or more
have a probability below `CHANCE`, it fails; so do at most this share of commits with rows like those before.
Of few wrong labels the rule often changes none, so as to do no harm; the votes contradict most of them.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from subsvms._labels import Classes
from subsvms.app import names
from subsvms.app.options import CheckOptions, Options, Work, write_command
from subsvms.app.quoting import name_some
from subsvms.app.runs.baseline import Baseline, Compared, check_place, hash_rows, list_columns
from subsvms.app.runs.job import read_input
from subsvms.app.runs.record import get_version
from subsvms.app.runs.run import Run, run_in_memory
from subsvms.app.runs.summary import Estimated, describe_noise, format_noise, name_table
from subsvms.app.tables.files import check_target
from subsvms.app.tables.table import LabelledTable, read_table
from subsvms.app.tables.text import TableText
from subsvms.exceptions import Note, Sentence, TableError, format_percent, is_rate_known

FORMAT = 1  # of the JSON: raised when a program could misread it
PASSED, FAILED, UNKNOWN = "passed", "failed", "unknown"
EXIT_CODES = {FAILED: 1, UNKNOWN: 2, PASSED: 0}  # the first outcome of a criterion is that of the check
CHANCE = 0.01  # of commits that add rows like those before, and fail


class Reviewed(NamedTuple):
    """Labels that people decided in the folder of a run, by row from 1; None for rows that they left out."""

    folder: Path
    labels: dict[int, Any]

    def hash(self, options: Options, columns: Sequence[str]) -> frozenset[str]:
        """Return these rows with these labels as `hash_rows` has them; the run's table may have changed."""
        found = sorted(self.folder.glob(f"{names.CORRECTED}.*"))
        table = read_table(found[0], options.label, **options.reading) if found else None
        if table is None or max(self.labels) > len(table):
            raise TableError(f"{str(self.folder)!r} does not hold the whole table: accept all of its rows.")
        labels = table.labels.copy()
        for row, label in self.labels.items():
            labels[row - 1] = label
        rows = hash_rows(table, columns, labels)
        return frozenset(rows[row - 1] for row, label in self.labels.items() if label is not None)


def check_table(
    where: str, options: Options, asked: CheckOptions, work: Work, reviewed: Reviewed | None = None
) -> dict[str, Any]:
    """Return what a check finds, in values that JSON can hold; write a new baseline, if asked to."""
    table, options, _ = read_input(where, options)
    notes, known, compared, baseline = list[Note](), None, None, asked.baseline
    target = Path()
    if baseline is not None:
        if asked.accept:
            target = check_place(check_target(baseline, table.paths, force=True))
            known = accept_rows(table, options, baseline, reviewed)
        else:
            known = Baseline.read(baseline, options.label)
        compared = known.compare(table, baseline)
        added = [name for name in list_columns(table, options.exclude) if name not in known.columns]
        if added:
            words = "{file!r} does not know the columns {added}, and knows rows by the others{accept:aside}."
            notes.append(Note("columns", words, file=str(baseline), added=name_some(added)))
    how: dict[str, Any] = {"features": work.features, "device": work.device}
    run = run_in_memory(table, options, n_jobs=work.n_jobs or -1, **how)
    about = None if known is None else {"file": str(baseline), "rows": known.rows.total()}
    found = judge_run(run, asked.fail_above, notes, about, compared)
    if known is None or not asked.accept:
        return found
    known.write(target)
    words = f"{baseline} now knows {known.rows.total():,} rows: commit it."
    return found | {"next": [words, *found["next"]]}


def accept_rows(table: LabelledTable, options: Options, path: Path, reviewed: Reviewed | None) -> Baseline:
    """Return a baseline of all rows of a table, or of those that the one before knew or people decided."""
    if reviewed is None:
        columns = list_columns(table, options.exclude)
        return Baseline(options.label, columns, Counter(hash_rows(table, columns)))
    before = Baseline.read(path, options.label)
    new, decided = before.compare(table, path).new, reviewed.hash(options, before.columns)
    rows = zip(hash_rows(table, before.columns), new, strict=True)
    kept = (row for row, is_new in rows if row in decided or not is_new)
    return Baseline(options.label, before.columns, Counter(kept))


def judge_run(
    run: Run, fail_above: float | None, notes: Sequence[Note] = (), about: dict[str, Any] | None = None,
    compared: Compared | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Answer both questions about what a run found."""
    noise, correction, label = describe_noise(run), run.correction, run.options.label
    listed, criteria = correction.flagged, []
    if fail_above is not None:
        criteria.append(judge_rate(noise, fail_above))
    if compared is not None and about is not None:
        new, contradicted = compared.new, correction.contradicted & ~correction.missing
        about |= {
            "known": int((~new).sum()), "new": int(new.sum()), "relabelled": int(compared.relabelled.sum()),
            "gone": compared.n_gone, "contradicted_known": int((contradicted & ~new).sum()),
            "contradicted_new": int((contradicted & new).sum()), "fails_below": CHANCE,
            "chance": measure_chance(contradicted, new, correction.given),
        }  # fmt: skip
        criteria.append(judge_new(noise, about))
        listed = new & (listed | contradicted if criteria[-1]["outcome"] == FAILED else listed)
    found = {one["outcome"] for one in criteria}
    outcome = next((one for one in EXIT_CODES if one in found), PASSED)
    place = run.table.paths[0] if len(run.table.paths) == 1 else None
    file = str(place) if isinstance(place, Path) else None
    steps = [f"To look at the labels: {write_command('correct', file or 'FILE', label=label)}"]
    if about is not None:
        words = (
            "Once people decided about them, and the table has what they decided: the same command with "
            "{accept} and {decisions}; {accept} alone takes all rows as they are."
        )
        steps.append(Sentence(words))
    return {
        "format": FORMAT, "version": get_version("subsvms"), "outcome": outcome,
        "exit_code": EXIT_CODES[outcome], "table": name_table(run),
        "file": file, "label": label, "rows": len(correction),
        "labels": run.tally.labelled,
        "words": format_noise(noise, label, run.tally.labelled, correction.judge),
        "fail_above": fail_above, "error_rate": noise.error_rate,
        "error_rate_interval": noise.error_rate_interval, "contradicted_share": noise.contradicted_share,
        "unused": list(run.features.left_out), "flagged": run.tally.n_flagged,
        "baseline": about, "criteria": criteria,
        "suspicious": list_rows(run, listed, compared),
        "notes": [*notes, *run.table_notes], "next": [] if outcome == PASSED else steps,
    }  # fmt: skip


def measure_chance(contradicted: np.ndarray, new: np.ndarray, given: np.ndarray) -> float:
    """Return the probability of so many contradicted new rows or more, if any rows of a label may be new."""
    from scipy.signal import convolve  # fast also for thousands of counts

    n_found, weights = int((contradicted & new).sum()), np.ones(1)
    for label in np.unique(given[given >= 0]):
        own = given == label
        total, n_wrong, n_new = (int((own & rows).sum()) for rows in (own, contradicted, new))
        k = np.arange(min(n_wrong, n_new) + 1)
        ways = log_choose(n_wrong, k) + log_choose(total - n_wrong, n_new - k) - log_choose(total, n_new)
        weights = convolve(weights, np.exp(ways))  # hypergeometric
    return float(np.clip(weights[n_found:].sum(), 0.0, 1.0)) if n_found else 1.0


def log_choose(n: int, k: Any) -> Any:
    """Return the logarithm of n over k; minus infinity if k is not between 0 and n."""
    from scipy.special import gammaln

    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def judge_rate(noise: Estimated, limit: float) -> dict[str, str]:
    """Say whether surely more labels are wrong, by errors that depend on the class alone, than the limit."""
    low, high = noise.error_rate_interval
    if low > limit:
        outcome, words = FAILED, f"the lower end of the interval is above the limit, {format_percent(limit)}"
    elif not noise.explained or (high > limit and not is_rate_known(low, high)):
        outcome, words = UNKNOWN, f"the interval is too wide for the limit, {format_percent(limit)}"
    else:
        words = f"the lower end of the interval is not above the limit, {format_percent(limit)}"
        outcome = PASSED
    return {"name": "errors by class", "outcome": outcome, "words": words}


def judge_new(noise: Estimated, about: dict[str, Any]) -> dict[str, str]:
    """Say whether the votes contradict more of the new rows than chance explains."""
    chance, n_other = about["chance"], about["relabelled"]
    other = f" ({n_other:,} known with another label)" if n_other else ""
    words = (
        f"the votes contradict {about['contradicted_new']:,} of {about['new']:,} new rows"
        f"{other}, and "
        f"{about['contradicted_known']:,} of {about['known']:,} that {about['file']} knows. If new rows are "
        "like known ones with the same label, so many or more are with probability "
        f"{format_percent(chance)}; it fails below {format_percent(CHANCE)}"
    )
    words = words if about["new"] else f"there are none, as {about['file']} knows all {about['known']:,}"
    outcome = FAILED if chance < CHANCE else PASSED
    return {"name": "new rows", "outcome": outcome if noise.explained else UNKNOWN, "words": words}


def list_rows(run: Run, chosen: np.ndarray, compared: Compared | None) -> list[dict[str, Any]]:
    """Return what to say about these rows, the worst first."""
    correction, table, rival = run.correction, run.table, run.correction.compared
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(correction.label_quality[rows], kind="stable")].tolist()
    lines = table.text.lines if isinstance(table.text, TableText) else None
    name = run.options.id_column
    classes, ids = Classes(correction.classes).name, None if name is None else table.columns[name]
    given, others = classes(correction.given).tolist(), classes(rival).tolist()
    return [
        {
            "row": row + 1, "line": None if lines is None else int(lines[row]),
            "id": None if ids is None else str(ids[row]), "given": given[row], "suggested": others[row],
            "label_quality": round(float(correction.label_quality[row]), 4),
            "vote_share": round(float(correction.votes.share[row, rival[row]]), 4),
            "flagged": bool(correction.flagged[row]),
            "relabelled": bool(compared is not None and compared.relabelled[row]),
        }
        for row in rows
    ]  # fmt: skip
