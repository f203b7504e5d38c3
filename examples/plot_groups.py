"""
Groups: visits of one patient
=============================

If several rows belong together, a wrong label that all of them share is hidden: whoever learned from one
row finds the label of the others right. ``groups=`` names what belongs together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from subsvms import correct_table

# %%
# Three visits each
# -----------------
# 150 patients came three times and hardly changed in between. The diagnosis of every tenth patient is
# wrong, in all three rows.

rng = np.random.default_rng(0)
patient = np.repeat(np.arange(150), 3)
X = rng.normal(size=(150, 5))[patient] + 0.01 * rng.normal(size=(450, 5))
clean = X[:, 0] + X[:, 1] > 0
wrong = patient % 10 == 0
frame = pd.DataFrame(X, columns=["iron", "sodium", "zinc", "folate", "iodine"]).round(3)
frame = frame.assign(patient=patient, ill=clean ^ wrong)
frame.head()

# %%
# With and without groups
# -----------------------
# On the command line it is ``subsvms correct visits.csv --label ill --groups patient``. Without it,
# ``groups=`` has a default: rows that are far nearer to each other than to any neighbour are found, and
# taken for copies. Here each patient has a name, which is surer.

alone = correct_table(frame.assign(visit=np.arange(450)), label="ill", groups="visit", exclude=["patient"])
grouped = correct_table(frame, label="ill", groups="patient")
for name, correction in {"every row alone": alone, "groups of visits": grouped}.items():
    found = roc_auc_score(wrong, -correction.label_quality)
    print(f"{name}: {(correction.flagged & wrong).sum()} of {wrong.sum()} flagged, AUC {found:.2f}")

# %%
# The picture shows the quality of each given label. Without groups the wrong ones look as good as the
# right ones, because the two other visits vouch for them.

figure, axes = plt.subplots(2, 1, figsize=(6, 5), sharex=True, layout="constrained")
bins = np.linspace(0, 1, 26)
for ax, correction in zip(axes, (alone, grouped), strict=True):
    ax.hist(correction.label_quality[~wrong], bins, color="#0072B2", alpha=0.6, label="right labels")
    ax.hist(
        correction.label_quality[wrong], bins, color="#D55E00", hatch="//", edgecolor="white",
        label="wrong labels",
    )  # fmt: skip
    caught = (correction.flagged & wrong).sum()
    what = "every row alone" if correction is alone else "visits of a patient together"
    ax.set(ylabel="rows", title=f"Judged with {what}: {caught} of {wrong.sum()} found")
axes[0].legend(loc="upper center")
axes[1].set_xlabel("label quality")
plt.show()
