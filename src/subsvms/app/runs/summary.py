"""Gather what a person, or a program, should know about a run: plain values that JSON can hold.

The report, the terminal and `--json` are three ways to print the same summary.
"""

import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from subsvms.app.runs.issues import Issues
from subsvms.app.runs.run import Run
from subsvms.app.runs.tally import UNIT
from subsvms.app.tables.arrow import list_values
from subsvms.ensemble import subset_size

ROWS_SHOWN = 50  # in full, with all they are compared with
GROUPS_SHOWN = 50  # of one column
COLUMNS_SHOWN = 40  # of a row
CHARACTERS_SHOWN = 300  # of a value
UNSEEN = 0.001  # an error rate below this is shown as none
RECORDED = ("numpy", "scipy", "scikit-learn", "numba", "skrub", "pyarrow", "pandas")


@dataclass(frozen=True)
class Summary:
    """What a run found, in text, numbers, booleans, None, and lists and dictionaries of these.

    Attributes
    ----------
    title, label : str
        What the table and its label column are called.
    version, finished : str
        Version of subsvms; when the run ended, in ISO 8601, UTC.
    rows, labelled, missing : int
        Rows of the table; those with a label, and those without.
    features, columns_used : int
        How many features there are, and from how many columns they come.
    rule, action : str
        As in `Options`.
    flagged, changed, dropped, verified, held_back : int
        Labels that are probably wrong; labels that were changed; rows that were left out; labels that people
        verified; labels that the rule kept although another one is more probable.
    explained : bool
        Whether the columns explain the labels. If not, the noise cannot be estimated.
    error_rate : float
        Estimated share of wrong labels.
    error_rate_interval : list of float
        Its lower and upper end.
    noise_matrix : list of list of float
        P(given class | true class), a line for each true class.
    expected_precision : float or None
        Share of the flagged labels that are expected to be wrong; None if there is no estimate.
    classes, moves, groups : list of dict
        What `list_classes`, `list_moves` and `list_groups` return.
    notes, remarks : list of str
        What to know before using the result; what happened to columns that are not features.
    worst : list of dict
        The rows to look at first, as `describe_worst` returns them.
    n_worst : int
        How many rows are listed in all.
    ensemble : dict
        The SVMs that voted, as `describe_ensemble` returns them.
    parameters : list of [str, str]
        What was asked for, and what followed from it.
    digest : str
        SHA-256 of the table.
    versions, seconds : list of [str, str or float]
        By package; by stage.
    words : list of str
        The result in sentences.
    folder, model : str or None
        Where the result and the classifier were written.
    files : list of [str, str]
        Name and description of each file in the folder; first the table, then the issues.
    next : list of str
        What to do now, in sentences.
    """

    title: str
    label: str
    version: str
    finished: str
    rows: int
    labelled: int
    missing: int
    features: int
    columns_used: int
    rule: str
    action: str
    flagged: int
    changed: int
    dropped: int
    verified: int
    held_back: int
    explained: bool
    error_rate: float
    error_rate_interval: list[float]
    noise_matrix: list[list[float]]
    expected_precision: float | None
    classes: list[dict[str, Any]]
    moves: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    notes: list[str]
    remarks: list[str]
    worst: list[dict[str, Any]]
    n_worst: int
    ensemble: dict[str, Any]
    parameters: list[list[str]]
    digest: str
    versions: list[list[str]]
    seconds: list[list[Any]]
    words: list[str]
    folder: str | None
    model: str | None
    files: list[list[str]]
    next: list[str]


