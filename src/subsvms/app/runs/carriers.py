"""The labels that carry a suggestion, and how many of them would have to be wrong for it to turn.

The vote of SVMs decides. A linear committee with the same features is a second judge whose reasons are exact
(`subsvms.certificates`, docs/certificates.md): where its verdict is the suggested label, it says which labels
carry this verdict, and how many would have to be wrong for it to turn. Where it differs, nothing is said.
Only the first of the suspicious rows are looked at, and only in tables of moderate size, so that this takes a
small part of a run's time.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms._typing import Table
from subsvms.certificates import Standing, certify, count_standing
from subsvms.correction._result import Correction
from subsvms.ensemble import LinearCommittee

MOST_ROWS = 20_000  # labels of the table; with more, the committee would take too long
LOOKED_AT = 200  # suspicious rows, worst first
N_CARRIERS = 5
CHOSEN_SHARE, MOST_CHOSEN = 0.01, 50  # labels that an adversary may choose, of all labels and in number


@dataclass(frozen=True, eq=False)
class Carriers:
    """What carries the suggestions for the first of the suspicious rows.

    Attributes
    ----------
    flips : ndarray of int of shape (n_looked_at,)
        At least so many labels would have to be wrong for the verdict to turn; 0 where the second judge
        does not agree with the suggestion.
    rows : ndarray of int of shape (n_looked_at, N_CARRIERS)
        Places of the rows whose labels carry the verdict, the strongest first; -1 where there are no more.
    weights : ndarray of float of shape (n_looked_at, N_CARRIERS)
        The share of the verdict's margin that is lost if that label alone is wrong.
    standing : Standing or None
        How many of the flagged labels among them would still be judged so, whatever labels were chosen; None
        if none is flagged.
    """

    flips: np.ndarray
    rows: np.ndarray
    weights: np.ndarray
    standing: Standing | None

    def list_columns(self, n_issues: int, digits: int) -> dict[str, list[Any]]:
        """Return the columns of issues.parquet, one entry for each suspicious row; rows count from 1."""
        names: dict[str, list[Any]] = {"flips": [], "carriers": [], "carried": []}
        for flips, rows, weights in zip(self.flips, self.rows, self.weights, strict=True):
            known = rows >= 0
            names["flips"].append(int(flips) or None)
            names["carriers"].append((rows[known] + 1).tolist())
            names["carried"].append(np.round(weights[known], digits).tolist())
        n_more = n_issues - len(self.flips)
        empty: dict[str, Any] = {"flips": None, "carriers": [], "carried": []}
        return {name: values + [empty[name]] * n_more for name, values in names.items()}


def find_carriers(
    correction: Correction, X: Table, issues: np.ndarray, *, random_state: int, n_jobs: int | None = None
) -> Carriers | None:
    """Return what carries the suggestions for suspicious rows; None if the table is too large.

    Parameters
    ----------
    correction : Correction
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The features that were judged.
    issues : ndarray of int of shape (n_issues,)
        Places of the suspicious rows, worst first.
    random_state : int
    n_jobs : int, optional

    Examples
    --------
    >>> from subsvms import correct_labels
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat([0, 1], 200)
    >>> X = rng.normal(clean[:, None], 0.25, (400, 4))
    >>> given = np.where(np.arange(400) % 7 == 0, 1 - clean, clean)
    >>> correction = correct_labels(X, given, random_state=0)
    >>> carriers = find_carriers(correction, X, np.flatnonzero(correction.flagged), random_state=0)
    >>> carriers.rows.shape, int(np.median(carriers.flips)) > 20
    ((58, 5), True)
    """
    labelled = np.flatnonzero(correction.given >= 0)
    if len(labelled) > MOST_ROWS:
        return None
    issues = issues[:LOOKED_AT]
    suggested = correction.compared[issues]
    gamma = 1.0 / X.shape[1]
    committee = LinearCommittee(gamma=gamma, random_state=random_state, n_jobs=n_jobs)
    committee.fit(X[labelled], correction.given[labelled])
    known = correction.given[issues] >= 0
    places = np.searchsorted(labelled, issues[known])
    flips = np.zeros(len(issues), dtype=np.int64)
    rows, weights = np.full((len(issues), N_CARRIERS), -1), np.zeros((len(issues), N_CARRIERS))
    standing = None
    for which, asked in ((known, {"rows": places}), (~known, {"X": X[issues[~known]]})):
        if not which.any():
            continue
        found = certify(committee, n_carriers=N_CARRIERS, **asked)
        agrees = (found.verdicts >= 0) & (committee.classes_[found.verdicts] == suggested[which])
        width = found.carriers.shape[1]  # fewer in a tiny table
        shown = agrees[:, None] & (found.carriers >= 0)
        flips[which] = np.where(agrees, found.withstands + 1, 0)
        rows[which, :width] = np.where(shown, labelled[found.carriers], -1)
        weights[which, :width] = np.where(shown, found.carried, 0.0)
        changed = np.flatnonzero(correction.flagged[issues[which]])
        if which is known and len(changed):
            standing = count_standing(
                committee, int(np.clip(CHOSEN_SHARE * len(labelled), 1, MOST_CHOSEN)), rows=places[changed],
                suggested=suggested[known][changed], certificate=found.take(changed),
            )  # fmt: skip
    return Carriers(flips, rows, weights, standing)
