"""Choose the flips that a corrector mends least, by asking it.

With g_q the labels y after the flips q (1 where a row gets its rival's label, the class beyond the nearest
boundary of an SVM that learnt the clean labels), and c the corrector, which is only called,

    maximise over q in {0, 1}^n   sum_j [c(g_q)_j is not y_j]
    subject to                    sum_{i in g} q_i = B_g   for each group g of rows that has its own budget.

This is the local search of `_greedy`, with the corrector in place of the SVM that is attacked. It starts with
the best of `greedy_flips`, the surest flips, those nearest the boundary and random ones. Flips that are
mended are traded for rows drawn by chance, in turns with those of the highest

    pull   sum over j with y_j = y_i of K(x_i, x_j) ([c(g_q)_j is not y_j] - q_j [c(g_q)_j is y_j]),

which lie among rows of their class that the corrector leaves or makes wrong, far from flips that it mends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import rbf_kernel

from subsvms._numbers import make_rng
from subsvms.adversaries import _budget as budgets
from subsvms.adversaries._budget import Attack, RandomState, Share, take_highest
from subsvms.adversaries._greedy import BOUNDARY_C, Verdict, choose_flips, judge, list_plans, search
from subsvms.exceptions import InputError


def knowing_flips(
    X: Any, y: ArrayLike, correct: Callable[[np.ndarray], ArrayLike], *, error_rate: Share = None,
    rho: Share = None, alpha: Share = None, n_rounds: int = 30, random_state: RandomState = None,
) -> Attack:  # fmt: skip
    """Flip the labels after which a corrector leaves most labels wrong: the attack of one who knows the rule.

    The corrector is only called, so any will do. With two classes it is called up to n_rounds + 10 times, and
    all rows are compared with each other: for small tables. `adversaries/_knowing.py` states the problem.

    Parameters
    ----------
    X, y, error_rate, rho, alpha, random_state
        As in `uniform_flips` and `boundary_flips`. Without alpha, all flips may come from one class.
    correct : callable
        Takes labels of shape (n_samples,) and returns them corrected, the same each time.
    n_rounds : int, default=30
        Largest number of trades of flips to try.

    Examples
    --------
    >>> X, y = np.linspace(0, 1, 40)[:, None], np.repeat(["left", "right"], 20)
    >>> def smooth(labels):  # each row gets the label of most of its five nearest
    ...     window = np.pad((labels == "right") * 1.0, 2, mode="edge")
    ...     return np.where(np.convolve(window, np.ones(5), "valid") > 2.5, "right", "left")
    >>> attack = knowing_flips(X, y, smooth, error_rate=0.15, random_state=0)
    >>> int(attack.flipped.sum()), int((smooth(attack.labels) != y).sum())
    (6, 6)
    """
    budget = budgets.set_budget("knowing_flips", y, error_rate, rho, alpha)
    X = budgets.check_features(X, len(budget.clean))
    if not callable(correct):
        raise InputError(f"correct must be a function of labels; got {type(correct).__name__}.")
    if isinstance(n_rounds, bool) or not (isinstance(n_rounds, Integral) and n_rounds > 0):
        raise InputError(f"n_rounds must be a positive whole number; got {n_rounds!r}.")
    if budget.n_flips == 0:
        return budget.flip(np.arange(0), 0)
    rng, clean = make_rng(random_state), budget.numbers
    start = judge(X, clean, clean, C=BOUNDARY_C)
    kernel = rbf_kernel(X, gamma=1.0 / X.shape[1]) * (clean[:, None] == clean)
    victim = _Corrector(budget, start.rival, correct, kernel, rng)
    scores = (start.margin, -start.margin, rng.uniform(size=len(clean)))
    starts = [
        (take_highest(score, plan), plan) for plan in list_plans(clean, budget.groups) for score in scores
    ]
    greedy, _ = choose_flips(X, clean, budget.groups, C=BOUNDARY_C, gamma=1.0 / X.shape[1], n_rounds=30)
    tries = []
    for rows, plan in [*starts, (greedy, budget.groups)]:
        flipped = np.isin(np.arange(len(clean)), rows)
        tries.append((victim.answer(flipped), flipped, plan))
    best = max(tries, key=lambda attempt: attempt[0].n_wrong)
    rows = np.flatnonzero(search(victim, *best, n_rounds, least=1)[1])
    return budget.flip(rows, start.rival[rows])


@dataclass(frozen=True)
class _Corrector:
    """The corrector that is attacked; the margins of its verdicts are the brackets of `pull`."""

    budget: budgets.Budget
    rival: np.ndarray  # (n_samples,), class numbers
    correct: Callable[[np.ndarray], ArrayLike]
    kernel: np.ndarray  # (n_samples, n_samples), zero between classes
    rng: np.random.RandomState

    def answer(self, flipped):
        """Return what the corrector makes of these flips."""
        rows, clean = np.flatnonzero(flipped), self.budget.clean
        told = np.asarray(self.correct(self.budget.flip(rows, self.rival[rows]).labels))
        if told.shape != clean.shape:
            words = f"correct must return a label for each of the {len(clean)} rows"
            raise InputError(f"{words}; it returned an array of shape {told.shape}.")
        wrong = told != clean
        return Verdict(wrong * 1.0 - (flipped & ~wrong), self.rival, int(wrong.sum()))

    def pull(self, margin):
        """Return how near each row is to rows of its class that are wrong, and how far from mended flips."""
        return self.kernel @ margin

    def ease(self, margin):
        """Return chance, and less for flips that are mended."""
        return self.rng.uniform(size=len(margin)) + 2.0 * np.minimum(margin, 0.0)