def summarise(
    run: Run,
    worst: list[dict[str, Any]],
    n_worst: int,
    *,
    label_notes: Sequence[str] | None = None,
    folder: str | None = None,
    model: str | None = None,
    files: Sequence[list[str]] = (),
) -> Summary:
    """Return the summary of a run.

    Parameters
    ----------
    run : Run
    worst : list of dict
        As `describe_worst` returns it.
    n_worst : int
        How many rows are listed in all.
    label_notes : sequence of str, optional
        Notes on the labels, if they are not those of the run's correction.
    folder, model, files
        As in `Summary`; none if nothing is written.
    """
    noise, tally = run.correction.noise, run.tally
    summary = Summary(
        title=name_table(run), label=run.options.label, version=get_version("subsvms"),
        finished=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()), rows=tally.rows,
        labelled=tally.labelled, missing=tally.rows - tally.labelled, features=int(run.features.X.shape[1]),
        columns_used=len(set(run.features.sources)), rule=run.options.rule, action=run.options.action,
        flagged=tally.n_flagged, changed=sum(tally.changed), dropped=tally.dropped, verified=tally.verified,
        held_back=tally.held_back, explained=noise.explained, error_rate=float(noise.error_rate),
        error_rate_interval=[float(limit) for limit in noise.error_rate_interval],
        noise_matrix=noise.matrix.tolist(), expected_precision=expect_precision(run),
        classes=list_classes(run), moves=list_moves(run), groups=list_groups(run),
        notes=[*(run.correction.notes if label_notes is None else label_notes), *run.table_notes],
        remarks=list(run.remarks), worst=worst, n_worst=n_worst, ensemble=describe_ensemble(run),
        parameters=list_parameters(run), digest=run.table.digest,
        versions=[[name, get_version(name)] for name in RECORDED],
        seconds=[list(pair) for pair in run.seconds.items()], words=[], folder=folder, model=model,
        files=list(files), next=[],
    )  # fmt: skip
    reviewable = run.options.pool_size is None
    return replace(summary, words=format_result(summary), next=format_next_steps(summary, reviewable))


def expect_precision(run: Run) -> float | None:
    """Return the share of the flagged labels expected to be wrong; a plain vote gives no probabilities."""
    if run.options.rule == "majority" or not run.tally.n_flagged:
        return None
    return run.tally.confidence / UNIT / run.tally.n_flagged


def name_table(run: Run) -> str:
    """Return what the table is called, without its folders."""
    paths = run.table.paths
    if not paths:
        return "standard input"
    return paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"


