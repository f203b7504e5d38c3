"""How far people agree with each other, beyond chance: Krippendorff's alpha, and Cohen's kappa of pairs.

With n_uc answers of class c about row u, m_u of them in all, rows with one answer left out, and n = sum m_u,

    alpha = 1 - D_o / D_e,    D_o = n - sum over u, c of n_uc (n_uc - 1) / (m_u - 1),
                              D_e = (n^2 - sum over c of n_c^2) / (n - 1),

for classes without an order (Krippendorff, Content Analysis, chapter 12).
"""

from typing import Any

import numpy as np

from subsvms.annotators._answers import Answers, read_answers

MOST_PEOPLE = 50  # who are compared in pairs
FEWEST_SHARED = 10  # rows that both answered


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
    """Return each person's mean Cohen's kappa with the others; NaN where nobody shares enough rows.

    Where they share few rows, or both say one class, it is not known. Of more than `MOST_PEOPLE` people only
    those with the most answers are compared.
    """
    from sklearn.metrics import cohen_kappa_score

    n_people = len(answers.names)
    people = np.argsort(-np.bincount(answers.person, minlength=n_people), kind="stable")[:MOST_PEOPLE]
    table = np.full((answers.n_rows, len(people)), -1)
    for place, person in enumerate(people):
        own = answers.person == person
        table[answers.row[own], place] = answers.label[own]
    kappa = np.full((len(people), len(people)), np.nan)
    for i in range(len(people)):
        for j in range(i):
            shared = (table[:, i] >= 0) & (table[:, j] >= 0)
            one, other = table[shared, i], table[shared, j]
            if shared.sum() >= FEWEST_SHARED and len(np.unique([one, other])) > 1:
                kappa[i, j] = kappa[j, i] = cohen_kappa_score(one, other)
    n_known, mean = (~np.isnan(kappa)).sum(axis=1), np.full(n_people, np.nan)
    mean[people] = np.where(n_known > 0, np.nansum(kappa, axis=1) / np.maximum(n_known, 1), np.nan)
    return mean
