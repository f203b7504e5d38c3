"""Whether suspicious labels gather at one value of a column, as they do if one annotator or source is worse.

Let O be the labels flagged among the rows with a value v, and E what would be expected of these rows if each
of their given labels were flagged as often as that label is in the other rows. The value stands out if

    lower limit of O / n  >  WORSE * E / n,

with a limit (Clopper and Pearson) that all values of all columns together miss with probability `CHANCE` if
nothing distinguishes them. Comparing label by label keeps apart a column that only goes with a noisy class;
asking for a multiple keeps apart columns that matter little in a large table.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from subsvms._intervals import lower_limit
from subsvms.app.features.columns import number_values

MOST_VALUES = 50  # of a column that may say who labelled a row
CHANCE = 0.01
WORSE = 2.0  # times as many as expected


@dataclass(frozen=True)
class Origin:
    """A value of a column at which suspicious labels gather.

    Attributes
    ----------
    column : str
    value : object
        None if it is missing.
    n_rows, n_flagged : int
        Rows with this value and a label, and how many of these labels are flagged.
    expected : float
        How many would be flagged if they were like the other rows with the same labels.
    """

    column: str
    value: object
    n_rows: int
    n_flagged: int
    expected: float


def find_origins(columns: Mapping[str, np.ndarray], given: np.ndarray, flagged: np.ndarray) -> list[Origin]:
    """Return the values at which suspicious labels gather, at most one for each column, clearest first.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n_rows,)
        As `read_column` returns them. Those with one value, or more than 50, are passed over.
    given : ndarray of int of shape (n_rows,)
        Class numbers, -1 where the label is missing.
    flagged : ndarray of bool of shape (n_rows,)
        Labels that are probably wrong.

    Examples
    --------
    >>> who, given = np.array(["ann", "bob"], dtype=object)[np.arange(400) % 2], np.arange(400) // 2 % 2
    >>> flagged = (who == "bob") & (np.arange(400) % 7 == 0)
    >>> find_origins({"who": who, "size": np.arange(400.0) % 9}, given, flagged)
    [Origin(column='who', value='bob', n_rows=200, n_flagged=29, expected=0.0)]
    """
    known = np.flatnonzero(given >= 0)
    if not np.any(flagged[known]):
        return []
    own, bad = given[known], flagged[known]
    tables = {}
    for name, values in columns.items():
        codes, n_values = number_values(values[known])
        if 2 <= n_values <= MOST_VALUES:
            tables[name] = codes, n_values
    n_tests = sum(n_values for _, n_values in tables.values())
    found = []
    for name, (codes, n_values) in tables.items():
        worst = _find_worst(codes, n_values, own, bad, 1 - CHANCE / n_tests)
        if worst is not None:
            code, *numbers = worst
            value = columns[name][known[np.flatnonzero(codes == code)[0]]]
            found.append(Origin(name, value, *numbers))
    return sorted(found, key=lambda one: -one.n_flagged / (one.expected + 1))


def _find_worst(codes, n_values, given, flagged, confidence):
    """Return the value that stands out most: its number, rows, flagged labels and those expected; or None."""
    n_classes = int(given.max()) + 1
    cells = codes * n_classes + given
    rows, bad = (
        np.bincount(cells, weights, minlength=n_values * n_classes).reshape(n_values, n_classes)
        for weights in (None, flagged)
    )
    others, bad_others = rows.sum(axis=0) - rows, bad.sum(axis=0) - bad
    comparable = np.all((others > 0) | (rows == 0), axis=1)  # else a label stands nowhere but here
    expected = (rows * bad_others / np.maximum(others, 1)).sum(axis=1)
    n_rows, n_flagged = rows.sum(axis=1), bad.sum(axis=1)
    low = lower_limit(n_flagged, n_rows, confidence) * n_rows
    excess = np.where(comparable, low - WORSE * expected, -np.inf)
    worst = int(excess.argmax())
    if excess[worst] <= 0:
        return None
    return worst, int(n_rows[worst]), int(n_flagged[worst]), float(expected[worst])
