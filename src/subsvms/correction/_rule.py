"""Judge the given labels: which are thought wrong, and what they should be.

For a row with out-of-bag mean values u and given label g, let eta_c(u) = P(given c | u), the isotonic
regression of "given c" on u_c, and T the noise matrix. Then

    q = eta T^-1, cut to be shares                       P(true c | u), for two classes
    q = the softmax that came with T (subsvms.correction._noise_softmax)   for three and more
    P(true c | u, g) = q_c T[c, g] / sum_d q_d T[d, g]   the posterior

The rule "posterior" changes a label where this probability of another class exceeds `min_confidence`: with
0.5 that leaves the fewest wrong labels in expectation. The rule "majority" is the paper's: the class with
most out-of-bag votes. It needs no estimate, but counts rare and common classes alike and harms clean labels.

Some things stop either rule. A row that every SVM has seen keeps its label: nobody unbiased can judge it. A
class with fewer than `FEWEST` rows is neither taken from nor given to. If the votes do not predict the
labels, nothing changes; if they do so only weakly, no label changes that most SVMs support, for the rates
are then too uncertain to overrule them. And `max_error_rate` is the largest share of rows to change, surest
first. The rule "posterior" also spares rows that `_guards` tells from those they would join.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.isotonic import IsotonicRegression

from subsvms.correction._noise import FEWEST, SOLVABLE, NoiseEstimate, cut_to_shares, is_solvable, least_lead
from subsvms.ensemble._votes import Votes, pick_best

IMPOSSIBLE = 1e-12  # a probability; what rests on less rests on rounding
RANK_NOISE, RANK_WEIGHT, RANK_TIES = 0.05, 0.2, 1e-3  # see `rank_quality`
RANK_ROOM = 0.9  # share of the noise that could be added before labels say too little
DENIED_NOISE = 0.3  # in their stead, and of weight one, where the estimate was denied

COARSE = (
    "SVMs that look closer, with more rows and a narrower kernel, predict the labels clearly better than the "
    "vote does: the classes are more intricate than the vote can see, so no label was changed. A larger "
    "gamma, a larger subsample_size or better features may help."
)
HALTS = {
    "unasked": "every SVM was trained on this row, so none of them can judge it",
    "unexplained": "the features do not predict the labels, so none is changed",
    "small": f"a class with fewer than {FEWEST} rows is left alone",
    "supported": "most SVMs support the label, and they predict labels too weakly to be overruled",
    "capped": "max_error_rate allows no more changes",
    "coarse": "SVMs that look closer predict the labels better than these votes, so none is changed",
    "told apart": "the features tell this row from those it would join",
    "untested": "the sample has too few such changes to check them",
    "verified": "a person decided",
}
SPARED = {  # of these halts, why whole groups of changes are kept from happening
    "told apart": "the features tell their rows from those they would join, so the classes overlap there, "
    "and the labels need not be wrong.",
    "untested": "the sample that all is learned from has too few such changes to check them; a larger pool "
    "(--pool-size) has more.",
}
WEAK = 5.0  # standard deviations of evidence below which a vote for the given label is not overruled


@dataclass(frozen=True)
class Settings:
    """What the user asked for."""

    rule: str = "posterior"  # or "majority"
    action: str = "fix"  # or "drop", "weight", "review"
    max_error_rate: float | None = None
    min_confidence: float = 0.5


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is thought of each label. A row without a given label (-1) is judged by its vote alone."""

    posterior: np.ndarray  # (n_rows, n_classes), probability of each class
    suggested: np.ndarray  # (n_rows,), class numbers; the given label unless `flagged`, or capped
    flagged: np.ndarray  # (n_rows,), bool: the label is thought wrong, and may be changed
    rival: np.ndarray  # (n_rows,), the best class but the given one
    score: np.ndarray  # (n_rows,), what the best class rests on: its probability, or its share of the votes
    quality: np.ndarray  # (n_rows,), 0 to 1: how well the given label stands; NaN without one
    halt: np.ndarray  # (n_rows,), a key of `HALTS`: what else kept a label; "" for the rule itself
    notes: tuple[str, ...] = ()  # what the user must know


