"""Draw a correction as inline SVG that takes its ink from the page around it.

The displays of `subsvms.displays` draw; here they are made small enough for a phone, and what they drew is
rewritten. Text, axes and grid are drawn in one colour that nothing else has, and that becomes `currentColor`:
so a picture is readable on a light page and on a dark one. Ids that something refers to are numbered after
the picture's name, the others go, and so does the style sheet that would reach out of the picture. The same
correction gives the same bytes.
"""

import io
import re
import warnings
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np

from subsvms.correction._noise import NoiseEstimate
from subsvms.correction._result import Correction
from subsvms.displays import CertifiedCurveDisplay, NoiseMatrixDisplay, VotesDisplay
from subsvms.displays._base import COLOURS

MOST_CLASSES = 12  # in the matrix; the numbers of more are too small to read on a phone
FEW_CLASSES = 5  # that leave room for per cent signs in the cells
LONGEST_NAME = 16  # characters of a class's name; the middle goes, for names often begin alike
WIDTH = 4.6  # inches of 72 units: as wide as a phone, where text is then as large as its size says
INK = "#010203"  # stands for the page's own ink
FAINT = 0.15  # opacity of lines that only guide the eye
DEEPEST = 0.6  # opacity of a full cell; ink on it has a contrast above 4.5 on light and dark pages
N_BINS = 40  # of the votes
N_TICKS = 400  # places for flagged rows; more cannot be told apart
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "subsvms", "text.parse_math": False,
    "font.size": 9.5, "font.sans-serif": ["DejaVu Sans"],
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none",
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8, "hatch.linewidth": 0.8,
    "legend.frameon": False, "legend.fontsize": 9.0, "figure.constrained_layout.use": True,
}  # fmt: skip
NO_METADATA = dict.fromkeys(["Creator", "Date", "Format", "Type"])
REFERENCE = re.compile(r"(?<=#)[\w-]+")  # the target of a link, a clip or a hatch; or a colour
NUMBER = re.compile(r"-?\d+\.\d{3,}")
UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not in XML, or C1


def draw_charts(correction: Correction) -> dict[str, str]:
    """Draw the noise matrix, the votes and the certificates of a correction.

    Parameters
    ----------
    correction : Correction

    Returns
    -------
    dict of str to str
        Inline SVG, with a description for those who do not see it: "noise", "votes" and "certified". One that
        would show nothing is left out: the noise of labels that the votes do not explain, the matrix of more
        than 12 classes, votes on no row, certificates that withstand nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms import correct_labels
    >>> from subsvms.app.report import draw_charts
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["cat", "dog"], 100)
    >>> X = rng.normal(0.3 + 0.4 * (y == "dog")[:, None], 0.12, (200, 4))
    >>> charts = draw_charts(correct_labels(X, y, n_estimators=100, random_state=0))
    >>> list(charts), charts["votes"][:18]
    (['noise', 'votes', 'certified'], '<svg viewBox="0 0 ')
    """
    from matplotlib import style

    shown = _with_short_names(correction)
    drawn = {}
    with style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has fonts and letters of its own
        warnings.filterwarnings("ignore", "Matplotlib currently does not support .* natively")
        if shown.noise.explained and len(shown.classes) <= MOST_CLASSES:
            drawn["noise"] = _to_svg(_draw_noise(shown.noise), "noise", _describe_noise(shown.noise))
        if np.isfinite(shown.votes.mean_value[~shown.missing]).any():
            busiest = _find_busiest(shown)
            drawn["votes"] = _to_svg(_draw_votes(shown, busiest), "votes", _describe_votes(shown, busiest))
        if shown.withstands.any():
            drawn["certified"] = _to_svg(_draw_certified(shown), "certified", _describe_certified(shown))
    return drawn


def _with_short_names(correction: Correction) -> Correction:
    """Return the correction with names that can be drawn; numbers stay numbers."""
    names = [_shorten(name) if isinstance(name, str) else name for name in correction.classes.tolist()]
    classes = np.array(names, dtype=object)
    return replace(correction, classes=classes, noise=replace(correction.noise, classes=classes))


