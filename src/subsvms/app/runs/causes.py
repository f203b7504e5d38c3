"""What is behind the verdicts: labels that carry a suggestion, and columns at which wrong labels gather.

*Carriers.* The vote of SVMs decides. A linear committee with the same features is a second judge whose
reasons are exact (`subsvms.certificates`, docs/certificates.md): where its verdict is the suggested label, it
says which labels carry this verdict, and how many would have to be wrong for it to turn. Where it differs,
nothing is said. The time grows with the number of labels times that of flagged labels, so it is left out in
tables of more than `MOST_LABELS` labels.

*Origins.* If one annotator is worse, contradicted labels gather at one value of a column. Where the votes are
divided, many labels contradict them, whoever made them. So rows are compared with others
that got the same votes: those with the same winner and about the same share of the votes. Among the N rows of
such a stratum, m contradict their winner; if n of the N have the value v, n m / N of these would be expected
to contradict it, too. Over all strata, O contradict it and E are expected to. The value stands out if

    P(Poisson(E) >= O)  <  CHANCE / (number of values looked at)   and   odds ratio  >=  WORSE,

with the odds ratio of Mantel and Haenszel (1959). O varies less than a Poisson number with mean E, so the
first is on the safe side; the second keeps apart small differences in large tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import poisson

from subsvms._columns import Table
from subsvms.app.features.columns import number_values
from subsvms.app.quoting import show
from subsvms.certificates import Standing
from subsvms.certificates._standing import certify_together
from subsvms.correction._result import Correction
from subsvms.ensemble import LinearCommittee
from subsvms.exceptions import Note, Setting

MOST_LABELS = 20_000
N_MEMBERS = 100  # 300 would withstand more labels, and take about twice as long
N_CARRIERS = 5
CHOSEN_SHARE, MOST_CHOSEN = 0.01, 50  # labels that an adversary may choose, of all labels and in number
MOST_VALUES = 50  # of a column that may say who labelled a row
STRATA = 10  # of the rows with the same winner
CHANCE = 0.01  # of a value that stands out in a table where none is worse
WORSE = 2.0


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
    """Return what carries the suggestions for suspicious rows; None if the table is too large."""
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
        committee, int(np.clip(CHOSEN_SHARE * len(labelled), 1, MOST_CHOSEN)),
        rows=np.searchsorted(labelled, issues[flagged]), suggested=suggested, n_carriers=N_CARRIERS,
    )  # fmt: skip
    agrees = (found.verdicts >= 0) & (committee.classes_[found.verdicts] == suggested)
    width = found.carriers.shape[1]  # fewer in a tiny table
    shown = agrees[:, None] & (found.carriers >= 0)
    flips[flagged] = np.where(agrees, found.withstands + 1, 0)
    rows[flagged, :width] = np.where(shown, labelled[found.carriers], -1)
    weights[flagged, :width] = np.where(shown, found.carried, 0.0)
    return Carriers(flips, rows, weights, standing)


@dataclass(frozen=True)
class Origin:
    """A value of a column at which contradicted labels gather."""

    column: str
    value: Any  # None or NaN if it is missing
    n_rows: int  # rows with this value and a label, and how many of these labels contradict the vote
    n_contradicted: int
    expected: float  # how many would, if they were like other rows with the same votes


def find_origins(columns: Mapping[str, np.ndarray], given: np.ndarray, share: np.ndarray) -> list[Origin]:
    """Return the values at which contradicted labels gather, at most one for each column, clearest first."""
    # Shapes: columns (n_rows,); given (n_rows,); share (n_rows, n_classes).
    known = np.flatnonzero((given >= 0) & ~np.isnan(share).any(axis=1))
    winner = share[known].argmax(axis=1)
    contradicted = share[known, winner] > share[known, given[known]]  # as `Votes.contradict` has it
    if not contradicted.any():
        return []
    strata = number_strata(winner, share[known, winner])
    found, n_tests = [], 0
    for name, values in columns.items():
        codes, n_values = number_values(values[known])
        if not 2 <= n_values <= MOST_VALUES:
            continue
        n_tests += n_values
        worst, chance, *numbers = _find_worst(codes, n_values, strata, contradicted)
        found.append((chance, Origin(name, values[known[np.argmax(codes == worst)]], *numbers)))
    clear = [pair for pair in found if pair[0] < CHANCE / n_tests]
    return [origin for _, origin in sorted(clear, key=lambda pair: pair[0])]


def format_origins(origins: Sequence[Origin], judge: str | None = None) -> list[Note]:
    """Return a note on the clearest value at which contradicted labels gather; none without any."""
    if not origins:
        return []
    first = origins[0]
    n_more = len(origins) - 1
    more = f" The same holds for {n_more} more column{'s' if n_more > 1 else ''}." if n_more else ""
    value = first.value
    if isinstance(value, float) and not np.isnan(value):  # as a column of text has it
        value = str(int(value)) if value.is_integer() else repr(value)
    shown = "missing" if value is None or value != value else show(value)
    words = (
        "Where {column} is {value}, {n:,} of {n_rows:,} labels contradict {who}; of other rows with such "
        "{votes}, about {expected:,.0f} would.{more} If the column says who labelled a row, or where it came "
        "from, see the noise by it, and learn nothing from it, with {by}."
    )
    return [
        Note(
            "origin", words, column=show(first.column), value=shown, n=first.n_contradicted,
            n_rows=first.n_rows, expected=first.expected, more=more, by=Setting("by", first.column),
            who=judge or "the votes", votes="votes" if judge is None else "probabilities",
        )
    ]  # fmt: skip


def number_strata(winner: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the stratum of each row: the same winner, and about the same share of the votes."""
    place = np.empty(len(winner), dtype=np.int64)
    for number in np.unique(winner):
        own = np.flatnonzero(winner == number)
        rank = np.searchsorted(np.sort(share[own]), share[own])  # equal shares are in one stratum
        place[own] = rank * STRATA // len(own)
    return winner * STRATA + place


def _find_worst(codes, n_values, strata, contradicted):
    """Return the value that stands out most, how likely that is by chance, its rows, and O and E of above."""
    cells, shape = codes * (strata.max() + 1) + strata, (n_values, strata.max() + 1)
    n, o = (
        np.bincount(cells, weights, minlength=shape[0] * shape[1]).reshape(shape)
        for weights in (None, contradicted)
    )
    N, m = n.sum(axis=0), o.sum(axis=0)
    filled = np.maximum(N, 1)
    observed, expected = o.sum(axis=1), (n * m / filled).sum(axis=1)
    more = (o * (N - m - n + o) / filled).sum(axis=1)
    less = ((n - o) * (m - o) / filled).sum(axis=1)
    chance = np.where(more >= WORSE * less, poisson.sf(observed - 1, expected), 1.0)
    worst = int(chance.argmin())
    return worst, chance[worst], int(n[worst].sum()), int(observed[worst]), float(expected[worst])
