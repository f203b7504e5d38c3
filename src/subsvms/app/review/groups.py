"""Similar issues, to be decided together.

Two issues with the same given and the same suggested label are similar if at least `SHARED` of the six rows
that speak for and against each are the same: then they lie in one place, seen from either label. Groups are
what such pairs connect. Issues without witnesses, which are those after the first 2,000, have no group, so
this takes a tenth of a second however many there are.

Members of a group do not always deserve the same decision, and hardly more often than other rows with the
same two labels: a group saves time, but has to be looked at.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np

SHARED = 4  # witnesses


def find_groups(
    given: np.ndarray, suggested: np.ndarray, witnesses: Sequence[Sequence[int]], shared: int = SHARED
) -> np.ndarray:
    """Return the group of each issue: the place of its first member; -1 for an issue that is alone."""
    first = list(range(len(given)))  # a tree: the place of an earlier member, or its own

    def find(place: int) -> int:
        while first[place] != place:
            first[place] = place = first[first[place]]
        return place

    places = defaultdict(list)
    for place, rows in enumerate(witnesses):
        for some in combinations(sorted(rows), shared):
            places[int(given[place]), int(suggested[place]), some].append(place)
    for members in places.values():
        for other in members[1:]:
            roots = sorted((find(members[0]), find(other)))
            first[roots[1]] = roots[0]
    groups = np.array([find(place) for place in range(len(given))], dtype=np.int64)
    sizes = np.bincount(groups, minlength=len(groups)) if len(groups) else groups
    return np.where(sizes[groups] > 1, groups, -1)
