"""Draw a correction as inline SVG that takes its text colour from the page around it.

A chart is laid out as a dictionary of plain values; the templates `matrix.svg`, `map.svg` and `steps.svg`
draw it, 340 units wide, so that its text can be read on a phone. Text, axes and grid are drawn in
`currentColor`, so a chart is readable on a light page and on a dark one. The same correction gives the same
bytes.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from subsvms._columns import Table
from subsvms.app.looks import mark_classes
from subsvms.app.report.row_map import lay_out_map
from subsvms.app.report.text import UNPRINTABLE, format_percent, open_templates
from subsvms.correction._result import Correction
from subsvms.displays._votes import find_thresholds
from subsvms.exceptions import is_rate_known

MAX_CLASSES = 12  # on either side of a matrix; with more, the numbers are too small to read on a phone
MAX_TOLD = 4  # cells of a line of a matrix that are told in words
MAX_NAME = 16  # characters of a class's name; the middle is cut, as names often begin alike
DEEPEST = 0.35  # opacity of a full cell; text on it has a contrast above 4.5 on light and dark pages
N_BINS = 40  # of the votes; an even number, so that none crosses zero
N_MARKS = 400  # positions for flagged rows; more could not be told apart
FEWEST_CERTIFIED = 0.01  # share of the verdicts that withstand a change; a curve of fewer would look empty


def draw_charts(
    correction: Correction, *, moves: Sequence[Sequence[int]] | None = None, features: Table | None = None
) -> dict[str, str]:
    """Draw the mix-ups, the map, the votes and the certificates of a correction.

    Shapes: moves (n_classes, n_classes); features (n_rows, n_features).
    """
    names, charts = list(map(shorten, correction.classes.tolist())), {}
    noise = correction.noise
    known = [is_rate_known(*limits) for limits in noise.rate_interval]
    if len(names) > 2:
        counts = count_moves(correction) if moves is None else np.array(moves)
        if counts.any():
            charts["moves"] = render("matrix.svg", lay_out_moves(counts, names))
    elif noise.explained and any(known):
        charts["noise"] = render("matrix.svg", lay_out_noise(noise.matrix, names, known))
    if features is not None and noise.explained and (rows := lay_out_map(correction, features, names)):
        charts["map"] = render("map.svg", rows)
    if np.isfinite(correction.votes.mean_value[~correction.missing]).any():
        charts["votes"] = render("steps.svg", lay_out_votes(correction, names))
    if correction.withstands is not None and np.mean(correction.withstands > 0) >= FEWEST_CERTIFIED:
        charts["certified"] = render("steps.svg", lay_out_certified(correction))
    return charts


def render(template: str, chart: dict[str, Any]) -> str:
    """Return the SVG of a chart."""
    return open_templates().get_template(template).render(chart)


def shorten(name: Any) -> Any:
    """Return the name of a class without its middle if it is a long text."""
    if not isinstance(name, str):
        return name
    name = " ".join(UNPRINTABLE.sub("�", name).split())
    head = MAX_NAME * 3 // 5
    return name if len(name) <= MAX_NAME else f"{name[:head]}…{name[head + 1 - MAX_NAME :]}"


# Which labels are mixed up


def lay_out_noise(
    matrix: np.ndarray, names: list[Any], known: Sequence[bool],
    about: str = "The noise matrix: which labels the rows of each true class are given.",
) -> dict[str, Any]:  # fmt: skip
    """Return the noise matrix: the classes, and the cells line by line; question marks where not known."""
    told = [about]
    cells = []
    for i, (name, is_known) in enumerate(zip(names, known, strict=True)):
        kept = f"{format_percent(matrix[i, i])} keep" if is_known else "it is not known how many keep"
        others = np.where(np.arange(len(names)) == i, 0.0, matrix[i] * is_known)
        mixed = int(np.argmax(others))
        most = f"; most others are called {names[mixed]!r}" if len(names) > 2 and others[mixed] > 0 else ""
        told.append(f"Of true {name!r}, {kept} their label{most}.")
        for j, share in enumerate(np.clip(matrix[i], 0.0, 1.0).tolist()):
            text = format_percent(share) if is_known else "?"
            depth = DEEPEST * share**0.5 if is_known else 0.0
            cells.append(dict(line=i, column=j, text=text, depth=depth, bold=i == j))
    every = range(len(names))
    return finish_matrix(names, (every, every), cells, told, ylabel="true class", xlabel="label given")


def draw_person(person: Mapping[str, Any]) -> str:
    """Return the SVG of what a person says about rows of each class; nothing if not known, or of too many."""
    if not person.get("matrix") or len(person["classes"]) > MAX_CLASSES:
        return ""
    names, about = list(map(shorten, person["classes"])), "What the person says about each class."
    chart = lay_out_noise(np.asarray(person["matrix"]), names, [True] * len(names), about)
    return render("matrix.svg", chart | {"xlabel": "what the person says"})


def count_moves(correction: Correction) -> np.ndarray:
    """Return the number of flagged rows by given and suggested class."""
    k, flagged = len(correction.classes), correction.flagged
    moved = correction.given[flagged] * k + correction.judgement.suggested[flagged]
    return np.bincount(moved, minlength=k * k).reshape(k, k)


def lay_out_moves(counts: np.ndarray, names: list[Any]) -> dict[str, Any]:
    """Return the flagged rows by given and suggested label; of many classes, those of the largest cells."""
    places = lines, columns = choose_cells(counts)
    shown = counts[np.ix_(lines, columns)]
    about = [f"How many rows are flagged, by given and suggested label: {shown.sum():,} of {counts.sum():,}."]
    for line, counted in zip(lines, shown, strict=True):
        order = [j for j in np.argsort(-counted, kind="stable").tolist() if counted[j]]
        moves = [f"{counted[j]:,} to {names[columns[j]]!r}" for j in order[:MAX_TOLD]]
        left = [f"{counted[order[MAX_TOLD:]].sum():,} to others"] if len(order) > MAX_TOLD else []
        about += [f"From {names[line]!r}: {', '.join(moves + left)}."] if moves else []
    cells = [
        dict(line=i, column=j, text=f"{shown[i, j]:,}" if shown[i, j] else "·" if line == column else "",
             depth=DEEPEST * (shown[i, j] / counts.max()) ** 0.5, bold=False)
        for i, line in enumerate(lines) for j, column in enumerate(columns)
    ]  # fmt: skip
    part = f" ({shown.sum():,} of {counts.sum():,} flagged rows)" if len(lines) < len(counts) else ""
    labels = {"ylabel": "given label", "xlabel": f"suggested label{part}"}
    return finish_matrix(names, places, cells, about, **labels)


def choose_cells(counts: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the lines and the columns of a matrix to show: all, or those with the largest cells."""
    k = len(counts)
    if k <= MAX_CLASSES:
        return list(range(k)), list(range(k))
    lines: set[int] = set()
    columns: set[int] = set()
    for place in np.argsort(-counts, axis=None, kind="stable")[: np.count_nonzero(counts)].tolist():
        line, column = divmod(place, k)
        if max(len(lines | {line}), len(columns | {column})) <= MAX_CLASSES:
            lines.add(line)
            columns.add(column)
    return sorted(lines), sorted(columns)


