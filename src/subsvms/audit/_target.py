"""A quality target: at most a share eps of the labels is wrong, with a confidence chosen beforehand.

N labels, of which at most K = floor(eps N) may stay wrong. One random sample, then one threshold:

1. The rows have an order of suspicion, fixed before anybody is asked. It may be good, useless or misleading.
2. c is the largest number with H(c) <= delta, where H(c) = P(Hypergeometric(N rows, c + K + 1 wrong, m draws)
   <= c). If there is none, all but K rows must be looked at, and nothing is left to chance.
3. m rows are drawn at random, without replacement; people answer about all of them, and correct them.
4. Walk through the rows, the least suspicious first, up to the (c + 1)-th wrong one of the sample. Rows of
   the sample were looked at; of the others, those before it need no look, and all after it are looked at.
   (If fewer than K would stay unseen, K of them may: they are K labels at most.)

*Claim.* With probability 1 - delta at least, at most K labels are wrong in the end.

*Proof.* Let M rows be wrong, in the order of the walk. Only unsampled rows stay wrong. The claim is false
only if the walk meets the (K + 1)-th unsampled wrong row before the (c + 1)-th sampled one; say it has met s
<= c sampled ones by then. Call the first min(M, c + K + 1) wrong rows F. They hold that (K + 1)-th unsampled
row, which is the (s + K + 1)-th wrong one: so at least K + 1 rows of F are unsampled. Add right rows to F, if
it has fewer than c + K + 1: that makes unsampled ones only more. Now F is a set of c + K + 1 rows that does
not depend on the draw, and at most c of them are sampled: the probability of that is H(c) <= delta. Neither
the order, nor where the wrong rows are in it, nor any estimate has entered.

H grows with c (add a row to F: unsampled ones are not fewer), so c is found by bisection. Rows of the sample
that were wrong and are corrected count for c alone, and not for K: this credit is what makes the target
cheaper than an upper limit of the share of wrong labels at the threshold. (That a threshold on a score may be
chosen by random labels: Candès, Ilyas and Zrnic, 2025, "Probably approximately correct labels".)

"Cannot tell" counts as wrong in the walk, and the label stays: such rows come on top of K. Target, level,
order and m are fixed beforehand; whoever stops early has corrected labels, and claims nothing. m changes what
it costs, and not what is claimed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from subsvms._numbers import check_range
from subsvms.audit._apply import apply_answers
from subsvms.audit._claim import Claim, Outcome
from subsvms.audit._forecast import Forecast, forecast_wrong, rate_forecast
from subsvms.audit._interview import Interview
from subsvms.audit._ranking import Ranking, as_ranking
from subsvms.correction import Correction

SAMPLE = 0.2  # of sqrt(N) / eps are drawn: within 5 % of the cheapest on tables with real noise
MOST_SAMPLED = 1 / 3  # of the rows


def count_sample(n_rows: int, error_rate: float) -> int:
    """Return m."""
    return min(round(SAMPLE * math.sqrt(n_rows) / error_rate), int(MOST_SAMPLED * n_rows))


def count_spared(n_rows: int, allowed: int, n_sample: int, delta: float) -> int:
    """Return c, how many wrong rows of the sample the walk may pass; -1 if there is none."""
    low, high = -1, min(n_sample, n_rows - allowed) - 1
    while low < high:
        c = (low + high + 1) // 2
        if hypergeom.cdf(c, n_rows, c + allowed + 1, n_sample) <= delta:
            low = c
        else:
            high = c - 1
    return low


def list_rest(wrong: np.ndarray, sampled: np.ndarray, spared: int, allowed: int) -> np.ndarray:
    """Return the places that are looked at after the sample, the most suspicious first.

    wrong, sampled: of shape (n_rows,), the least suspicious row first; wrong is known of the sample. Shares
    of wrong rows instead of True and False give the places that are expected.
    """
    passed = np.cumsum(np.where(sampled, wrong, 0))
    start = int(np.searchsorted(passed, spared + 0.7))  # the (c + 1)-th; .7 is for shares
    rest = np.flatnonzero(~sampled & (np.arange(len(sampled)) >= start))[::-1]
    return rest[: max(len(sampled) - int(sampled.sum()) - allowed, 0)]


@dataclass(frozen=True, eq=False)
class TargetClaim(Claim):
    """What may be said when a target is reached: `at_most` of `n_rows` labels are wrong; `str` says it."""

    n_rows: int = 0
    n_untold: int = 0
    n_sample: int = 0
    allowed: int = 0

    @property
    def at_most(self) -> int:
        return self.allowed + self.n_untold

    def __str__(self) -> str:
        how = f", {self.n_sample:,} of them drawn at random," if self.n_sample else ""
        n, wrong = self.n_answers, self.n_overturned
        said = f"You checked {n:,} of {self.n_rows:,} labels{how} and {wrong:,} were wrong."
        if not self.finished:
            return f"{said} So far nothing is claimed: that takes the answers to all questions."
        share = 100 * self.at_most / self.n_rows
        most = f"at most {self.at_most:,} of the {self.n_rows:,} labels ({share:.2f} %)"
        untold = f", the {self.n_untold:,} about which you could not tell among them" if self.n_untold else ""
        sure = f"With {100 * self.level:.6g} % confidence" if self.n_sample else "So"
        return f"{said} {sure} {most} are wrong now{untold}, if your answers are right."


class Target(Interview):
    """Ask until at most a share of the labels is wrong: made by `certify_target`.

    Attributes
    ----------
    ranking : Ranking
    error_rate : float
    n_rows, n_allowed, n_sample : int
        Labels in question, how many of them may stay wrong, and how many are drawn at random.

    Examples
    --------
    >>> from subsvms.audit import Ranking, certify_target
    >>> ranking = Ranking.make(["ham"] * 1000, ["spam"] * 1000, range(1000))
    >>> target = certify_target(ranking, 0.05)
    >>> target.n_allowed, target.n_sample
    (50, 126)
    >>> target.answer(target.next_row, "ham")
    >>> print(target.progress)
    Labels drawn at random: 1 of 126
    """

    what = "target"

    def __init__(
        self, source: Correction | Ranking, error_rate: float = 0.02, *, level: float = 0.95,
        random_state: int | None = None,
    ):  # fmt: skip
        ranking = as_ranking(source)
        check_range("error_rate", error_rate, 0, 1, "()")
        check_range("level", level, 0.5, 1, "[)")
        self.error_rate, self.n_rows = float(error_rate), len(ranking.order)
        self.n_allowed = math.floor(error_rate * self.n_rows + 1e-9)
        self.n_sample = count_sample(self.n_rows, error_rate)
        self._spared = count_spared(self.n_rows, self.n_allowed, self.n_sample, 1.0 - level)
        if self._spared < 0:
            self.n_sample = 0
        super().__init__(ranking, level, random_state)

    def __repr__(self) -> str:
        claim = self.claim
        found = f"at most {claim.at_most} wrong" if claim.finished else "nothing claimed"
        return f"Target({self.error_rate:g}, {claim.n_answers} of {self.n_rows} answers, {found})"

    @property
    def most_questions(self) -> int:
        """How many questions there are at most."""
        return max(self.n_rows - self.n_allowed, self.n_sample)

    def _ask(self):
        rows = self.ranking.order[::-1]  # the least suspicious first
        sample = self._rng(0).choice(self.n_rows, self.n_sample, replace=False)
        self._sampled = np.zeros(self.n_rows, dtype=bool)
        self._sampled[sample] = True
        yield from self._ask_rows("sample", rows[sample].tolist())
        wrong = np.zeros(self.n_rows, dtype=bool)
        wrong[sample] = [self._is_wrong(row) for row in rows[sample].tolist()]
        rest = list_rest(wrong, self._sampled, self._spared, self.n_allowed)
        yield from self._ask_rows("rest", rows[rest].tolist())
        self._standing[:] = False  # the claim is about the given labels and the answers

    def _ask_rows(self, stage, rows):
        self._enter(stage, len(rows))
        for i in range(len(rows)):
            yield rows[i:]

    def _is_wrong(self, row):
        return self._first[row] != self.ranking.given[row]

    @property
    def forecast(self) -> Forecast:
        """About how many answers it takes in all, from what is known by now."""
        rows = self.ranking.order[::-1]
        wrong = forecast_wrong(self.ranking, self._first, rows)
        rest = list_rest(wrong, self._sampled, self._spared, self.n_allowed)
        return rate_forecast(self.n_sample + len(rest), len(self._first), self.n_sample)

    @property
    def claim(self) -> TargetClaim:
        """What may be said now; `str` of it says it in plain words."""
        plain = super().claim
        found: dict[str, Any] = {one.name: getattr(plain, one.name) for one in fields(plain)}
        untold = sum(number is None for number in self._first.values())
        return TargetClaim(
            **found, n_rows=self.n_rows, n_untold=untold, n_sample=self.n_sample, allowed=self.n_allowed
        )

    @property
    def outcome(self) -> Outcome:
        """The claim, and how the questions were drawn."""
        return Outcome(self.claim, self.most_questions, False, self.random_state)

    def apply(self, correction: Correction) -> Correction:
        """Return the correction with the answers; it must be the one that this was made from.

        Once all questions are answered, all other labels are as they were given: the claim is about these, so
        changes of the rule that nobody looked at are taken back. Until then they stand.
        """
        return apply_answers(self, correction, self.outcome, relabel=False)

    @property
    def _options(self):
        return {"error_rate": self.error_rate}

    @classmethod
    def load(cls, state: Mapping[str, Any], source: Correction | Ranking) -> "Target":
        """Go on from a `state`, which is not trusted, and the source that it was made from."""
        return cls._restore(state, source, {"error_rate": lambda value: isinstance(value, float)})


def certify_target(
    correction: Correction | Ranking, error_rate: float = 0.02, *, level: float = 0.95,
    random_state: int | None = None,
) -> Target:  # fmt: skip
    """Begin to ask until at most this share of the labels is wrong, whatever the noise is.

    Rows are drawn at random first, then all rows follow that are more suspicious than a threshold, which the
    answers set. It takes many answers: a seventh of the table or more, and most of it if the order of
    suspicion is bad. `forecast` says about how many.

    Parameters
    ----------
    correction : Correction or Ranking
        The claim is about its given labels and the answers, and not about the changes of the rule. Labels
        that people had verified before are taken for right, and are not asked about.
    error_rate : float, default=0.02
        Of the labels that nobody had verified, how many may stay wrong: fixed beforehand.
    level : float, default=0.95
        With which probability, over the random draw, the claim is true.
    random_state : int, default=None
        The seed; None is 0. A second one, because the first sample did not please, voids the claim.

    Returns
    -------
    Target
        `next_row` and `answer` ask and answer, `forecast` says how long it takes, `claim` what follows,
        `labels` are the labels, and `apply` applies the answers. Show neither the label nor the suggestion
        before the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms import correct_labels
    >>> from subsvms.audit import SimulatedAnnotator, certify_target, run_audit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 2))
    >>> clean = (X.sum(axis=1) > 1).astype(int)
    >>> given = np.where(rng.random(1000) < 0.1, 1 - clean, clean)
    >>> target = certify_target(correct_labels(X, given, random_state=0), 0.05)
    >>> target = run_audit(target, SimulatedAnnotator(clean))  # or your own labelling tool
    >>> print(target.claim)
    You checked ... of 1,000 labels, 126 of them drawn at random, and ... were wrong. With 95 % confidence at
    most 50 of the 1,000 labels (5.00 %) are wrong now, if your answers are right.
    >>> int(np.sum(target.labels != clean)) <= 50
    True
    """
    return Target(correction, error_rate, level=level, random_state=random_state)