@dataclass(frozen=True, eq=False)
class Rule:
    """What the votes on a table, or on a sample of it, have taught: it judges any row of that table."""

    curves: tuple[IsotonicRegression, ...]  # of each class: P(given c | u_c); none where there is a softmax
    noise: NoiseEstimate
    sizes: np.ndarray  # (n_classes,), rows of the table that are given each class
    seen: np.ndarray  # (n_classes,), those of them that this was learned from
    settings: Settings
    denied: bool = False  # a second look denied the noise: ranks rest on it less


def learn_rule(
    votes: Votes,
    given: np.ndarray,
    noise: NoiseEstimate,
    settings: Settings,
    sizes: np.ndarray | None = None,
) -> Rule:
    """Learn how votes and labels go together.

    Parameters
    ----------
    votes : Votes
        Out-of-bag for rows of the training table.
    given : ndarray of int of shape (n_rows,)
        Class numbers; -1 for a row without a label.
    noise : NoiseEstimate
    settings : Settings
    sizes : ndarray of int of shape (n_classes,), optional
        Rows of each class in the table, if these are a sample of it.
    """
    used = (votes.n_voters > 0) & (given >= 0)
    curves = tuple(
        IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(
            votes.mean_value[used, c], given[used] == c
        )
        for c in range(len(noise.classes) if noise.softmax is None else 0)
    )
    seen = np.bincount(given[given >= 0], minlength=len(noise.classes))
    return Rule(curves, noise, seen if sizes is None else sizes, seen, settings)


def apply_rule(rule: Rule, votes: Votes, given: np.ndarray) -> Judgement:
    """Judge labels one by one: what is thought of a row depends on no other row.

    Parameters
    ----------
    rule : Rule
    votes : Votes
        Out-of-bag for rows of the training table.
    given : ndarray of int of shape (n_rows,)
        Class numbers; -1 for a row without a label.

    Returns
    -------
    Judgement
        Without the limit on changes, and without notes.
    """
    noise, sizes, settings = rule.noise, rule.sizes, rule.settings
    n_classes = len(noise.classes)
    asked = votes.n_voters > 0
    known = given >= 0
    values = np.where(asked[:, None], votes.mean_value, 0.0)
    several = noise.softmax is not None
    eta = expect_given(rule, values)
    posterior = find_posterior(eta, noise.matrix, given, solved=several)
    posterior[known & ~asked] = np.eye(n_classes)[given[known & ~asked]]
    quality = rank_quality(values, eta, noise.matrix, posterior, given, solved=several, denied=rule.denied)
    quality[known & ~asked] = 1.0

    scores = np.where(asked[:, None], votes.share if settings.rule == "majority" else posterior, 0.0)
    best = pick_best(scores, sizes, given)
    others = np.where(np.arange(n_classes) == given[:, None], -1.0, scores)
    score = scores[np.arange(len(given)), best]
    firm = score > settings.min_confidence
    if settings.rule == "majority" and settings.min_confidence <= 0.5:
        firm[:] = True  # most votes need not be half of them
    wanted = known & asked & (best != given) & firm
    small = rule.seen < FEWEST
    unexplained = np.full(len(given), not noise.explained)
    supported = wanted & (votes.winners(sizes, given) == given) & (noise.evidence.max() < WEAK)
    conditions = [~asked, unexplained, small[given] | small[best], supported]
    halt = np.select(conditions, ["unasked", "unexplained", "small", "supported"], "")
    flagged = wanted & (halt == "")
    return Judgement(
        posterior=posterior,
        suggested=np.where(flagged | ~known, best, given),
        flagged=flagged,
        rival=pick_best(others, sizes),
        score=score,
        quality=quality,
        halt=halt,
    )


def say_spared(n_rows: int, halt: str) -> str:
    """Return a note on labels that were kept because changes like theirs fail a test, or cannot be tested."""
    return f"{n_rows} labels that the votes contradict were kept: {SPARED[halt]}"


