"""Lay out a map of the rows: the two directions of the features in which the classes differ most.

With the vote shares v_it of row i for class t, and the features x_i, the centre of class t is

    m_t = sum_i v_it x_i / sum_i v_it.

The map shows the leading right singular vectors of the centres, less their mean: one fewer than there are
classes. With two classes, the second direction is the one in which the rows differ most apart from the first.
The votes are those of SVMs that were not trained on a row, so a row does not pull the centre of the class
that its own label names. The same correction gives the same map.
"""

from typing import Any

import numpy as np
from scipy import sparse

from subsvms._columns import Table
from subsvms.app.looks import N_COLOURS
from subsvms.correction._result import Correction
from subsvms.exceptions import format_count

MAX_FLAGGED, MAX_OTHERS = 400, 1600  # rows on the map: about 30 kB
MAX_LEARNED = 20_000  # rows from which directions are learned
MAX_NAMED = 12  # classes named on a map of more than two
WIDTH, HEIGHT, MARGIN = 338, 250, 8  # of the map, in units of its SVG
OUTLIERS = 0.5  # per cent of the rows, on each side, that are drawn at the border
STEPS = 60  # of the power method; a direction that needs more is as good as the next one


def lay_out_map(correction: Correction, features: Table, names: list[Any]) -> dict[str, Any] | None:
    """Return the map of a correction's rows; None if there are no two directions to show."""
    known = np.flatnonzero(~correction.missing & (correction.votes.n_voters > 0))
    if features.shape[1] < 2 or len(known) < 3:
        return None
    flagged = known[correction.flagged[known]]
    flagged = flagged[np.argsort(correction.label_quality[flagged], kind="stable")][:MAX_FLAGGED]
    others = spread_out(known[~correction.flagged[known]], MAX_OTHERS)
    shown = np.concatenate([flagged, others])
    learned = spread_out(known, MAX_LEARNED)
    directions = find_directions(features[learned], correction.votes.share[learned])
    if directions is None:
        return None
    places = place_points(np.asarray(features[shown] @ directions))
    about = (
        f"A map of {len(shown)} rows, {len(flagged)} of them flagged: rows that are alike in what tells the "
        "classes apart lie close together."
    )
    marks = (places, correction.given[shown], np.arange(len(shown)) < len(flagged), names)
    return {
        "about": about, "groups": group_rows(*marks), "width": WIDTH, "height": HEIGHT,
        "names": [] if len(names) == 2 else name_places(*marks),
    }  # fmt: skip


def spread_out(rows: np.ndarray, most: int) -> np.ndarray:
    """Return at most so many of the rows, drawn at random, the same ones each time, in their order."""
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def find_directions(X: Table, share: np.ndarray) -> np.ndarray | None:
    """Return two directions of the features, as columns of length one; None if there are no two."""
    share = np.nan_to_num(share)
    seen = share.sum(axis=0) > 0
    centres = np.asarray(X.T @ share[:, seen]).T / share[:, seen].sum(axis=0)[:, None]
    _, sizes, axes = np.linalg.svd(centres - centres.mean(axis=0), full_matrices=False)
    axes = axes[: min(2, int(np.sum(sizes > 1e-9 * max(sizes[0], 1e-9))))]
    while len(axes) < 2:
        axis = find_widest(X, axes)
        if axis is None:
            return None
        axes = np.concatenate([axes, axis[None]])
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])  # of either, the same each time
    return axes.T * signs


def find_widest(X: Table, axes: np.ndarray) -> np.ndarray | None:
    """Return the direction in which rows differ most, at right angles to others; None if they do not."""
    mean = np.asarray(X.mean(axis=0)).ravel()

    def clear(direction):
        return direction - axes.T @ (axes @ direction)

    squares = X.multiply(X) if sparse.issparse(X) else X * X
    direction = clear(np.asarray(squares.mean(axis=0)).ravel() - mean**2 + 1e-3)
    for _ in range(STEPS):
        length = np.linalg.norm(direction)
        if not length > 1e-12:
            return None
        direction = direction / length
        projected = X @ direction
        direction = clear(np.asarray(X.T @ (projected - projected.mean())).ravel())
    length = np.linalg.norm(direction)
    return direction / length if length > 1e-12 else None


def place_points(projected: np.ndarray) -> np.ndarray:
    """Return whole numbers for the places of points on the map; the few outliers lie at its border."""
    low, high = np.percentile(projected, (OUTLIERS, 100 - OUTLIERS), axis=0)
    share = np.clip((projected - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    size = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    return np.round(MARGIN + share * size).astype(int)


def group_rows(places, own, flagged, names) -> list[dict[str, Any]]:
    """Return the marks on a map: dots in the colours of the classes, and crosses where rows are flagged."""
    two, everywhere = len(names) == 2, np.ones(len(own), dtype=bool)
    each: list[tuple[np.ndarray, str, dict[str, Any]]] = [
        (own == number, f"labelled {name!r}", {"number": number, "round": number == 0 or not two})
        for number, name in enumerate(names)
    ]
    dots, crosses = each, [(rows, f"flagged, {label}", look) for rows, label, look in each]
    if len(names) > N_COLOURS:  # more could not be told apart
        dots = [(everywhere, "not flagged", {"round": True, "opacity": 0.25})]
    if not two:  # only two classes differ in their shapes, too
        crosses = [(everywhere, "flagged", {"round": True})]
    groups = [
        make_group(places[rows & ~flagged], label, {"kind": "dots", "opacity": 0.55} | look)
        for rows, label, look in dots
    ]
    for rows, label, look in crosses:
        if n_rows := int(np.sum(rows & flagged)):
            look = look | {"kind": "crosses", "colour": "currentColor"}
            groups.append(make_group(places[rows & flagged], f"{label}: {format_count(n_rows, 'row')}", look))
    return groups


def make_group(places: np.ndarray, label: str, look: dict[str, Any]) -> dict[str, Any]:
    """Return marks, without those on top of each other, which cannot be seen."""
    return look | {"label": label, "places": np.unique(places, axis=0).tolist()}


def name_places(places, own, flagged, names) -> list[tuple[int, int, str]]:
    """Return where the names of classes stand: amid their rows, those with most flagged rows first.

    A name that would cover another one is left out.
    """
    n_flagged, n_rows = (np.bincount(rows, minlength=len(names)) for rows in (own[flagged], own))
    found: list[tuple[int, int, str]] = []
    for number in np.lexsort((-n_rows, -n_flagged))[:MAX_NAMED].tolist():
        rows = places[(own == number) & ~flagged]
        if len(rows):
            name = str(names[number])
            half = 3.3 * len(name) + 2
            x, y = np.median(rows, axis=0)
            x = int(np.clip(x, half + 2, WIDTH - half - 2))
            if all(abs(y - b) > 12 or abs(x - a) > half + 3.3 * len(other) + 2 for a, b, other in found):
                found.append((x, int(y), name))
    return found
