"""Bound how many verdicts stand together, whatever m labels had been chosen.

Each verdict has its own worst m labels, but an adversary chooses one set for all. Let h_i(x) be the share of
the margin of x that changing label i takes, 0 if it adds to it (its gain divided by the margin; among
several classes, the largest share over the rivals). With z_i = 1 for the changed labels and t_x = 1 for the
verdicts that turn,

    maximise over z, t   sum_x t_x   subject to   t_x <= sum_i h_i(x) z_i,   sum_i z_i <= m,   0 <= z, t <= 1,

whose whole numbers are relaxed, is a bound on the verdicts that turn. By its dual, every theta_x from 0 to 1
gives a bound as well,

    sum_x (1 - theta_x) + the m largest of (sum_x theta_x h_i(x))_i, added up,

so it need not be solved to the end to be true. Here theta is the same for all rows of a group: those with
one verdict that withstand about the same number of changes. Then the sums of h_i over each group are all that
is kept of any number of rows, and one pass over blocks of rows is enough. theta takes a fixed number of
projected subgradient steps and the best is kept. Verdicts that withstand m changes each are not in the sum:
they stand in any case. Shares are rounded up to whole units, so threads may add them in any order.
"""

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from subsvms._effort import OnProgress
from subsvms._labels import Classes, as_list
from subsvms._numbers import check_count
from subsvms._validation import check_rows
from subsvms.certificates import _exact
from subsvms.certificates._exact import ExactCertificate
from subsvms.ensemble import LinearCommittee
from subsvms.exceptions import InputError

N_STEPS = 100  # more lower the bound by less than one verdict in a hundred
N_GROUPS = 32  # each takes 8 bytes for each label; there are more only if there are more classes
UNIT = 2.0**32  # of a share, so that 2^31 rows can be added up


@dataclass(frozen=True)
class Standing:
    """How many verdicts stand, whatever labels had been chosen.

    Attributes
    ----------
    n_rows, n_flips : int
        Rows that were asked about, and labels that may be chosen, one set for all rows.
    n_agreeing, n_standing : int
        Rows on which the committee's verdict is the suggested label; at least so many of these keep it.

    Examples
    --------
    >>> Standing(n_rows=20, n_flips=2, n_agreeing=20, n_standing=17).n_standing
    17
    """

    n_rows: int
    n_flips: int
    n_agreeing: int
    n_standing: int


def count_standing(
    committee: LinearCommittee, n_flips: int, *, rows: Any = None, suggested: Any = None,
    on_progress: OnProgress | None = None,
) -> Standing:  # fmt: skip
    """Return how many of the committee's verdicts stand whatever `n_flips` labels had been chosen.

    Covered are labels, not features or rows, as in `certify`. The number is a lower bound: that it is reached
    is not claimed. Any number of rows takes the memory of `certify`, and at most 768 bytes for each label.

    Parameters
    ----------
    committee, rows, on_progress
        As in `certify`.
    n_flips : int
    suggested : array-like of shape (n_rows,), optional
        The labels that a run suggests for these rows: rows for which the committee's own verdict is another
        one do not count as standing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> committee = LinearCommittee(random_state=0).fit(minmax_scale(X), y)
    >>> count_standing(committee, 10).n_standing, count_standing(committee, 50).n_standing
    (534, 412)
    """
    return certify_together(committee, n_flips, rows=rows, suggested=suggested, on_progress=on_progress)[1]


def certify_together(
    committee: LinearCommittee, n_flips: int, *, rows: Any = None, suggested: Any = None,
    n_carriers: int = 0, on_progress: OnProgress | None = None,
) -> tuple[ExactCertificate, Standing]:  # fmt: skip
    """Return in one pass what `certify` and `count_standing` say about training rows."""
    _exact.check_committee(committee)
    check_count("n_flips", n_flips, least=0)
    n_samples = len(committee.labels_)
    asked = np.arange(n_samples) if rows is None else np.atleast_1d(check_rows(rows, n_samples))
    labels = None if suggested is None else as_list(suggested)
    if labels is not None and len(labels) != len(asked):
        raise InputError(f"suggested must have a label for each of {len(asked)} rows; got {len(labels)}.")
    wanted = None if labels is None else Classes(committee.classes_).number(labels)
    shares = _Shares(committee, n_flips)

    def agree(found, first):
        agreeing = found.verdicts >= 0
        return agreeing if wanted is None else agreeing & (found.verdicts == wanted[first:][: len(agreeing)])

    def look(first, weights, scores, found):
        doubtful = agree(found, first) & (found.withstands > 0) & (found.withstands < n_flips)
        shares.add(weights, scores, found, np.flatnonzero(doubtful))

    how: dict[str, Any] = {"rows": asked, "n_carriers": n_carriers, "on_progress": on_progress, "look": look}
    certificate = _exact.certify_rows(committee, **how)
    agreeing = agree(certificate, 0)
    n_safe = int(np.sum(agreeing & (certificate.withstands >= n_flips)))
    n_left = int(shares.n_rows.sum()) - bound_turned(shares.sums / UNIT, shares.n_rows, n_flips)
    return certificate, Standing(len(asked), n_flips, int(agreeing.sum()), n_safe + n_left)


class _Shares:
    """The sums over groups of rows of h_i(x), in units."""

    def __init__(self, committee: LinearCommittee, n_flips: int):
        self.committee, self.n_flips, self.lock = committee, n_flips, Lock()
        n_classes = len(committee.classes_)
        self.n_bins = max(N_GROUPS // n_classes, 1)
        self.sums = np.zeros((n_classes * self.n_bins, len(committee.labels_)), dtype=np.int64)
        self.n_rows = np.zeros(len(self.sums), dtype=np.int64)

    def add(self, weights, scores, found, doubtful):
        """Add some rows of a block, whose certificate was found."""
        from subsvms.certificates._flips import fill_shares

        labels, sizes = self.committee.labels_, self.committee.class_sizes_
        slack, units = _exact.bound_rounding(self.committee, weights), np.empty(len(labels), dtype=np.int64)
        for x in doubtful:
            verdict = int(found.verdicts[x])
            fill_shares(weights.a[x], labels, sizes, scores[x], verdict, slack[x], UNIT, units)
            group = verdict * self.n_bins + found.withstands[x] * self.n_bins // self.n_flips
            with self.lock:
                self.sums[group] += units
                self.n_rows[group] += 1


def bound_turned(sums: np.ndarray, n_rows: np.ndarray, n_flips: int) -> int:
    """Return a number of verdicts that no choice of `n_flips` labels exceeds in turning."""
    # `sums` are those of each group of rows, (n_groups, n_samples).
    sums, n_rows = sums[n_rows > 0], n_rows[n_rows > 0]
    theta, best = np.ones(len(sums)), float(n_rows.sum())
    for step in range(N_STEPS if len(sums) else 0):
        together = theta @ sums
        chosen = _exact.take_largest(together, min(n_flips, len(together)))
        chosen = chosen[together[chosen] > 0]
        best = min(best, float(np.sum(n_rows * (1.0 - theta)) + together[chosen].sum()))
        slope = sums[:, chosen].sum(axis=1) / n_rows - 1.0
        theta = np.clip(theta - slope / np.sqrt(step + 1.0), 0.0, 1.0)
    rounding = sum(sums.shape) * np.finfo(np.float64).eps * (n_rows.sum() + sums.sum())
    return min(int(best + rounding), int(n_rows.sum()))
