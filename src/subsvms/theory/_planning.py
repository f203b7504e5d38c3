"""Choose the number of SVMs and the size of their subsets before a long run.

With at most a share e of wrong labels, an SVM that disagrees with a share d of the given labels disagrees
with at most phi = d + e of the clean ones. d is measured, for several sizes s, on rows that an SVM was not
trained on, as in a correction; so neither eta, delta nor the unknown constant c of Theorem 6 is needed. If
phi < 1/2, the vote of

    J(s) = log(1 / failure) / (2 (1/2 - phi(s))^2)

SVMs fails with at most that probability on a row that is no harder than the average one (Theorem 6); it is
divided by the share of SVMs that have not seen a row. Smaller subsets have stronger certificates, so the
recommended size is the smallest that keeps nine tenths of the best size's distance 1/2 - phi; for two classes
it is at least Lemma 7's size for the smallest r at which the table is regular, if there is one.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.utils import _safe_indexing  # the former cuts scikit-learn's own folds

from subsvms._callers import renamed, renamed_attribute
from subsvms._labels import check_labels
from subsvms._numbers import check_range, make_rng
from subsvms.certificates._vote import CERTIFICATE_LEVEL, count_withstood
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._sampling import subset_size
from subsvms.ensemble._votes import Votes
from subsvms.exceptions import InputError
from subsvms.theory._bounds import eta_worst, smallest_size, vote_failure, votes_needed
from subsvms.theory._regularity import Regularity, default_sizes, estimate_regularity

N_TRIALS = 100  # SVMs of each size; their mean disagreement is then known to about a hundredth
LEVEL = 0.95  # confidence of the upper limits of phi, for all sizes together
FEWEST_SVMS, USUAL_SVMS = 200, 1000  # SVMs: 200 give vote shares to 0.04; 1000 is the number without a plan
MOST_SVMS = 10_000  # SVMs to recommend; if phi is hardly below 1/2, more would be needed than is sensible
KEPT_DISTANCE = 0.9  # of the best size's distance from 1/2
FEWEST_ROWS = 5  # of a class; with fewer nothing can be measured
UNPROMISED = (
    "Nothing is promised about the vote, because an SVM may err on half of the rows or more. It can still be "
    "useful; a smaller error_rate or better features would allow a promise."
)
EASY = (
    "Each row is as easy as the average one: a row that most SVMs get wrong stays wrong, however many vote. "
    "The paper makes the same assumption."
)
PILOTS = (64, 192)  # SVMs in the two runs that measure the cost
PILOT_ROWS = 20_000  # drawn from a larger table; the cost of a vote is assumed to grow with the rows


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A recommended ensemble, and what is known about it beforehand. Print it for an explanation.

    Attributes
    ----------
    subsample_size, n_estimators : int
        Rows in a subset, and number of SVMs.
    seconds : float
        Expected time to fit, on this machine.
    phi : float
        Upper limit of how often an SVM errs against the clean labels; 1/2 or more promises nothing.
    votes_needed : int or None
        SVMs needed to reach `failure`; None if phi is 1/2 or more.
    regularity : Regularity
        The measurement.
    error_rate, failure : float
        As given to `plan`.
    guaranteed, estimated, assumed : tuple of str
        Sentences: what holds whatever the data, what was measured on this table, what is taken on trust.

    Examples
    --------
    >>> from subsvms.datasets import make_separable_gaussians
    >>> from subsvms.theory import plan
    >>> X, y = make_separable_gaussians(200, 2, random_state=0)
    >>> recommended = plan(X, y, error_rate=0.2, random_state=0)
    >>> print(recommended.assumed[0])
    At most 20.0 % of the given labels are wrong. No table can prove that.
    """

    subsample_size: int
    n_estimators: int
    seconds: float
    phi: float
    votes_needed: int | None
    regularity: Regularity
    error_rate: float
    failure: float
    guaranteed: tuple[str, ...]
    estimated: tuple[str, ...]
    assumed: tuple[str, ...]

    max_error_rate = renamed_attribute("max_error_rate", "error_rate")

    def __repr__(self) -> str:
        parts = [f"{name}={value}" for name, value in self.parameters.items()]
        return f"Plan({', '.join(parts)}, phi={self.phi:.3f})"

    @property
    def parameters(self) -> Mapping[str, int]:
        """The recommended parameters of `SubSVMClassifier`."""
        return {"n_estimators": self.n_estimators, "subsample_size": self.subsample_size}

    def __str__(self) -> str:
        lines = [f"Train {self.n_estimators} SVMs of {self.subsample_size} rows each."]
        for title in ("guaranteed", "estimated", "assumed"):
            lines += ["", title.capitalize() + ":", *(f"- {text}" for text in getattr(self, title))]
        return "\n".join(lines)