def _shorten(name):
    name = " ".join(UNPRINTABLE.sub("�", name).split())
    head = LONGEST_NAME * 3 // 5
    return name if len(name) <= LONGEST_NAME else f"{name[:head]}…{name[head + 1 - LONGEST_NAME :]}"


def _open_figure(height):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height))
    return figure, figure.subplots()


# The noise matrix


def _draw_noise(noise: NoiseEstimate) -> Any:
    from matplotlib.patches import Rectangle

    n_classes = len(noise.classes)
    figure, ax = _open_figure(2.4 + 0.2 * n_classes)
    display = NoiseMatrixDisplay(noise.matrix, noise.classes)
    display.plot(ax=ax, colorbar=False, text_kw={"color": INK})
    texts: Any = display.text_
    display.im_.remove()  # an image has no place for the page's own colour: draw each cell instead
    for (line, column), share in np.ndenumerate(noise.matrix):
        colour = COLOURS[int(line != column)], DEEPEST * float(np.clip(share, 0.0, 1.0)) ** 0.5
        corner = column - 0.5, line - 0.5
        ax.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor=(INK, 2 * FAINT), linewidth=0.8))
        text = texts[line, column]
        text.set_text(f"{100 * share:.1f}\xa0%" if n_classes <= FEW_CLASSES else f"{100 * share:.0f}")
        text.set_fontweight("bold" if line == column else "normal")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_anchor("W")
    unit = ", in %" if n_classes > FEW_CLASSES else ""
    ax.set(xlabel=f"label given{unit}", ylabel="true class")
    return figure


def _describe_noise(noise: NoiseEstimate) -> str:
    lines = ["The noise matrix: which labels the rows of each true class are given."]
    for name, kept in zip(noise.classes, np.diag(noise.matrix), strict=True):
        lines.append(f"Of true {name!r}, {kept:.1%} keep their label.")
    return " ".join(lines)


# The votes


def _find_busiest(correction: Correction) -> int:
    """Return the class that most flagged rows leave or join, or most rows have; of two, the second."""
    n_classes = len(correction.classes)
    if n_classes == 2:
        return 1
    moved = np.stack([correction.given, correction.judgement.suggested])[:, correction.flagged]
    concerned = moved.ravel() if moved.size else correction.given[~correction.missing]
    return int(np.bincount(concerned, minlength=n_classes).argmax())


def _draw_votes(correction: Correction, number: int) -> Any:
    from matplotlib.ticker import MaxNLocator

    figure, ax = _open_figure(3.5)
    display = VotesDisplay.from_correction(
        correction, class_number=number, ax=ax, bins=N_BINS, density=True
    )  # fmt: skip
    display.legend_.remove()  # a phone is too narrow for two columns: one goes above the picture
    _fill_histograms(display.histograms_)
    below = _lay_out_ticks(display.ticks_)
    top = max(bars.get_xy()[:, 1].max() for bars in display.histograms_) or 1.0
    for line in (*display.lines_, display.middle_):
        if line is not None:
            line.set_ydata([below, 1.0])
    display.middle_.set_color(INK)
    ax.set_ylim(-1.05 * top * below / (1 - below), 1.05 * top)
    shares = np.asarray(MaxNLocator(4).tick_values(0.0, top * 2 / N_BINS))  # density times width of a bar
    shares = shares[(shares >= 0.0) & (shares <= 1.05 * top * 2 / N_BINS)]
    ax.set_yticks(shares * N_BINS / 2, [f"{100 * share:g}\xa0%" for share in shares])
    name = repr(correction.classes[number])
    ax.set(xlabel=f"mean vote on {name} (−1 against, 1 for)", ylabel="share of the rows")
    handles, labels = ax.get_legend_handles_labels()
    told = [i for i, label in enumerate(labels) if label != "none flagged"]
    figure.legend(
        [handles[i] for i in told], [labels[i] for i in told], loc="outside upper left", borderpad=0.0
    )
    return figure


def _fill_histograms(histograms):
    """Tell the two apart without colour: one is filled, one is hatched."""
    for bars, colour, fill, hatch in zip(histograms, COLOURS[:2], (0.4, 0.0), ("", "////"), strict=True):
        bars.set(alpha=None, facecolor=(colour, fill), edgecolor=colour, linewidth=1.4, hatch=hatch)


