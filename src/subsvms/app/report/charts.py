"""Draw a correction as inline SVG that takes its text colour from the page around it.

A chart is laid out as a dictionary of plain values; the templates `matrix.svg` and `steps.svg` draw it, 340
units wide, so that its text can be read on a phone. Text, axes and grid are drawn in `currentColor`, so a
chart is readable on a light page and on a dark one. The same correction gives the same bytes.
"""

import unicodedata
from typing import Any

import numpy as np

from subsvms._text import is_rate_known
from subsvms.app.report.page import UNPRINTABLE, open_templates
from subsvms.correction._result import Correction
from subsvms.displays import find_thresholds
from subsvms.displays._base import COLOURS

MAX_CLASSES = 12  # in the matrix; with more, the numbers are too small to read on a phone
FEW_CLASSES = 5  # few enough for decimals and per cent signs in the cells
MAX_NAME = 16  # characters of a class's name; the middle is cut, as names often begin alike
DEEPEST = 0.6  # opacity of a full cell; text on it has a contrast above 4.5 on light and dark pages
N_BINS = 40  # of the votes; an even number, so that none crosses zero
N_MARKS = 400  # positions for flagged rows; more could not be told apart
FEWEST_CERTIFIED = 0.01  # share of the verdicts that withstand a change; a curve of fewer would look empty


def draw_charts(correction: Correction) -> dict[str, str]:
    """Draw the noise matrix, the votes and the certificates of a correction.

    Parameters
    ----------
    correction : Correction

    Returns
    -------
    dict of str to str
        Inline SVG with a description for screen readers: "noise", "votes" and "certified". A chart that would
        show nothing is left out: the noise if no rate is known, the matrix of more than 12 classes, the votes
        if there are none, the certificates if hardly any verdict withstands a change.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms import SubSVMClassifier, correct_labels
    >>> from subsvms.app.report import draw_charts
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["cat", "dog"], 100)
    >>> X = rng.normal(0.3 + 0.4 * (y == "dog")[:, None], 0.12, (200, 4))
    >>> correction = correct_labels(X, y, estimator=SubSVMClassifier(n_estimators=100), random_state=0)
    >>> charts = draw_charts(correction)
    >>> list(charts), charts["votes"][:18]
    (['noise', 'votes', 'certified'], '<svg viewBox="0 0 ')
    """
    names = [shorten(name) if isinstance(name, str) else name for name in correction.classes.tolist()]
    charts = {}
    noise = correction.noise
    known = [is_rate_known(*limits) for limits in noise.rate_interval]
    if noise.explained and any(known) and len(names) <= MAX_CLASSES:
        charts["noise"] = render("matrix.svg", lay_out_noise(noise.matrix, names, known))
    if np.isfinite(correction.votes.mean_value[~correction.missing]).any():
        charts["votes"] = render("steps.svg", lay_out_votes(correction, names))
    if np.mean(correction.withstands > 0) >= FEWEST_CERTIFIED:
        charts["certified"] = render("steps.svg", lay_out_certified(correction))
    return charts


def render(template: str, chart: dict[str, Any]) -> str:
    """Return the SVG of a chart."""
    return open_templates().get_template(template).render(chart)


def shorten(name: str) -> str:
    """Return the name of a class without its middle if it is long.

    Examples
    --------
    >>> shorten("product_category_shoes")
    'product_c…_shoes'
    """
    name = " ".join(UNPRINTABLE.sub("�", name).split())
    head = MAX_NAME * 3 // 5
    return name if len(name) <= MAX_NAME else f"{name[:head]}…{name[head + 1 - MAX_NAME :]}"


# The noise matrix


