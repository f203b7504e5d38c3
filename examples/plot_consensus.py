"""
Several annotators: who is right
================================

Three people looked at each row, or two, or one. ``find_consensus`` finds the label of each row from
their answers and from the features, and says how often each person is right.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from subsvms.annotators import find_consensus

# %%
# Five people
# -----------
# Each looked at some of the images. Eva takes every third 3 for an 8, and Finn clicks at random.

rng = np.random.default_rng(0)
X, clean = load_digits(return_X_y=True)
X, clean = X[:600], clean[:600]
errs = {"Ana": 0.05, "Ben": 0.15, "Cem": 0.3, "Eva": 0.1, "Finn": 0.9}
lines = []
for name, error_rate in errs.items():
    rows = np.flatnonzero(rng.random(600) < 0.5)
    label = np.where(rng.random(len(rows)) < error_rate, rng.integers(0, 10, len(rows)), clean[rows])
    if name == "Eva":
        label = np.where((clean[rows] == 3) & (rng.random(len(rows)) < 0.33), 8, label)
    lines.append(pd.DataFrame({"row": rows, "person": name, "label": label}))
answers = pd.concat(lines)
answers.head()

# %%
# Three ways to decide
# --------------------
# The majority, which knows neither who errs nor what a row looks like; people alone, weighed by how often
# they are right (``X=None``, as Dawid and Skene proposed); and people and features together.

alone = find_consensus(None, answers, random_state=0)
consensus = find_consensus(X / 16, answers, random_state=0)
answered = np.unique(answers["row"])
ways = {
    "majority": consensus.majority, "people alone": alone.labels, "people and features": consensus.labels,
}  # fmt: skip
wrong = {name: int(np.sum(labels[answered] != clean[answered])) for name, labels in ways.items()}
print(wrong, f"of {len(answered)} rows with an answer")
print(consensus)

# %%
# Who needs training
# ------------------
# The shares come with intervals, and nobody needed to know the truth.

people = consensus.people_to_frame()
print(people.iloc[:, :5])

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
bars = axes[0].barh(list(wrong), list(wrong.values()), color=["#767676", "#0072B2", "#D55E00"])
axes[0].bar_label(bars, padding=3)
axes[0].invert_yaxis()
axes[0].margins(x=0.15)
axes[0].set(xlabel="wrong labels", title="Features tell more than a third answer")
for place, person in enumerate(consensus.people):
    axes[1].plot([person.low, person.high], [place, place], color="0.6")
    axes[1].plot(person.right, place, "o", color="#D55E00")
axes[1].set(yticks=range(len(consensus.people)), yticklabels=[one.name for one in consensus.people])
axes[1].set(xlabel="share right", xlim=(0, 1), title="Finn clicks at random")
plt.show()

# %%
# Whom to ask next
# ----------------
# The rows about which one more answer would help most, and the first of them in words:

asked = consensus.ask_next(5)
print(asked)
print(consensus.explain(int(asked["row"].iloc[0])))
