"""About how many answers a target takes: a model of where wrong labels are. No claim rests on it.

With q the quality of a label, of which one minus is far too optimistic as a rate of errors,

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

PRIORS = np.array([(0.1, 0.8), (1.2, 0.3)])  # means and standard deviations of a and b
MOST_SURE = 0.004  # q and 1 - q are not taken to be less
FACTORS = ((0, 2.2), (60, 1.5))  # after so many answers; four of five are as near (benchmarks.targets)


@dataclass(frozen=True)
class Forecast:
    """About how many answers a target takes in all, and by which factor that may be wrong; 1 is exact."""

    n_answers: int
    factor: float

    def __str__(self) -> str:
        if self.factor == 1:
            return f"{self.n_answers:,} answers"
        low, high = self.n_answers / self.factor, self.n_answers * self.factor
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


def rate_forecast(n_answers: int, n_given: int) -> Forecast:
    """Return a forecast after some answers."""
    return Forecast(n_answers, [factor for least, factor in FACTORS if n_given >= least][-1])
