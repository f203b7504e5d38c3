"""Asking a person until an audit is finished, and a simulated one, for tests and benchmarks."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from subsvms._numbers import check_range, check_seed, check_type, read_array
from subsvms.audit._interview import Interview
from subsvms.exceptions import InputError, format_value

Asked = TypeVar("Asked", bound=Interview)


def run_audit(audit: Asked, ask: Callable[[int], Any]) -> Asked:
    """Ask until an audit or a confirmation is finished, and return it.

    Examples
    --------
    >>> from subsvms.audit import Audit, Ranking
    >>> ranking = Ranking.make(["ham", "spam"] * 50, ["spam", "ham"] * 50, range(100))
    >>> run_audit(Audit(ranking, 20), lambda row: ranking.classes[ranking.given[row]]).claim.n_overturned
    0
    """
    check_type("audit", audit, "an Audit, a Confirmation or a Target", Interview)
    check_type("ask", ask, "a function of a row number", Callable)
    while (row := audit.next_row) is not None:
        audit.answer(row, ask(row))
    return audit


class SimulatedAnnotator:
    """Answers questions about labels that are known, with errors.

    The answer to the k-th question about a row depends on the seed, the row and k only, so errors in repeated
    questions are independent, and the order of the questions does not matter.

    Parameters
    ----------
    truth : array-like of shape (n_rows,)
        None where the person cannot tell.
    error_rate : float, default=0
    suggested : array-like of shape (n_rows,), default=None
        If given, an error is the suggested label; by default any other class, each as probable.
    random_state : int, default=None
        The seed; None is 0.

    Examples
    --------
    >>> person = SimulatedAnnotator(["ham", "spam", "ham"])
    >>> person(0), person(1)
    ('ham', 'spam')
    """

    def __init__(
        self, truth: ArrayLike, *, error_rate: float = 0.0, suggested: ArrayLike | None = None,
        random_state: int | None = None,
    ):  # fmt: skip
        check_range("error_rate", error_rate, 0, 1)
        self.truth = _read_labels("truth", truth)
        self.error_rate = error_rate
        self.suggested = None if suggested is None else _read_labels("suggested", suggested)
        if self.suggested is not None and len(self.suggested) != len(self.truth):
            n, expected = len(self.truth), "suggested must have a label for each of"
            raise InputError(f"{expected} {n} rows; got {len(self.suggested)}.")
        self.random_state = check_seed(random_state)
        self._classes = sorted(set(self.truth) - {None})
        self._times: dict[int, int] = {}

    def __call__(self, row: int) -> Any:
        """Return the answer to the next question about a row."""
        right = self.truth[row]
        k = self._times[row] = self._times.get(row, 0) + 1
        rng = np.random.default_rng([self.random_state, row, k])
        if right is None or rng.random() >= self.error_rate:
            return right
        if self.suggested is not None:
            return self.suggested[row]
        others = [label for label in self._classes if label != right]
        return others[rng.integers(len(others))] if others else right


def _read_labels(name, labels):
    labels = read_array(name, labels, None)
    if labels.ndim != 1:
        raise InputError(f"{name} must hold a label for each row; got {format_value(labels.tolist())}.")
    return labels.tolist()