def lay_out_noise(matrix: np.ndarray, names: list[Any], known: list[bool] | None = None) -> dict[str, Any]:
    """Return the noise matrix: the classes, and the cells line by line; question marks where not known."""
    about = ["The noise matrix: which labels the rows of each true class are given."]
    style, unit = ("{:.1f}\xa0%", "") if len(names) <= FEW_CLASSES else ("{:.0f}", ", in %")
    texts, matrix = [], matrix.copy()
    for i, name in enumerate(names):
        if known is None or known[i]:
            about.append(f"Of true {name!r}, {matrix[i, i]:.1%} keep their label.")
            texts += [style.format(100 * share) for share in matrix[i]]
        else:
            about.append(f"Of true {name!r}, it is not known how many keep their label.")
            texts += ["?"] * len(names)
            matrix[i] = 0.0
    return {
        "about": " ".join(about), "names": [str(name) for name in names], "colours": COLOURS,
        "texts": texts,
        "depths": DEEPEST * np.sqrt(np.clip(matrix.ravel(), 0.0, 1.0)),
        "name_width": max(measure(str(name)) for name in names), "xlabel": f"label given{unit}",
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
    two = len(names) == 2
    labels = f"labelled {names[1 - number]!r}" if two else "labelled another class", f"labelled {name}"
    flags = "flagged" if two else f"flagged as {name}", "flagged"
    about = [f"Histograms of the mean vote on {name}, from -1, all against it, to 1, all for it."]
    layers = []
    for side, rows in enumerate((known & ~own, known & own)):
        area, *flag = lay_out_side(values[rows], flagged[rows], thresholds[side], side, flags[side])
        layers += [area | {"label": labels[side]}, *flag]
        if rows.any():
            half = f"half of them lie below {np.median(values[rows]):.2f}"
            found = flag[0]["label"] if flag else "none flagged"
            about.append(f"Rows {labels[side]}: {rows.sum()}, {half}; {found}.")
    middle = "majority, about 0" if two else "neither for nor against"
    top = 1.05 * (max(layer["levels"].max() for layer in layers if "levels" in layer) or 1.0)
    return {
        "name": "votes", "about": " ".join(about), "fill": 0.4, "colours": COLOURS,
        "layers": [*layers, {"kind": "middle", "label": middle, "place": 0.5}],
        "ends": np.arange(1, N_BINS + 1) / N_BINS, "top_share": top,
        "xlabel": f"mean vote on {name} (−1 against, 1 for)", "ylabel": "share of the rows",
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
    withstood, label = correction.withstands, f"each with confidence {100 * correction.certainty:g}%"
    last = int(withstood.max()) + 1
    shares = np.bincount(withstood, minlength=last + 1)[::-1].cumsum()[::-1] / len(withstood)
    about = (
        "The share of verdicts that are certain to stand, by the number of further labels that change. "
        f"{shares[1]:.0%} withstand one change, half of all verdicts at least {int(np.median(withstood))}, "
        f"the most certain one {last - 1}; {label}."
    )
    return {
        "name": "certified", "about": about, "top_share": 1.0, "fill": 0.15, "colours": COLOURS,
        "layers": [{"kind": "area", "side": 0, "label": label, "levels": shares}],
        "ends": np.minimum(np.arange(last + 1) + 0.5, last) / last,  # level around whole numbers
        "xlabel": "further labels (or whole rows) changed", "ylabel": "verdicts that stand",
        "xticks": [(number / last, f"{number:g}") for number in choose_ticks(last, 1)],
        "yticks": choose_ticks(1.0, 0.1),
    }  # fmt: skip


def choose_ticks(top: float, smallest: float) -> list[float]:
    """Return at most six round numbers from 0 to `top`.

    Examples
    --------
    >>> choose_ticks(0.14, smallest=0.01), choose_ticks(4, smallest=1)
    ([0.0, 0.05, 0.1], [0, 1, 2, 3, 4])
    """
    steps = (digit * smallest * 10**power for power in range(12) for digit in (1, 2, 5))
    step = next(step for step in steps if top / step < 6)
    return [i * step for i in range(int(top / step) + 1)]
