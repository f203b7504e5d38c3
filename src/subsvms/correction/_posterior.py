"""The probability of each true class, row by row, and how credible each given label is.

For a row with out-of-bag mean values u and given label g, let eta_c(u) = P(given c | u) and T the noise
matrix. Then

    q = eta T^-1, cut to be shares                       P(true c | u), for two classes
    q = the softmax that was fitted with T               for three or more classes
    P(true c | u, g) = q_c T[c, g] / sum_d q_d T[d, g]   the posterior
"""

from collections.abc import Sequence

import numpy as np
from sklearn.isotonic import IsotonicRegression

from subsvms.correction._noise import SOLVABLE, cut_to_shares, is_solvable, least_lead

IMPOSSIBLE = 1e-12  # a probability; what rests on a smaller one rests on rounding errors
RANK_NOISE, RANK_WEIGHT, RANK_TIES = 0.05, 0.2, 1e-3  # see `rank_quality`
RANK_ROOM = 0.9  # share of the noise that could be added before labels say too little
DENIED_NOISE = 0.3  # replaces RANK_NOISE, with weight one, where a guard contradicts the estimate


def calibrate(curves: Sequence[IsotonicRegression], values: np.ndarray) -> np.ndarray:
    """Return eta: for each row the probability of each *given* label, increasing in the class's value.

    Parameters
    ----------
    curves : sequence of IsotonicRegression
        One for each class, fitted.
    values : ndarray of shape (n_rows, n_classes)

    Examples
    --------
    >>> u, given = np.array([-0.9, -0.5, 0.1, 0.3, 0.8]), np.array([0, 0, 1, 0, 1])
    >>> curves = [IsotonicRegression().fit(sign * u, given == c) for c, sign in enumerate((-1, 1))]
    >>> calibrate(curves, np.stack([-u, u], 1))[:, 1]
    array([0. , 0. , 0.5, 0.5, 1. ])
    """
    eta = np.empty(values.shape)
    for c, curve in enumerate(curves):
        eta[:, c] = curve.predict(values[:, c])
    empty = eta.sum(axis=1) == 0  # possible for three or more classes: no class's curve has risen yet
    eta[empty] = 1.0
    return cut_to_shares(eta)


def compute_posterior(
    eta: np.ndarray, matrix: np.ndarray, given: np.ndarray, *, solved: bool = False
) -> np.ndarray:
    """Return the probability of each true class, given the votes and the given label.

    Parameters
    ----------
    eta : ndarray of shape (n_rows, n_classes)
        Probability of each given label.
    matrix : ndarray of shape (n_classes, n_classes)
        T[c, d] = P(given d | true c).
    given : ndarray of int of shape (n_rows,)
        Class numbers; -1 for a row without a label.
    solved : bool
        Whether `eta` is already q, the probability of each true class.

    Examples
    --------
    >>> matrix = np.array([[1.0, 0.0], [0.4, 0.6]])  # two in five of class 1 are given 0
    >>> eta = np.array([[0.4, 0.6], [0.4, 0.6]])  # here all rows are of class 1
    >>> compute_posterior(eta, matrix, np.array([1, 0]))
    array([[0., 1.],
           [0., 1.]])
    """
    known = given >= 0
    sure = np.eye(len(matrix))[np.maximum(given, 0)]
    if not is_solvable(matrix):  # the given labels say nothing about the true ones: leave them
        return np.where(known[:, None], sure, eta)
    q = eta
    if not solved:
        inverse = np.linalg.inv(matrix)
        # Not eta @ inverse: BLAS adds up in an order that depends on the number of rows.
        q = cut_to_shares(sum(eta[:, [c]] * inverse[c] for c in range(len(matrix))))
    joint = np.where(known[:, None], q * matrix[:, np.maximum(given, 0)].T, q)
    total = joint.sum(axis=1, keepdims=True)
    possible = total > IMPOSSIBLE  # elsewhere votes and label exclude each other
    return np.where(possible, joint / np.where(possible, total, 1.0), sure)


def rank_quality(
    values: np.ndarray,
    eta: np.ndarray,
    matrix: np.ndarray,
    posterior: np.ndarray,
    given: np.ndarray,
    *,
    solved: bool = False,
    denied: bool = False,
) -> np.ndarray:
    """Return how credible each given label is: its posterior, averaged over two beliefs about the noise.

    The first belief, of weight 1 - `RANK_WEIGHT`, is that the noise is as estimated. The second is that every
    class has a little more of it, `RANK_NOISE` spread evenly, because no rate is known to be zero. So a label
    that the votes contradict also ranks low in a class that seems free of noise, where the first belief alone
    calls every label right. If a guard contradicts the estimate, only the second belief counts, with much
    more noise spread evenly: the votes then count for more, and the rates for less. `RANK_TIES` of the
    quality is the mean value itself, since eta has flat steps and every row should have its own rank.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
        Mean values.
    eta, matrix, given, solved
        As in `compute_posterior`.
    posterior : ndarray of shape (n_rows, n_classes)
        What `compute_posterior` returns for them: the first belief.
    denied : bool
        Whether a guard has shown that the labels do not follow this noise.

    Examples
    --------
    >>> values = np.array([[0.6, -0.6], [0.6, -0.6], [-0.8, 0.8]])
    >>> eta = np.array([[0.9, 0.1], [0.9, 0.1], [0.05, 0.95]])
    >>> given, none = np.array([0, 1, 1]), np.eye(2)  # no noise was found
    >>> rank_quality(values, eta, none, compute_posterior(eta, none, given), given).round(3)
    array([0.999, 0.953, 1.   ])
    """
    noise, weight = (DENIED_NOISE, 1.0) if denied else (RANK_NOISE, RANK_WEIGHT)
    room = 1.0 - SOLVABLE / max(least_lead(matrix), SOLVABLE)
    noise = min(noise, RANK_ROOM * room)
    noisier = (1.0 - noise) * matrix + noise / len(matrix)
    mixed = (1.0 - weight) * posterior + weight * compute_posterior(eta, noisier, given, solved=solved)
    mixed = (1.0 - RANK_TIES) * mixed + RANK_TIES * (1.0 + values) / 2.0
    quality = mixed[np.arange(len(given)), np.maximum(given, 0)]
    return np.where(given >= 0, quality, np.nan)
