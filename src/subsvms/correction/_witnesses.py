"""The nearest rows that speak for and against a suggestion, for people to compare with.

`_pulls` names the rows that pull the SVMs hardest. With a wide kernel those are a few extreme
rows, the same for every issue and often wrong themselves: they explain the vote, and do not help a person.
Here "for" are the nearest rows that carry the suggested label, and "against" those that carry the given
one, each among the rows that are not suspicious themselves.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from subsvms._typing import Table

MOST_ASKED = 2000  # issues, worst first, that get neighbours; the time grows with their number and the table


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Rows to compare with, nearest first."""

    supporting: list[list[int]]  # row numbers from 0, for each issue; none beyond the first MOST_ASKED
    opposing: list[list[int]]


def find_neighbours(
    X: Table,
    labels: np.ndarray,
    rows: np.ndarray,
    proposed: np.ndarray,
    *,
    n_neighbours: int = 3,
) -> Neighbours:
    """Return the nearest unsuspicious rows of the proposed class, and of the others or the given one.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    labels : ndarray of int of shape (n_rows,)
        Given class numbers, -1 where there is none.
    rows : ndarray of int of shape (n_issues,)
        Suspicious rows, worst first.
    proposed : ndarray of int of shape (n_issues,)
        The class suggested for each.
    n_neighbours : int, default=3

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [0.17], [0.8], [0.9], [1.0]])
    >>> labels = np.array([0, 0, 0, 1, 1, 1, 1])  # the fourth looks wrong
    >>> found = find_neighbours(X, labels, np.array([3]), np.array([0]), n_neighbours=2)
    >>> found.supporting, found.opposing
    ([[2, 1]], [[4, 5]])
    """
    trusted = labels >= 0
    trusted[rows] = False
    asked = rows[:MOST_ASKED]
    supporting: list[list[int]] = [[] for _ in rows]
    opposing: list[list[int]] = [[] for _ in rows]
    wanted = np.stack([proposed[: len(asked)], labels[asked]], axis=1)
    for suggested, given in np.unique(wanted, axis=0).tolist():
        places = np.flatnonzero((wanted == (suggested, given)).all(axis=1))
        others = trusted & (labels == given if given >= 0 else labels != suggested)
        for side, pool in ((supporting, trusted & (labels == suggested)), (opposing, others)):
            for place, found in zip(places, _nearest(X, asked[places], pool, n_neighbours), strict=True):
                side[place] = found
    return Neighbours(supporting, opposing)


def _nearest(X, asked, pool, n):
    candidates = np.flatnonzero(pool)
    n = min(n, len(candidates))
    if n == 0:
        return [[] for _ in asked]
    finder = NearestNeighbors(n_neighbors=n, algorithm="brute").fit(X[candidates])
    return candidates[finder.kneighbors(X[asked], return_distance=False)].tolist()
