"""Gather what a person, or a program, should know of a run: plain values that JSON can hold.

The report, the terminal and `--json` are three ways to print the same summary.
"""

import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from subsvms.app.runs.issues import Issues
from subsvms.app.runs.run import Run
from subsvms.app.runs.tally import UNIT

MOST_WORST = 50  # rows shown in full
MOST_GROUPS = 50  # lines of one column
MOST_COLUMNS = 40  # of a row that is shown
LONGEST = 300  # characters of a cell
RECORDED = ("numpy", "scipy", "scikit-learn", "numba", "skrub", "pyarrow", "pandas")


def summarise(run: Run, issues: Issues) -> dict[str, Any]:
    """Return the summary of a run.

    Parameters
    ----------
    run : Run
    issues : Issues
        Of its correction.

    Returns
    -------
    dict
        Of text, numbers, booleans, None, and lists and dictionaries of these.
    """
    return gather(run, describe_worst(run, issues), len(issues))


def gather(run: Run, worst: list[dict[str, Any]], n_worst: int) -> dict[str, Any]:
    """Return the summary of a run whose worst rows are described already."""
    options, noise, tally = run.options, run.correction.noise, run.tally
    summary: dict[str, Any] = {
        "title": name_table(run),
        "label": options.label,
        "version": find_version("subsvms"),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        "rows": tally.rows,
        "labelled": tally.labelled,
        "missing": tally.rows - tally.labelled,
        "features": int(run.features.X.shape[1]),
        "columns_used": len(set(run.features.sources)),
        "rule": options.rule,
        "action": options.action,
        "flagged": tally.n_flagged,
        "changed": sum(tally.changed),
        "dropped": tally.dropped,
        "verified": tally.verified,
        "held_back": tally.held_back,
        "explained": noise.explained,
        "error_rate": float(noise.error_rate),
        "error_rate_interval": [float(limit) for limit in noise.error_rate_interval],
        "noise_matrix": noise.matrix.tolist(),
        "expected_precision": expect_precision(run),
        "classes": list_classes(run),
        "moves": list_moves(run),
        "groups": list_groups(run),
        "notes": list(run.notes),
        "remarks": list(run.remarks),
        "worst": worst,
        "n_worst": n_worst,
        "parameters": list_parameters(run),
        "digest": run.table.digest,
        "versions": [[name, find_version(name)] for name in RECORDED],
        "seconds": [[name, seconds] for name, seconds in run.seconds.items()],
    }
    return summary | {"words": put_in_words(summary)}


def expect_precision(run: Run) -> float | None:
    """Return how many of the flagged labels are expected to be wrong; a plain vote gives no probability."""
    if run.options.rule == "majority" or not run.tally.n_flagged:
        return None
    return run.tally.confidence / UNIT / run.tally.n_flagged


def name_table(run: Run) -> str:
    """Return what the table is called, without its folders."""
    paths = run.table.paths
    if not paths:
        return "standard input"
    return paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"


