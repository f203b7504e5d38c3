"""Draw the picture of what_is_guaranteed.md: python docs/pictures/what_is_guaranteed.py."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from subsvms import SubSVMClassifier, adversaries
from subsvms.displays import RegularityDisplay
from subsvms.theory import vote_failure_exact

VOTES = 2 ** np.arange(1, 11) - 1  # 1, 3, 7, ...: odd, so that no vote is a tie


def vote_errors(X, y, clean, seed):
    """Return the share of rows wrong for each number of votes, and the share of right SVMs for each row."""
    errors = []
    for n in VOTES.tolist():
        model = SubSVMClassifier(n_estimators=n, random_state=seed).fit(X, y)
        errors.append(np.mean(model.predict(X) != clean))
    return np.array(errors), model.predict_proba(X)[np.arange(len(clean)), clean]


def main(path):
    """Draw both panels."""
    X, clean = load_breast_cancer(return_X_y=True)
    X = minmax_scale(X)
    y = adversaries.directed_flips(clean, rho=0.5, alpha=0.5, random_state=0).labels
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, labels in (("clean labels", clean), ("18.6% wrong", y)):
        RegularityDisplay.from_table(X, labels, ax=left, name=name, random_state=0)
    runs = [vote_errors(X, y, clean, seed) for seed in range(10)]
    errors, shares = (np.array(part) for part in zip(*runs, strict=True))
    hard = np.mean(shares.mean(axis=0) < 0.5)
    average = [vote_failure_exact(n, 1 - shares.mean()) for n in VOTES.tolist()]
    right.plot(
        VOTES, errors.mean(axis=0), "o-", color="#0072B2", markersize=4, label="vote, measured (mean of 10)"
    )
    right.fill_between(VOTES, errors.min(axis=0), errors.max(axis=0), color="#0072B2", alpha=0.2, linewidth=0)
    right.plot(VOTES, average, "--", color="#D55E00", label="if every row were an average one")
    right.axhline(hard, color="0.35", linewidth=1, linestyle=":", label="rows that most SVMs get wrong")
    right.set(
        xscale="log",
        yscale="log",
        ylim=(1e-3, 0.5),
        xlabel="votes, J",
        ylabel="share of rows wrong, by clean labels",
    )
    right.grid(color="0.9")
    right.legend(loc="lower left")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    main(Path(__file__).with_suffix(".png"))
