"""Who is right, from answers and a judge: Dawid and Skene (1979), with a prior for each row.

Person w has a matrix P_w[c, d] = P(says d | true class c). A judge, which learned from the features of other
rows, gives each row i probabilities q_i(c). With the power a of the answers and t of the judge, and the
shares p_c of the classes, which are those of the answers,

    log P(true c | i) = t log q_i(c) + max(0, 1 - t) log p_c
                        + a sum over answers (w, d) about row i of log P_w[c, d] + const.

Without p_c, a rare class is thought to be as likely as others: then people seem to miss it mostly, and rows
that all of them call something else are given to it. It is not learned from P(true c | i): otherwise a class
that some people say too often takes the rows of others, step by step.

The matrices are the mean of what w said where c is probably true, shrunk towards the pooled matrix P of all
people by `SHRINK` rows:

    P_w[c, d] = (C_w[c, d] + SHRINK P[c, d]) / (C_w[c] + SHRINK),    C_w[c, d] = sum of P(true c | i) over
    the rows i about which w said d.

The pooled matrix is the mean of that by P(true c | i) and that by the shares of the votes (`ANCHOR`): with
one or two answers a row nothing else says that people are mostly right, and a large class takes all rows. A
judge says so, too, and with one the votes are left out.

No answer vouches for itself: where P_w judges an answer about row i, that row is left out of C_w. Otherwise
people seem to be right because they are believed, and the model is surer than it should be: on answers about
images it stated .015 wrong labels where .087 were, and so .043 where .084 were.

Answers count by their weights (`weigh_answers`): people who copy each other share one, and who always says
the same has none. Where nothing tells who knows better, all people err equally often, and towards any class.

Both powers are below one where several look at the same hard row: people then err alike, and the judge errs
with them. They are chosen by answers that are held out (`choose_powers`), never by known labels: what the
other answers and the judge together say about an answer, sum over c of P(true c | i) P_w[c, d], should make
it probable. A prior keeps them near `USUAL` where few answers speak.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from subsvms.annotators._answers import Answers
from subsvms.annotators._pairs import weigh_answers
from subsvms.exceptions import format_percent

SHRINK = 10.0  # rows; with 5 and 20 about as many labels were wrong on two sets of answers
OWN_CLASS = 1.0  # rows of each class that the pooled matrix is right about, before anybody answers
OTHER_CLASS = 0.1  # and rows for each pair of classes, so that nothing is impossible
ANCHOR = 1.0  # the pooled matrix is half that of the votes; with 4 about as many labels were wrong
N_STEPS, SETTLED, DAMPED = 50, 1e-3, 20  # at most; largest change of a probability; steps before damping
LEAST_PROBABILITY = 1e-6  # of an answer: where most of a person's are left out, sums get small


class Powers(NamedTuple):
    """How much answers and judge count."""

    answers: float
    judge: float


ANSWERS_ALONE = Powers(1.0, 0.0)  # the model of Dawid and Skene
USUAL, SPREAD = Powers(0.7, 1.0), Powers(0.3, 0.5)  # the prior of the powers: normal
OF_ANSWERS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)  # tried
OF_JUDGE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
HELD_OUT, N_HELD = 0.2, 2  # share of the answers, and how often
MOST_ROWS = 5000  # that powers are chosen on
WRONG = 0.02  # by which stated and seen agreement may differ, besides chance


@dataclass(frozen=True, eq=False)
class Fit:
    """What is thought of the true classes and of the people."""

    posterior: np.ndarray  # (n_rows, n_classes): P(true c | i)
    said: np.ndarray  # (n_pairs, n_classes): C_w[c, d] of each pair of a person and a class that it said
    total: np.ndarray  # (n_people, n_classes): C_w[c]
    pooled: np.ndarray  # (n_classes, n_classes): P[c, d]

    def predict(self, answers: Answers, person: np.ndarray, label: np.ndarray) -> np.ndarray:
        """Return P_w[c, d] of some people and labels, (n, n_classes)."""
        n_classes = len(self.pooled)
        pairs = answers.said.person * np.int64(n_classes) + answers.said.label
        wanted = person * np.int64(n_classes) + label
        places = np.minimum(np.searchsorted(pairs, wanted), max(len(pairs) - 1, 0))
        known = (pairs[places] == wanted)[:, None]
        counts = np.where(known, self.said[places], 0.0)
        return (counts + SHRINK * self.pooled[:, label].T) / (self.total[person] + SHRINK)

    def matrix(self, answers: Answers, person: int) -> np.ndarray:
        """Return P_w, (n_classes, n_classes)."""
        labels = np.arange(len(self.pooled))
        return self.predict(answers, np.full(len(labels), person), labels).T


def fit_alone(answers: Answers) -> np.ndarray:
    """Return P(true c | i) by the answers alone, with equal p_c and no anchor: what a judge is scaled by."""
    # Of ten classes of music a sixth of the labels was wrong then, and a fifth with p_c and the anchor.
    return fit_answers(weigh_answers(answers, judged=True), equal=True).posterior


def count_majority(answers: Answers, alone: np.ndarray) -> np.ndarray:
    """Return the class that most people said of each row, of tied ones the likelier; -1 without answers."""
    counts = np.round(answers.counts, 6)
    tied = counts == counts.max(axis=1, keepdims=True)
    return np.where(answers.per_row > 0, np.where(tied, alone, -1.0).argmax(axis=1), -1)


def fit_answers(
    answers: Answers, log_q: np.ndarray | None = None, powers: Powers = ANSWERS_ALONE, *, equal: bool = False
) -> Fit:
    """Return who is right; log q (n_rows, n_classes) is NaN without a judgement, all p_c are `equal`."""
    anchor = 0.0 if equal or log_q is not None else ANCHOR
    log_q = np.full((1, answers.n_classes), np.nan) if log_q is None else log_q
    unjudged = np.isnan(log_q).any(axis=1, keepdims=True)
    log_q = np.where(unjudged, 0.0, powers.judge * log_q)
    left = 0.0 if equal else np.where(unjudged, 1.0, max(0.0, 1.0 - powers.judge))  # of log p_c
    counts = answers.counts
    prior = log_q + left * log_shares(answers)
    posterior = normalise(prior) + counts
    posterior /= posterior.sum(axis=1, keepdims=True)
    for step in range(N_STEPS):
        evidence = np.log(np.maximum(judge_answers(answers, posterior, anchor), LEAST_PROBABILITY))
        found = normalise(prior + powers.answers * (answers.by_row @ evidence))
        found = (found + posterior) / 2.0 if step >= DAMPED else found
        change, posterior = np.abs(found - posterior).max(initial=0.0), found
        if change < SETTLED:
            break
    return Fit(posterior, *count_said(answers, posterior, anchor))


def log_shares(answers: Answers) -> np.ndarray:
    """Return log p_c: how often each class is said."""
    if answers.per_row.max(initial=0) <= 1:  # a large class, or people who say it too often: nothing tells
        return np.zeros(answers.n_classes)
    total = np.bincount(answers.label, answers.weight, answers.n_classes) + OWN_CLASS
    return np.log(total / total.sum())


def judge_answers(answers: Answers, posterior: np.ndarray, anchor: float = 0.0) -> np.ndarray:
    """Return P_w[c, d] of each answer, (n_answers, n_classes), learned from the other rows."""
    said, total, pooled = count_said(answers, posterior, anchor)
    if answers.alike:
        right, n_classes = np.diag(pooled).mean(), answers.n_classes
        return np.where(np.eye(n_classes, dtype=bool)[answers.label], right, (1.0 - right) / (n_classes - 1))
    own = answers.weight[:, None] * posterior[answers.row]
    usual = pooled[:, answers.label].T
    return (said[answers.said.of] - own + SHRINK * usual) / (total[answers.person] - own + SHRINK)


def count_said(
    answers: Answers, posterior: np.ndarray, anchor: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return C_w[c, d] of each pair, C_w[c] of each person, and the pooled matrix."""
    of = answers.said
    said = of.by_pair @ posterior[answers.row]
    pooled = (of.by_label @ said).T + anchor * answers.pooled
    pooled += OTHER_CLASS + OWN_CLASS * np.eye(answers.n_classes)
    return said, of.by_person @ said, pooled / pooled.sum(axis=1, keepdims=True)


def normalise(log_p: np.ndarray) -> np.ndarray:
    """Return probabilities from their logarithms, up to a constant of each row."""
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


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
    """Return the powers that answers speak for, uphill from two starts, and which answers were held out."""
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
    return Held(np.maximum(probability, LEAST_PROBABILITY), agreeing, consensus == label)