def finish_matrix(names, places, cells, about, **labels: str) -> dict[str, Any]:
    """Return a matrix with its names and their widths; places: the numbers of the classes on its sides."""
    lines, columns = ([str(names[number]) for number in side] for side in places)
    line_width, column_width = (max(map(measure, side)) for side in (lines, columns))
    return labels | {
        "about": " ".join(about), "lines": lines, "columns": columns, "cells": cells, "places": places,
        "line_width": line_width, "column_width": column_width, "marks": mark_classes(names),
    }  # fmt: skip


def measure(text: str) -> float:
    """Return about how wide text of size 11 is; East Asian characters are squares."""
    return sum(11.0 if unicodedata.east_asian_width(letter) in "WF" else 6.4 for letter in text)


# The votes


def lay_out_votes(correction: Correction, names: list[Any]) -> dict[str, Any]:
    """Return the votes on one class: histograms of the rows with another label, and of those with its own."""
    number = choose_class(correction)
    values, given, name = correction.votes.mean_value[:, number], correction.given, repr(names[number])
    proposed = np.where(correction.flagged, correction.judgement.suggested, given)
    own, known = given == number, np.isfinite(values) & (given >= 0)
    flagged = (proposed != given) & (own | (proposed == number))
    thresholds = find_thresholds(values, own, flagged, used=given >= 0)
    two, marks = len(names) == 2, mark_classes(names)
    labels = f"labelled {names[1 - number]!r}" if two else "labelled another class", f"labelled {name}"
    flags = "flagged" if two else f"flagged as {name}", "flagged"
    vote = "mean vote" if correction.judge is None else "judgement"
    about = [f"Histograms of the {vote} on {name}, from -1, all against it, to 1, all for it."]
    layers, looks = [], [{"number": i, "mark": mark} for i, mark in enumerate(marks)]
    for side, rows in enumerate((known & ~own, known & own)):
        area, *flag = lay_out_side(values[rows], flagged[rows], thresholds[side], side, flags[side])
        look = looks[number] if side else looks[1 - number] if two else {}  # several others are no class
        layers += [one | look for one in (area | {"label": labels[side]}, *flag)]
        if rows.any():
            half = f"half of them lie below {np.median(values[rows]):.2f}"
            found = flag[0]["label"] if flag else "none flagged"
            about.append(f"Rows {labels[side]}: {rows.sum()}, {half}; {found}.")
    middle = "majority, about 0" if two and correction.judge is None else "neither for nor against"
    top = 1.05 * (max(layer["levels"].max() for layer in layers if "levels" in layer) or 1.0)
    return {
        "name": "votes", "about": " ".join(about), "fill": 0.4,
        "layers": [*layers, {"kind": "middle", "label": middle, "place": 0.5}],
        "ends": np.arange(1, N_BINS + 1) / N_BINS, "top_share": top,
        "xlabel": f"{vote} on {name} (−1 against, 1 for)", "ylabel": "share of the rows",
        "xticks": [(i / 4, text) for i, text in enumerate(("−1", "−0.5", "0", "0.5", "1"))],
        "yticks": choose_ticks(top, 0.001),
    }  # fmt: skip


