"""Choose the SVMs that predict the given labels best: how many rows they see, and how wide the kernel is.

The paper's parameters (s = log^2 n rows, gamma = 1/d, C = 100) are the safest under the heaviest attack, and
too small and too smooth for most tables. Under noise that depends on the class alone, whatever predicts the
noisy labels best also predicts the true ones best. So candidates are compared by the log loss of the given
labels: out-of-bag values, calibrated by isotonic regression in folds. No clean label is needed.

A few thousand rows are enough to compare. First the width is chosen, as gamma times the mean squared distance
of two rows, then the size, as a multiple of the paper's. All candidates share the distances; SVMs of larger
subsets are fewer. C is fixed: with C = 10 the best size and width do as well as with the best of three C.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import euclidean_distances

from subsvms._progress import announce
from subsvms._typing import Table
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._sampling import subset_size

WIDTHS = (0.5, 2.0, 8.0)  # gamma times the mean squared distance
SIZES = (1, 4, 16)  # times the paper's
MIDDLE = 4  # the size at which widths are compared
C = 10.0
ROWS = 1500  # to compare candidates on
TRIED, DRAWS = 4_000, 40_000  # draws, in all subsets, for each candidate and for the vote
SIMPLE, FLAT = 200, 0.1  # SVMs of the second opinion, and the width of a kernel that is nearly linear
FEWEST_TRIED, FEWEST_SVMS, MOST_SVMS = 6, 40, 1000
TOLERANCE = 0.1  # of the SVMs: their values are then within 0.005 of the exact ones, for half of the steps
FOLDS = 5
LEAST = 1e-3  # probability of a label; a surer prediction gains nothing


@dataclass(frozen=True)
class Candidate:
    """SVMs that might vote.

    Attributes
    ----------
    subset_size : int
        Rows that each is trained on.
    width : float
        gamma times the mean squared distance of two rows.
    gamma : float
    log_loss : float
        Mean log loss of the given labels; NaN before it is measured.
    """

    subset_size: int
    width: float
    gamma: float
    log_loss: float = np.nan


@dataclass(frozen=True)
class Choice:
    """The SVMs that were chosen, and what they were compared with.

    Attributes
    ----------
    chosen : Candidate
    candidates : tuple of Candidate
        All that were tried, in the order of the trial.
    """

    chosen: Candidate
    candidates: tuple[Candidate, ...]

    def __str__(self) -> str:
        chosen, worst = self.chosen, max(candidate.log_loss for candidate in self.candidates)
        return (
            f"SVMs of {chosen.subset_size} rows (gamma={chosen.gamma:.3g}) predict the labels "
            f"best: log loss {chosen.log_loss:.3f}, {len(self.candidates) - 1} others up to {worst:.3f}"
        )

    def make_second(self, **parameters) -> SubSVMClassifier:
        """Return the second opinion, not fitted: linear SVMs of the paper's size, which learn little noise.

        Where the kernel is wide, exp(-gamma |x - z|^2) is nearly linear: C is as if its width were `FLAT`.
        """
        scale = self.chosen.gamma / self.chosen.width
        return SubSVMClassifier(
            n_estimators=SIMPLE, kernel="linear", C=2 * FLAT * C * scale, tol=TOLERANCE, **parameters
        )

    def make_model(self, **parameters) -> SubSVMClassifier:
        """Return the chosen ensemble, not fitted."""
        size = self.chosen.subset_size
        n_estimators = int(np.clip(round(DRAWS / size), FEWEST_SVMS, MOST_SVMS))
        return SubSVMClassifier(
            n_estimators=n_estimators, subsample_size=size, gamma=self.chosen.gamma, C=C, tol=TOLERANCE,
            **parameters,
        )  # fmt: skip


def choose_ensemble(
    X: Table, labels: np.ndarray, sizes: np.ndarray, n_rows: int, *, seed: int, n_jobs: int | None = None
) -> Choice:
    """Choose the SVMs that predict the labels of a table best.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_pool, n_features)
        The rows that SVMs may be trained on, scaled.
    labels : ndarray of int of shape (n_pool,)
        Their class numbers.
    sizes : ndarray of int of shape (n_classes,)
        Rows of each class in the table.
    n_rows : int
        Rows that the paper's size of a subset follows from.
    seed : int
    n_jobs : int, optional
        Threads; the result does not depend on their number.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((600, 2))
    >>> labels = ((X * 4).astype(int).sum(axis=1) % 2)  # a chessboard
    >>> chosen = choose_ensemble(X, labels, np.bincount(labels), 600, seed=0).chosen
    >>> chosen.subset_size > 100, chosen.width
    (True, 8.0)
    """
    rng = np.random.default_rng(seed)
    rows = pick_rows(labels, rng)
    compared = labels[rows]
    weight = (sizes / np.bincount(compared, minlength=len(sizes)))[compared]
    distances = euclidean_distances(X[rows], squared=True)
    mean = float(distances.mean()) or 1.0
    folds = rng.integers(FOLDS, size=len(rows))
    paper = subset_size("log_squared", n_rows, len(sizes))
    found: dict[tuple, Candidate] = {}
    cached: dict[float, np.ndarray] = {}

    def measure(width, factor):
        """Return the log loss of a candidate; each is measured once."""
        if (width, factor) not in found:
            announce("choosing SVMs", len(found), len(WIDTHS) + len(SIZES) - 1)
            drawn = max(min(factor * paper, len(rows) // 2), 2)
            model = SubSVMClassifier(
                kernel="precomputed", n_estimators=max(TRIED // drawn, FEWEST_TRIED), subsample_size=drawn,
                C=C, tol=TOLERANCE, random_state=seed, n_jobs=n_jobs,
            )  # fmt: skip
            if width not in cached:
                cached[width] = np.exp(distances * (-width / mean))
            model._fit_numbered(cached[width], np.arange(len(sizes)), compared)
            values = np.nan_to_num(model.oob_votes_.mean_value)
            loss = np.average(measure_losses(values, compared, weight, folds), weights=weight)
            size = max(min(factor * paper, len(labels) // 2), 2)
            found[width, factor] = Candidate(size, width, width / mean, float(loss))
        return found[width, factor].log_loss

    width = min(WIDTHS, key=lambda width: measure(width, MIDDLE))
    factor = min(SIZES, key=lambda factor: measure(width, factor))
    return Choice(found[width, factor], tuple(found.values()))


def pick_rows(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return at most `ROWS` rows, in order, as many of each class as there are if some are rare."""
    n_classes = int(labels.max()) + 1
    order = rng.permutation(len(labels))
    chosen = [order[labels[order] == c][: max(ROWS // n_classes, 2)] for c in range(n_classes)]
    return np.sort(np.concatenate(chosen))


def measure_losses(
    values: np.ndarray, labels: np.ndarray, weight: np.ndarray, folds: np.ndarray
) -> np.ndarray:
    """Return the log loss of each label, with probabilities learned from the other folds.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
        Out-of-bag mean values.
    labels : ndarray of int of shape (n_rows,)
        Class numbers.
    weight : ndarray of shape (n_rows,)
        How many rows of the table each row stands for.
    folds : ndarray of int of shape (n_rows,)
    """
    n_classes = values.shape[1]
    p = np.empty_like(values)
    for fold in range(FOLDS):
        test = folds == fold
        for c in range(1 if n_classes == 2 else 0, n_classes):
            curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
            curve.fit(values[~test, c], labels[~test] == c, sample_weight=weight[~test])
            p[test, c] = curve.predict(values[test, c])
    if n_classes == 2:
        p[:, 0] = 1.0 - p[:, 1]
    p = np.clip(p, LEAST, 1.0)
    return -np.log((p / p.sum(axis=1, keepdims=True))[np.arange(len(labels)), labels])
