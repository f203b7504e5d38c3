"""What a table shows beside wrong labels: far rows, small classes, unused columns, an order of the rows.

Each is an item of plain values: its kind, a title, a sentence, and the rows or columns it is about. None of
them is a verdict, and there are none where there is nothing to tell.

*Far rows.* Let m be the median distance between two rows, by the features, but with numbers and dates that
are not clipped. A row is far from everything if all but four of the others are at least 3 m away. The mean of
|x - z|^2 over all rows z is the variance plus |x - mean|^2, so such rows are also far from the mean: only
those farthest from it are looked at.

*Order.* In rows of random order, the means of a column over the tenths of the table differ by chance alone:
with n_t rows and mean m_t in tenth t, sum_t n_t (m_t - mean)^2 / variance follows about chi squared with nine
degrees of freedom. The classes are columns of zeros and ones. With as few values as are allowed here, the
approximation is up to 430 times too small where thousands of columns are tested (`CHANCE` makes up for it).
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import chdtri
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from subsvms._columns import Table
from subsvms.app.features.encoder import ColumnEncoder
from subsvms.app.quoting import show
from subsvms.app.runs.run import Run
from subsvms.correction._copies import SEARCHED
from subsvms.correction._noise import SMALLEST_CLASS
from subsvms.exceptions import Sentence, cut, format_percent, name_few

FEWEST = 20  # rows; also values that a column must have, besides its most frequent one, to show an order
CANDIDATES = 200  # rows farthest from the mean
ALONE = 5  # a row whose fifth nearest row is far has at most four near
PAIRED = 500  # rows whose distances from each other are usual
FAR = 3.0  # times the median distance
TENTHS = 10
CHANCE = 1e-6  # of an order that is none, by chi squared; in fact less than 1 in 1,000 tables
SHOWN = 50  # rows or columns of an item
COLUMNS = {  # why columns are left out, with title and sentence
    "constant": ("Columns with only one value, or none", Sentence("They are not used.")),
    "identifier": (
        "Columns that never repeat a value",
        Sentence("They are not used, because identifiers look like that; {keep} would use them."),
    ),
}


def notice(run: Run, numbers: np.ndarray) -> list[dict[str, Any]]:
    """Return what was noticed about the rows of a run, whose numbers in the whole table these are."""
    found = [] if len(numbers) < FEWEST else [find_far(run, numbers)]
    found += [find_small(run, numbers), *list_unused(run)]
    return [item for item in (*found, find_order(run)) if item is not None]


def make_item(kind: str, title: str, words: str, rows: Any = (), columns: Any = ()) -> dict[str, Any]:
    """Return an item; rows count from 1, and `more` is how many rows or columns are not shown."""
    return {
        "kind": kind, "title": title, "words": words, "rows": [int(row) + 1 for row in rows[:SHOWN]],
        "columns": [cut(name) for name in columns[:SHOWN]],
        "more": max(len(rows) - SHOWN, len(columns) - SHOWN, 0),
    }  # fmt: skip


def find_far(run: Run, numbers: np.ndarray) -> dict[str, Any] | None:
    """Return rows that are far from everything, farthest first."""
    X, encoder = run.features.X, run.features.transformer
    more = encoder.find_excess(run.table, X) if isinstance(encoder, ColumnEncoder) else None
    size = -2.0 * (X @ np.asarray(X.mean(axis=0)).ravel())
    for part in (one for one in (X, more) if one is not None):
        squares = (
            part.multiply(part).sum(axis=1) if sparse.issparse(part) else np.einsum("ij,ij->i", part, part)
        )
        size += np.asarray(squares).ravel()
    candidates = np.sort(np.argsort(size, kind="stable")[-CANDIDATES:])
    some = np.union1d(candidates, np.arange(0, len(size), -(-len(size) // SEARCHED)))
    Z = X[some] if more is None else X[some] + more[some].toarray()
    few = Z[:: -(-len(some) // PAIRED)]
    usual = float(np.median(pairwise_distances(few)[np.triu_indices(few.shape[0], 1)]))
    at = np.searchsorted(some, candidates)
    near = NearestNeighbors(n_neighbors=ALONE + 1, algorithm="brute").fit(Z).kneighbors(Z[at])[0][:, ALONE]
    far = np.flatnonzero((near >= FAR * usual) & (usual > 0))
    if not len(far):
        return None
    far = far[np.argsort(-near[far], kind="stable")]
    first = Z[at[far[0]]]
    first = (first.toarray().ravel() if sparse.issparse(Z) else first) - np.asarray(Z.mean(axis=0)).ravel()
    column = run.features.sources[int(np.abs(first).argmax())]
    times = near[far[0]] / usual
    words = (
        f"Each has at most {ALONE - 1} other rows within {FAR:.0f} times the median distance of two rows, by "
        "the features, with numbers and dates as they are. The next nearest to the first is "
        f"{times:,.0f} times as far, most of all in the column {show(column)}."
    )
    return make_item("far", "Rows far from everything, farthest first", words, numbers[candidates[far]])


def find_small(run: Run, numbers: np.ndarray) -> dict[str, Any] | None:
    """Return the rows of classes that are too small to be judged; what follows is said in a note."""
    sizes = np.asarray(run.tally.given)
    small = np.flatnonzero((sizes > 0) & (sizes < SMALLEST_CLASS))
    if not len(small):
        return None
    named = name_few([f"{show(run.correction.classes[c])} ({sizes[c]})" for c in small])
    words = f"Fewer than {SMALLEST_CLASS} labelled rows: {named}. The notes say what follows."
    rows = numbers[np.isin(run.correction.given, small)]
    return make_item("small", "Classes with few rows", words, rows)


def list_unused(run: Run) -> list[dict[str, Any]]:
    """Return the columns that cannot help, one item for each reason."""
    named = {
        why: [name for name, reason in run.features.left_out.items() if reason == why] for why in COLUMNS
    }
    return [make_item(why, *COLUMNS[why], columns=names) for why, names in named.items() if names]


def find_order(run: Run) -> dict[str, Any] | None:
    """Return what changes with the row number, labels and columns together."""
    given, X, classes = run.correction.given, run.features.X, run.correction.classes
    known = np.flatnonzero(given >= 0)
    codes = given[known[:: -(-len(known) // SEARCHED) or 1]]
    labels, shares = measure_order(1.0 * (codes[:, None] == np.arange(len(classes))))
    X, sources = X[:: -(-X.shape[0] // SEARCHED)], np.array(run.features.sources, dtype=object)
    if sparse.issparse(X):  # there may be millions of columns, most of them with a value or two
        often = np.bincount(X.indices, minlength=X.shape[1]) >= FEWEST
        X, sources = X[:, often], sources[often]
    features, _ = measure_order(X)
    least = chdtri(TENTHS - 1, CHANCE / (len(labels) + len(features)))
    order = np.argsort(-features, kind="stable")[: int(np.sum(features > least))]
    columns = list(dict.fromkeys(sources[order].tolist()))
    words = []
    if labels.max() > least:
        top = int(labels.argmax())
        listed = ", ".join(format_percent(share).removesuffix(" %") for share in shares[:, top])
        what = f"The share of {show(classes[top])} in each tenth of the labelled rows"
        words.append(f"{what}, from the first to the last, in %: {listed}.")
        if np.count_nonzero(np.diff(given[known])) == len(classes) - 1:
            words = ["The rows are sorted by the label."]
    if columns:
        also, s = ("also " if words else ""), "" if len(columns) == 1 else "s"
        words.append(f"In {len(columns)} column{s}, values {also}change with the row number.")
    if not words:
        return None
    words.append("If the order meant nothing, fewer than 1 in 1,000 tables would look like that.")
    return make_item("order", "The order of the rows", " ".join(words), columns=columns)


def measure_order(X: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return how much the means of each column differ between tenths, and these (10, n_columns)."""
    # The first is zero for columns with too few values that count: about as many as n / kurtosis.
    n = X.shape[0]
    ends = np.linspace(0, n, TENTHS + 1).astype(int)
    sizes, sums = np.maximum(np.diff(ends), 1)[:, None], np.zeros((TENTHS, 4, X.shape[1]))
    for t, (start, end) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        block = sparse.csr_array(X[start:end]) if sparse.issparse(X) else X[start:end]
        square = block * block
        for k, power in enumerate((block, square, square * block, square * square)):
            sums[t, k] = power.sum(axis=0)
    means, (mean, second, third, fourth) = sums[:, 0] / sizes, sums.sum(axis=0) / max(n, 1)
    variance = second - mean**2
    spread = fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4
    enough = (FEWEST * spread <= n * variance**2) & (variance > 1e-12)
    between = (sizes * (means - mean) ** 2).sum(axis=0)
    return np.where(enough, between / np.where(enough, variance, 1.0), 0.0), means
