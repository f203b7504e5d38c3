"""
Several classes: which digits are mixed up
==========================================

Somebody typed in handwritten digits, and every third four became a nine. With ten classes the
correction finds which class is mixed up with which, how often, and in which images. The end of this
example shows where it stops too early.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from subsvms import adversaries, correct_labels
from subsvms.displays import NoiseMatrixDisplay

digits = load_digits()
X, clean = digits.data[:1200], digits.target[:1200]


def mix_up(*pairs):
    """Return labels of which a share of one class is given another, for each (class, other, share)."""
    matrix = np.eye(10)
    for true, typed, share in pairs:
        matrix[true, [true, typed]] = 1 - share, share
    return adversaries.class_conditional_flips(clean, matrix, random_state=0).labels


# %%
# What was estimated
# ------------------
# Each line of the picture is a true class. Only the pixels and the given labels were looked at.

given = mix_up((4, 9, 0.33))
correction = correct_labels(X, given, random_state=0)
print(correction)

figure, ax = plt.subplots(figsize=(6, 5.6), layout="constrained")
NoiseMatrixDisplay.from_correction(correction, ax=ax, colorbar=False)
ax.set_title(f"{correction.noise.matrix[4, 9]:.0%} of the fours were labelled nine")
plt.show()

# %%
# The images behind it
# --------------------
# The twelve labels that are least credible:

worst = np.argsort(correction.label_quality)[:12]
figure, axes = plt.subplots(3, 4, figsize=(6, 5.2), layout="constrained")
for ax, row in zip(axes.flat, worst, strict=True):
    ax.imshow(digits.images[row], cmap="gray_r")
    ax.set(title=f"{given[row]} → {correction.suggested_labels[row]}", xticks=[], yticks=[])
figure.suptitle(f"{(given != clean)[worst].sum()} of the 12 least credible labels are wrong")
plt.show()

left = correction.labels != clean
print(f"wrong before: {(given != clean).sum()}, wrong after: {left.sum()}")

# %%
# Three pairs at once
# -------------------
# Now three classes are mixed up, each with one other. What the rule changes, and what it leaves:

given = mix_up((1, 7, 0.25), (3, 8, 0.2), (4, 9, 0.33))
several = correct_labels(X, given, random_state=0)
wrong = given != clean
print(f"wrong before: {wrong.sum()}, wrong after: {(several.labels != clean).sum()}")

# %%
# It leaves most of them, and changes nothing that is right. The order in which it suspects labels is
# still good, so this is a case for a review, or for an audit:

worst = np.argsort(several.label_quality)[: wrong.sum()]
print(f"{wrong[worst].sum()} of the {wrong.sum()} least credible labels are wrong")
