"""Choose the flips that harm an SVM most.

Row i has the clean label y_i and a rival r_i, the class beyond the nearest boundary of an SVM that learnt the
clean labels. Where q_i = 1 the row gets its rival's label. f_q is the SVM that learns these tainted labels:

    maximise over q in {0, 1}^n   sum_j [f_q(x_j) is a class other than y_j]
    subject to                    sum_{i in g} q_i = B_g   for each group g of rows that has its own budget.

(Biggio, Nelson and Laskov, ACML 2011). Each q takes an SVM, and there are too many to try, so this is a local
search. It starts with the surest flips, of all rows or of one class alone, and in each round it trades the
least useful flips for the rows that would be most useful. With m_i the margin of y_i under f_q, m0_i that
under the SVM of the clean labels, h(m) = max(0, 1 - m) the loss and s the logistic function, two scores take
turns:

    ease   [h(-m0_i) - h(m0_i)] - [h(-m_i) - h(m_i)], how much better the flip suits the tainted SVM than the
           clean one: the alternating scheme ALFA (Xiao, Xiao and Eckert, ECAI 2012);
    pull   a_i sum_j s'(m_j / w) K(x_i, x_j) ([y_j = y_i] - [y_j = r_i]), how strongly the flip pulls rows
           near the boundary to its wrong side: a step of gradient ascent, which alfa-cr takes on relaxed
           labels (Xiao, Biggio et al., Neurocomputing 2015). By the optimality conditions the flip changes
           the multipliers by a_i = [m_i < 1] + [m_i > -1] times C: the row's multiplier for its own label
           vanishes, and one against it appears.

A trade is kept if more rows are wrong after it; if neither score finds one, half as many rows are traded.
"""

from itertools import combinations
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils import gen_batches

from subsvms.adversaries import _budget as budgets
from subsvms.adversaries._budget import Attack, Groups, RandomState, Share, take_highest
from subsvms.exceptions import InputError

BOUNDARY_C = 100.0  # as for the tiny SVMs, so that attack and defence see a similar boundary
WIDTH = 0.3  # w, of the margins that count as near; with 1 or 3 the search ends earlier and finds less
FIRST_TRADE = 4  # the first trade is a quarter of the flips; a tenth found less, a half found no more
MOST_STARTS = 3  # all of them with two classes, the most harmful ones with more
BATCH = 1000  # rows of the kernel matrix in memory at once


class Verdict(NamedTuple):
    """What an SVM makes of the clean labels."""

    margin: np.ndarray  # (n_samples,), decision value of the clean label against its rival
    rival: np.ndarray  # (n_samples,), int, the class that speaks most strongly against the clean label
    n_wrong: int  # rows to which the SVM gives a label other than the clean one


def greedy_flips(
    X: Any, y: ArrayLike, *, error_rate: Share = None, rho: Share = None, alpha: Share = None,
    C: float = BOUNDARY_C, gamma: float | str = "auto", n_rounds: int = 30, random_state: RandomState = None,
) -> Attack:  # fmt: skip
    """Flip the labels that make an SVM err most: the attack on SVMs themselves.

    A local search for the flips after which an SVM with the rbf kernel gets the most clean labels wrong;
    `adversaries/_greedy.py` states the problem and its sources. With more than two classes, a row can only go
    to the class that `boundary_flips` gives it. Up to 3 n_rounds SVMs are trained: a few seconds for 1000
    rows, four times as long for twice as many.

    Parameters
    ----------
    X, y, error_rate, rho, alpha, random_state
        As in `uniform_flips` and `boundary_flips`. Without alpha, all flips may come from one class.
    C : float, default=100.0
    gamma : float or "auto", default="auto"
        Parameters of the SVM that is attacked; "auto" is 1 / n_features.
    n_rounds : int, default=30
        Largest number of SVMs to train from each of the three starts.

    Examples
    --------
    >>> X, y = np.linspace(0, 1, 40)[:, None], np.repeat(["left", "right"], 20)
    >>> greedy_flips(X, y, error_rate=0.15, alpha=0.5).flipped.reshape(2, 20).sum(axis=1)
    array([3, 3])
    """
    budget = budgets.set_budget("greedy_flips", y, error_rate, rho, alpha)
    X = budgets.check_features(X, len(budget.clean))
    width = 1.0 / X.shape[1] if isinstance(gamma, str) and gamma == "auto" else gamma
    for name, value, kind in (("C", C, Real), ("gamma", width, Real), ("n_rounds", n_rounds, Integral)):
        if not (isinstance(value, kind) and 0 < float(value) < np.inf):
            expected = f"{name} must be a positive number; got {value!r}"
            raise InputError(f"{expected}: leave it out for the default.")
    if budget.n_flips == 0:
        return budget.flip(np.arange(0), 0)
    found = choose_flips(X, budget.numbers, budget.groups, C=C, gamma=float(width), n_rounds=n_rounds)
    return budget.flip(*found)