def lay_out_side(values, flagged, threshold, side: int, words: str) -> list[dict[str, Any]]:
    """Return a histogram of votes, and the threshold of flagged rows or, if there is none, their marks."""
    shares = np.histogram(values, N_BINS, (-1.0, 1.0))[0] / max(len(values), 1)
    layers: list[dict[str, Any]] = [{"kind": "area", "side": side, "levels": shares}]
    found = values[flagged]
    count = f"{len(found)} row{'s' * (len(found) != 1)}"
    if np.isfinite(threshold):
        label = f"{words} {('above', 'below')[side]} {threshold:.2f}: {count}"
        layers.append({"kind": "line", "side": side, "label": label, "place": (threshold + 1) / 2})
    elif len(found):
        places = np.unique(np.round((found + 1) / 2 * N_MARKS)) / N_MARKS
        layers.append({"kind": "marks", "side": side, "label": f"{words}: {count}", "places": places})
    return layers


def choose_class(correction: Correction) -> int:
    """Return the class that most flagged rows leave or join, or the largest; of two classes, the second."""
    n_classes = len(correction.classes)
    if n_classes == 2:
        return 1
    moved = np.stack([correction.given, correction.judgement.suggested])[:, correction.flagged]
    concerned = moved.ravel() if moved.size else correction.given[~correction.missing]
    return int(np.bincount(concerned, minlength=n_classes).argmax())


# The certificates


def lay_out_certified(correction: Correction) -> dict[str, Any]:
    """Return the share of the verdicts that withstand each number of changes."""
    withstood, label = correction.withstands, f"each with confidence {100 * correction.level:g} %"
    last = int(withstood.max()) + 1
    shares = np.bincount(withstood, minlength=last + 1)[::-1].cumsum()[::-1] / len(withstood)
    about = (
        "The share of verdicts that are certain to stand, by the number of further labels that change. "
        f"{format_percent(shares[1])} withstand one change, half of all verdicts at least "
        f"{int(np.median(withstood))}, the most certain one {last - 1}; {label}."
    )
    return {
        "name": "certified", "about": about, "top_share": 1.0, "fill": 0.15,
        "layers": [{"kind": "area", "side": 0, "label": label, "levels": shares}],
        "ends": np.minimum(np.arange(last + 1) + 0.5, last) / last,  # level around whole numbers
        "xlabel": "further labels (or whole rows) changed", "ylabel": "verdicts that stand",
        "xticks": [(number / last, f"{number:g}") for number in choose_ticks(last, 1)],
        "yticks": choose_ticks(1.0, 0.1),
    }  # fmt: skip


def choose_ticks(top: float, smallest: float) -> list[float]:
    """Return at most six round numbers from 0 to `top`."""
    steps = (digit * smallest * 10**power for power in range(12) for digit in (1, 2, 5))
    step = next(step for step in steps if top / step < 6)
    return [i * step for i in range(int(top / step) + 1)]
