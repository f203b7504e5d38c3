"""Questions that are asked once more, blind: they correct careless answers, and show which rows are hard.

Every answer that overturns a label is asked again, and of those that keep it a random share, the decoys: so a
person who recognises a row does not know what was said about it. If two answers differ, a third decides;
without it the label stays as it was given. Between two questions about a row lie at least `GAP` others, or
the second is left out; while there are new questions, a random number of more, and no two repeats follow
each other: nobody can count. With m answers there are at most `MOST` m repeats.

Sets pass, and are chosen, by the first answer about each row alone. So what may be said is about what people
say at first, and no pass waits for a repeat; a repeat decides the label of its own row, and nothing else.
"""

from dataclasses import dataclass

import numpy as np

GAP = 5  # questions between two about one row, and up to twice as many more
DECOYS = 1 / 3  # of the answers that keep a label
MOST = 0.8  # repeats for each answer


@dataclass(frozen=True)
class _Repeat:
    row: int
    earliest: int  # number of answers after which it may come
    due: int  # the same while there are new questions
    last: bool = False  # whether it is the third question


class Repeats:
    """The rows that wait to be asked again."""

    def __init__(self, n_most: int, seed: int):
        self.waiting: list[_Repeat] = []  # by when they are due
        self.n_most, self.seed = n_most, seed
        self._n_left, self._n_first = n_most, 0

    def list_due(self, n_log: int, is_last: bool) -> list[int]:
        """Return the rows that may be asked again after so many answers; `is_last`: nothing else is asked."""
        return [one.row for one in self.waiting if (one.earliest if is_last else one.due) <= n_log]

    def add_first(self, row: int, overturns: bool, n_log: int) -> None:
        """Take note of a first answer, the last of `n_log` answers."""
        if not self.n_most:
            return
        self._n_first += 1
        if self._rng(self._n_first).random() < DECOYS or overturns:
            self._wait(row, n_log)

    def add_again(self, row: int, agrees: bool, n_log: int) -> bool:
        """Take note of another answer about a row, and return whether it decides what the row is."""
        one = next(one for one in self.waiting if one.row == row)
        self.waiting.remove(one)
        if not agrees and not one.last:
            self._wait(row, n_log, last=True)
        return agrees or one.last

    def _wait(self, row, n_log, *, last=False):
        if self._n_left:
            self._n_left -= 1
            more = int(self._rng(n_log, 1).integers(2 * GAP + 1))
            self.waiting.append(_Repeat(row, n_log + GAP, n_log + GAP + more, last))
            self.waiting.sort(key=lambda one: one.due)

    def _rng(self, *step):
        return np.random.default_rng([self.seed, 3, *step])
