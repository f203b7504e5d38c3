"""
Your own model's probabilities
==============================

A model that you already have can judge the labels, if it judges rows that it was not trained on.
This example shows how, and what goes wrong if it has seen them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from subsvms import adversaries, correct_labels

# %%
# Probabilities out of sample
# ---------------------------
# The model is a random forest on scikit-learn's digits, and every tenth label is wrong.
# ``cross_val_predict`` gives for each row the probabilities of a forest that has not seen it. Those
# of a neural network or a language model, one column for each class, will do as well.

X, clean = load_digits(return_X_y=True)
given = adversaries.uniform_flips(clean, error_rate=0.1, random_state=0).labels
forest = RandomForestClassifier(50, random_state=0)
unseen = cross_val_predict(forest, X, given, method="predict_proba")

# %%
# They judge in place of SVMs. ``X`` is still of use: it shows whether the rows that the rule would
# change differ from those that they would join. Without it, ``None`` will do.

correction = correct_labels(X, given, pred_probs=unseen, random_state=0)
print(correction)
print(f"wrong before: {(given != clean).sum()}, wrong after: {(correction.labels != clean).sum()}")

# %%
# Or hand over the classifier, and the folds are taken care of: ``correct_labels(X, given,
# estimator=forest)``. For a forest out-of-bag probabilities are used.
#
# A model that has seen the rows
# ------------------------------
# The commonest mistake is to take the probabilities of a model for the rows that it was trained on.
# A forest learns them by heart, wrong labels included, and so it is sure of each of them. Its
# probabilities look better, and show nothing:

seen = forest.fit(X, given).predict_proba(X)
blind = correct_labels(X, given, pred_probs=seen, random_state=0)
print(blind)

# %%
# The picture shows the probability of the *given* label. Above, a wrong label stands out. Below, it
# does not.

rows = np.arange(len(given))
wrong = given != clean
figure, axes = plt.subplots(2, 1, figsize=(6, 6), sharex=True, layout="constrained")
for ax, probabilities, found in zip(axes, (unseen, seen), (correction, blind), strict=True):
    own = probabilities[rows, given]
    bins = np.linspace(0, 1, 26)
    ax.hist(own[~wrong], bins, color="#0072B2", alpha=0.6, label="right labels")
    ax.hist(own[wrong], bins, color="#D55E00", label="wrong labels", hatch="//", edgecolor="white")
    ax.set(ylabel="rows", yscale="log")
    caught = (found.flagged & wrong).sum()
    what = "has not seen" if found is correction else "has seen"
    ax.set_title(f"A model that {what} the row finds {caught} of {wrong.sum()} wrong labels")
axes[1].set_xlabel("probability of the given label")
axes[1].legend(loc="upper left")
plt.show()
