"""
Ten answers: do I believe the rule?
===================================

The rule takes what looks like noise for noise. Whether its changes are right can be asked: about ten
labels, drawn at random among those that it changed, are shown to a person.
"""

import matplotlib.pyplot as plt
import numpy as np

from subsvms import correct_labels
from subsvms.audit import SimulatedAnnotator, confirm, run_audit

# %%
# Two tables that are the same
# ----------------------------
# Whether a part is defective depends on its temperature, and every sixth label is on the other side. In
# the first table these labels are errors. In the second nobody erred: parts differ, and one in six is
# defective although it stayed cool. The numbers are the same in both, so the rule changes the same
# labels. No program can know which table it has; somebody who looks at the parts can.

rng = np.random.default_rng(0)
X = rng.random((1000, 4))
hot = X[:, 0] > 0.5
other = rng.random(1000) < 1 / 6
given = np.where(hot ^ other, "defective", "fine")
truth = {"errors": np.where(hot, "defective", "fine"), "no errors": given}
correction = correct_labels(X, given, random_state=0)
print(correction)

# %%
# Ask
# ---
# ``confirm`` asks until it is clear whether most of the changes are right, and says what follows. Here a
# simulated person answers; with a file and a browser it is ``subsvms confirm FOLDER``.

ends = {}
for name, labels in truth.items():
    confirmation = run_audit(confirm(correction, random_state=0), SimulatedAnnotator(labels))
    ends[name] = confirmation.apply(correction)
    print(f"{name}, after {confirmation.claim.n_answers} answers: {confirmation.claim}")

# %%
# What is wrong in the end
# ------------------------
# Where the changes were right they stay, and elsewhere the labels are as they were given.

figure, axes = plt.subplots(1, 2, figsize=(7, 2.4), layout="constrained", sharex=True, sharey=True)
for ax, (name, labels) in zip(axes, truth.items(), strict=True):
    ways = {"as given": given, "the rule": correction.labels, "confirmed": ends[name].labels}
    wrong = [int(np.sum(found != labels)) for found in ways.values()]
    bars = ax.barh(list(ways), wrong, color=["#767676", "#0072B2", "#D55E00"])
    ax.bar_label(bars, padding=3)
    ax.set(title=f"A table with {name}", xlabel="wrong labels of 1000")
    ax.margins(x=0.18)
axes[0].invert_yaxis()
plt.show()