def choose_flips(
    X: Any, clean: np.ndarray, groups: Groups, *, C: float, gamma: float, n_rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to flip and their new class numbers."""
    start = judge(X, clean, clean, C=C, gamma=gamma)
    victim = _Victim(X, clean, start, C, gamma)
    tries = []
    for plan in list_plans(clean, groups):
        flipped = np.zeros(len(clean), dtype=bool)
        flipped[take_highest(start.margin, plan)] = True
        tries.append((victim.answer(flipped), flipped, plan))
    tries.sort(key=lambda attempt: -attempt[0].n_wrong)  # stable, so ties stay in order
    found = [search(victim, *attempt, n_rounds) for attempt in tries[:MOST_STARTS]]
    rows = np.flatnonzero(max(found, key=lambda attempt: attempt[0].n_wrong)[1])
    return rows, start.rival[rows]


def list_plans(clean: np.ndarray, groups: Groups) -> list[Groups]:
    """Return the groups, and if all flips may come from one class, each class alone."""
    n_flips = sum(n for _, n in groups)
    of_class = [np.flatnonzero(clean == number) for number in np.unique(clean)]
    alone = [[(rows, n_flips)] for rows in of_class if len(rows) > n_flips]
    return [groups, *(alone if len(groups) == 1 else [])]


class _Victim(NamedTuple):
    """The SVM that is attacked."""

    X: Any
    clean: np.ndarray
    start: Verdict  # of the SVM that learnt the clean labels
    C: float
    gamma: float

    def answer(self, flipped):
        """Return the verdict of the SVM that learns the tainted labels."""
        given = np.where(flipped, self.start.rival, self.clean)
        return judge(self.X, given, self.clean, C=self.C, gamma=self.gamma)

    def ease(self, margin):
        """Return how much better each flip suits the tainted SVM than the one of the clean labels."""
        before, now = (np.maximum(0, 1 + m) - np.maximum(0, 1 - m) for m in (self.start.margin, margin))
        return before - now

    def pull(self, margin):
        """Return how strongly each flip pulls rows near the boundary to its wrong side."""
        near = expit(margin / WIDTH) * expit(-margin / WIDTH)
        weight = near[:, None] * (self.clean[:, None] == np.unique(self.clean))
        parts = gen_batches(len(self.clean), BATCH)
        sums = np.concatenate([rbf_kernel(self.X[part], self.X, gamma=self.gamma) @ weight for part in parts])
        every = np.arange(len(self.clean))
        moved = (margin < 1).astype(float) + (margin > -1)
        return moved * (sums[every, self.clean] - sums[every, self.start.rival])


def search(
    victim: Any, verdict: Verdict, flipped: np.ndarray, groups: Groups, n_rounds: int, least: int = 0
) -> Any:
    """Trade flips, at least so many at once, as long as more rows are wrong; return verdict and flips."""
    rules = [victim.ease, victim.pull]
    size, turn, n_failed = max(int(np.sum(flipped)) // FIRST_TRADE, 1), 0, 0
    for _ in range(n_rounds):
        score = rules[turn](verdict.margin)
        tried = _trade(flipped, score, groups, size)
        answer = victim.answer(tried)
        if answer.n_wrong > verdict.n_wrong:
            verdict, flipped, n_failed = answer, tried, 0
            continue
        turn, n_failed = 1 - turn, n_failed + 1
        if n_failed == len(rules):
            size, n_failed = max(size // 2, least), 0
        if size == 0:
            break
    return verdict, flipped


def _trade(flipped, score, groups, size):
    """Return the flips after about `size` of them were traded, each group in proportion."""
    traded, n_flips = flipped.copy(), np.sum(flipped)
    for rows, n in groups:
        spent, free = rows[flipped[rows]], rows[~flipped[rows]]
        n_traded = min(-(-size * n // n_flips), len(spent), len(free))  # rounded up
        traded[take_highest(-score, [(spent, n_traded)])] = False
        traded[take_highest(score, [(free, n_traded)])] = True
    return traded


def judge(X: Any, given: np.ndarray, clean: np.ndarray, *, C: float, gamma: float | str = "auto") -> Verdict:
    """Train an SVM on the given labels and ask it about the clean ones."""
    present = np.unique(given)
    if len(present) == 1:  # nothing to train: this class wins everywhere
        right = clean == present[0]
        return Verdict(np.where(right, 1.0, -1.0), np.full(len(clean), present[0]), int(np.sum(~right)))
    svm = SVC(kernel="rbf", gamma=gamma, C=C, decision_function_shape="ovo").fit(X, given)
    values = svm.decision_function(X)
    if len(present) == 2:  # only here does a positive value speak for the second class of the pair
        values = -values[:, None]
    margin = np.where(np.isin(clean, present), np.inf, -1.0)
    rival = np.full(len(clean), present[0])
    votes = np.zeros((len(clean), len(present)), dtype=int)
    for value, (a, b) in zip(values.T, combinations(range(len(present)), 2), strict=True):
        votes[:, a] += value > 0
        votes[:, b] += value <= 0
        for own, other, sign in ((present[a], present[b], 1.0), (present[b], present[a], -1.0)):
            rows = np.flatnonzero(clean == own)
            rows = rows[sign * value[rows] < margin[rows]]
            margin[rows], rival[rows] = sign * value[rows], other
    predicted = present[votes.argmax(axis=1)]  # as svm.predict, without a second pass over the kernel
    return Verdict(margin, rival, int(np.sum(predicted != clean)))