def find_version(package: str) -> str:
    """Return the version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def list_classes(run: Run) -> list[dict[str, Any]]:
    """Return what was found of each class.

    "rate" and its ends are of the true class, the share of it that is given another label; "estimated_wrong"
    counts rows that are given this label and should not be: n * sum over t != c of P(true t) P(given c | t).
    """
    noise, tally = run.correction.noise, run.tally
    joint = noise.shares[:, None] * noise.matrix * tally.labelled
    wrong = joint.sum(axis=0) - np.diag(joint)
    lines = []
    for number, name in enumerate(noise.classes.tolist()):
        low, high = noise.rate_interval[number]
        lines.append({
            "name": cut(str(name)),
            "rows": tally.given[number],
            "rate": float(noise.rates[number]),
            "rate_low": float(low),
            "rate_high": float(high),
            "estimated_wrong": round(float(wrong[number])),
            "flagged": tally.flagged[number],
            "changed": tally.changed[number],
        })  # fmt: skip
    return lines


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
                for group in groups[:MOST_GROUPS]
            ],
            "more": max(0, len(groups) - MOST_GROUPS),
        }
        for column, groups in run.groups.items()
    ]  # fmt: skip


def describe_worst(run: Run, issues: Issues, numbers: np.ndarray | None = None) -> list[dict[str, Any]]:
    """Return what is known of the rows to look at first, and who speaks for and against each.

    Parameters
    ----------
    run : Run
    issues : Issues
    numbers : ndarray of int of shape (n_rows,), optional
        Numbers of the rows, from 0, if they are not the whole table.
    """
    correction = issues.correction
    numbers = np.arange(len(correction)) if numbers is None else numbers
    names = [str(name) for name in correction.classes.tolist()]
    columns = choose_columns(run)
    found = []
    for i, row in enumerate(issues.rows[:MOST_WORST].tolist()):
        sides = {
            side: [
                {"row": int(numbers[other]) + 1, "label": names[correction.given[other]],
                 "values": show_values(run, other, columns)}
                for other in getattr(issues.neighbours, side)[i]
            ]
            for side in ("supporting", "opposing")
        }  # fmt: skip
        found.append({
            "row": int(numbers[row]) + 1,
            "given": names[correction.given[row]] if correction.given[row] >= 0 else None,
            "suggested": names[issues.proposed[i]],
            "confidence": float(issues.confidence[i]),
            "quality": float(np.nan_to_num(correction.label_quality[row])),
            "vote_share": float(np.nan_to_num(issues.vote_share[i])),
            "withstands": int(correction.withstands[row]),
            "action": str(correction.action[row]),
            "reason": issues.reason[i],
            "values": [list(pair) for pair in zip(columns, show_values(run, row, columns), strict=True)],
            **sides,
        })  # fmt: skip
    return found


def choose_columns(run: Run) -> list[str]:
    """Return the columns of a row that are shown: those that are used first."""
    table = run.table
    if table.matrix is not None:
        if run.features_path is None:
            return list(run.features.sources[:MOST_COLUMNS])
        return [str(j) for j in range(min(table.matrix.shape[1], MOST_COLUMNS))]
    names = [name for name in table.columns.column_names if name != table.label]
    used = set(run.features.sources)
    chosen = set(sorted(names, key=lambda name: name not in used)[:MOST_COLUMNS])
    return [name for name in names if name in chosen]


def show_values(run: Run, row: int, columns: list[str]) -> list[str]:
    """Return the values of a row as text, cut short where they are long."""
    table = run.table
    if table.matrix is not None:
        line = table.matrix[[row]].tocsr()
        values = dict(zip(line.indices.tolist(), line.data.tolist(), strict=True))
        return [f"{values.get(int(name), 0.0):g}" for name in columns]
    cells = (table.columns[name][row].as_py() for name in columns)
    return ["" if cell is None else cut(str(cell)) for cell in cells]


def cut(text: str) -> str:
    """Return text that is short enough to be shown."""
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def list_parameters(run: Run) -> list[list[str]]:
    """Return what the run was asked to do, and what followed from it."""
    model, options, most = run.model, run.options, run.options.max_error_rate
    asked = {
        "rule": options.rule,
        "action": options.action,
        "changes allowed": "any" if most is None else f"{percent(most)} of the labels",
        "confidence needed": f"{options.min_confidence:g}",
        "SVMs": f"{options.n_estimators:,}",
        "rows in each subset": f"{model.subsets_.shape[1]} ({options.subsample_size})",
        "kernel": options.kernel,
        "seed": str(options.random_state),
        "columns left out": ", ".join(map(cut, options.exclude)) or "none",
        "columns used alone": ", ".join(map(cut, options.only)) or "all",
        "features from": "columns" if run.features_path is None else run.features_path.name,
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


def put_in_words(summary: dict[str, Any]) -> list[str]:
    """Return the summary in sentences."""
    rows, labelled = f"{summary['rows']:,}", f"{summary['labelled']:,}"
    low, high = summary["error_rate_interval"]
    if not summary["explained"]:
        words = [
            f"The columns do not tell the labels of {summary['label']!r} apart, so how many of the "
            f"{labelled} labels are wrong cannot be said."
        ]
    elif summary["error_rate"] == 0.0:
        words = [
            f"No noise shows in the {labelled} labels; up to {percent(high)} could be wrong unseen, or more "
            "if wrong labels follow a column that is used."
        ]
    else:
        rate = percent(summary["error_rate"])
        words = [f"About {rate} of the {labelled} labels look wrong ({percent(low)} to {percent(high)})."]
    words.append(say_action(summary))
    if summary["held_back"]:
        words.append(
            f"For {summary['held_back']:,} more another label is more probable, but a limit or a guard kept "
            "the given one: they are listed."
        )
    if summary["verified"]:
        words.append(f"{summary['verified']:,} labels were verified by people, and stand as they decided.")
    if summary["missing"]:
        words.append(f"{summary['missing']:,} of the {rows} rows had no label; theirs were filled in.")
    return words


def say_action(summary: dict[str, Any]) -> str:
    """Return what was done about the flagged labels."""
    n = summary["flagged"]
    if n == 0:
        return "None was changed." if summary["changed"] == 0 else "No other was changed."
    one = n == 1
    done = {
        "fix": f"{n:,} {'was' if one else 'were'} changed",
        "drop": f"{n:,} {'row was' if one else 'rows were'} left out",
        "weight": f"{n:,} {'is' if one else 'are'} flagged, and every row has a weight",
        "review": f"{n:,} {'is' if one else 'are'} flagged for review, and none was changed",
    }[summary["action"]]
    if summary["expected_precision"] is None:
        return f"{done}, as the plain vote says, which gives no probability."
    precision = percent(summary["expected_precision"], 0)
    return f"{done}; of these about {precision} are expected to be wrong indeed."
