"""Bound how many verdicts stand together, whatever m labels had been chosen.

Each verdict has its own worst m labels, but an adversary chooses one set for all. Let h_i(x) be the share of
the margin of x that changing label i takes, 0 if it adds to it (`find_gains` divided by the margin; among
several classes, the largest share over the rivals). With z_i = 1 for the changed labels and t_x = 1 for the
verdicts that turn,

    maximise over z, t   sum_x t_x   subject to   t_x <= sum_i h_i(x) z_i,   sum_i z_i <= m,   0 <= z, t <= 1,

whose whole numbers are relaxed, is a bound on the verdicts that turn. By its dual, every theta_x from 0 to 1
gives a bound as well,

    sum_x (1 - theta_x) + the m largest of (sum_x theta_x h_i(x))_i, added up,

so it need not be solved to the end to be true: theta takes a fixed number of projected subgradient steps and
the best is kept. Verdicts that withstand m changes each are not in the sum: they stand in any case.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms._labels import as_list
from subsvms._numbers import check_count
from subsvms._validation import check_rows
from subsvms.certificates._exact import (
    ExactCertificate,
    bound_rounding,
    certify,
    check_committee,
    find_gains,
    take_largest,
)
from subsvms.ensemble import LinearCommittee
from subsvms.ensemble._committee import score_classes
from subsvms.ensemble._votes import pick_best
from subsvms.exceptions import InputError

N_STEPS = 100  # more lower the bound by less than one verdict in a hundred
MATRIX_BYTES = 512 * 2**20  # verdicts whose shares do not fit count as turned


@dataclass(frozen=True)
class Standing:
    """How many verdicts stand, whatever labels had been chosen.

    Attributes
    ----------
    n_rows : int
        Rows that were asked about.
    n_flips : int
        Labels that may be chosen, one set for all rows.
    n_agreeing : int
        Rows on which the committee's verdict is the suggested label.
    n_standing : int
        At least so many of these keep it.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms.certificates import count_standing
    >>> from subsvms.ensemble import LinearCommittee
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> y = np.repeat(["low", "high"], 10)
    >>> committee = LinearCommittee(subsample_size=5, gamma=5.0, random_state=0).fit(X, y)
    >>> count_standing(committee, 2)
    Standing(n_rows=20, n_flips=2, n_agreeing=20, n_standing=17)
    """

    n_rows: int
    n_flips: int
    n_agreeing: int
    n_standing: int


def count_standing(
    committee: LinearCommittee,
    n_flips: int,
    *,
    rows: Any = None,
    suggested: Any = None,
    certificate: ExactCertificate | None = None,
) -> Standing:
    """Return how many of the committee's verdicts stand whatever `n_flips` labels had been chosen.

    Covered are labels, not features or rows, as in `certify`. The number is a lower bound: that it is reached
    is not claimed.

    Parameters
    ----------
    committee : LinearCommittee
        Fitted.
    n_flips : int
    rows : array-like of int or bool, optional
        Training rows, such as those that a run changed; all by default.
    suggested : array-like of shape (n_rows,), optional
        The labels that the run suggests for these rows: rows for which the committee's own verdict is another
        one do not count as standing.
    certificate : ExactCertificate, optional
        What `certify` returned for these rows; without it, it is computed.

    Returns
    -------
    Standing

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from subsvms.ensemble import LinearCommittee
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> committee = LinearCommittee(random_state=0).fit(minmax_scale(X), y)
    >>> count_standing(committee, 10).n_standing, count_standing(committee, 50).n_standing
    (535, 414)
    """
    check_committee(committee)
    check_count("n_flips", n_flips, least=0)
    n_samples = len(committee.labels_)
    asked = np.arange(n_samples) if rows is None else np.atleast_1d(check_rows(rows, n_samples))
    certificate = certificate or certify(committee, rows=asked)
    if len(certificate.verdicts) != len(asked):
        raise InputError(
            f"certificate must be that of the {len(asked)} rows; got one of {len(certificate.verdicts)}: "
            "use certify(committee, rows=rows)."
        )
    agreeing = certificate.verdicts >= 0
    if suggested is not None:
        agreeing &= certificate.verdicts == _number_labels(suggested, committee.classes_, len(agreeing))
    safe = agreeing & (certificate.withstands >= n_flips)
    doubtful = np.flatnonzero(agreeing & ~safe & (certificate.withstands > 0))
    most = MATRIX_BYTES // (8 * n_samples)
    doubtful = doubtful[take_largest(certificate.withstands[doubtful], most)]
    standing = int(safe.sum()) + len(doubtful)
    if len(doubtful):
        shares = _gather_shares(committee, asked[doubtful])
        standing -= min(bound_turned(shares, n_flips), len(doubtful))
    return Standing(len(agreeing), n_flips, int(agreeing.sum()), standing)


def _number_labels(suggested, classes, n_rows):
    """Return the class numbers of labels; -1 for those that the table does not have."""
    labels = as_list(suggested)
    if len(labels) != n_rows:
        raise InputError(f"suggested must have a label for each of {n_rows} rows; got {len(labels)}.")
    numbers = {label: number for number, label in enumerate(classes.tolist())}
    return np.array([numbers.get(label, -1) for label in labels], dtype=int)


def _gather_shares(committee: LinearCommittee, rows: np.ndarray) -> np.ndarray:
    """Return h_i(x), of shape (n_rows, n_samples), rounding taken off the margins."""
    shares = np.zeros((len(rows), len(committee.labels_)))

    def work(first, last, weights):
        scores = score_classes(weights, committee.labels_, committee.class_sizes_)
        verdicts = pick_best(scores, committee.class_sizes_)
        slack = bound_rounding(committee, weights)
        for x, share in enumerate(shares[first:last]):
            for rival in set(range(len(committee.classes_))) - {verdicts[x]}:
                margin = scores[x, verdicts[x]] - scores[x, rival] - slack[x]
                gains = find_gains(committee, weights.a[x], verdicts[x], rival)
                np.maximum(share, gains / margin, out=share)

    committee.visit(work, rows=rows)
    return shares


def bound_turned(shares: np.ndarray, n_flips: int) -> int:
    """Return a number of verdicts that no choice of `n_flips` labels exceeds in turning.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_samples)
        h_i(x), 0 or more.
    n_flips : int

    Examples
    --------
    Two flips take three quarters of either margin, but different flips; so two turn at most one of them.

    >>> bound_turned(np.array([[0.75, 0.75, 0.0, 0.0], [0.0, 0.0, 0.75, 0.75]]), 2)
    1
    """
    n_rows, n_samples = shares.shape
    theta, best = np.ones(n_rows), float(n_rows)
    for step in range(N_STEPS):
        together = theta @ shares
        chosen = take_largest(together, min(n_flips, n_samples))
        chosen = chosen[together[chosen] > 0]
        best = min(best, float(np.sum(1.0 - theta) + together[chosen].sum()))
        slope = shares[:, chosen].sum(axis=1) - 1.0
        theta = np.clip(theta - slope / np.sqrt(step + 1.0), 0.0, 1.0)
    rounding = (n_rows + n_samples) * np.finfo(np.float64).eps * (n_rows + shares.sum())
    return int(best + rounding)