def spare(judgement: Judgement, given: np.ndarray, rows: np.ndarray, halt: str) -> Judgement:
    """Return the judgement with these rows kept as they are, and a note that says why.

    Parameters
    ----------
    judgement : Judgement
    given : ndarray of int of shape (n_rows,)
    rows : ndarray of bool of shape (n_rows,)
        Rows without a label are not touched.
    halt : {"told apart", "untested", "coarse"}
    """
    rows = rows & (given >= 0)
    if not rows.any():
        return judgement
    note = COARSE if halt == "coarse" else say_spared(int(rows.sum()), halt)
    return replace(
        judgement,
        suggested=np.where(rows, given, judgement.suggested),
        flagged=judgement.flagged & ~rows,
        halt=np.where(rows, halt, judgement.halt),
        notes=(*judgement.notes, note),
    )


def expect_given(rule: Rule, values: np.ndarray) -> np.ndarray:
    """Return eta from mean values: P(*given* c) of two classes; of more, where a softmax has it, q."""
    if rule.noise.softmax is None:
        return calibrate(rule.curves, values)
    return rule.noise.softmax.shares(values)


def calibrate(curves: Sequence[IsotonicRegression], values: np.ndarray) -> np.ndarray:
    """Return eta: for each row the probability of each *given* label, growing with the class's value.

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
    empty = eta.sum(axis=1) == 0  # possible for three classes and more: no class's curve has risen yet
    eta[empty] = 1.0
    return cut_to_shares(eta)


def find_posterior(
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
        Whether `eta` is q, the probability of each true class, already.

    Examples
    --------
    >>> matrix = np.array([[1.0, 0.0], [0.4, 0.6]])  # two in five of class 1 are given 0
    >>> eta = np.array([[0.4, 0.6], [0.4, 0.6]])  # here all rows are of class 1
    >>> find_posterior(eta, matrix, np.array([1, 0]))
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
    """Return how well each given label stands: its posterior, averaged over two beliefs about the noise.

    By the first belief, of weight 1 - `RANK_WEIGHT`, the noise is as estimated. By the second every class
    has a little more of it, `RANK_NOISE` spread evenly: no rate is known to be nothing. So a label that the
    votes contradict ranks low in a class that is thought free of noise, too, where the first belief alone
    calls every label right. If a second look denied the noise, there is the second belief alone, with much
    more that is spread evenly: then the votes count for more, and the rates for less. `RANK_TIES` of the
    quality is the mean value itself, since eta has flat steps and every row is to have a rank.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
        Mean values.
    eta, matrix, given, solved
        As in `find_posterior`.
    posterior : ndarray of shape (n_rows, n_classes)
        What that returns for them: the first belief.
    denied : bool
        Whether the labels are known to follow other laws than this noise.

    Examples
    --------
    >>> values = np.array([[0.6, -0.6], [0.6, -0.6], [-0.8, 0.8]])
    >>> eta = np.array([[0.9, 0.1], [0.9, 0.1], [0.05, 0.95]])
    >>> given, none = np.array([0, 1, 1]), np.eye(2)  # no noise was found
    >>> rank_quality(values, eta, none, find_posterior(eta, none, given), given).round(3)
    array([0.999, 0.953, 1.   ])
    """
    noise, weight = (DENIED_NOISE, 1.0) if denied else (RANK_NOISE, RANK_WEIGHT)
    room = 1.0 - SOLVABLE / max(least_lead(matrix), SOLVABLE)
    noise = min(noise, RANK_ROOM * room)
    noisier = (1.0 - noise) * matrix + noise / len(matrix)
    mixed = (1.0 - weight) * posterior + weight * find_posterior(eta, noisier, given, solved=solved)
    mixed = (1.0 - RANK_TIES) * mixed + RANK_TIES * (1.0 + values) / 2.0
    quality = mixed[np.arange(len(given)), np.maximum(given, 0)]
    return np.where(given >= 0, quality, np.nan)
