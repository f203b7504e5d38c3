"""
An audit: fifty answers correct the rest
========================================

Where errors depend on the row, no automatic rule is safe, and the rule of subsvms does little. In
an audit a person answers fifty questions, and sets of labels that prove to be mostly wrong are then
changed unseen, with a guarantee.
"""

import matplotlib.pyplot as plt
import numpy as np

from subsvms import correct_labels
from subsvms.audit import Audit, SimulatedAnnotator, draw_rows, estimate_error_rate, run_audit

# %%
# Errors that depend on the row
# -----------------------------
# All wrong labels are rows of "high" that were called "low", and all lie in the right half of the
# table, where nearly every second one is wrong. The rule assumes noise that is the same for all
# rows of a class, and changes nothing here. This table was chosen to show an audit at its best; where
# errors are spread over all rows, the rule alone does as well.

rng = np.random.default_rng(0)
X = rng.random((1500, 2))
clean = np.where(X.sum(axis=1) > 1, "high", "low")
hidden = (clean == "high") & (X[:, 0] > 0.5) & (rng.random(1500) < 0.45)
given = np.where(hidden, "low", clean)
correction = correct_labels(X, given, random_state=0)
print(f"wrong as given: {(given != clean).sum()}, after the rule: {(correction.labels != clean).sum()}")

# %%
# Ask
# ---
# The audit says which row to ask about next. Here a simulated person answers, who knows the truth
# but errs in one answer of fifty; in your program it is a form, a labelling tool, or ``subsvms
# audit`` with its page in the browser.

person = SimulatedAnnotator(clean, error_rate=0.02, random_state=0)
audit = run_audit(Audit(correction, n_answers=50, random_state=0), person)
print(audit.claim)

# %%
# ``apply`` puts the answers, and the sets that passed, in place of what the rule did.

audited = audit.apply(correction)
print(f"wrong after the audit: {(audited.labels != clean).sum()}")

# %%
# Fifty answers, two ways to use them
# -----------------------------------
# A reviewer who looks at the fifty most suspicious labels corrects at most fifty. The audit asks as
# often.

by_hand = given.copy()
worst = np.argsort(correction.label_quality)[:50]
by_hand[worst] = clean[worst]
ways = {
    "as given": given,
    "the rule alone": correction.labels,
    "fifty worst, by hand": by_hand,
    "audit of fifty": audited.labels,
}
wrong = [(labels != clean).sum() for labels in ways.values()]

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
bars = ax.barh(list(ways), wrong, color=["#767676", "#0072B2", "#0072B2", "#D55E00"])
ax.bar_label(bars, padding=3)
ax.invert_yaxis()
ax.set(xlabel="wrong labels of 1500", title=f"Fifty answers corrected {wrong[0] - wrong[-1]} labels")
ax.margins(x=0.1)
plt.show()

# %%
# Where it looked, and what it changed
# ------------------------------------
# Rows above the dashed line are "high". Questions are drawn partly at random, everywhere: that is what
# the guarantee rests on. Most of them lie where labels are suspicious.

figure, ax = plt.subplots(figsize=(6, 5.6), layout="constrained")
action = audited.action
still = audited.labels != clean
ax.scatter(*X[action == "keep"].T, s=8, color="0.75", label="as given")
ax.scatter(*X[action == "audited"].T, s=16, color="#0072B2", label="changed unseen")
ax.scatter(*X[action == "verified"].T, s=34, color="#D55E00", marker="^", label="asked")
ax.scatter(*X[still].T, s=40, facecolors="none", edgecolors="black", linewidths=0.8, label="wrong in the end")
ax.plot([0, 1], [1, 0], color="black", linewidth=0.8, linestyle="--")
ax.set(xlabel="first column", ylabel="second column", title="The audit found where the wrong labels lie")
ax.legend(loc="lower left", framealpha=1)
plt.show()

# %%
# How many are wrong in all?
# --------------------------
# That is another question, and the answers of an audit, which prefer suspicious rows, do not answer
# it. Plain random rows do:

rows = draw_rows(correction, 50, random_state=0)
print(estimate_error_rate(correction, {row: person(row) for row in rows}))
