"""Who made the errors? Flagged labels by annotator, source, date or any other column.

Values of text stand for themselves; dates go into days, months or years, and numbers of many values into
fifths, so that there are few enough groups to read.
"""

from dataclasses import dataclass

import numpy as np

from subsvms.columns import find_meaning, find_missing_values, read_column
from subsvms.correction import Correction
from subsvms.delimited import Delimited
from subsvms.files import TableError, show, suggest
from subsvms.limits import lower_limit, upper_limit
from subsvms.table import LabelledTable

FEW = 24  # groups that are still easily read; dates are taken coarser, and numbers cut, above it
CONFIDENCE = 0.95  # of each end of an interval
MISSING = "(missing)"


@dataclass(frozen=True)
class Group:
    """What was found in the rows that share a value."""

    value: str
    n_rows: int  # with a label
    n_flagged: int
    low: float  # the share flagged is at least this, and at most `high`, each with confidence 0.95
    high: float
    expected_wrong: float  # probabilities of being wrong, added up

    @property
    def share(self) -> float:
        """Share of the rows that are flagged."""
        return self.n_flagged / self.n_rows


def group_noise(values: np.ndarray, correction: Correction) -> tuple[Group, ...]:
    """Return what was found in each group, largest share of flagged labels first.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), object
        The group of each row, as `read_groups` returns it.
    correction : Correction

    Examples
    --------
    >>> from subsvms import correct_labels
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat([0, 1], 300)
    >>> X, who = rng.normal(clean[:, None], 0.2, (600, 4)), np.tile(["ann", "bob"], 300).astype(object)
    >>> given = np.where((who == "bob") & (rng.random(600) < 0.3), 1 - clean, clean)
    >>> for group in group_noise(who, correct_labels(X, given, random_state=0)):
    ...     print(group.value, group.n_rows, group.share > 0.1)
    bob 300 True
    ann 300 False
    """
    rows = np.flatnonzero(~correction.missing)
    names, numbers = np.unique(values[rows].astype(str), return_inverse=True)
    wrong = 1.0 - correction.judgement.posterior[rows, correction.given[rows]]
    n_rows = np.bincount(numbers, minlength=len(names))
    n_flagged = np.bincount(numbers, correction.flagged[rows], minlength=len(names)).astype(int)
    expected = np.bincount(numbers, wrong, minlength=len(names))
    low, high = (limit(n_flagged, n_rows, CONFIDENCE) for limit in (lower_limit, upper_limit))
    found = [
        Group(str(name), *map(int, counts), *map(float, numbers))
        for name, counts, numbers in zip(
            names, zip(n_rows, n_flagged, strict=True), zip(low, high, expected, strict=True), strict=True
        )
    ]
    return tuple(sorted(found, key=lambda group: (-group.share, -group.n_rows, group.value)))


def read_groups(table: LabelledTable, name: str) -> np.ndarray:
    """Return the group of each row by a column.

    Parameters
    ----------
    table : LabelledTable
    name : str
        A column, but not the label.

    Returns
    -------
    ndarray of shape (n_rows,), object
        Text.
    """
    names = [one for one in table.columns.column_names if one != table.label]
    if name not in names:
        hint = suggest(name, names) or "."
        raise TableError(f"--by names {show(name)}, which is no column of {table.name} but the label{hint}")
    decimal_comma = isinstance(table.text, Delimited) and table.text.separator == ";"
    meaning = find_meaning(table.columns[name], decimal_comma)
    if meaning is None:
        raise TableError(f"--by names {show(name)}, which holds neither numbers, text nor dates.")
    values = read_column(table.columns[name], meaning)
    missing = find_missing_values(values)
    groups = np.full(len(values), MISSING, dtype=object)
    cut = {"date": _cut_dates, "number": _cut_numbers}.get(meaning.kind, lambda present: present)
    groups[~missing] = cut(values[~missing])
    return groups


def _cut_dates(dates):
    for unit in ("D", "M", "Y"):
        cut = dates.astype(f"datetime64[{unit}]")
        if len(np.unique(cut)) <= FEW or unit == "Y":
            break
    return cut.astype(str)


def _cut_numbers(numbers):
    distinct = np.unique(numbers)
    if len(distinct) <= FEW:
        return np.array([f"{number:.15g}" for number in numbers], dtype=object)
    edges = np.unique(np.percentile(numbers, (0, 20, 40, 60, 80, 100)))
    names = np.array(
        [f"{a:.15g} to {b:.15g}" for a, b in zip(edges[:-1], edges[1:], strict=True)], dtype=object
    )
    return names[np.clip(np.searchsorted(edges, numbers, side="left") - 1, 0, len(names) - 1)]
