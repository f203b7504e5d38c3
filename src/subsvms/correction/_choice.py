"""Choose the SVMs that predict the given labels best: how many rows they see, and how wide the kernel is.

The paper's parameters (s = log^2 n rows, gamma = 1/d, C = 100) are the safest under the heaviest attack, and
too small and too smooth for most tables. Under noise that depends on the class alone, whatever predicts the
noisy labels best also predicts the true ones best. So candidates are compared by the log loss of the given
labels: out-of-bag values, calibrated by isotonic regression in folds. No clean label is needed.

A thousand rows and more are enough to compare. First the width is chosen, as gamma times the mean squared
distance of two rows, then the size, as a multiple of the paper's; more complex SVMs must be clearly better.
Two widths are tried, then the one beside the better; the largest size only where the middle one is far better
than the smallest. Subsets are drawn from all rows, so that large ones are as different as they will be. C is
fixed: with C = 10 the best size and width do as well as with the best of three C.

Noise that depends on the row is learned as well, the more the better SVMs predict. The paper's hardly learn
it, so they help to *rank* labels, if they see what the chosen ones see: each ensemble has a weight in
proportion to the probability exp(-N loss) that it gives N = `ROWS_COUNTED` labels.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import isotonic_regression
from scipy.special import expit
from sklearn.utils.extmath import row_norms

from subsvms._columns import Table
from subsvms._effort import one_stage
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._sampling import subset_size
from subsvms.ensemble._training import fit_numbered

WIDTHS = (0.1, 0.5, 2.0, 8.0)  # gamma times the mean squared distance
SIZES = (1, 4, 16)  # times the paper's; widths are compared at the middle one
LARGEST_SUBSET = 2000  # rows of a subset; with many classes more would take minutes
C = 10.0
ROWS_COMPARED = 1500  # to compare candidates on
DRAWS_TRIED, FEWEST_TRIED = 8_000, 20  # draws in all subsets of a candidate; SVMs
CLEARLY = 0.5  # standard errors by which more complex SVMs must be better
FAR = 2.0  # the same, of the middle size over the smallest, for the largest to be tried
DRAWS, SPARE = 25_000, 100_000_000  # for the vote; SPARE / rows if that is more, so that seeds matter less
FEWEST_SVMS, MOST_SVMS = 40, 1000
TOLERANCE = 0.1  # of the SVMs: their values are then within 0.005 of the exact ones, for half of the steps
FOLDS = 5
SEED = 0  # the same SVMs are chosen, whatever the seed of the vote
LEAST_PROBABILITY = 1e-3  # probability of a label; a surer prediction gains nothing
ROWS_COUNTED = 200  # of 100 to 333 the best ranks: equal weights harm where small SVMs see less
LEAST_WEIGHT = 0.05  # of the paper's SVMs in the rank; less is not worth the time of their votes


@dataclass(frozen=True)
class Candidate:
    """SVMs that might vote."""

    subset_size: int  # rows that each is trained on
    width: float  # gamma times the mean squared distance of two rows
    gamma: float
    log_loss: float  # mean log loss of the given labels

    @property
    def breadth(self) -> str:
        """The width of the kernel in words: "wide", "medium" or "narrow"."""
        return "wide" if self.width < 1 else "medium" if self.width < 4 else "narrow"


@dataclass(frozen=True)
class Choice:
    """The SVMs that were chosen, and what they were compared with."""

    chosen: Candidate
    candidates: tuple[Candidate, ...]  # all that were tried, in the order of the trial
    n_svms: int  # how many of the chosen SVMs vote
    second: Candidate | None = None  # the paper's SVMs, if they help to rank labels
    second_weight: float = 0.0  # theirs in the rank

    def __str__(self) -> str:
        chosen = self.chosen
        losses = sorted(one.log_loss for one in self.candidates if one is not chosen)
        well = "best" if chosen.log_loss <= losses[0] else "about as well as the best"
        return (
            f"SVMs of {chosen.subset_size:,} rows with a {chosen.breadth} kernel predict the given labels "
            f"{well}: log loss {chosen.log_loss:.3f}, others {losses[0]:.3f} to {losses[-1]:.3f}"
        )

    def make_model(self, **parameters) -> SubSVMClassifier:
        return SubSVMClassifier(
            n_estimators=self.n_svms, subsample_size=self.chosen.subset_size, gamma=self.chosen.gamma, C=C,
            tol=TOLERANCE, **parameters,
        )  # fmt: skip

    def make_second(self, **parameters) -> SubSVMClassifier | None:
        """Return the paper's SVMs, if they help: with half of the draws, votes take at most twice as long."""
        if self.second is None:
            return None
        size = self.second.subset_size
        n_svms = min(self.n_svms * self.chosen.subset_size // (2 * size), MOST_SVMS)
        parameters |= {"n_estimators": n_svms, "subsample_size": size, "gamma": self.second.gamma}
        return SubSVMClassifier(tol=TOLERANCE, **parameters)


def choose_ensemble(
    X: Table, labels: np.ndarray, sizes: np.ndarray, n_rows: int, *, n_jobs: int | None = None,
    groups: np.ndarray | None = None,
) -> Choice:  # fmt: skip
    """Choose the SVMs that predict the labels of a pool best; `sizes` are those of the table's classes."""
    rng = np.random.default_rng(SEED)
    rows = pick_rows(labels, rng)
    asked = labels[rows]
    weight = (sizes / np.bincount(asked, minlength=len(sizes)))[asked]
    mean = mean_squared_distance(X[rows]) or 1.0
    folds = rng.permutation(len(rows)) % FOLDS
    paper = subset_size("log_squared", n_rows, len(sizes))
    found: dict[tuple, Candidate] = {}
    losses: dict[tuple, np.ndarray] = {}

    def try_out(width, size, **parameters):
        """Return a candidate, and the log loss of each row."""
        model = SubSVMClassifier(
            n_estimators=max(DRAWS_TRIED // size, FEWEST_TRIED), subsample_size=size, gamma=width / mean,
            tol=TOLERANCE, random_state=SEED, n_jobs=n_jobs, **parameters,
        )  # fmt: skip
        with one_stage("choosing SVMs", len(found), len(WIDTHS) + len(SIZES) - 1):
            fit_numbered(model, X, np.arange(len(sizes)), labels, rows, groups)
        loss = measure_losses(model.oob_votes_.mean_value, asked, weight, folds, shares=sizes / sizes.sum())
        return Candidate(size, width, width / mean, float(np.average(loss, weights=weight))), loss

    def measure(width, size):
        """Return the log loss of each row; each candidate is tried once."""
        if (width, size) not in found:
            found[width, size], losses[width, size] = try_out(width, size, C=C)
        return losses[width, size]

    def pick(*candidates, margin=CLEARLY):
        """Return the first that is not worse than the best by the margin."""
        return candidates[pick_first([measure(*candidate) for candidate in candidates], weight, margin)]

    widest, wide, narrow, narrowest = WIDTHS
    small, middle, large = (max(min(factor * paper, LARGEST_SUBSET, len(labels) // 2), 2) for factor in SIZES)
    towards = widest if pick((wide, middle), (narrow, middle)) == (wide, middle) else narrowest
    width, _ = pick(*((width, middle) for width in sorted({towards, wide, narrow})))
    sizes_tried = (width, small), (width, middle)
    if pick(*sizes_tried, margin=FAR) == (width, middle):
        sizes_tried = (width, middle), (width, large)
    chosen = found[pick(*sizes_tried)]
    n_svms = int(np.clip(max(DRAWS, SPARE / n_rows) / chosen.subset_size, FEWEST_SVMS, MOST_SVMS))
    second, _ = try_out(mean / X.shape[1], small)
    share = float(expit(ROWS_COUNTED * (chosen.log_loss - second.log_loss)))
    helpful = (second, share) if share >= LEAST_WEIGHT else ()
    return Choice(chosen, tuple(found.values()), n_svms, *helpful)


def pick_first(losses: list[np.ndarray], weight: np.ndarray, margin: float) -> int:
    """Return the first candidate that is not clearly worse than the best."""
    share = weight / weight.sum()
    best = min(losses, key=lambda loss: share @ loss)
    for number, loss in enumerate(losses):
        worse = loss - best
        error = np.sqrt(np.sum((share * (worse - share @ worse)) ** 2))
        if share @ worse <= margin * error:
            return number
    raise AssertionError("the best is not worse than itself")


def mean_squared_distance(X: Table) -> float:
    """Return the mean squared distance of two rows, which is twice the sum of the columns' variances."""
    if not sparse.issparse(X):
        return 2.0 * float(np.var(X, axis=0, dtype=np.float64).sum())
    centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    return max(2.0 * float(row_norms(X, squared=True).mean(dtype=np.float64) - centre @ centre), 0.0)


def pick_rows(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return at most `ROWS_COMPARED` rows, in order, as many of each class as there are if some are rare."""
    n_classes = int(labels.max()) + 1
    order = rng.permutation(len(labels))
    chosen = [order[labels[order] == c][: max(ROWS_COMPARED // n_classes, 2)] for c in range(n_classes)]
    return np.sort(np.concatenate(chosen))


def measure_losses(
    values: np.ndarray, labels: np.ndarray, weight: np.ndarray, folds: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """Return the log loss of each label, with probabilities learned from the other folds."""
    n_classes = values.shape[1]
    judged = np.isfinite(values[:, 0])
    p = np.tile(shares, (len(labels), 1))
    whole = np.bincount(labels, weights=weight, minlength=n_classes)
    heard = np.bincount(labels[judged], weights=weight[judged], minlength=n_classes)
    weight = weight * (whole / np.maximum(heard, 1e-9))[labels]  # whether a row has votes must say nothing
    learned = np.flatnonzero(heard)
    if n_classes == 2:
        learned = learned[1:]  # one curve is enough
    for fold in np.unique(folds):
        test, others = judged & (folds == fold), judged & (folds != fold)
        for c in learned if others.any() else ():
            p[test, c] = calibrate(values[others, c], labels[others] == c, weight[others], values[test, c])
    if n_classes == 2:
        p[:, 0] = 1.0 - p[:, 1]
    p = np.clip(p, LEAST_PROBABILITY, 1.0)
    return -np.log((p / p.sum(axis=1, keepdims=True))[np.arange(len(labels)), labels])


def calibrate(u: np.ndarray, is_given: np.ndarray, weight: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the share of given labels at new values of u: scikit-learn's isotonic regression, but quick."""
    points, number = np.unique(u, return_inverse=True)  # rows of equal u get one share
    total = np.bincount(number, weights=weight)
    share = np.bincount(number, weights=weight * is_given) / total
    return np.interp(new, points, isotonic_regression(share, weights=total).x)
