"""What random answers prove about a set of rows: that changing those not looked at does more good than harm.

A set has N rows. In W of them, nobody knows how many, the person would say the suggested label: a hit. Rows
are drawn at random without replacement. After n answers with h hits, R = N - n rows are unseen and hold W - h
hits. With a threshold of t = 1/2, changing these to the suggested labels leaves fewer wrong labels if and
only if W - h > t R; with t = 2/3, two of three changes are right. So a pass is *false* if W <= W0(n, h) = h +
floor(t R). A given sequence of answers has the chance

    P_W = C(N - n, W - h) / C(N, W).

*Two classes.* Outcomes are ordered by the weight of evidence of some shares of hits, W_j = p_j N, p_j above
t, against W0,

    E(n, h) = sum over the W_j > W0 of w_j P_{W_j} / P_{W0}.

The set passes after n answers if h >= need(n), the hits from which on E is at least c; and c is the least
value at which, whatever W is, the chance ever to pass falsely is at most the level a. That chance is computed
exactly, so nothing rests on what E means.

*Which W must be looked at?* need(n) >= t n, so for W <= t N every pass is false: W - h <= t N - t n. There
the chance to pass grows with W: one more hit in the set can be placed so that no answer becomes a miss, and
more hits never prevent a pass. For W > t N + (1 - t) m, m answers at most, no pass is false: W - h <= t R
needs h - t n >= W - t N, and h - t n <= (1 - t) n. What is left are the W between.

*How many hits has a set at least that passed?* L is the least W under which it is more probable than a to
pass earlier, or to have h hits or more after as many answers (the order by stages of sequential trials;
Siegmund, Biometrika 1978). This chance grows with W, and counts as if nobody gave up before, which can only
make it larger; so W is below L with probability at most a.

*Three classes and more.* An answer scores b = 1 if it is the suggested label, -1 if it is the given one or
nobody can tell, 0 otherwise. Let S_t be the sum of the first t scores. The unseen rows gain if the sum of b
over the set exceeds B0 = S_n. With m_t = (B0 - S_{t-1}) / (N - t + 1), what b_t has as its mean if the sum
is B0, and bets l_jt = min(l_j, 0.99 / (1 + m_t)),

    E = sum_j w_j prod_t [1 + l_jt (b_t - m_t)].

Each factor is positive and decreases in B0, whatever b_t is, so E is at most what it is for the true sum
B <= B0, which is a martingale with mean one: E ever reaches 1 / a with probability at most a (Ville, 1939).
(Factors cut off at 0 instead of the smaller bet would break this.)

*Several sets.* A set, and its level, are chosen from answers that were given before; its draws are random
given these. So set k passes falsely with probability at most its level a_k, and any set does with at most
the sum of the a_k (`_rings`): delta at most, along every path. To stop asking about a set, for
whatever reason, only removes passes.

*Computed exactly.* The chance ever to pass falsely is computed for all of these W at once, by dynamic
programming over the answers n and the hits h so far,

    going(n, h) = going(n - 1, h) (1 - q(h)) + going(n - 1, h - 1) q(h - 1),   q(h) = (W - h) / (N - n + 1),

from which those with h >= need(n) leave; and the least limit c on E is found by bisection. Exactness is worth
much: a set of 150 with four of five hits passes after 20 answers on average, and with the limit that holds
for any E (Ville) after 32.
"""

import math
from bisect import bisect_left
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import hypergeom

MOST_LOST = 0.99  # of what is there, by one answer: E stays positive
TINY = 1e-9  # of rounding errors in t R, so that 2/3 of 3 rows are 2
SHARES_SOUGHT = np.array([0.6, 0.7, 0.8, 0.9, 0.96])  # of hits to look for if the threshold is 1/2
FEWEST_TO_PASS = 3  # answers before a pass


def log_chance(N, W, n, h):
    """Return log P_W of a sequence of n answers with h hits; -inf where it is impossible."""
    N, W, n, h = np.broadcast_arrays(N, W, n, h)
    possible = (W >= h) & (W - h <= N - n)
    taken = np.where(possible, W - h, 0)
    log_ways = _log_choose(N - n, taken) - _log_choose(N, np.where(possible, W, 0))
    return np.where(possible, log_ways, -np.inf)[()]


def _log_choose(n, k):
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def count_null(N, n, h, threshold=0.5):
    """Return W0, the most hits in a set whose unseen rows should not be changed."""
    return h + np.floor(threshold * (N - n) + TINY).astype(int)


def log_evidence(N, n, h, alternatives, threshold=0.5):
    """Return log E for two classes; all alternatives weigh the same."""
    n, h = np.asarray(n)[..., None], np.asarray(h)[..., None]
    null = count_null(N, n, h, threshold)
    ratios = log_chance(N, alternatives, n, h) - log_chance(N, null, n, h)
    ratios = np.where(alternatives > null, ratios, -np.inf)
    return logsumexp(ratios, axis=-1) - math.log(len(alternatives))


