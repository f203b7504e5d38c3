"""
Who made the wrong labels
=========================

Four people labelled a table, each row was seen by one of them, and nobody knows who is careful.
``by="annotator"`` asks for the wrong labels by person; on the command line it is ``subsvms correct
reviews.csv --label tone --by annotator``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

from subsvms import correct_table
from subsvms.displays import NoiseMatrixDisplay

# %%
# Four people
# -----------
# Ana hardly errs. Ben errs in either direction. Cleo calls every third negative review positive,
# and Dan clicks at random.

rng = np.random.default_rng(0)
X, numbers = make_classification(
    2000, 8, n_informative=5, n_redundant=0, class_sep=1.6, flip_y=0, random_state=3
)
clean = np.where(numbers == 1, "positive", "negative")
annotator = rng.choice(["Ana", "Ben", "Cleo", "Dan"], 2000, p=[0.4, 0.3, 0.2, 0.1])
chance = pd.DataFrame(
    {"Ana": [0.01, 0.01], "Ben": [0.15, 0.15], "Cleo": [0.35, 0.0], "Dan": [0.5, 0.5]},
    index=["negative", "positive"],
)
errs = rng.random(2000) < [chance.loc[tone, who] for tone, who in zip(clean, annotator, strict=True)]
frame = pd.DataFrame(X, columns=[f"score {i}" for i in range(8)]).assign(
    annotator=annotator, tone=np.where(errs, np.where(clean == "positive", "negative", "positive"), clean)
)
frame.head()

# %%
# Who made the wrong labels
# -------------------------
# A column that is named in ``by`` is not a feature: who labelled a row must not decide what is
# right. The report of the correction has a table by annotator, with intervals; here it is counted
# by hand from ``correction.flagged``.

correction = correct_table(frame, label="tone", by="annotator")
print(correction)
people = (
    frame.assign(flagged=correction.flagged, wrong=errs).groupby("annotator")[["flagged", "wrong"]].mean()
)
people.style.format("{:.1%}")

# %%
# The rule does not know about the people: it takes the noise to be the same for everybody, by
# class. Still the shares come out close to the truth, and their order is right.

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
places = np.arange(len(people))
ax.hlines(places, people["flagged"], people["wrong"], color="0.7")
ax.plot(people["wrong"], places, "o", color="black", fillstyle="none", markersize=11, label="really wrong")
ax.plot(people["flagged"], places, "o", color="#D55E00", label="flagged")
ax.set(
    yticks=places,
    yticklabels=people.index,
    xlabel="share of the person's labels",
    xlim=(0, None),
    ylim=(3.5, -0.5),
    title="Dan's labels are worthless, and it shows",
)
ax.xaxis.set_major_formatter("{x:.0%}")
ax.grid(axis="x", color="0.9")
ax.legend(loc="upper right")
plt.show()

# %%
# What kind of errors
# -------------------
# Corrected labels in place of true ones show the habits of each person: Cleo errs in one direction
# only.

figure, axes = plt.subplots(2, 2, figsize=(6, 5.6), layout="constrained", sharex=True, sharey=True)
for ax, who in zip(axes.flat, people.index, strict=True):
    rows = annotator == who
    NoiseMatrixDisplay.from_predictions(correction.labels[rows], frame["tone"][rows], ax=ax, colorbar=False)
    ax.set(title=who, xlabel="", ylabel="")
figure.suptitle("Cleo errs in one direction, Ben and Dan in both")
figure.supxlabel("label given")
figure.supylabel("label after the correction")
plt.show()