@renamed(max_error_rate="error_rate")
def plan(
    X: Any, y: Any, *, error_rate: float = 0.1, failure: float = 0.01,
    random_state: int | np.random.RandomState | None = None, **parameters: Any,
) -> Plan:  # fmt: skip
    """Recommend the size of the subsets and the number of SVMs: `SubSVMClassifier(**plan.parameters)`.

    Parameters
    ----------
    X, y, random_state
        As in `estimate_regularity`; where phi is near 1/2, the recommendation strongly depends on the seed.
    error_rate : float, default=0.1
        Largest share of wrong labels, the paper's rho beta; at least 0 and less than 1/2.
    failure : float, default=0.01
        Accepted probability, between 0 and 1, that the vote is wrong on a row no harder than the average.
    **parameters
        Other parameters of the `SubSVMClassifier` that will be trained.

    Examples
    --------
    >>> from subsvms.datasets import make_separable_gaussians
    >>> from subsvms.theory import plan
    >>> X, y = make_separable_gaussians(200, 2, random_state=0)
    >>> recommended = plan(X, y, error_rate=0.2, random_state=0)
    >>> recommended.n_estimators, recommended.phi < 0.3
    (200, True)
    """
    check_range("error_rate", error_rate, 0, 0.5, "[)")
    check_range("failure", failure, 0, 1, "()")
    if given := sorted({"n_estimators", "subsample_size"} & set(parameters)):
        raise InputError(f"A plan recommends {given[0]}, so it cannot be given: leave {given[0]} out.")
    rng = make_rng(random_state)
    classes, labels = check_labels(y, X.shape[0] if hasattr(X, "shape") else len(X))
    counts = np.bincount(labels)
    usual = subset_size("log_squared", len(labels), len(classes))
    sizes = np.union1d(default_sizes(len(labels), len(classes)), usual)
    how = {"sizes": sizes.tolist(), "n_trials": N_TRIALS, "random_state": rng.randint(2**31 - 1)}
    measured = estimate_regularity(X, y, **how, **parameters)
    rho = largest_rho(error_rate, counts / counts.sum())
    limits = disagreement_limits(measured) + error_rate
    if counts.min() < FEWEST_ROWS:
        limits = np.ones(len(limits))
    # Lemma 7 is about two classes, a regular table, and wrong labels that are not a whole class.
    r = measured.smallest_size if len(counts) == 2 and rho < 1 else None
    size = choose_size(measured.sizes, limits, 2 if r is None else smallest_size(r, rho), usual)
    phi = float(min(limits[measured.sizes == size][0], 1.0))
    unseen = unseen_share(size, counts, measured.chances)
    needed = int(np.ceil(votes_needed(phi, failure) / unseen)) if phi < 0.5 else None
    n_svms = USUAL_SVMS if needed is None or needed > MOST_SVMS else max(needed, FEWEST_SVMS)
    model = SubSVMClassifier(**(parameters | {"n_estimators": n_svms, "subsample_size": size}))
    seconds = expect_seconds(model, X, labels, rng.randint(2**31 - 1))
    return Plan(
        size, n_svms, seconds, phi, needed, measured, error_rate, failure,
        guaranteed=tuple(format_guaranteed(model, needed, phi, failure, unseen, r, rho, counts)),
        estimated=tuple(format_estimated(size, phi, seconds, measured, error_rate)),
        assumed=tuple(format_assumed(needed, rho, error_rate, counts)),
    )  # fmt: skip


def largest_rho(error_rate: float, shares: np.ndarray) -> float:
    """Return the largest rho that this share of wrong labels can mean: all added to the smallest class."""
    left = shares.min() - error_rate
    return float(min(error_rate / left, 1.0)) if left > 0 else 1.0


def disagreement_limits(measured: Regularity) -> np.ndarray:
    """Return for each size an upper limit of how often an SVM disagrees with the labels of unseen rows."""
    # Normal limits of a mean over SVMs, for all sizes at once (Bonferroni). Where errors were counted on a
    # sample of the rows, the variance of the sample, which all SVMs share, is added.
    n_trials = measured.errors.shape[1]
    by_rows = measured.unseen_errors * (1.0 - measured.unseen_errors) / measured.n_judged
    sampled = measured.n_judged < measured.n_rows
    spread = np.sqrt(measured.unseen_sd**2 / n_trials + (by_rows if sampled else 0.0))
    return measured.unseen_errors + norm.isf((1.0 - LEVEL) / len(measured.sizes)) * spread


def unseen_share(size: int, counts: np.ndarray, chances: np.ndarray) -> float:
    """Return the share of the SVMs that have not seen a row, for the row that is most likely to be drawn."""
    return float(np.min((1.0 - chances / counts) ** size))