def get_version(package: str) -> str:
    """Return the version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def list_classes(run: Run) -> list[dict[str, Any]]:
    """Return what was found about each class.

    "rate" and its ends are about the true class: the share of its rows that carry another label.
    "estimated_wrong" is about the given class c, how many of its rows belong to another one: n * sum over
    t != c of P(true t) P(given c | t).
    """
    noise, tally = run.correction.noise, run.tally
    joint = noise.shares[:, None] * noise.matrix * tally.labelled
    wrong = joint.sum(axis=0) - np.diag(joint)
    return [
        {
            "name": cut(str(name)),
            "rows": tally.given[number],
            "rate": float(noise.rates[number]),
            "rate_low": float(noise.rate_interval[number][0]),
            "rate_high": float(noise.rate_interval[number][1]),
            "estimated_wrong": round(float(wrong[number])),
            "flagged": tally.flagged[number],
            "changed": tally.changed[number],
        }
        for number, name in enumerate(noise.classes.tolist())
    ]


def list_moves(run: Run) -> list[dict[str, Any]]:
    """Return how many flagged labels go from one class to another, most first."""
    names = [str(name) for name in run.correction.classes.tolist()]
    moves = [
        {"given": names[given], "suggested": names[suggested], "rows": count}
        for given, line in enumerate(run.tally.moves)
        for suggested, count in enumerate(line)
        if count
    ]
    return sorted(moves, key=lambda move: -move["rows"])


def list_groups(run: Run) -> list[dict[str, Any]]:
    """Return the noise by each column that was asked for."""
    return [
        {
            "column": column,
            "lines": [
                {
                    "value": cut(group.value), "rows": group.n_rows, "flagged": group.n_flagged,
                    "share": group.share, "low": group.low, "high": group.high,
                    "expected_wrong": group.expected_wrong,
                }
                for group in groups[:GROUPS_SHOWN]
            ],
            "more": max(0, len(groups) - GROUPS_SHOWN),
        }
        for column, groups in run.groups.items()
    ]  # fmt: skip


def describe_worst(run: Run, issues: Issues, numbers: np.ndarray | None = None) -> list[dict[str, Any]]:
    """Return what is known about the rows to look at first, and the rows that speak for and against each.

    Parameters
    ----------
    run : Run
    issues : Issues
    numbers : ndarray of int of shape (n_rows,), optional
        Row numbers, from 0, if these are not the rows of the whole table.
    """
    correction = issues.correction
    numbers = np.arange(len(correction)) if numbers is None else numbers
    names = [str(name) for name in correction.classes.tolist()]
    columns, rows, found = choose_columns(run), issues.rows[:ROWS_SHOWN], []
    quality, action, reason = correction.label_quality, correction.action, correction.explain(rows)
    proposed = correction.compared[rows]
    confidence = correction.judgement.posterior[rows, proposed]
    share = correction.votes.share[rows, proposed]
    for i, row in enumerate(rows.tolist()):
        sides = {
            side: [
                {"row": int(numbers[other]) + 1, "label": names[correction.given[other]],
                 "values": show_values(run, other, columns)}
                for other in getattr(issues.witnesses, side)[i]
            ]
            for side in ("supporting", "opposing")
        }  # fmt: skip
        found.append({
            "row": int(numbers[row]) + 1,
            "given": names[correction.given[row]] if correction.given[row] >= 0 else None,
            "suggested": names[proposed[i]],
            "confidence": float(confidence[i]),
            "quality": float(np.nan_to_num(quality[row])),
            "vote_share": float(np.nan_to_num(share[i])),
            "withstands": int(correction.withstands[row]),
            "action": str(action[row]),
            "reason": reason[i],
            "values": [list(pair) for pair in zip(columns, show_values(run, row, columns), strict=True)],
            **sides,
        })  # fmt: skip
    return found


def choose_columns(run: Run) -> list[str]:
    """Return the columns to show of a row: those that are used come before the others if not all fit."""
    table = run.table
    if table.matrix is not None:
        if run.features_path is None:
            return list(run.features.sources[:COLUMNS_SHOWN])
        return [str(j) for j in range(min(table.matrix.shape[1], COLUMNS_SHOWN))]
    names = [name for name in table.columns.column_names if name != table.label]
    used = set(run.features.sources)
    chosen = set(sorted(names, key=lambda name: name not in used)[:COLUMNS_SHOWN])
    return [name for name in names if name in chosen]


def show_values(run: Run, row: int, columns: list[str]) -> list[str]:
    """Return the values of a row as text, cut short where they are long."""
    table = run.table
    if table.matrix is not None:
        line = table.matrix[[row]].tocsr()
        values = dict(zip(line.indices.tolist(), line.data.tolist(), strict=True))
        return [f"{values.get(int(name), 0.0):g}" for name in columns]
    cells = (list_values(table.columns[name].slice(row, 1))[0] for name in columns)
    return ["" if cell is None else cut(str(cell)) for cell in cells]


def cut(text: str) -> str:
    """Return text that is short enough to be shown."""
    return text if len(text) <= CHARACTERS_SHOWN else text[:CHARACTERS_SHOWN] + "…"


def describe_ensemble(run: Run) -> dict[str, Any]:
    """Return which SVMs voted, what they were compared with if they were chosen, and a sentence on that."""
    model, choice = run.model, run.correction.choice
    n_svms, size = model.n_estimators, int(model.subsets_.shape[1])
    words = f"{n_svms:,} SVMs of {size:,} rows voted: options set them, so none were chosen from the data."
    return {
        "words": words if choice is None else f"{choice}.",
        "n_estimators": n_svms,
        "subset_size": size,
        "paper_size": subset_size("log_squared", run.tally.labelled, len(model.classes_)),
        "kernel": model.kernel,
        "gamma": None if model.kernel == "linear" else model.voters_.kernel.gamma,
        "C": float(model.C),
        "candidates": []
        if choice is None
        else [
            asdict(one) | {"breadth": one.breadth, "chosen": one is choice.chosen}
            for one in choice.candidates
        ],
    }


def list_parameters(run: Run) -> list[list[str]]:
    """Return what the run was asked to do, and what followed from it."""
    model, options, most = run.model, run.options, run.options.max_error_rate
    asked = {
        "rule": options.rule,
        "action": options.action,
        "changes allowed": "any" if most is None else f"{percent(most)} of the labels",
        "confidence needed": f"{options.min_confidence:g}",
        "SVMs": f"{model.n_estimators:,}",
        "rows in each subset": f"{model.subsets_.shape[1]:,}",
        "kernel": model.kernel
        if model.kernel == "linear"
        else f"{model.kernel}, gamma {model.voters_.kernel.gamma:.3g}",
        "seed": str(options.random_state),
        "columns left out": ", ".join(map(cut, options.exclude)) or "none",
        "columns used": ", ".join(map(cut, options.only)) or "all",
        "features from": "columns" if run.features_path is None else run.features_path.name,
    }
    if options.pool_size is not None:
        asked |= {
            "rows in the sample": f"{len(run.correction):,}",
            "rows that SVMs are trained on": f"{len(run.model.oob_winners_):,}",
        }
    return [list(pair) for pair in asked.items()]


def percent(share: float, digits: int = 1) -> str:
    """Return a share for people.

    Examples
    --------
    >>> percent(0.0314)
    '3.1 %'
    """
    return f"{100 * share:.{digits}f} %"


def format_result(summary: Summary) -> list[str]:
    """Return the result in sentences."""
    rows, labelled = f"{summary.rows:,}", f"{summary.labelled:,}"
    low, high = summary.error_rate_interval
    if not summary.explained:
        words = [
            f"The columns do not explain the labels of {summary.label!r}, so how many of the {labelled} "
            "labels are wrong cannot be estimated."
        ]
    elif summary.error_rate < UNSEEN:
        most = percent(max(high, UNSEEN))
        words = [
            f"No noise was detected in the {labelled} labels; up to {most} of them could still be wrong, or "
            "more if wrong labels depend on a column that is used."
        ]
    else:
        rate = percent(summary.error_rate)
        words = [f"About {rate} of the {labelled} labels look wrong ({percent(low)} to {percent(high)})."]
    words.append(format_action(summary))
    if summary.held_back:
        words.append(
            f"For {summary.held_back:,} more, another label is more probable, but a limit or a safety check "
            "kept the given one: all of them are listed."
        )
    if summary.verified:
        words.append(f"Labels that people verified, and that stay as they decided: {summary.verified:,}.")
    if summary.missing:
        words.append(f"Rows without a label, whose labels were filled in: {summary.missing:,} of {rows}.")
    return words


def format_action(summary: Summary) -> str:
    """Return what was done about the flagged labels, in a sentence."""
    n, dry = summary.flagged, summary.folder is None
    was, were = ("would be", "would be") if dry else ("was", "were")
    if n == 0:
        return f"None {was} changed." if summary.changed == 0 else f"No other label {was} changed."
    one = n == 1
    done = {
        "fix": f"{n:,} {was if one else were} changed",
        "drop": f"{n:,} {f'row {was}' if one else f'rows {were}'} left out",
        "weight": f"{n:,} {'is' if one else 'are'} flagged, and every row has a weight",
        "review": f"{n:,} {'is' if one else 'are'} flagged for review, and none {was} changed",
    }[summary.action]
    if summary.expected_precision is None:
        return f"{done}, following the plain vote, which gives no probabilities."
    return f"{done}; about {percent(summary.expected_precision, 0)} of these are expected to have been wrong."


def format_next_steps(summary: Summary, reviewable: bool) -> list[str]:
    """Return what a person should do now, in sentences; `subsvms review` only if the run is reviewable."""
    if summary.folder is None:
        spent = sum(seconds for _, seconds in summary.seconds)
        return [f"Nothing was written; finding the wrong labels took {spent:.1f} seconds."]
    (corrected, _), (listed, _) = summary.files[:2]
    steps = []
    if summary.n_worst:
        steps.append(f"Look at the worst rows (report.html), or at all of them ({listed}).")
        if reviewable:
            steps.append(f"To decide on them one by one: subsvms review {shlex.quote(summary.folder)}")
    if summary.notes:
        steps.append("Read the notes: they say what may be wrong with the table, or with this result.")
    if summary.changed or summary.dropped or summary.missing:
        steps.append(f"If you agree, use {corrected} in place of {summary.title}.")
    elif summary.action == "weight":
        steps.append(f"Train with the column sample_weight of {corrected}.")
    elif summary.flagged == 0:
        steps.append(
            "No label was changed. If a column says who labelled a row, or where it came from, name it with "
            "--by."
        )
    return steps
