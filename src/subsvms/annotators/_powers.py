"""Answers that are held out: the powers are chosen by them, and they check the probabilities.

Both powers are below one where several look at the same hard row: people then err alike, and the judge errs
with them. They are chosen by answers that are held out (`choose_powers`), never by known labels: what the
other answers and the judge together say about an answer, sum over c of P(true c | i) P_w[c, d], should make
it probable. A prior keeps them near `USUAL` where few answers speak.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from subsvms.annotators._answers import Answers
from subsvms.annotators._model import LEAST, Powers, fit_answers
from subsvms.exceptions import format_percent

USUAL, SPREAD = Powers(0.7, 1.0), Powers(0.3, 0.5)  # the prior of the powers: normal
OF_ANSWERS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)  # tried
OF_JUDGE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
HELD_OUT, N_HELD = 0.2, 2  # share of the answers, and how often
MOST_ROWS = 5000  # that powers are chosen on
WRONG = 0.02  # by which stated and seen agreement may differ, besides chance


@dataclass(frozen=True)
class Calibration:
    """Whether held-out answers agree with the consensus of the others as often as it says.

    It finds probabilities that are too large, unless people err alike: they agree, although wrong.

    Attributes
    ----------
    n_held : int
        Answers that were held out.
    expected, agreed : float
        Share of them that should agree, and that did.
    spread : float
        Standard deviation of `agreed`, if `expected` is right.
    """

    n_held: int
    expected: float
    agreed: float
    spread: float

    @property
    def holds(self) -> bool:
        """Whether they agree as often as expected, but for chance and a small difference."""
        return self.agreed >= self.expected - WRONG - 2.0 * self.spread

    def __str__(self) -> str:
        seen = f"agreed with the others in {format_percent(self.agreed)}"
        return f"{self.n_held:,} held-out answers {seen}, {format_percent(self.expected)} were expected"


class Held(NamedTuple):
    """Answers that were held out, and what the others expected."""

    probability: np.ndarray  # (n_held,): of the answer
    agreeing: np.ndarray  # (n_held,): probability that it agrees with the consensus of the others
    agreed: np.ndarray  # (n_held,): whether it did


def choose_powers(answers: Answers, log_q: np.ndarray | None, seed: int) -> tuple[Powers, list[np.ndarray]]:
    """Return the powers that answers speak for, and which answers were held out to choose them.

    From two starts, with and without the judge, the best of the neighbouring powers is taken until none is
    better.
    """
    held = draw_held(answers, seed)
    if not held:
        return USUAL, held
    known: dict[tuple[int, int], float] = {}

    def rate(place):
        if place not in known:
            powers = Powers(OF_ANSWERS[place[0]], OF_JUDGE[place[1]])
            found = [answers.weight[out] @ np.log(hold_out(answers, log_q, powers, out).probability)
                     for out in held]  # fmt: skip
            away = [((p - u) / s) ** 2 / 2.0 for p, u, s in zip(powers, USUAL, SPREAD, strict=True)]
            known[place] = float(np.mean(found)) - sum(away)
        return known[place]

    starts = [(OF_ANSWERS.index(USUAL.answers), j) for j in (0, OF_JUDGE.index(USUAL.judge))]
    for place in starts if log_q is not None else starts[:1]:
        steps = (-1, 0, 1) if log_q is not None else (0,)
        while True:
            near = [(place[0] + i, place[1] + j) for i in (-1, 0, 1) for j in steps]
            near = [one for one in near if 0 <= one[0] < len(OF_ANSWERS) and 0 <= one[1] < len(OF_JUDGE)]
            best = max(near, key=rate)
            if rate(best) <= rate(place):
                break
            place = best
    i, j = max(known, key=lambda place: known[place])
    return Powers(OF_ANSWERS[i], OF_JUDGE[j]), held


def draw_held(answers: Answers, seed: int) -> list[np.ndarray]:
    """Return sets of answers to hold out: at most one a row, of rows with two or more."""
    rng = np.random.default_rng([seed, 7])
    several = np.flatnonzero((answers.per_row[answers.row] > 1) & (answers.weight > 0))
    held = []
    for _ in range(N_HELD):
        order = rng.permutation(several)
        _, first = np.unique(answers.row[order], return_index=True)
        drawn = rng.permutation(order[first])[: round(HELD_OUT * len(answers))]
        held += [drawn] if len(drawn) else []
    return held


def hold_out(answers: Answers, log_q: np.ndarray | None, powers: Powers, out: np.ndarray) -> Held:
    """Return what the other answers and the judge expected of answers that they did not see."""
    others = answers.take(np.setdiff1d(np.arange(len(answers)), out))
    fit = fit_answers(others, log_q, powers)
    row, person, label = answers.row[out], answers.person[out], answers.label[out]
    posterior = fit.posterior[row]
    consensus = posterior.argmax(axis=1)
    probability = (posterior * fit.predict(others, person, label)).sum(axis=1)
    agreeing = (posterior * fit.predict(others, person, consensus)).sum(axis=1)
    return Held(np.maximum(probability, LEAST), agreeing, consensus == label)
