"""The labels that carry a suggestion, and how many of them would have to be wrong for it to turn.

The vote of SVMs decides. A linear committee with the same features is a second judge whose reasons are exact
(`subsvms.certificates`, docs/certificates.md): where its verdict is the suggested label, it says which labels
carry this verdict, and how many would have to be wrong for it to turn. Where it differs, nothing is said.
Every flagged label is looked at. The time for this grows with the number of labels times that of flagged
labels, so it is left out in tables of more than `MOST_LABELS` labels (docs/certificates.md has times).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms._columns import Table
from subsvms.certificates import Standing
from subsvms.certificates._standing import certify_together
from subsvms.correction._result import Correction
from subsvms.ensemble import LinearCommittee

MOST_LABELS = 20_000
N_MEMBERS = 100  # 300 would withstand more labels, and take about twice as long
N_CARRIERS = 5
CHOSEN_SHARE, MOST_CHOSEN = 0.01, 50  # labels that an adversary may choose, of all labels and in number


@dataclass(frozen=True, eq=False)
class Carriers:
    """What carries the suggestions for the suspicious rows."""

    # (n_issues,): at least so many labels would have to be wrong for the verdict to turn; 0 where the
    # second judge does not agree with the suggestion, and where the label is not flagged
    flips: np.ndarray
    # (n_issues, N_CARRIERS): places of the rows whose labels carry the verdict, the strongest first; -1
    # where there are no more
    rows: np.ndarray
    # (n_issues, N_CARRIERS): the share of the verdict's margin that is lost if that label alone is wrong
    weights: np.ndarray
    # how many of all flagged labels would still be judged so, whatever labels were chosen; None if none is
    # flagged
    standing: Standing | None

    def list_columns(self, digits: int) -> dict[str, list[Any]]:
        """Return the columns of issues.parquet, one entry for each suspicious row; rows count from 1."""
        names: dict[str, list[Any]] = {"flips": [], "carriers": [], "carried": []}
        for flips, rows, weights in zip(self.flips, self.rows, self.weights, strict=True):
            known = rows >= 0
            names["flips"].append(int(flips) or None)
            names["carriers"].append((rows[known] + 1).tolist())
            names["carried"].append(np.round(weights[known], digits).tolist())
        return names


def find_carriers(
    correction: Correction, X: Table, issues: np.ndarray, *, random_state: int, n_jobs: int | None = None
) -> Carriers | None:
    """Return what carries the suggestions for suspicious rows; None if the table is too large.

    Shapes: X (n_rows, n_features); issues (n_issues,).
    """
    labelled = np.flatnonzero(correction.given >= 0)
    if len(labelled) > MOST_LABELS:
        return None
    flips = np.zeros(len(issues), dtype=np.int64)
    rows, weights = np.full((len(issues), N_CARRIERS), -1), np.zeros((len(issues), N_CARRIERS))
    flagged = np.flatnonzero(correction.flagged[issues])
    if len(flagged) == 0:
        return Carriers(flips, rows, weights, None)
    committee = LinearCommittee(
        n_estimators=N_MEMBERS, gamma=1.0 / X.shape[1], random_state=random_state, n_jobs=n_jobs
    ).fit(X[labelled], correction.given[labelled])
    suggested = correction.compared[issues[flagged]]
    found, standing = certify_together(
        committee,
        int(np.clip(CHOSEN_SHARE * len(labelled), 1, MOST_CHOSEN)),
        rows=np.searchsorted(labelled, issues[flagged]),
        suggested=suggested,
        n_carriers=N_CARRIERS,
    )
    agrees = (found.verdicts >= 0) & (committee.classes_[found.verdicts] == suggested)
    width = found.carriers.shape[1]  # fewer in a tiny table
    shown = agrees[:, None] & (found.carriers >= 0)
    flips[flagged] = np.where(agrees, found.withstands + 1, 0)
    rows[flagged, :width] = np.where(shown, labelled[found.carriers], -1)
    weights[flagged, :width] = np.where(shown, found.carried, 0.0)
    return Carriers(flips, rows, weights, standing)
