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
order and m are fixed beforehand; whoever stops early has corrected labels, and claims nothing: who wants to
stop anywhere asks otherwise (`_any_stop`). m changes what it costs, and not what is claimed.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from subsvms._numbers import check_range, check_type
from subsvms.audit import _any_stop as bets
from subsvms.audit._claim import Claim
from subsvms.audit._interview import Interview
from subsvms.audit._ranking import Ranking, as_ranking, is_float, is_switch
from subsvms.correction import Correction

SHARE_SAMPLED = 0.2  # of sqrt(N) / eps are drawn: within 5 % of the cheapest on tables with real noise
MOST_SAMPLED = 1 / 3  # of the rows


def count_sample(n_rows: int, error_rate: float) -> int:
    return min(round(SHARE_SAMPLED * math.sqrt(n_rows) / error_rate), int(MOST_SAMPLED * n_rows))


def count_spared(n_rows: int, allowed: int, n_sample: int, delta: float) -> int:
    """Return c, how many wrong rows of the sample the walk may pass; -1 if there is none."""

    def is_too_many(c):
        return hypergeom.cdf(c, n_rows, c + allowed + 1, n_sample) > delta

    return bisect_left(range(max(min(n_sample, n_rows - allowed), 0)), True, key=is_too_many) - 1


def list_rest(wrong: np.ndarray, sampled: np.ndarray, spared: int, allowed: int) -> np.ndarray:
    """Return the places that are looked at after the sample, the most suspicious first."""
    # wrong, sampled: of shape (n_rows,), the least suspicious row first; wrong is known of the sample. Shares
    # of wrong rows instead of True and False give the places that are expected.
    passed = np.cumsum(np.where(sampled, wrong, 0))
    start = int(np.searchsorted(passed, spared + 0.7))  # the (c + 1)-th; .7 is for shares
    rest = np.flatnonzero(~sampled & (np.arange(len(sampled)) >= start))[::-1]
    return rest[: max(len(sampled) - int(sampled.sum()) - allowed, 0)]


