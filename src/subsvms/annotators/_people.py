"""What is known of each person: how often right, against chance, and which classes are mixed up.

How far people agree with each other, beyond chance: Krippendorff's alpha, and Cohen's kappa of pairs.

With n_uc answers of class c about row u, m_u of them in all, rows with one answer left out, and n = sum m_u,

    alpha = 1 - D_o / D_e,    D_o = n - sum over u, c of n_uc (n_uc - 1) / (m_u - 1),
                              D_e = (n^2 - sum over c of n_c^2) / (n - 1),

for classes without an order (Krippendorff, Content Analysis, chapter 12).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betaincinv

from subsvms.annotators._answers import FEW, Answers, read_answers
from subsvms.annotators._model import Fit
from subsvms.exceptions import format_count, format_interval, format_percent

MOST_MIXED = 3  # pairs of classes that are named
HARDLY = 0.2  # of the way from chance to always right
MOST_PEOPLE = 50  # who are compared in pairs
FEWEST_SHARED = 10  # rows that both answered
LEAST_MIXED = 0.1  # share of a class that is given as another


@dataclass(frozen=True, eq=False)
class Person:
    """One person who answered; `str` says what is known in a sentence.

    What is right is not known but estimated, by the consensus: the limits hold as far as it does.

    Attributes
    ----------
    name : str
    n_answers : int
        How many rows the person answered about.
    right, low, high : float
        Share of the answers that are right, and its limits.
    kappa : float
        Mean of Cohen's kappa with each of the others: how far they agree beyond chance, right or wrong; NaN
        if they share too few rows.
    chance : float
        The share that would be right if the person said the same classes as often, but at random.
    matrix : ndarray of shape (n_classes, n_classes)
        How often the person says each class (columns) about rows of each true class (lines).
    mixed : list of (true class, said class, share)
        Which classes the person mixes up most.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms.annotators import find_consensus
    >>> rng, truth = np.random.default_rng(0), np.arange(300) % 2
    >>> answers = [np.where(rng.random(300) < rate, 1 - truth, truth) for rate in (0.05, 0.1, 0.5)]
    >>> [person.depends for person in find_consensus(None, np.transpose(answers)).people]
    [True, True, False]
    """

    name: str
    n_answers: int
    right: float
    low: float
    high: float
    chance: float
    kappa: float
    matrix: np.ndarray
    mixed: list[tuple]

    @property
    def depends(self) -> bool:
        """Whether the answers certainly depend on the true class: the limits leave out chance."""
        return not self.low <= self.chance <= self.high

    @property
    def is_informed(self) -> bool:
        """Whether the person is right more often than by chance, and not just a little."""
        return self.right - self.chance >= HARDLY * (1.0 - self.chance)

    @property
    def advice(self) -> str:
        """What the numbers suggest, in a few words."""
        if self.n_answers < FEW:
            return "too few answers to say"
        if self.high < self.chance:
            return "says the opposite: check how the classes were explained"
        if not self.depends or not self.is_informed:
            return "hardly better than chance: look at the answers, and explain the classes again"
        if self.mixed:
            true, said, share = self.mixed[0]
            return f"says {said!r} for {format_percent(share)} of {true!r}"
        return "nothing stands out"

    def __str__(self) -> str:
        limits = format_interval(self.low, self.high)
        return (
            f"{self.name}: {format_count(self.n_answers, 'answer')}, right in about "
            f"{format_percent(self.right)} ({limits}; by chance {format_percent(self.chance)}); {self.advice}"
        )


def describe_people(answers: Answers, fit: Fit, level: float) -> list[Person]:
    """Return what is known of each person, in the order of their numbers."""
    n_people, names = len(answers.names), answers.classes.tolist()
    weight, posterior = answers.weight, fit.posterior[answers.row]
    hits = weight * posterior[np.arange(len(answers)), answers.label]
    n_said = np.bincount(answers.person, weight, n_people)
    k = np.bincount(answers.person, hits, n_people)
    said = np.zeros((n_people, len(names)))
    np.add.at(said, (answers.person, answers.label), weight)
    chance = (fit.total * said).sum(axis=1) / np.maximum(n_said, 1.0) ** 2
    side = (1.0 - level) / 2.0
    low, high = (betaincinv(k + 0.5, n_said - k + 0.5, one) for one in (side, 1.0 - side))  # Jeffreys
    kappa, people = measure_kappa(answers), []
    for person in range(n_people):
        matrix = fit.matrix(answers, person)
        mixed = _find_mixed(matrix, fit.total[person], names)
        right = float(k[person] / n_said[person])
        limits = float(low[person]), float(high[person]), float(chance[person]), float(kappa[person])
        people.append(Person(answers.names[person], round(n_said[person]), right, *limits, matrix, mixed))
    return people


def _find_mixed(matrix, n_true, names):
    """Return the pairs of classes that a person mixes up, most rows first."""
    wrong = np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)
    rows = wrong * n_true[:, None]
    order = np.argsort(-rows, axis=None, kind="stable")[:MOST_MIXED]
    places = zip(*np.unravel_index(order, matrix.shape), strict=True)
    often = [one for one in places if matrix[one] >= LEAST_MIXED and rows[one] >= 1.0]
    return [(names[c], names[d], float(matrix[c, d])) for c, d in often]


def measure_agreement(answers: Any) -> float:
    """Return Krippendorff's alpha: 1 if people always agree, 0 if no more than by chance.

    Parameters
    ----------
    answers
        As in `find_consensus`.

    Returns
    -------
    float
        NaN if no row has two answers, or if all of them are equal.

    Examples
    --------
    >>> from subsvms.annotators import measure_agreement
    >>> round(measure_agreement([["a", "a", None], ["b", "b", "b"], ["a", "b", "a"]]), 2)
    0.56
    """
    return compute_alpha(read_answers(answers).counts)


def compute_alpha(counts: np.ndarray) -> float:
    """Return alpha, from how often each class was said about each row."""
    counts = counts[counts.sum(axis=1) > 1.0]
    m, n_c = counts.sum(axis=1), counts.sum(axis=0)
    n = m.sum()
    expected = n**2 - (n_c**2).sum()
    if expected <= 0.0:
        return float("nan")
    agreed = ((counts * (counts - 1.0)).sum(axis=1) / (m - 1.0)).sum()
    return float(1.0 - (n - 1.0) * (n - agreed) / expected)


def measure_kappa(answers: Answers) -> np.ndarray:
    """Return each person's mean Cohen's kappa with the others; NaN where nobody shares enough rows."""
    n_people, n_classes = len(answers.names), answers.n_classes
    people = np.argsort(-np.bincount(answers.person, minlength=n_people), kind="stable")[:MOST_PEOPLE]
    places = np.full(n_people, -1)
    places[people] = np.arange(len(people))
    place, size = places[answers.person], len(people) * n_classes
    used = np.flatnonzero(place >= 0)
    cells = answers.row[used], place[used] * n_classes + answers.label[used]
    said = sparse.csr_matrix((answers.weight[used], cells), (answers.n_rows, size))
    both = (said.T @ said).toarray().reshape(len(people), n_classes, len(people), n_classes)
    n = both.sum(axis=(1, 3))  # rows that two people share
    agreed = np.einsum("icjc->ij", both)
    shares = both.sum(axis=3), both.sum(axis=1)  # what the first and the second said about them
    chance = np.einsum("icj,ijc->ij", *shares) / np.maximum(n, 1.0)
    known = (n >= FEWEST_SHARED) & (chance < n) & ~np.eye(len(people), dtype=bool)
    kappa = np.full(n.shape, np.nan)
    kappa[known] = ((agreed - chance) / np.where(known, n - chance, 1.0))[known]
    n_known, mean = (~np.isnan(kappa)).sum(axis=1), np.full(n_people, np.nan)
    mean[people] = np.where(n_known > 0, np.nansum(kappa, axis=1) / np.maximum(n_known, 1), np.nan)
    return mean
