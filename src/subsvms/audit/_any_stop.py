"""How many labels are wrong at most, at every moment: bets on random rows, whatever was looked at meanwhile.

Of N labels w are wrong, nobody knows how many. People look at one row after another; before the next one, n
rows are left that nobody has looked at, and S wrong ones were found. The next row may be any, such as the
most suspicious one; or it is drawn at random from the n. For each possible w let E_w be 1 at first, and
multiply it, at each random draw and at no other row, by

    a / p                if the row is wrong,      with p = (w - S) / n and a = min(rate, .9 p),
    (1 - a) / (1 - p)    if it is right,

where `rate` is the share of wrong rows that a model expects of the n (below). A number w is rejected,
once and for all, when E_w reaches 1 / delta, or when w < S or w > S + n.

*Claim.* With probability 1 - delta at least, at all moments at once: of the rows that nobody has looked at,
at most (the largest w that is not rejected) - S are wrong.

*Proof.* Let w be the true number. Whatever was looked at, and for whatever reason, w - S of the n others are
wrong: so a random one of them is wrong with probability p. What a draw multiplies E_w by is therefore
p a / p + (1 - p) (1 - a) / (1 - p) = 1 in the mean, since a was fixed before the draw. (For p = 0 a is 0, and
the row is right; for p = 1 it is wrong, and the mean is a <= 1.) Rows that are not drawn leave E_w as it is.
So E_w is a nonnegative supermartingale from 1 on, and reaches 1 / delta, ever, with probability delta at most
(Ville, 1939; Waudby-Smith and Ramdas, 2020, "Confidence sequences for sampling without replacement"). If it
does not, w is never rejected, and w - S is at most what is claimed, at every moment. The order of suspicion,
the model, when to draw and when to look, and when to stop may all depend on what was answered before: none of
them has entered.

*What to do next*, which decides the cost and not the claim. If the model is right, h more rows are looked at,
the most suspicious first, and then T are drawn from the others, with R wrong among them, until E_w for w = S
+ K + 1 is large enough: the log of E_w grows by about KL(R / n, p) a draw. The h with the smallest h + T is
taken; if it is 0, the next rows are drawn. The first rows are drawn in any case: otherwise little could be
said for long, and the model has not been compared with any answer. Answers are planned in batches, each a
quarter of those before.

*About how many answers it takes*, by a model of where wrong labels are: no claim rests on it. With q the
quality of a label, of which one minus is far too optimistic as a rate of errors,

    logit P(wrong) = a + b logit(1 - q),

with normal priors for a and b, from tables whose labels people got wrong and tables with made noise, and what
the answers so far say (the mode, as in `_locate`). Without qualities the rank stands for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from subsvms.audit._locate import fit_hits
from subsvms.audit._ranking import Ranking

SAFE = 0.9  # of p, that a bet never is above
FIRST = 30  # random rows before any other
BATCH, GROWTH = 10, 0.25  # answers between two plans: at least, and as a share of those so far
GRID = 50  # numbers of rows to look at, and of draws, that a plan compares
WASTE = 0.85  # of the gain that a right model would have
PRIORS = np.array([(0.1, 0.8), (1.2, 0.3)])  # means and standard deviations of a and b
MOST_SURE = 0.004  # q and 1 - q are not taken to be less
FACTORS = ((0, 2.2), (60, 1.5))  # after so many answers; four of five are as near (benchmarks.targets)


@dataclass(frozen=True, eq=False)
class Totals:
    """Numbers of wrong labels, w, that are not rejected, and log E_w: arrays of one length, w ascending."""

    numbers: np.ndarray
    log_e: np.ndarray

    @classmethod
    def begin(cls, n_rows: int) -> "Totals":
        """Return all numbers that are possible before any answer."""
        return cls(np.arange(n_rows + 1), np.zeros(n_rows + 1))

    def draw(self, wrong: bool, n_left: int, n_found: int, rate: float, delta: float) -> "Totals":
        """Return what is left after the answer about a random row; the counts are those before it."""
        p = (self.numbers - n_found) / n_left
        possible = (p > 0) & (p <= 1) if wrong else (p >= 0) & (p < 1)
        p, numbers, log_e = p[possible], self.numbers[possible], self.log_e[possible]
        a = np.minimum(rate, SAFE * p)
        log_e = log_e + np.log(a / p if wrong else (1.0 - a) / (1.0 - p))
        kept = log_e < -np.log(delta)
        return Totals(numbers[kept], log_e[kept])

    def count_most(self, n_left: int, n_found: int) -> int:
        """Return how many of the rows that nobody has looked at are wrong at most."""
        n_fit = int(np.searchsorted(self.numbers, n_found + n_left, side="right"))
        return max(int(self.numbers[n_fit - 1]) - n_found, 0) if n_fit else 0  # 0: the claim is false

    def measure_doubt(self, least: int) -> float:
        """Return the smallest log E_w of the numbers from `least` on that are not rejected."""
        return float(self.log_e[self.numbers >= least].min(initial=np.inf))


def plan_answers(expected: np.ndarray, allowed: int, need: float) -> tuple[int, int]:
    """Return how many rows to look at before the next draw, and about how many answers it takes in all."""
    # expected: P(wrong) of the rows that nobody has looked at, the most suspicious first; need: by how much
    # log E_w has yet to grow.
    n = len(expected)
    if n <= allowed:
        return 0, 0
    looked = np.unique(np.geomspace(1, n - allowed + 1, GRID).astype(int)) - 1
    left = (n - looked)[:, None]
    wrong = expected.sum() - np.concatenate([[0.0], np.cumsum(expected)])[looked, None]
    drawn = np.maximum(left - allowed, 1) ** np.linspace(0.0, 1.0, GRID)
    rate = np.clip(wrong / left, 1e-9, 1.0 - 1e-9)
    excess = allowed + 1 - rate * (left - drawn)  # by which the wrong rows that are left must be too few
    p = np.clip(rate + excess / (left - drawn / 2.0), 1e-9, 1.0 - 1e-9)
    gain = rate * np.log(rate / p) + (1.0 - rate) * np.log((1.0 - rate) / (1.0 - p))
    enough = (excess > 0) & (WASTE * drawn * gain >= need)
    enough[:, -1] = True  # all but those that may be wrong
    answers = looked + np.take_along_axis(drawn, enough.argmax(axis=1)[:, None], axis=1)[:, 0]
    best = int(np.argmin(answers.round(3)))
    return int(looked[best]), round(float(answers[best]))


@dataclass(frozen=True)
class Forecast:
    """About how many answers a target takes in all, and by which factor that may be wrong; 1 is exact."""

    n_answers: int
    factor: float
    most: float = np.inf  # labels that there are to ask about

    def __str__(self) -> str:
        if self.factor == 1:
            return f"{self.n_answers:,} answers"
        low, high = self.n_answers / self.factor, min(self.n_answers * self.factor, self.most)
        return f"about {self.n_answers:,} answers ({low:,.0f} to {high:,.0f} in four of five benchmarks)"


def forecast_wrong(ranking: Ranking, answers: Mapping[int, int | None], rows: np.ndarray) -> np.ndarray:
    """Return P(wrong) of some rows by the answers so far, class numbers; 0 or 1 where there is an answer."""
    if ranking.quality is None:
        n, suspicion = len(ranking.order), np.zeros(len(ranking.given))
        suspicion[ranking.order] = 1.5 * np.log(n / np.arange(1.0, n + 1.0)) - 4.0
    else:
        suspicion = logit(np.clip(1.0 - ranking.quality, MOST_SURE, 1.0 - MOST_SURE))
    design = np.column_stack([np.ones(len(suspicion)), suspicion])
    asked = np.array(list(answers), dtype=int)
    found = np.array([number != ranking.given[row] for row, number in answers.items()], dtype=bool)
    wrong = expit(design @ fit_hits(design[asked], found, PRIORS).mode)
    wrong[asked] = found
    return wrong[rows]


def rate_forecast(n_answers: int, n_given: int, most: int) -> Forecast:
    """Return a forecast after some answers about so many labels at most."""
    return Forecast(n_answers, [factor for least, factor in FACTORS if n_given >= least][-1], most)