@dataclass(frozen=True, eq=False)
class TargetClaim(Claim):
    """What may be said about a target: `at_most` of `n_rows` labels are wrong, if it `holds`; `str` says it.

    n_untold, n_sample, n_unseen: rows about which nobody could tell, and that were drawn at random; wrong
    rows, at most, among those that nobody has looked at.
    """

    n_rows: int = 0
    n_untold: int = 0
    n_sample: int = 0
    n_unseen: int = 0
    holds: bool = False

    @property
    def at_most(self) -> int:
        return self.n_unseen + self.n_untold

    def __str__(self) -> str:
        how = f", {self.n_sample:,} of them drawn at random," if self.n_sample else ""
        n, wrong = self.n_answers, self.n_overturned
        said = f"You checked {n:,} of {self.n_rows:,} labels{how} and {wrong:,} were wrong."
        if not self.holds:
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
        Labels in question, how many of them may stay wrong, and how many are, or were, drawn at random.
    any_stop : bool

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
    _kinds = {"error_rate": is_float, "any_stop": is_switch}

    def __init__(
        self, source: Correction | Ranking, error_rate: float = 0.02, *, any_stop: bool = False,
        level: float = 0.95, random_state: int | None = None,
    ):  # fmt: skip
        ranking = as_ranking(source)
        check_range("error_rate", error_rate, 0, 1, "()")
        check_range("level", level, 0.5, 1, "[)")
        check_type("any_stop", any_stop, "True or False", bool, np.bool_)
        self.error_rate, self.any_stop, self.n_rows = float(error_rate), bool(any_stop), len(ranking.order)
        self.n_allowed = math.floor(error_rate * self.n_rows + 1e-9)
        self._totals, self._n_found, self.n_sample = bets.Totals.begin(self.n_rows), 0, 0
        if not any_stop:
            n_sample = count_sample(self.n_rows, error_rate)
            self._spared = count_spared(self.n_rows, self.n_allowed, n_sample, 1.0 - level)
            self.n_sample = n_sample if self._spared >= 0 else 0
        super().__init__(ranking, level, random_state)

    def __repr__(self) -> str:
        claim = self.claim
        found = f"at most {claim.at_most} wrong" if claim.holds else "nothing claimed"
        return f"Target({self.error_rate:g}, {claim.n_answers} of {self.n_rows} answers, {found})"

    @property
    def most_questions(self) -> int:
        return max(self.n_rows - self.n_allowed, self.n_sample)

    def _ask(self):
        yield from self._ask_on() if self.any_stop else self._ask_once()

    def _ask_on(self):
        """Look at suspicious rows, or draw random ones, whatever seems cheaper, until the target."""
        rng, delta = self._rng(0), 1.0 - self.level
        while self._count_most() > self.n_allowed:
            free, expected = self._list_unseen()
            n_looked = self._plan(expected)[0] if len(self._first) >= bets.FIRST else 0
            n = max(bets.BATCH, int(bets.GROWTH * len(self._first)))  # answers until the next plan
            drawn = free[:n_looked] if n_looked else rng.permutation(free)
            batch, rate = drawn[:n].tolist(), float(expected.mean())
            self._enter("rest" if n_looked else "sample", len(batch))
            for i in range(len(batch)):
                n_left = self.n_rows - len(self._first)
                yield batch[i:]
                self._standing[:] = False  # the claim is about the given labels and the answers
                wrong = self._is_wrong(batch[i])
                if not n_looked:
                    self._totals = self._totals.draw(wrong, n_left, self._n_found, rate, delta)
                    self.n_sample += 1
                self._n_found += wrong
                if self._count_most() <= self.n_allowed:
                    break

    def _list_unseen(self):
        """Return the rows that nobody has looked at, the most suspicious first, and P(wrong) of each."""
        free = np.array([row for row in self.ranking.order.tolist() if row not in self._first], dtype=int)
        return free, bets.forecast_wrong(self.ranking, self._first, free).round(9)

    def _plan(self, expected):
        doubt = self._totals.measure_doubt(self._n_found + self.n_allowed + 1)
        return bets.plan_answers(expected, self.n_allowed, -math.log(1.0 - self.level) - doubt)

    def _count_most(self):
        """Return how many of the rows that nobody has looked at are wrong at most."""
        return self._totals.count_most(self.n_rows - len(self._first), self._n_found)

    def _ask_once(self):
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
    def forecast(self) -> bets.Forecast:
        """About how many answers it takes in all, from what is known by now."""
        n_labels = len(self.ranking.order)
        if self.any_stop:
            n_answers = len(self._first)
            if self._count_most() <= self.n_allowed:
                return bets.Forecast(n_answers, 1)
            return bets.rate_forecast(n_answers + self._plan(self._list_unseen()[1])[1], n_answers, n_labels)
        rows = self.ranking.order[::-1]
        wrong = bets.forecast_wrong(self.ranking, self._first, rows)
        rest = list_rest(wrong, self._sampled, self._spared, self.n_allowed)
        n_answers, is_exact = self.n_sample + len(rest), len(self._first) >= self.n_sample
        return (
            bets.Forecast(n_answers, 1)
            if is_exact
            else bets.rate_forecast(n_answers, len(self._first), n_labels)
        )

    @property
    def claim(self) -> TargetClaim:
        """What may be said now; `str` of it says it in plain words."""
        plain = super().claim
        found: dict[str, Any] = {one.name: getattr(plain, one.name) for one in fields(plain)}
        untold = sum(number is None for number in self._first.values())
        most = self._count_most() if self.any_stop else self.n_allowed
        return TargetClaim(
            **found, n_rows=self.n_rows, n_untold=untold, n_sample=self.n_sample, n_unseen=most,
            holds=self.any_stop or plain.finished,
        )  # fmt: skip


def certify_target(
    correction: Correction | Ranking, error_rate: float = 0.02, *, any_stop: bool = False,
    level: float = 0.95, random_state: int | None = None,
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
    any_stop : bool, default=False
        Whether the claim must hold whenever somebody stops: `claim.at_most` labels are wrong after each
        answer, with the number that is known by then. It takes more answers until the target is reached.
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
    >>> from subsvms.audit import Ranking, certify_target, run_audit  # or a correction in place of a ranking
    >>> target = certify_target(Ranking.make(["ham"] * 1000, ["spam"] * 1000, range(1000)), 0.05)
    >>> print(run_audit(target, lambda row: "spam" if row < 100 else "ham").claim)
    You checked ... of 1,000 labels, 126 of them drawn at random, and ... were wrong. With 95 % confidence at
    most 50 of the 1,000 labels (5.00 %) are wrong now, if your answers are right.
    """
    return Target(correction, error_rate, any_stop=any_stop, level=level, random_state=random_state)
