"""
Fix, drop or weight?
====================

Labels are corrected because something is trained on them. This example trains models on a table
with wrong labels, left as they are, fixed, dropped and weighted, and tests them on clean data. The
table was chosen to show a gain; on many others robust models gain nothing, as the page "Beside
others" shows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from subsvms import adversaries, correct_labels

# %%
# One table, four ways
# --------------------
# Is a digit even or odd? 30 % of the training labels are wrong, four of five of them in the larger
# class.

X, digit = load_digits(return_X_y=True)
X, X_test, clean, y_test = train_test_split(X, digit % 2, test_size=0.4, random_state=0)
given = adversaries.directed_flips(clean, error_rate=0.3, alpha=0.8, random_state=0).labels

# %%
# What happens to a suspicious label is the ``action``. The result is in ``labels`` where labels are
# fixed, and in ``sample_weight`` where rows are dropped (with a weight of zero) or weighted (with
# the probability of their label).

fixed, dropped, weighted = (
    correct_labels(X, given, action=action, random_state=0) for action in ("fix", "drop", "weight")
)
print(fixed)
print(f"wrong labels: {np.mean(given != clean):.1%}, fixed: {np.mean(fixed.labels != clean):.1%}")

everything = np.ones(len(given))
ways = {
    "as given": (given, everything),
    "weight": (given, weighted.sample_weight),
    "drop": (given, dropped.sample_weight),
    "fix": (fixed.labels, everything),
    "true labels": (clean, everything),
}

# %%
# Four models
# -----------
# The true labels, which nobody has, show how much could be gained at most.

models = {
    "decision tree": DecisionTreeClassifier(random_state=0),
    "random forest": RandomForestClassifier(100, random_state=0),
    "SVM": SVC(),
    "logistic regression": LogisticRegression(max_iter=2000),
}
scores = np.array(
    [
        [
            model.fit(X / 16, labels, sample_weight=weight).score(X_test / 16, y_test)
            for labels, weight in ways.values()
        ]
        for model in models.values()
    ]
)

figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
styles = [("#767676", "s"), ("#CC79A7", "v"), ("#0072B2", "^"), ("#D55E00", "o"), ("black", "|")]
for column, (name, (colour, marker)) in enumerate(zip(ways, styles, strict=True)):
    ax.plot(
        scores[:, column],
        np.arange(len(models)),
        marker,
        color=colour,
        markersize=10,
        markeredgewidth=2,
        label=name,
    )
ax.set(yticks=range(len(models)), yticklabels=models, xlabel="accuracy on clean test data", ylim=(3.5, -0.5))
ax.set_title("Here labels that are fixed or dropped help every model", loc="right")
ax.grid(axis="x", color="0.9")
ax.xaxis.set_major_formatter("{x:.0%}")
figure.legend(loc="outside lower center", ncols=3)
plt.show()

# %%
# Which of the two is better depends on the model and on luck. Weights are not for every model: a
# decision tree that grows until its leaves are pure separates a wrong label from its neighbours
# however little it weighs.
