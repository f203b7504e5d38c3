"""What a table was read from, so that it can be written back as it was but for the labels.

In text, labels are replaced and rows removed in the text itself, so all other bytes stay as they were.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np


class Original(Protocol):
    """A file that was read: text, a workbook, or a table whose labels have codes."""

    def replace_labels(self, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]) -> bytes:
        """Return the file with new labels and further columns; the parameters are those of `TableText`."""

    def keep_rows(self, keep: np.ndarray) -> "Original | None":
        """Return the file without some rows; None if that is not possible, so that only columns are left."""


@dataclass(frozen=True)
class TableText(ABC):
    """Text, and the positions of its rows and labels."""

    data: bytes  # UTF-8
    rows: np.ndarray  # (n_rows,): where each row starts
    starts: np.ndarray  # (n_rows,): where each label starts and ends; in JSON Lines, the object that holds it
    ends: np.ndarray

    @abstractmethod
    def replace_labels(self, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]) -> bytes:
        """Return the text with new labels, and further columns directly after them."""

    @property
    def cells(self) -> list[bytes]:
        """The bytes between `starts` and `ends`."""
        return [self.data[a:b] for a, b in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]

    @property
    def lines(self) -> np.ndarray:
        """The number of the line, counted from 1, on which each row starts, after empty lines."""
        text = np.frombuffer(self.data, dtype=np.uint8)
        first, last = self.rows.copy(), len(text) - 1
        while (blank := np.isin(text[first], (ord("\n"), ord("\r"))) & (first < last)).any():
            first[blank] += 1
        ends = text == ord("\n")
        ends[:-1] |= (text[:-1] == ord("\r")) & (text[1:] != ord("\n"))
        ends[-1:] |= text[-1:] == ord("\r")
        return 1 + np.searchsorted(np.flatnonzero(ends), first)

    def splice(self, cells: Iterable[bytes]) -> bytes:
        """Return the text with other bytes between `starts` and `ends`."""
        pieces, at = [], 0
        for start, end, cell in zip(self.starts.tolist(), self.ends.tolist(), cells, strict=True):
            pieces += [self.data[at:start], cell]
            at = end
        return b"".join(pieces) + self.data[at:]

    def keep_rows(self, keep: np.ndarray) -> Self:
        """Return the text without some rows; what stands between two rows stays or goes with one of them."""
        ends = np.append(self.rows[1:], len(self.data))
        kept = zip(self.rows[keep].tolist(), ends[keep].tolist(), strict=True)
        pieces = [self.data[: self.rows[0]], *(self.data[a:b] for a, b in kept)]
        shift = np.cumsum(np.where(keep, 0, ends - self.rows))[keep]
        positions = {name: getattr(self, name)[keep] - shift for name in ("rows", "starts", "ends")}
        return replace(self, data=b"".join(pieces), **positions)


def format_cells(values: Iterable) -> list[str | None]:
    """Return values as the text of cells; None stays None."""
    words = {True: "true", False: "false"}
    return [
        value if value is None else words[value] if isinstance(value, bool) else str(value)
        for value in values
    ]
