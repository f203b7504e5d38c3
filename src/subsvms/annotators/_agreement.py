"""How far people agree with each other, beyond chance: Krippendorff's alpha, and Cohen's kappa of pairs.

With n_uc answers of class c about row u, m_u of them in all, rows with one answer left out, and n = sum m_u,

    alpha = 1 - D_o / D_e,    D_o = n - sum over u, c of n_uc (n_uc - 1) / (m_u - 1),
                              D_e = (n^2 - sum over c of n_c^2) / (n - 1),

for classes without an order (Krippendorff, Content Analysis, chapter 12).
"""

from typing import Any

import numpy as np
from scipy import sparse

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