def choose_size(sizes: np.ndarray, limits: np.ndarray, least: int, usual: int) -> int:
    """Return the smallest size whose SVMs are nearly as good as those of the best size."""
    allowed = sizes >= min(least, sizes[-1])
    distance = np.where(allowed, 0.5 - limits, -np.inf)
    if distance.max() <= 0:
        return usual
    return int(sizes[np.argmax(distance >= KEPT_DISTANCE * distance.max())])


def expect_seconds(model: SubSVMClassifier, X: Any, labels: np.ndarray, seed: int) -> float:
    """Return the seconds that `model` will take to fit, from two small runs on this machine."""
    rows = np.arange(len(labels))
    if len(rows) > PILOT_ROWS and model.kernel != "precomputed":
        rows = np.sort(np.random.default_rng(seed).choice(rows, PILOT_ROWS, replace=False))
        rows = np.union1d(rows, np.unique(labels, return_index=True)[1])  # every class at least once
    table, part = _safe_indexing(X, rows), labels[rows]
    settings = model.get_params() | {"random_state": seed, "verbose": 0}
    spent = []
    for n in (PILOTS[0], *PILOTS):  # the first run compiles and warms up
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the measurement has warned already
            SubSVMClassifier(**(settings | {"n_estimators": n})).fit(table, part)
        spent.append(time.perf_counter() - began)
    each = max(spent[2] - spent[1], 0.0) / (PILOTS[1] - PILOTS[0])
    fixed = max(spent[1] - PILOTS[0] * each, 0.0)
    return (fixed + each * model.n_estimators) * len(labels) / len(rows)


def format_guaranteed(model, needed, phi, failure, unseen, r, rho, counts) -> list[str]:
    sentences, n_svms, size = [], model.n_estimators, model.subsample_size
    if needed is not None:
        reached = f"{failure:g}; {needed} SVMs would be enough"
        if needed > n_svms:
            reached = round_up(vote_failure(max(int(n_svms * unseen), 1), phi))
            reached += f"; for {failure:g} it would take {needed}"
        sentences.append(
            f"On a row on which a single SVM errs with probability at most {round_up(phi)}, the vote of "
            f"those of the {n_svms} SVMs that have not seen it errs with probability at most {reached} "
            "(Theorem 6, last step)."
        )
    if r is not None and r <= size:
        kept = 1.0 - min(eta_worst(size, r, rho=rho, p=model.sampling_bias), 1.0)
        sentences.append(
            f"If the wrong labels, however chosen, are at most {round_up(rho)} of the smaller class, a "
            f"subset has {-(-r // 2)} clean rows of each class with probability at least "
            f"{round_down(kept)}."
        )
    m = unanimous_withstands(model, counts)
    if m > 0:
        sentences.append(
            f"A unanimous vote of {n_svms} SVMs on a row keeps its winner if any {m} further labels change "
            f"(the certificate, with confidence {CERTIFICATE_LEVEL})."
        )
    return sentences


def unanimous_withstands(model: SubSVMClassifier, counts: np.ndarray) -> int:
    """Return how many changed labels a unanimous vote withstands, whatever the row's class."""
    if model.class_weight == "balanced":  # every SVM depends on the sizes of the classes
        return 0
    n = np.full(len(counts), model.n_estimators)
    votes, p = Votes(np.diag(n), np.diag(n).astype(float), n), model.sampling_bias
    given = (np.full(len(n), c) for c in range(len(n)))
    return min(int(count_withstood(votes, counts, one, model.subsample_size, p=p).min()) for one in given)


def round_up(share: float) -> str:
    return f"{np.ceil(share * 1000 - 1e-9) / 1000:.3f}"


def round_down(share: float) -> str:
    return f"{np.floor(share * 1000 + 1e-9) / 1000:.3f}"


def format_estimated(size, phi, seconds, measured, error_rate) -> list[str]:
    mean = measured.unseen_errors[measured.sizes == size][0]
    return [
        f"An SVM trained on {size} rows disagrees with {100 * mean:.1f} % of the given labels of rows it has "
        f"not seen, and so with a share of at most {round_up(phi)} of the clean ones if at most "
        f"{100 * error_rate:.1f} % are wrong (upper limit, confidence {LEVEL:g}, from {N_TRIALS} SVMs of "
        "each size).",
        f"{measured.finding} This is by the given labels, on class-balanced draws.",
        f"Fitting takes about {seconds:.2g} seconds on this machine.",
    ]


def format_assumed(needed, rho, error_rate, counts) -> list[str]:
    sentences = [f"At most {100 * error_rate:.1f} % of the given labels are wrong. No table can prove that."]
    sentences.append(UNPROMISED if needed is None else EASY)
    if counts.min() < FEWEST_ROWS:
        sentences.append(f"A class has fewer than {FEWEST_ROWS} rows: too few to measure anything.")
    if rho >= 1:
        sentences.append("The wrong labels could be a whole class, and then no method can recover it.")
    return sentences
