"""
A real table, before and after
==============================

More than a quarter of the labels of scikit-learn's breast cancer table are made wrong, and one call
finds nearly all of them. The columns have very different units, and nothing has to be scaled,
chosen or tuned first.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from subsvms import adversaries, correct_labels

# %%
# Wrong labels, in one direction
# ------------------------------
# The table has 569 rows and 30 columns; the largest column has values in the thousands, the
# smallest in the thousandths. An adversary turns 159 benign tumours (class 1) into malignant ones
# (class 0). That is the paper's attack, with ``rho=0.75``: three quarters as many wrong labels as
# the smaller class has rows.

X, clean = load_breast_cancer(return_X_y=True)
given = adversaries.directed_flips(clean, rho=0.75, alpha=1.0, random_state=0).labels
print(f"{(given != clean).sum()} of {len(given)} labels are wrong")

# %%
# One call
# --------
# `subsvms.correct_labels` sees only ``X`` and the labels as they are given. It estimates how
# noisy each class is, and it says in a sentence which small SVMs it has chosen to vote.

correction = correct_labels(X, given, random_state=0)
print(correction)
print(correction.noise)
print(correction.choice)

# %%
# Each row has its reason. Here is that of the label that is least credible:

worst = correction.label_quality.argmin()
print(correction.explain(worst))

# %%
# Before and after
# ----------------
# The first two principal components show the tumours as a plane; the true labels are only used to
# mark what is wrong. The wrong labels that are left lie where the two kinds of tumours meet.

plane = PCA(2).fit_transform(StandardScaler().fit_transform(X))
colours = {0: "#D55E00", 1: "#0072B2"}
figure, axes = plt.subplots(2, 1, figsize=(6, 8.4), sharex=True, sharey=True, layout="constrained")
for ax, labels, when in zip(axes, (given, correction.labels), ("before", "after"), strict=True):
    for number, name in enumerate(("malignant", "benign")):
        rows = labels == number
        ax.scatter(*plane[rows].T, s=12, color=colours[number], label=f"labelled {name}")
    wrong = labels != clean
    ax.scatter(
        *plane[wrong].T, s=55, facecolors="none", edgecolors="black", linewidths=0.8, label="wrong label"
    )
    ax.set(title=f"{wrong.sum()} wrong labels {when}", ylabel="second component")
axes[1].set_xlabel("first component")
axes[0].legend(loc="upper right")
plt.show()

# %%
# Clean labels stay
# -----------------
# A method that corrects must also know when to do nothing. With the true labels nothing is changed:

print(correct_labels(X, clean, random_state=0))
