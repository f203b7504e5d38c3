"""Count exactly how many changed labels the verdict of a linear committee withstands.

With the weights a_i(x) of `LinearCommittee`, which no label changes, S_c is the sum of a_i over the rows
given class c. Between two classes the verdict is + where S+ / n+ > S- / n-. With d_i = n a_i - sum_l a_l,
this is G > 0, where

    G = n- S+ - n+ S- = sum over rows given + of d_i

is linear in the labels, the change of the class sizes included. Changing label i lowers |G| by
r_i = d_i if the row is given the verdict, else by -d_i, whatever the other labels are. So the worst m changes
are the m largest r_i, and the verdict

    withstands   the largest m with r_(1) + ... + r_(m) < |G|,

exactly: m changes of any kind cannot turn it, and the m + 1 rows of largest r_i do. If a class vanishes,
G = 0: that is never within the radius.

Among several classes the verdict c* has the largest S_c. Against a rival c, a label c* that becomes c takes
2 a_i from the margin S_c* - S_c, and other changes at most a_i; where a_i is negative it is the other way
round,

    gain_i = |a_i| + a_i ([y_i = c*] - [y_i = c]).

Each label is changed once, so the largest gains are the worst choice again, and the verdict withstands the
smallest such m over all rivals. Labels may change to any class of the table, as long as no class vanishes.

Margins and gains below are those of S+ / n+ - S- / n-, that is, divided by n+ n-. Rounding moves a sum by
about the share `Members.rounding` + (n + J) u of the mean absolute weights (see `subsvms.ensemble._linear`);
four times that is taken off every margin, and a verdict that has no more than this withstands 0 changes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from subsvms._effort import OnProgress
from subsvms._numbers import check_count
from subsvms.ensemble import LinearCommittee
from subsvms.ensemble._linear import Weights, score_classes
from subsvms.ensemble._votes import pick_best
from subsvms.exceptions import InputError


@dataclass(frozen=True)
class ExactCertificate:
    """What the verdicts of a linear committee withstand.

    Attributes
    ----------
    verdicts : ndarray of int of shape (n_rows,)
        Class numbers; -1 for a training row that every member saw.
    withstands : ndarray of int of shape (n_rows,)
        Changed labels, any of the table and chosen by anyone, that cannot turn the verdict; 0 where one
        could, where rounding could, and where there is no verdict.
    margins, rivals : ndarray of shape (n_rows,)
        By how much the verdict is ahead of the rival that is most easily reached, and its class number.
    carriers, carried : ndarray of shape (n_rows, n_carriers)
        The training rows whose labels carry the verdict, the strongest first, and the share of the margin
        that is lost if this label alone is changed; -1 and 0 where there are no more.

    Examples
    --------
    >>> X, y = np.linspace(0, 1, 20).reshape(-1, 1), np.repeat(["low", "high"], 10)
    >>> committee = LinearCommittee(subsample_size=5, gamma=5.0, random_state=0).fit(X, y)
    >>> certificate = certify(committee, rows=[0, 5, 9], n_carriers=2)
    >>> committee.classes_[certificate.verdicts], certificate.withstands
    (array(['low', 'low', 'high'], dtype='<U4'), array([2, 5, 0]))
    """

    verdicts: np.ndarray
    withstands: np.ndarray
    margins: np.ndarray
    rivals: np.ndarray
    carriers: np.ndarray
    carried: np.ndarray


@dataclass(frozen=True)
class LabelFlips:
    """Labels that would have to be wrong together for a verdict to turn.

    Attributes
    ----------
    rows, labels : ndarray of shape (n_flips,)
        Training rows, the most influential first, and what each label would become.

    Examples
    --------
    >>> print(LabelFlips(rows=np.array([6, 4]), labels=np.array(["high", "low"])).labels[0])
    high
    """

    rows: np.ndarray
    labels: np.ndarray


def certify(
    committee: LinearCommittee, X: Any = None, *, rows: Any = None, n_carriers: int = 0,
    on_progress: OnProgress | None = None,
) -> ExactCertificate:  # fmt: skip
    """Return for each row how many changed labels the committee's verdict on it withstands, exactly.

    Covered is every change of up to so many labels to other classes of the table, whoever chooses them and
    knowing everything, as long as no class vanishes. Not covered are changed features, rows that are added or
    removed, and a scaling of the features or a kernel width that was chosen with the help of the labels.
    That class sizes change with the labels is included. Nothing is estimated, so there is no confidence
    level. A certificate says that a verdict is stable, not that it is right.

    Parameters
    ----------
    committee : LinearCommittee
        Fitted.
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features), optional
        New rows. Without them, training rows are certified out-of-bag: their verdict is that of the members
        that did not see them, and their own label counts only in the size of its class.
    rows : array-like of int or bool, optional
        Which training rows; all by default.
    n_carriers : int, default=0
        How many of the labels that carry each verdict to name.
    on_progress : callable, optional
        Called as on_progress(n_rows_done, n_rows) from time to time.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> committee = LinearCommittee(random_state=0).fit(minmax_scale(X), y)
    >>> certify(committee).withstands[:5]
    array([ 77,  62, 129,  26,  58])
    """
    if X is not None and rows is not None:
        raise InputError("rows are training rows: give X, or rows, but not both.")
    return certify_rows(committee, X, rows=rows, n_carriers=n_carriers, on_progress=on_progress)


def certify_rows(
    committee: LinearCommittee, X: Any = None, *, rows: Any = None, n_carriers: int = 0,
    on_progress: OnProgress | None = None,
    look: Callable[[int, Weights, np.ndarray, ExactCertificate], None] | None = None,
) -> ExactCertificate:  # fmt: skip
    """Return what `certify` returns, and call look(first, weights, scores, certificate) for each block."""
    check_committee(committee)
    check_count("n_carriers", n_carriers, least=0)
    n_carriers = min(n_carriers, len(committee.labels_))

    def work(first, last, weights):
        scores = score_classes(weights, committee.labels_, committee.class_sizes_)
        found = certify_weights(committee, weights, scores, n_carriers)
        if look:
            look(first, weights, scores, found)
        return found

    nothing = Weights(np.zeros((0, len(committee.labels_))), np.zeros(0), np.zeros(0, int))
    parts = [work(0, 0, nothing), *committee.visit(work, X, rows=rows, on_progress=on_progress)]
    return ExactCertificate(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))


def check_committee(committee: Any) -> None:
    if not isinstance(committee, LinearCommittee):
        raise InputError(
            f"committee must be a fitted LinearCommittee, which is linear in the labels; got "
            f"{type(committee).__name__}: what the vote of SVMs withstands is in Correction.withstands."
        )
    check_is_fitted(committee)


def certify_weights(
    committee: LinearCommittee, weights: Weights, scores: np.ndarray, n_carriers: int
) -> ExactCertificate:
    """Return the certificate of one block of rows, with their scores from `score_classes`."""
    from subsvms.certificates import _flips as flips  # here: importing numba takes a while

    labels, sizes = committee.labels_, committee.class_sizes_
    verdicts = pick_best(scores, sizes)
    withstands, rivals = np.zeros((2, len(verdicts)), dtype=np.int64)
    slack = bound_rounding(committee, weights)
    flips.certify_block(weights.a, labels, sizes, scores, verdicts, slack, withstands, rivals)
    each = np.arange(len(verdicts))
    margins = scores[each, verdicts] - scores[each, rivals]
    carriers = np.full((len(each), n_carriers), -1)
    carried = np.zeros((len(each), n_carriers))
    if n_carriers:
        flips.find_carriers(weights.a, labels, sizes, verdicts, rivals, margins, carriers, carried)
    voted = weights.n_voters > 0
    return ExactCertificate(np.where(voted, verdicts, -1), withstands, margins, rivals, carriers, carried)


def bound_rounding(committee: LinearCommittee, weights: Weights) -> np.ndarray:
    """Return what rounding can take from the margin of each row."""
    members, sizes = committee.members_, committee.class_sizes_
    u = np.finfo(np.float64).eps / 2
    share = members.rounding + (members.n_samples + len(members.subsets)) * u
    scale = members.n_samples / (float(sizes[0]) * float(sizes[1])) if len(sizes) == 2 else 1.0
    return 4.0 * share * scale * weights.mass


def take_largest(values: np.ndarray, n: int) -> np.ndarray:
    """Return where the n largest values are, the largest first; of equal values, the first."""
    if 0 < n < len(values):
        least = np.partition(values, len(values) - n)[len(values) - n]
        places = np.flatnonzero(values >= least)
        return places[np.argsort(-values[places], kind="stable")[:n]]
    return np.argsort(-values, kind="stable")[:n]


def find_turning_flips(committee: LinearCommittee, row: int) -> LabelFlips | None:
    """Return a smallest set of labels that would turn the verdict on a training row if they were wrong.

    This is what a person who doubts a verdict can look at: unless that many labels are wrong, and unless they
    are as influential as these, the verdict stands. It is one label more than the verdict withstands, up to
    rounding; None if there is no verdict.

    Examples
    --------
    >>> X, y = np.linspace(0, 1, 20).reshape(-1, 1), np.repeat(["low", "high"], 10)
    >>> committee = LinearCommittee(subsample_size=5, gamma=5.0, random_state=0).fit(X, y)
    >>> find_turning_flips(committee, 5).rows
    array([ 6,  4,  7,  3, 14, 13])
    """
    from subsvms.certificates._flips import fill_gains

    check_committee(committee)
    weights = committee.visit(lambda first, last, weights: weights, rows=[row])[0]
    labels, sizes = committee.labels_, committee.class_sizes_
    certificate = certify_weights(committee, weights, score_classes(weights, labels, sizes), 0)
    if certificate.verdicts[0] < 0:
        return None
    verdict, rival = int(certificate.verdicts[0]), int(certificate.rivals[0])
    gain = np.empty(len(labels))
    fill_gains(weights.a[0], labels, sizes, verdict, rival, gain)
    order = take_largest(gain, len(gain))
    enough = certificate.margins[0] + bound_rounding(committee, weights)[0]
    n_flips = int(np.searchsorted(np.cumsum(gain[order]), enough, side="right")) + 1
    rows = order[: min(n_flips, int(np.sum(gain > 0)))]
    if len(committee.classes_) == 2:
        becomes = 1 - labels[rows]
    else:
        becomes = np.where(weights.a[0, rows] > 0, rival, verdict)
    return LabelFlips(rows, committee.classes_[becomes])
