"""Draw the picture of the_rule.md: python docs/pictures/the_rule.py."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from subsvms import adversaries, correct_labels
from subsvms.displays import VotesDisplay


def main(path):
    """Draw the votes on a table with wrong labels, and on the same table without."""
    X, numbers = load_breast_cancer(return_X_y=True)
    clean = np.array(["malignant", "benign"])[numbers]
    given = adversaries.directed_flips(clean, rho=0.75, alpha=1.0, random_state=0).labels
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    titles = f"{np.sum(given != clean)} benign tumours are labelled malignant", "The same table, labels clean"
    for ax, labels, title in zip(axes, (given, clean), titles, strict=True):
        correction = correct_labels(X, labels, random_state=0)
        display = VotesDisplay.from_correction(correction, class_number=0, ax=ax)
        display.ax_.set_title(title)
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    main(Path(__file__).with_suffix(".png"))