def _lay_out_ticks(ticks) -> float:
    """Put the ticks of flagged rows below the histograms; return the share of the axes they need."""
    for side, marks in enumerate(ticks):
        if marks is not None:
            places = np.unique(np.round(marks.get_xdata() * N_TICKS / 2)) * 2 / N_TICKS
            marks.set_data(places, np.full(len(places), 0.03 + 0.06 * side))
    return 0.12 if any(marks is not None for marks in ticks) else 0.0


def _describe_votes(correction: Correction, number: int) -> str:
    values, name = correction.votes.mean_value[:, number], repr(correction.classes[number])
    lines = [f"Histograms of the mean vote on {name}, from -1, all against it, to 1, all for it."]
    own = correction.given == number
    for rows, whose in ((own, f"labelled {name}"), (~own & ~correction.missing, "labelled otherwise")):
        known = rows & np.isfinite(values)
        if known.any():
            n_flagged = int(np.sum(known & correction.flagged))
            half = f"half of them lie below {np.median(values[known]):.2f}"
            lines.append(f"Rows {whose}: {known.sum()}, {half}; {n_flagged} are flagged.")
    return " ".join(lines)


# The certificates


def _draw_certified(correction: Correction) -> Any:
    from matplotlib.ticker import PercentFormatter

    figure, ax = _open_figure(2.8)
    display = CertifiedCurveDisplay.from_correction(correction, ax=ax)
    x, y = display.line_.get_data()
    ax.fill_between(x, y, step="mid", color=COLOURS[0], alpha=0.15, linewidth=0)
    ax.grid(color=INK, alpha=FAINT, linewidth=0.8)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol="\xa0%"))
    ax.set(xlabel="further labels (or whole rows) changed", ylabel="verdicts that stand")
    return figure


def _describe_certified(correction: Correction) -> str:
    withstood = correction.withstands
    return (
        "How many verdicts are certain to stand, by the number of further labels that change. "
        f"{np.mean(withstood >= 1):.0%} of them withstand one change, half of them at least "
        f"{int(np.median(withstood))}, the surest {withstood.max()}; each with confidence "
        f"{100 * correction.certainty:g}%."
    )


# SVG


def _to_svg(figure: Any, name: str, description: str) -> str:
    """Return a figure as SVG to be put into a page."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=NO_METADATA)
    svg = ElementTree.fromstring(file.getvalue())
    for parent in list(svg.iter()):
        for child in [child for child in parent if child.tag.endswith("}style")]:
            parent.remove(child)  # its rules would hold for the whole page
    parts = list(svg.iter())
    known = {part.attrib["id"] for part in parts if "id" in part.attrib}
    values = " ".join(value for part in parts for value in part.attrib.values())
    used = dict.fromkeys(target for target in REFERENCE.findall(values) if target in known)
    ids = {target: f"{name}-{number}" for number, target in enumerate(used)}
    for part in parts:
        part.tag = part.tag.rpartition("}")[2]  # HTML knows SVG without its namespace
        part.attrib = dict(_rewrite(part.attrib, ids))
        part.text, part.tail = part.text if part.tag == "text" else None, None
    svg.attrib = {
        "viewBox": svg.attrib["viewBox"], "width": "100%", "role": "img", "aria-label": description,
        "font-family": "system-ui, sans-serif", "stroke-linejoin": "round",
    }  # fmt: skip
    return ElementTree.tostring(svg, encoding="unicode")


def _rewrite(attributes, ids):
    for name, value in attributes.items():
        name = name.rpartition("}")[2]
        if name == "id":
            if value in ids:
                yield name, ids[value]
            continue
        value = REFERENCE.sub(lambda found: ids.get(found[0], found[0]), value)
        value = NUMBER.sub(lambda found: f"{float(found[0]):.2f}", value)  # a hundredth of a pixel is enough
        if name == "style":
            value = value.replace("'DejaVu Sans'", "system-ui").replace(INK, "currentColor")
        yield name, value
