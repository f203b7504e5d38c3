"""
What a verdict withstands
=========================

A label is changed because of other labels. What if those are wrong? A certificate says how many of
them, chosen by an adversary who knows everything, cannot turn the verdict on a row.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from subsvms import SubSVMClassifier, correct_labels
from subsvms.certificates import certify, find_turning_flips
from subsvms.displays import CertifiedCurveDisplay
from subsvms.ensemble import LinearCommittee

X, y = load_breast_cancer(return_X_y=True)
X = minmax_scale(X)

# %%
# Three committees
# ----------------
# The vote that corrects labels comes with a certificate: ``correction.withstands``, a number for
# each row. It assumes nothing about the data. The fewer rows each SVM sees, the fewer SVMs one
# wrong label can reach, so SVMs of log n rows withstand more than those of log-squared n rows.
#
# `subsvms.ensemble.LinearCommittee` was made to be certified. Its verdict is a weighted sum
# of the labels, so the worst choice of labels is known exactly, and there is no confidence level.
# It judges a little worse than the vote: decide with the vote, certify with the committee.

usual = correct_labels(X, y, estimator=SubSVMClassifier(), random_state=0)
small = correct_labels(X, y, estimator=SubSVMClassifier(subsample_size="log"), random_state=0)
committee = LinearCommittee(random_state=0).fit(X, y)
certificate = certify(committee, n_carriers=8)

figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
CertifiedCurveDisplay.from_predictions(certificate.withstands, ax=ax, name="linear committee, exact")
CertifiedCurveDisplay.from_predictions(small.withstands, ax=ax, name="SVMs of log n rows", linestyle="--")
CertifiedCurveDisplay.from_predictions(usual.withstands, ax=ax, name="SVMs of log² n rows", linestyle=":")
share = np.mean(certificate.withstands >= 50)
ax.set(
    xlabel="wrong labels, chosen by an adversary",
    title=f"{share:.0%} of the verdicts withstand any 50 of 569 labels",
)
plt.show()

# %%
# One row
# -------
# Somebody doubts the verdict on row 4. So many labels would have to be wrong, all of them:

row = 4
flips = find_turning_flips(committee, row)
print(f"The verdict on row {row} withstands any {certificate.withstands[row]} wrong labels;")
print(f"{len(flips.rows)} turn it, for instance those of rows {', '.join(map(str, flips.rows[:6]))}, ...")

# %%
# That can be tried: change these labels, train the committee again, and look. All but the last of
# them are not enough.

for n_changed in (len(flips.rows) - 1, len(flips.rows)):
    changed = y.copy()
    changed[flips.rows[:n_changed]] = flips.labels[:n_changed]
    again = certify(LinearCommittee(random_state=0).fit(X, changed), rows=[row])
    print(f"{n_changed} labels changed: the verdict is {committee.classes_[again.verdicts[0]]}")

# %%
# The labels that carry it
# ------------------------
# No label carries more than a few percent of the margin. These are not rows that happen to be
# similar: they are the largest terms of the sum.

carriers, carried = certificate.carriers[row], certificate.carried[row]
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
names = [f"row {number}, {'benign' if y[number] else 'malignant'}" for number in carriers]
ax.barh(names, carried, color=np.where(y[carriers] == 1, "#0072B2", "#D55E00"))
ax.invert_yaxis()
ax.xaxis.set_major_formatter("{x:.1%}")
ax.set(xlabel="share of the margin that is lost if this label is wrong")
ax.set_title(f"No single label turns the verdict on row {row}: “malignant”", loc="right")
plt.show()

# %%
# A certificate says that a verdict is stable, not that it is right: many wrong labels can agree.