@lru_cache(maxsize=4096)
def count_enough(N, n, level, threshold=0.5):
    """Return the fewest hits that n answers need to pass, for an n fixed beforehand; n + 1 if none do."""
    h = np.arange(n + 1)
    enough = hypergeom.sf(h - 1, N, count_null(N, n, h, threshold), n) <= level
    return int(np.argmax(enough)) if enough.any() else n + 1


def find_fewest(N, n, h, level, needed=None):
    """Return L, the fewest hits of the set that n answers with h hits allow; `needed` as from `_evidence`."""
    # What is as extreme as h hits becomes more probable with W.
    hits = range(h + N - n)
    return bisect_left(hits, True, lo=h, key=lambda W: chance_as_extreme(N, W, n, h, needed) > level)


def chance_as_extreme(N, W, n, h, needed=None):
    """Return the probability to pass before n answers, or to have h hits or more then."""
    if needed is None:
        return hypergeom.sf(h - 1, N, W, n)
    going, passed, hits = np.zeros(n + 1), 0.0, np.arange(n + 1)
    going[0] = 1.0
    for t in range(1, n + 1):
        hit = going * np.clip((W - hits) / (N - t + 1), 0.0, 1.0)
        going = going - hit + np.concatenate([[0.0], hit[:-1]])
        if t < n:
            passed += going[hits >= needed[t]].sum()
            going[hits >= needed[t]] = 0.0
    return float(passed + going[h:].sum())


def log_evidence_several(N, scores, bets, weights):
    """Return log E for three classes and more."""
    if len(scores) == 0:
        return 0.0
    before = np.cumsum(scores) - scores
    mean = (np.sum(scores) - before) / (N - np.arange(len(scores)))
    with np.errstate(divide="ignore"):  # a mean of -1 forbids no bet
        bet = np.minimum(bets[:, None], MOST_LOST / (1.0 + mean))
    return float(logsumexp(np.sum(np.log1p(bet * (scores - mean)), axis=1), b=weights))


@lru_cache(maxsize=256)
def find_needed(N: int, n_most: int, level: float, threshold: float = 0.5) -> np.ndarray:
    """Return need(n) for 0 to n_most answers; n + 1, which is impossible, where no pass is allowed."""
    log_e = compute_evidence(N, n_most, threshold)
    limits, W = np.unique(log_e[log_e > 0].round(9)), list_hits(N, n_most, threshold)

    def is_enough(limit):
        return compute_false_pass(N, list_needed(log_e, limit), W, threshold).max() <= level

    needed = list_needed(log_e, np.append(limits, np.inf)[bisect_left(limits, True, key=is_enough)])
    needed.flags.writeable = False  # it is remembered
    return needed


def compute_evidence(N: int, n_most: int, threshold: float) -> np.ndarray:
    """Return log E after n answers (row) with h hits (column); -inf where a pass is not allowed."""
    shares = np.clip(threshold + 2.0 * (SHARES_SOUGHT - 0.5) * (1.0 - threshold), threshold + 0.02, 0.98)
    n, h = np.indices((n_most + 1, n_most + 1))
    allowed = (n >= FEWEST_TO_PASS) & (n < N) & (h <= n) & (h >= threshold * n)
    log_e = np.full(n.shape, -np.inf)
    alternatives = np.round(shares * N).astype(int)
    log_e[allowed] = log_evidence(N, n[allowed], h[allowed], alternatives, threshold)
    return log_e


def list_needed(log_e: np.ndarray, limit: float) -> np.ndarray:
    """Return the hits from which on, after each number of answers, log E is at least the limit."""
    n = np.arange(len(log_e))
    below = (log_e < limit - 1e-9) & (n <= n[:, None])
    return len(log_e) - np.argmax(below[:, ::-1], axis=1)


def list_hits(N: int, n_most: int, threshold: float) -> np.ndarray:
    """Return the W for which the chance of a false pass may be the largest."""
    first, last = threshold * N, threshold * N + (1.0 - threshold) * n_most
    return np.arange(max(int(first) - 1, 0), min(int(last) + 2, N) + 1)


def compute_false_pass(N: int, needed: np.ndarray, W: np.ndarray, threshold: float) -> np.ndarray:
    """Return, for each number W of hits in the set, the chance ever to pass falsely."""
    n_most = len(needed) - 1
    hits = np.arange(n_most + 2)
    going, false = np.zeros((len(W), n_most + 2)), np.zeros(len(W))
    going[:, 0] = 1.0
    for n in range(1, n_most + 1):
        hit = going * np.clip((W[:, None] - hits) / (N - n + 1), 0.0, 1.0)
        going -= hit
        going[:, 1:] += hit[:, :-1]
        passed = going[:, needed[n] :]
        harmful = W[:, None] <= count_null(N, n, hits[needed[n] :], threshold)
        false += np.sum(passed * harmful, axis=1)
        passed[:] = 0.0
    return false
