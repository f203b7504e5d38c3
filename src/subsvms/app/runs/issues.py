"""The labels to look at: flagged ones, worst first, then those held back, the most doubtful, those filled in.

A label is held back if another is more probable, but the rule kept it: fewer changes were allowed
(`max_error_rate`), more certainty was asked for (`min_confidence`), or a guard against harm spoke up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms._typing import Table
from subsvms.correction._result import Correction
from subsvms.correction._witnesses import Witnesses, find_witnesses

LEAST = 50  # with fewer flagged or held back, the most doubtful of the others are listed, too
DIGITS = 4  # of probabilities in a file; more would say nothing
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet run a cell


@dataclass(frozen=True, eq=False)
class Issues:
    """Suspicious labels, one each, in the order in which to look at them."""

    correction: Correction
    rows: np.ndarray  # (n_issues,), row numbers from 0
    proposed: np.ndarray  # (n_issues,), class numbers: what speaks against the given label
    reason: list[str]
    neighbours: Witnesses  # rows to compare with

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def confidence(self) -> np.ndarray:
        """Probability of the proposed class."""
        return self.correction.judgement.posterior[self.rows, self.proposed]

    @property
    def vote_share(self) -> np.ndarray:
        """Share of the SVMs that vote for the proposed class."""
        return self.correction.votes.share[self.rows, self.proposed]

    def to_columns(self) -> dict[str, list]:
        """Return the columns of issues.csv, without those of the table; rows count from 1."""
        return {
            **to_issue_columns(self.correction, self.rows),
            "supporting": [_number(found) for found in self.neighbours.supporting],
            "opposing": [_number(found) for found in self.neighbours.opposing],
        }


def to_issue_columns(
    correction: Correction, rows: np.ndarray, numbers: np.ndarray | None = None
) -> dict[str, list]:
    """Return what is known of some rows, in columns; rows count from 1.

    Parameters
    ----------
    correction : Correction
    rows : ndarray of int
        Places in the correction.
    numbers : ndarray of int of shape (n_rows,), optional
        Row numbers, from 0, of what was corrected, if it is not the whole table.
    """
    names = correction.classes.tolist()
    compared = correction.compared[rows]
    probabilities = {
        "label_quality": correction.label_quality[rows],
        "confidence": correction.judgement.posterior[rows, compared],
        "vote_share": correction.votes.share[rows, compared],
    }
    return {
        "row": ((rows if numbers is None else numbers[rows]) + 1).tolist(),
        "given_label": [None if number < 0 else names[number] for number in correction.given[rows]],
        "suggested_label": [names[number] for number in compared],
        "is_label_issue": correction.flagged[rows].tolist(),
        **{name: np.round(values, DIGITS).tolist() for name, values in probabilities.items()},
        "withstands": correction.withstands[rows].tolist(),
        "action": correction.action[rows].tolist(),
        "reason": correction.explain(rows),
    }


def _number(rows):
    return " ".join(str(row + 1) for row in rows)


def find_issues(correction: Correction, X: Table) -> Issues:
    """Return the suspicious labels of a correction.

    Parameters
    ----------
    correction : Correction
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The features that were judged.

    Examples
    --------
    >>> from subsvms import correct_labels
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat([0, 1], 200)
    >>> X = rng.normal(clean[:, None], 0.25, (400, 4))
    >>> given = np.where(np.arange(400) % 7 == 0, 1 - clean, clean)
    >>> issues = find_issues(correct_labels(X, given, random_state=0), X)
    >>> issues.to_columns()["row"][0] % 7, len(issues) > 40  # rows count from 1
    (1, True)
    """
    held_back, decided = correction.held_back, correction.decided
    plain = (
        ~correction.missing & ~correction.flagged & ~held_back & ~decided & (correction.votes.n_voters > 0)
    )
    kinds = (correction.flagged, held_back, plain, correction.missing & ~decided)
    parts = [np.flatnonzero(which) for which in kinds]
    parts = [part[np.argsort(correction.label_quality[part], kind="stable")] for part in parts]
    n_more = max(0, LEAST - len(parts[0]) - len(parts[1])) if correction.noise.explained else 0
    parts[2] = parts[2][:n_more]
    rows = np.concatenate(parts)
    proposed = correction.compared[rows]
    neighbours = find_witnesses(X, correction.given, rows, proposed)
    return Issues(correction, rows, proposed, correction.explain(rows), neighbours)


def disarm(cells: Sequence[Any]) -> list[Any]:
    """Return cells that no spreadsheet takes for formulas: an apostrophe goes in front of those it would.

    Examples
    --------
    >>> disarm(["=1+1", "-2.5", "plain", None, 3])
    ["'=1+1", '-2.5', 'plain', None, 3]
    """
    return [f"'{cell}" if isinstance(cell, str) and _is_formula(cell) else cell for cell in cells]


def _is_formula(cell):
    if not cell.startswith(FORMULA):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False
