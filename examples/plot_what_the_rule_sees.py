"""
What the rule sees
==================

Votes, the noise behind them, and a probability for each label: the three steps from a table to a
verdict, as pictures.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from subsvms import adversaries, correct_labels
from subsvms.displays import VotesDisplay

# %%
# Two classes that overlap a little. A quarter of class 1 is labelled 0, and no row of class 0 is
# labelled 1.

X, clean = make_classification(
    2000, 10, n_informative=6, n_redundant=0, class_sep=1.4, flip_y=0, random_state=1
)
given = adversaries.class_conditional_flips(clean, [[1.0, 0.0], [0.25, 0.75]], random_state=0).labels
correction = correct_labels(X, given, random_state=0)

# %%
# The votes
# ---------
# Each row is judged by SVMs that were not trained on it. The mean of their values for class 1 lies
# between -1 (all against it) and 1 (all for it). The rows labelled 0 have a second heap on the
# right: these are the wrong labels.

display = VotesDisplay.from_correction(correction)
display.ax_.set_title("Wrong labels are a heap on the other side")
plt.show()

# %%
# The line beyond which a label is flagged is not at zero, where the majority turns, and there is
# only one. Why?
#
# The noise
# ---------
# Without noise, nearly every row far on the right would be labelled 1. Here only three quarters
# are. That ceiling is the noise of class 1; on the left the floor is zero, so class 0 has none.
# ``correction.noise`` has both with intervals.

values = correction.votes.mean_value
print(correction.noise)

bins = np.linspace(-1, 1, 21)
place = np.digitize(values[:, 1], bins) - 1
used = [b for b in range(20) if np.sum(place == b) >= 10]
labelled, true = (np.array([labels[place == b].mean() for b in used]) for labels in (given, clean))

figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
centres = (bins[:-1] + bins[1:])[used] / 2
order = np.argsort(values[:, 1])
ax.plot(
    values[order, 1],
    correction.noise.expect(values)[order, 1],
    color="#0072B2",
    linewidth=2,
    label="truly 1, as the rule thinks",
)
ax.plot(
    centres,
    true,
    "o",
    color="black",
    fillstyle="none",
    markersize=8,
    label="truly 1, which the rule cannot see",
)
ax.plot(centres, labelled, "s", color="#D55E00", label="labelled 1, which it sees")
ax.axhline(
    1 - correction.noise.rates[1], color="#D55E00", linestyle=":", label="ceiling: 1 - noise of class 1"
)
ax.set(
    xlabel="out-of-bag mean value of class 1",
    ylabel="share of the rows",
    title="The ceiling of the labels is the noise",
)
ax.legend(loc="upper left", fontsize=9)
plt.show()

# %%
# The verdict
# -----------
# From the votes, the noise and the given label follows the probability that the label is wrong. For
# rows labelled 0 it grows with the votes; those above one half are flagged. For rows labelled 1 it
# stays near zero even where most SVMs are against them: class 0 is never labelled 1 here, so such a
# row must be an odd member of class 1. A plain majority would change it.

figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
posterior = correction.judgement.posterior
for number, colour, marker in ((0, "#0072B2", "o"), (1, "#D55E00", "^")):
    rows = given == number
    doubt = 1 - posterior[rows, number]
    ax.plot(values[rows, 1], doubt, marker, color=colour, markersize=3.5, label=f"labelled {number}")
ax.axhline(0.5, color="0.4", linewidth=0.9, linestyle="--")
ax.axvline(0.0, color="0.4", linewidth=0.9, linestyle=":")
ax.set(
    xlabel="out-of-bag mean value of class 1",
    ylabel="probability that the label is wrong",
    title="The same votes, another label, another verdict",
)
ax.legend(loc="upper left")
plt.show()

against = (given == 1) & (values[:, 1] < 0)
right = (clean[against] == 1).sum()
print(f"{against.sum()} rows labelled 1 have most SVMs against them; {right} of these labels are right")
