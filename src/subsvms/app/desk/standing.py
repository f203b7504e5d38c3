"""Where each issue of a review stands, from the decisions about it, and what follows for all of them.

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
from subsvms.app.runs.answer_store import Decision

CONFIDENCE = 0.95  # of each end of the expected precision
OPEN, DECIDED, SKIPPED = range(3)


class Standing(NamedTuple):
    """Where one issue stands."""

    status: int  # OPEN, DECIDED or SKIPPED
    # whether the row is left out, has a note of anybody, and waits for somebody to settle what several
    # people decided differently
    dropped: bool
    noted: bool
    disputed: bool
    # whether somebody who looked at this row alone gave it a label, and whether it was the suggested one
    judged: bool
    accepted: bool
    opinions: dict[str, Any]  # what each person who looked at this row alone decided last


FLAGS = ("dropped", "noted", "disputed", "judged", "accepted")


def assess(stack: Sequence[Decision]) -> Standing:
    """Return where an issue stands, from the decisions that were not taken back, oldest first.

    Whoever decides a disputed row alone has seen what it is about, and settles it, whatever others said; not
    what comes in the same moment, such as the answers of several people in one file.
    """
    if not stack:
        return Standing(OPEN, False, False, False, False, False, {})
    latest, opinions, at = stack[-1], dict[str, Any](), ""  # when the last one was given
    for one in stack:
        if one.opinion is not None:
            if one.n_rows == 1 and one.at > at and len(set(opinions.values())) > 1:
                opinions.clear()
            opinions[one.who], at = one.opinion, one.at
    last, alone = ({one.who: one for one in some} for some in (stack, [o for o in stack if o.n_rows == 1]))
    judgements = [  # whoever skips the row afterwards, or leaves it out, has withdrawn
        one for one in stack if one is alone.get(one.who) and None not in (one.label, last[one.who].label)
    ]
    return Standing(
        status=SKIPPED if latest.verdict == "skip" else DECIDED,
        dropped=latest.verdict == "drop",
        noted=any(one.note for one in stack),
        disputed=len(set(opinions.values())) > 1,
        judged=bool(judgements),
        accepted=bool(judgements) and judgements[-1].verdict == "accept",
        opinions={who: one.opinion for who, one in alone.items() if one.opinion is not None},
    )


class Progress:
    """Where all issues stand.

    suspected: whether the run thinks that the label is wrong: only these are judged.
    """

    def __init__(self, suspected: np.ndarray):
        self.suspected = suspected
        self.status = np.zeros(len(suspected), dtype=np.int8)
        self.flags = {name: np.zeros(len(suspected), dtype=bool) for name in FLAGS}
        self.opinions: dict[int, dict[str, Any]] = {}  # of the issues that were touched
        self.both: Counter[tuple[str, str]] = Counter()  # by pair of people, rows that both decided
        self.same: Counter[tuple[str, str]] = Counter()  # and those that they decided alike

    def note(self, place: int, stack: Sequence[Decision]) -> None:
        """Note the decisions that hold about the issue in a place."""
        standing = assess(stack)
        for sign, opinions in ((-1, self.opinions.get(place, {})), (1, standing.opinions)):
            for pair in combinations(sorted(opinions), 2):
                self.both[pair] += sign
                self.same[pair] += sign * (opinions[pair[0]] == opinions[pair[1]])
        self.opinions[place], self.status[place] = standing.opinions, standing.status
        for name in FLAGS:
            self.flags[name][place] = getattr(standing, name)

    def describe(self) -> dict[str, Any]:
        """Return the counts, how many suggestions are right as far as they show, and the agreement."""
        n_open, n_decided, n_skipped = np.bincount(self.status, minlength=3).tolist()
        dropped, disputed = (int(self.flags[name].sum()) for name in ("dropped", "disputed"))
        judged, accepted = (int((self.flags[name] & self.suspected).sum()) for name in ("judged", "accepted"))
        low, high = _compute_limits(accepted, judged)
        pair = max(self.both, key=self.both.__getitem__, default=None)  # who decided most rows both
        agreement = None
        if pair is not None and self.both[pair]:
            agreement = {"people": list(pair), "both": self.both[pair], "same": self.same[pair]}
        return {
            "issues": len(self.status), "decided": n_decided, "skipped": n_skipped, "dropped": dropped,
            "disputed": disputed, "judged": judged, "accepted": accepted, "open": n_open, "low": low,
            "high": high, "agreement": agreement,
        }  # fmt: skip


@lru_cache
def _compute_limits(accepted: int, judged: int) -> tuple[float | None, float | None]:
    if judged == 0:
        return None, None
    return float(lower_limit(accepted, judged, CONFIDENCE)), float(upper_limit(accepted, judged, CONFIDENCE))
