"""Which issues a reviewer wants to see."""

from dataclasses import dataclass

from subsvms.app.runs.acts import VERDICTS
from subsvms.app.words import show
from subsvms.exceptions import TableError

SORTS = ("worst", "row", "confidence", "given", "suggested")
STATUSES = ("open", "decided", "skipped", "disputed", "all")


@dataclass(frozen=True)
class Filter:
    """Which issues to show, and in which order."""

    given: str | None = None  # names of classes
    suggested: str | None = None
    # range of the number that is shown: how likely the given label is wrong, or where there is none, how
    # likely the suggested one is right
    low: float = 0.0
    high: float = 1.0
    # {"open", "decided", "skipped", "disputed", "all"}: disputed are rows that people decided differently
    status: str = "all"
    who: str | None = None  # whose decision holds now, and which
    verdict: str | None = None
    note: str | None = None  # {"yes"} or None: only rows with a note of anybody
    column: str | None = None  # A column, and the value that rows must have in it
    value: str | None = None
    search: str = ""  # text that a row must contain, in any column
    # {"worst", "row", "confidence", "given", "suggested"}: worst first: those whose given label is most
    # likely wrong
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
