"""
Your own model, from a file
===========================

You have a table, a model of your own, and its probabilities in a CSV file. subsvms takes them in place
of its SVMs, and everything else is as usual: labels, report, review, audit.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.neural_network import MLPClassifier

from subsvms import adversaries

# %%
# A table, and out-of-sample probabilities
# ----------------------------------------
# The model is a small network. Each row is judged by one that has not seen it (``cross_val_predict``):
# a model that has seen the row repeats the label that it has learned, wrong ones as well.

folder = Path(tempfile.mkdtemp())
X, clean = load_digits(return_X_y=True)
X, clean = X[clean < 5], clean[clean < 5]
given = adversaries.uniform_flips(clean, error_rate=0.1, random_state=0).labels
network = MLPClassifier((32,), max_iter=30, random_state=0)
p = cross_val_predict(network, X / 16, given, method="predict_proba", cv=3)
table = pd.DataFrame(X.astype(int), columns=[f"pixel {i}" for i in range(64)]).assign(digit=given)
table.to_csv(folder / "digits.csv", index=False)
pd.DataFrame(p, columns=[f"p_{name}" for name in range(5)]).to_csv(folder / "network.csv", index=False)

# %%
# One command
# -----------
# The columns of probabilities are recognised by the names of the classes. They may also be columns of
# the table itself (``--pred-probs p_0 --pred-probs p_1`` and so on). In Python it is
# ``correct_table(frame, label="digit", pred_probs=...)``.

words = [sys.executable, "-m", "subsvms", "correct", "digits.csv", "--label", "digit"]
words += ["--pred-probs", "network.csv"]
done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
print(done.stdout)

# %%
# What it found
# -------------
# The other columns are not wasted: they say whether the rows to change differ from those that they
# would join.

corrected = pd.read_csv(folder / "digits.subsvms/corrected.csv")
issues = pd.read_csv(folder / "digits.subsvms/issues.csv")
ways = {
    "as given": given,
    "network and subsvms": corrected["digit"],
    "the network's classes": p.argmax(axis=1),
}
wrong = [int(np.sum(np.asarray(labels) != clean)) for labels in ways.values()]
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
bars = ax.barh(list(ways), wrong, color=["#767676", "#D55E00", "#0072B2"])
ax.bar_label(bars, padding=3)
ax.invert_yaxis()
ax.margins(x=0.1)
ax.set(xlabel=f"wrong labels of {len(clean)}", title="Judged by a network, corrected by the rule")
plt.show()

# %%
# The worst labels, as images:

figure, axes = plt.subplots(2, 6, figsize=(7, 2.8), layout="constrained")
for ax, (_, line) in zip(axes.flat, issues.head(12).iterrows(), strict=True):
    ax.imshow(X[int(line["row"]) - 1].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{line['given_label']}, or {line['suggested_label']}?", fontsize=9)
    ax.axis("off")
figure.suptitle("Which digit is it?")
plt.show()
