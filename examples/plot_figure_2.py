"""
The paper's Figure 2
====================

Laxman, Mittal and Venkatesan let more and more SVMs of only seven rows vote on a table whose labels
an adversary has changed. With class-balanced draws the vote is soon right nearly everywhere; with
uniform draws it fails in the worst case, however many vote.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

from subsvms import SubSVMClassifier, adversaries
from subsvms.datasets import make_separable_gaussians

# %%
# The experiment
# --------------
# Two Gaussian classes of 1000 rows with a gap between them. The smaller class has a share ``beta``
# of the rows. The adversary flips three quarters as many labels as it has rows, and takes a share
# ``alpha`` of them from the larger class. This is a small version: two dimensions instead of 2, 16
# and 30, four values of ``beta`` and one corruption of each. ``python -m experiments run`` does the
# whole of it.

votes = 2 ** np.arange(9)
settings = list(product((0.05, 0.1, 0.25, 0.5), (0.0, 0.5, 1.0)))


def measure(beta, alpha, balanced):
    """Return the share of right labels after a vote of 1, 2, 4, ... SVMs."""
    X, clean = make_separable_gaussians(1000, 2, beta=beta, random_state=0)
    given = adversaries.directed_flips(clean, rho=0.75, alpha=alpha, random_state=0).labels
    bias = 0.5 if balanced else np.bincount(given).min() / len(given)
    model = SubSVMClassifier(subsample_size="log", sampling_bias=bias, random_state=0)
    fitted = (model.set_params(n_estimators=n).fit(X, given) for n in votes.tolist())
    return [np.mean(one.predict(X) == clean) for one in fitted]


accuracy = {
    balanced: np.array([measure(*setting, balanced) for setting in settings]) for balanced in (True, False)
}

# %%
# The picture
# -----------
# The average and the worst over all settings, as in the paper; thin lines are single settings.

figure, axes = plt.subplots(2, 1, figsize=(6, 6.8), sharex=True, sharey=True, layout="constrained")
for ax, balanced in zip(axes, (True, False), strict=True):
    ax.plot(votes, accuracy[balanced].T, color="0.8", linewidth=0.8)
    ax.plot(votes, accuracy[balanced].mean(axis=0), "o-", color="#0072B2", label="average case")
    ax.plot(votes, accuracy[balanced].min(axis=0), "s--", color="#D55E00", label="worst case")
    ax.set(ylabel="share of right labels", ylim=(0, 1.02))
    ax.grid(color="0.92")
axes[0].set_title("Class-balanced draws (p = 1/2): more votes are enough")
axes[1].set_title("Uniform draws: the worst case stays wrong")
axes[1].set(xlabel="SVMs that vote", xscale="log", xticks=votes, xticklabels=votes)
axes[1].minorticks_off()
axes[1].legend(loc="lower left")
plt.show()

# %%
# When do uniform draws fail? Where the flips leave few labels of a class, a uniform subset of seven
# rows often has none of them. Then most SVMs call everything the other class, and more votes do not
# help: a vote only amplifies what a single SVM gets right more often than not.

for (beta, alpha), line in zip(settings, accuracy[False], strict=True):
    if line[-1] < 0.9:
        print(f"beta = {beta:.2f}, alpha = {alpha:.1f}: {line[-1]:.0%} right after {votes[-1]} votes")
