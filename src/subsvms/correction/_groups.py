"""Groups of rows that belong together: such as the user names, or else copies (`_copies`).

A vote on a row counts only if its SVM saw no row of the group: each patient, document or session is judged by
SVMs that know nothing of it. What is proved of verdicts is proved for single rows, so verdicts on groups have
no certificate, nor has any if groups are so large that subsets were drawn otherwise (`ensemble._sampling`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from subsvms._columns import Table
from subsvms.correction._copies import Copies, Finder, find_copies, list_sets
from subsvms.correction._rule import Rule, weigh_copies
from subsvms.ensemble._votes import Votes, find_bags
from subsvms.exceptions import Note

FEW_VOTERS = 50  # or a quarter of the SVMs, if they are few
RARE = 0.02  # share of the rows, below which equal rows with different labels are listed first
FEW = (
    "{n} rows are judged by fewer than {few} SVMs, since the others saw rows of their groups: more SVMs "
    "({n_estimators}) or smaller groups make the votes on them surer."
)
CONTRADICTORY = "{n} rows are equal to others with another label: one is wrong, or the columns do not decide."
TOGETHER = "They were judged together, by all of their labels, and by judges that saw none of them."
BY_NATURE = "Equal rows are frequent in this table, so no label was changed because of it."
FIRST = " They are rare, so they stand first in the list."
COPIES = (
    "{n} rows are copies of each other, equal or nearly so: each was judged without learning from its "
    "copies, and has no certificate."
)
MANY = (
    "Rows are equal so often that this may be their nature, so equal rows are not taken for copies: say "
    "with {groups} which rows belong together."
)


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of the rows that were learned from, and which SVMs saw each."""

    numbers: np.ndarray  # (n_rows,): the group of each row; most rows may have one of their own
    grouped: np.ndarray  # (n_rows,): whether there are others in the group
    finder: Finder | None = None  # finds the groups of other rows, if copies are groups
    bags: tuple[tuple[np.ndarray, np.ndarray], ...] = ()  # of each ensemble: the subsets that saw each group
    redrawn: bool = False  # whether subsets leave out groups that are large

    def seen_by(self, ensembles: Iterable[np.ndarray], pool: np.ndarray, redrawn: bool) -> "Groups":
        """Return the same with what the subsets of each ensemble saw, which hold places in a pool."""
        own, every = self.numbers[pool], np.arange(int(self.numbers.max()) + 2)  # the last one is no group
        bags = tuple(find_bags(own[subsets], len(every), every) for subsets in ensembles)
        return replace(self, bags=bags, redrawn=redrawn)

    def find_bags(self, numbers: np.ndarray | None, ensemble: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the subsets that saw a row of each of these groups; None if none did."""
        if numbers is None or not (numbers >= 0).any():
            return None
        starts, subsets = self.bags[ensemble]
        none = len(starts) - 2  # also for groups of which no row was learned from
        places = np.where((numbers >= 0) & (numbers < none), numbers, none)
        counts = starts[places + 1] - starts[places]
        pointer = np.concatenate([[0], np.cumsum(counts)])
        taken = np.arange(pointer[-1]) + np.repeat(starts[places] - pointer[:-1], counts)
        return pointer, subsets[taken]


def group_rows(X: Table | None, n_rows: int, named: np.ndarray | None) -> tuple[Copies, np.ndarray | None]:
    """Return the copies among rows, and the group of each row; None if every row is alone."""
    copies = Copies.none(n_rows) if X is None else find_copies(X)
    formed = form_groups(copies, X, np.zeros(n_rows, dtype=bool), named, find=False)
    return copies, None if formed is None else formed.numbers


def form_groups(
    copies: Copies, X: Table | None, in_pool: np.ndarray, named: np.ndarray | None, *, find: bool
) -> Groups | None:
    """Return the groups of rows: the named ones, or else copies; None if every row is alone."""
    numbers = copies.numbers if named is None else named
    grouped = np.bincount(numbers)[numbers] > 1
    if not grouped.any():
        return None
    if not find or named is not None or X is None:
        return Groups(numbers, grouped)
    return Groups(numbers, grouped, Finder(X[in_pool], numbers[in_pool], copies))


def note_few_voters(groups: Groups | None, votes: Votes, n_svms: int) -> list[Note]:
    """Return a note on rows that few SVMs can judge because of their groups."""
    if groups is None:
        return []
    few = min(FEW_VOTERS, n_svms // 4)
    n = int(np.sum(groups.grouped & (votes.n_voters < few)))
    return [Note("few_voters", FEW, n=f"{n:,}", few=few)] if n else []


class Kin(NamedTuple):
    """Rows of a table that are copies of each other, among those that were looked at."""

    n_rows: int  # how many these are
    sets: list[np.ndarray]  # rows that are copies and were grouped, set by set
    contradictory: list[np.ndarray]  # equal rows with different labels, set by set
    given: list[np.ndarray]  # the class numbers of these
    left_alone: str  # as in `Copies`

    @property
    def first(self) -> list[np.ndarray]:
        """The contradictory rows that are listed first, since they are rare."""
        n = sum(map(len, self.contradictory))
        return self.contradictory if n < RARE * self.n_rows else []

    def tell(self) -> list[Note]:
        """Return what to know of them; nothing where equal rows are to be expected."""
        told, n = [], sum(map(len, self.contradictory))
        if n and (self.first or not self.left_alone):
            why = BY_NATURE if self.left_alone else TOGETHER
            words = f"{CONTRADICTORY} {why}{FIRST if self.first else ''}"
            told.append(Note("contradictory", words, n=f"{n:,}"))
        if (n := sum(map(len, self.sets))) >= RARE * self.n_rows:  # of a few the report speaks
            told.append(Note("copies", COPIES, n=f"{n:,}"))
        if self.left_alone == "many":
            told.append(Note("copies", MANY))
        return told


def find_kin(copies: Copies, given: np.ndarray, rows: np.ndarray, named: np.ndarray | None) -> Kin:
    """Return which rows are copies, by their numbers in the table; beside named groups none are formed."""
    known = list_sets(np.where(given >= 0, copies.equal, -1))
    unlike = [own for own in known if len(np.unique(given[own])) > 1]
    sets = [rows[own] for own in list_sets(copies.numbers)] if named is None else []
    left_alone = copies.left_alone if named is None or copies.left_alone != "many" else "nature"
    return Kin(len(rows), sets, [rows[own] for own in unlike], [given[own] for own in unlike], left_alone)


def weigh_kin(kin: Kin, rule: Rule, votes: Votes, given: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
    """Return what equal rows with different labels are, as `weigh_copies`; None if they are left alone."""
    if kin.left_alone or not kin.contradictory:
        return None
    return weigh_copies(rule, votes, given, [np.searchsorted(rows, own) for own in kin.contradictory])
