"""What random answers prove about a set of rows: that changing those not looked at does more good than harm.

A ring has N rows. In W of them, nobody knows how many, the person would say the suggested label: a hit. Rows
are drawn at random without replacement. After n answers with h hits, R = N - n rows are unseen and hold W - h
hits. Changing these to the suggested labels leaves fewer wrong labels if and only if W - h > R / 2, so what
must be rejected is every W <= W0 = h + floor(R / 2). A given sequence of answers has the chance

    P_W = C(N - n, W - h) / C(N, W).

*At any time.* Fix numbers W_j and weights w_j, which sum to one, before the first draw, and let

    E = sum over the W_j > W0 of w_j P_{W_j} / P_{W0}.

Claim: under any W, the probability that ever E >= 1 / a while W <= W0 is at most a. Proof: P_W rises and then
falls in W, since P_{W+1} >= P_W if and only if h (N - W) >= (n - h) (W + 1). If E > 1, some P_{W_j} > P_{W0}
with W_j > W0, so P still rises at W0, and P_W <= P_{W0} for W <= W0. Then E <= sum of all w_j P_{W_j} / P_W,
which is a martingale under W with mean one; it ever reaches 1 / a with probability at most a (Ville, 1939).

*At a number of draws n that was fixed beforehand*: L is the least W with P(Hypergeometric(N, W, n) >= h) > a;
W is below L with probability at most a, and the unseen rows pass if L > W0.

*How many hits has a ring at least that passed*, perhaps before all its answers? L is the least W under which
it is more probable than a to stop earlier, or after as many answers with h hits or more (the order by stages
of sequential trials; Siegmund, Biometrika 1978).

*Three classes and more.* An answer scores b = 1 if it is the suggested label, -1 if it is the given one or
nobody can tell, 0 otherwise. Let S_t be the sum of the first t scores. The unseen rows gain if the sum of b
over the ring exceeds B0 = S_n. With m_t = (B0 - S_{t-1}) / (N - t + 1), what b_t has as its mean if the sum
is B0, and bets l_jt = min(l_j, 0.99 / (1 + m_t)),

    E = sum_j w_j prod_t [1 + l_jt (b_t - m_t)].

Each factor is positive and decreases in B0, whatever b_t is, so E is at most what it is for the true sum
B <= B0, which is a martingale. (Factors cut off at 0 instead of the smaller bet would break this.)
"""

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import hypergeom

MOST_LOST = 0.99  # of what is there, by one answer: E stays positive


def log_chance(N, W, n, h):
    """Return log P_W of a sequence of n answers with h hits; -inf where it is impossible."""
    N, W, n, h = np.broadcast_arrays(N, W, n, h)
    possible = (W >= h) & (W - h <= N - n)
    taken = np.where(possible, W - h, 0)
    log_ways = _log_choose(N - n, taken) - _log_choose(N, np.where(possible, W, 0))
    return np.where(possible, log_ways, -np.inf)[()]


def _log_choose(n, k):
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def count_null(N, n, h):
    """Return W0, the most hits in a ring whose unseen rows should not be changed."""
    return h + (N - n) // 2


def log_evidence(N, n, h, alternatives, weights):
    """Return log E for two classes."""
    n, h = np.asarray(n)[..., None], np.asarray(h)[..., None]
    null = count_null(N, n, h)
    ratios = log_chance(N, alternatives, n, h) - log_chance(N, null, n, h)
    return logsumexp(np.where(alternatives > null, ratios, -np.inf), axis=-1, b=weights)


def exceeds_half(N, n, h, level):
    """Return whether L > W0 at this level: most unseen rows are hits, for an n fixed beforehand."""
    return hypergeom.sf(h - 1, N, count_null(N, n, h), n) <= level


def find_fewest(N, n, h, level, passed=None):
    """Return L, the fewest hits of the ring that n answers with h hits allow; `passed` as from `_rings`."""
    low, high = h, h + N - n  # what is as extreme as h hits becomes more probable with W
    while low < high:
        middle = (low + high) // 2
        if chance_as_extreme(N, middle, n, h, passed) > level:
            high = middle
        else:
            low = middle + 1
    return low


def chance_as_extreme(N, W, n, h, passed=None):
    """Return the probability to stop before n answers, or to have h hits or more then."""
    if passed is None:
        return hypergeom.sf(h - 1, N, W, n)
    going, stopped = np.zeros(n + 1), 0.0  # by hits so far
    going[0] = 1.0
    for t in range(n):
        hit = going * np.clip((W - np.arange(n + 1)) / (N - t), 0.0, 1.0)
        going = going - hit + np.concatenate([[0.0], hit[:-1]])
        if t + 1 < n:
            stopped += going[passed[t + 1]].sum()
            going[passed[t + 1]] = 0.0
    return float(stopped + going[h:].sum())


def log_evidence_several(N, scores, bets, weights):
    """Return log E for three classes and more."""
    if len(scores) == 0:
        return 0.0
    before = np.cumsum(scores) - scores
    mean = (np.sum(scores) - before) / (N - np.arange(len(scores)))
    with np.errstate(divide="ignore"):  # a mean of -1 forbids no bet
        bet = np.minimum(bets[:, None], MOST_LOST / (1.0 + mean))
    return float(logsumexp(np.sum(np.log1p(bet * (scores - mean)), axis=1), b=weights))
