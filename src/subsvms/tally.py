"""What was found in a table, in whole numbers: parts of it add up to the same in any order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from subsvms.correction import Correction
from subsvms.files import TableError
from subsvms.groups import UNIT, Counts, count_groups
from subsvms.judgement import SPARED

MOST_GROUPS = 100_000  # of a column, in parts: memory would follow their number


@dataclass(frozen=True)
class Tally:
    """Rows of a table, counted."""

    rows: int
    verified: int
    dropped: int
    held_back: int  # another label is more probable, but the rule kept the given one
    spared: dict[str, int]  # by halt: of changes that failed a test, or could not be tested
    given: list[int]  # by class
    flagged: list[int]  # by given class
    changed: list[int]
    moves: list[list[int]]  # flagged, by given and suggested class
    confidence: int  # of flagged labels, added up, in billionths
    groups: dict[str, Counts] = field(default_factory=dict)  # by column

    @classmethod
    def of(cls, correction: Correction, groups: Mapping[str, np.ndarray] | None = None) -> "Tally":
        """Count the rows of a correction.

        Parameters
        ----------
        correction : Correction
        groups : mapping of str to ndarray of shape (n_rows,), optional
            By column, the group of each row.
        """
        k = len(correction.classes)
        known = ~correction.missing
        flagged = np.flatnonzero(correction.flagged)
        own, suggested = correction.given[flagged], correction.judgement.suggested[flagged]
        sure = correction.confidence[flagged]
        return cls(
            rows=len(correction),
            verified=int(correction.decided.sum()),
            dropped=int(np.sum(~correction.kept)),
            held_back=int(correction.held_back.sum()),
            spared={halt: int(np.sum(correction.judgement.halt == halt)) for halt in SPARED},
            given=np.bincount(correction.given[known], minlength=k).tolist(),
            flagged=np.bincount(own, minlength=k).tolist(),
            changed=np.bincount(correction.given[correction.changed], minlength=k).tolist(),
            moves=np.bincount(own * k + suggested, minlength=k * k).reshape(k, k).tolist(),
            confidence=int(np.round(sure * UNIT).astype(np.int64).sum()),
            groups={name: count_groups(values, correction) for name, values in (groups or {}).items()},
        )

    @property
    def labelled(self) -> int:
        """Rows that came with a label."""
        return sum(self.given)

    @property
    def n_flagged(self) -> int:
        """Labels that are thought wrong."""
        return sum(self.flagged)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(**{key: _add(value, vars(other)[key]) for key, value in vars(self).items()})


def _add(one: Any, other: Any) -> Any:
    """Add numbers, lists of them place by place, and dictionaries of them key by key."""
    if isinstance(one, dict):
        both = one.keys() & other.keys()
        joined = {**one, **other, **{key: _add(one[key], other[key]) for key in both}}
        if len(joined) > MOST_GROUPS:
            raise TableError(f"A column of --by has more than {MOST_GROUPS:,} values: choose one with fewer.")
        return joined
    if isinstance(one, list | tuple):
        return type(one)(_add(a, b) for a, b in zip(one, other, strict=True))
    return one + other
