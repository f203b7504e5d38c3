"""Where a review stands: what holds for each issue, counted, and how far people agree.

Only decisions about a single row are judgements: whoever accepts 273 rows at once, or imports them, has not
looked at each, and nothing follows from that about how many suggestions are right.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from subsvms._numbers import lower_limit, upper_limit
from subsvms.app.runs.acts import Decision

CONFIDENCE = 0.95  # of each end of the expected precision
OPEN, DECIDED, SKIPPED = range(3)


class Standing(NamedTuple):
    """Where one issue stands."""

    status: int  # OPEN, DECIDED or SKIPPED
    # whether the row is left out, has a note of anybody, and was decided differently by several people
    dropped: bool
    noted: bool
    disputed: bool
    # whether somebody who looked at this row alone gave it a label, and whether it was the suggested one
    judged: bool
    accepted: bool
    opinions: dict[str, Any]  # what each person who looked at this row alone decided last


UNTOUCHED = Standing(OPEN, False, False, False, False, False, {})


def assess(stack: Sequence[Decision]) -> Standing:
    """Return where an issue stands, from the decisions that were not taken back, oldest first."""
    if not stack:
        return UNTOUCHED
    latest = stack[-1]
    last = {one.who: one for one in stack}
    opinions = {one.who: (one.verdict == "drop", one.label) for one in stack if one.verdict != "skip"}
    alone = {one.who: one for one in stack if one.n_rows == 1}
    judgements = [
        one
        for one in stack
        if one is alone.get(one.who) and one.label is not None and last[one.who].label is not None
    ]  # whoever skips the row afterwards, or leaves it out, has withdrawn
    return Standing(
        status=SKIPPED if latest.verdict == "skip" else DECIDED,
        dropped=latest.verdict == "drop",
        noted=any(one.note for one in stack),
        disputed=len(set(opinions.values())) > 1,
        judged=bool(judgements),
        accepted=bool(judgements) and judgements[-1].verdict == "accept",
        opinions={
            who: (one.verdict == "drop", one.label) for who, one in alone.items() if one.verdict != "skip"
        },
    )


class Progress:
    """Where all issues stand.

    flagged: whether the run thinks that the label is wrong: only these are judged.
    """

    def __init__(self, flagged: np.ndarray):
        self.flagged = flagged
        self.status = np.zeros(len(flagged), dtype=np.int8)
        self.disputed = np.zeros(len(flagged), dtype=bool)
        self.noted = np.zeros(len(flagged), dtype=bool)
        self.standings: dict[int, Standing] = {}  # of the issues that were touched
        self.counts = dict.fromkeys(("decided", "skipped", "dropped", "disputed", "judged", "accepted"), 0)
        self.both: Counter[tuple[str, str]] = Counter()  # by pair of people, rows that both decided
        self.same: Counter[tuple[str, str]] = Counter()  # and those that they decided alike

    def note(self, place: int, stack: Sequence[Decision]) -> None:
        """Note the decisions that hold about the issue in a place."""
        standing = assess(stack)
        self._count(-1, place, self.standings.get(place, UNTOUCHED))
        self._count(1, place, standing)
        self.standings[place] = standing
        self.status[place], self.disputed[place] = standing.status, standing.disputed
        self.noted[place] = standing.noted

    def _count(self, sign: int, place: int, standing: Standing) -> None:
        flagged = self.flagged[place]
        self.counts["decided"] += sign * (standing.status == DECIDED)
        self.counts["skipped"] += sign * (standing.status == SKIPPED)
        self.counts["dropped"] += sign * standing.dropped
        self.counts["disputed"] += sign * standing.disputed
        self.counts["judged"] += sign * int(standing.judged and flagged)
        self.counts["accepted"] += sign * int(standing.accepted and flagged)
        for pair in combinations(sorted(standing.opinions), 2):
            self.both[pair] += sign
            self.same[pair] += sign * (standing.opinions[pair[0]] == standing.opinions[pair[1]])

    def describe(self) -> dict[str, Any]:
        """Return the counts, how many suggestions are right as far as they show, and the agreement."""
        low, high = compute_limits(self.counts["accepted"], self.counts["judged"])
        n_issues = len(self.flagged)
        n_open = n_issues - self.counts["decided"] - self.counts["skipped"]
        return {
            "issues": n_issues, **self.counts, "open": n_open, "low": low, "high": high,
            "agreement": self._describe_agreement(),
        }  # fmt: skip

    def _describe_agreement(self) -> dict[str, Any] | None:
        """Return how often the two people agree who decided most rows both."""
        pair = max(self.both, key=self.both.__getitem__, default=None)
        if pair is None or not self.both[pair]:
            return None
        return {"people": list(pair), "both": self.both[pair], "same": self.same[pair]}


@lru_cache
def compute_limits(accepted: int, judged: int) -> tuple[float | None, float | None]:
    """Return the ends of an interval for the share of suggestions that are right."""
    if judged == 0:
        return None, None
    return float(lower_limit(accepted, judged, CONFIDENCE)), float(upper_limit(accepted, judged, CONFIDENCE))
