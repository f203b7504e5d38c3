"""Which issues a reviewer wants to see."""

from dataclasses import dataclass

from subsvms.app.runs.acts import VERDICTS
from subsvms.app.tables.files import show
from subsvms.exceptions import TableError

SORTS = ("worst", "row", "confidence", "given", "suggested")
STATUSES = ("open", "decided", "skipped", "disputed", "all")


@dataclass(frozen=True)
class Filter:
    """Which issues to show, and in which order.

    Attributes
    ----------
    given, suggested : str or None
        Names of classes.
    low, high : float
        Range of the number that is shown: how likely the given label is wrong, or where there is none, how
        likely the suggested one is right.
    status : {"open", "decided", "skipped", "disputed", "all"}
        Disputed are rows that people decided differently.
    who, verdict : str or None
        Whose decision holds now, and which.
    note : {"yes"} or None
        Only rows with a note of anybody.
    group : str or None
        Only similar rows; see `groups`.
    column, value : str or None
        A column, and the value that rows must have in it.
    search : str
        Text that a row must contain, in any column.
    sort : {"worst", "row", "confidence", "given", "suggested"}
        Worst first: those whose given label is most likely wrong.
    """

    given: str | None = None
    suggested: str | None = None
    low: float = 0.0
    high: float = 1.0
    status: str = "all"
    who: str | None = None
    verdict: str | None = None
    note: str | None = None
    group: str | None = None
    column: str | None = None
    value: str | None = None
    search: str = ""
    sort: str = "worst"

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise TableError(f"The status must be one of {', '.join(STATUSES)}; got {show(self.status)}.")
        if self.sort not in SORTS:
            raise TableError(f"The order must be one of {', '.join(SORTS)}; got {show(self.sort)}.")
        if not 0 <= self.low <= self.high <= 1:
            raise TableError(f"The range must lie between 0 and 1; got {self.low} to {self.high}.")
        if self.verdict is not None and self.verdict not in VERDICTS:
            raise TableError(f"A verdict must be one of {', '.join(VERDICTS)}; got {show(self.verdict)}.")
        if self.note not in (None, "yes"):
            raise TableError(f"note must be yes, for rows with a note; got {show(self.note)}.")
