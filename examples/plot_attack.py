"""
Attack a table, and correct it
==============================

`subsvms.adversaries` has seven ways to make labels wrong, from chance to an attack on SVMs
themselves. All of them flip as many labels here. Three of them are mostly undone. In the
other four cases the rule changes nothing: all flipped labels stay.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.preprocessing import minmax_scale

from subsvms import adversaries, correct_labels

# %%
# Seven attacks
# -------------
# Two interleaving half circles; every attack flips 15 % of the labels.

X, clean = make_moons(600, noise=0.2, random_state=0)
X = minmax_scale(X)
attacks = {
    name: adversaries.attack(name, X, clean, error_rate=0.15, random_state=0)
    for name in sorted(adversaries.ATTACKS)
}
corrections = {name: correct_labels(X, attack.labels, random_state=0) for name, attack in attacks.items()}

# %%
# Where the wrong labels are
# --------------------------
# A dark edge marks wrong labels that are corrected, a black dot those that are wrong after the
# correction.

figure, axes = plt.subplots(4, 2, figsize=(6, 9.5), sharex=True, sharey=True, layout="constrained")
for ax, (name, attack) in zip(axes.flat, attacks.items(), strict=False):
    left = corrections[name].labels != clean
    for number, colour in enumerate(("#56B4E9", "#E69F00")):
        rows = attack.labels == number
        ax.scatter(*X[rows & ~attack.flipped].T, s=7, color=colour)
        ax.scatter(*X[rows & attack.flipped].T, s=16, color=colour, edgecolors="black", linewidths=0.8)
    ax.scatter(*X[left].T, s=16, color="black")
    ax.set(title=f"{name}: {attack.flipped.sum()} wrong, {left.sum()} left", xticks=[], yticks=[])
axes.flat[-1].axis("off")
plt.show()

# %%
# What can be corrected
# ---------------------
# Errors that are spread out contradict the right labels around them. Errors along the border, or a
# whole region that changes its label, look exactly like a table with another border: nothing in the
# table distinguishes the two, and the rule leaves labels alone rather than guess.

names = sorted(attacks, key=lambda name: (corrections[name].labels != clean).sum())
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for place, name in enumerate(names):
    before, after = attacks[name].flipped.sum(), (corrections[name].labels != clean).sum()
    ax.plot([before, after], [place, place], color="0.7", zorder=0)
    ax.plot(
        before,
        place,
        "o",
        color="black",
        fillstyle="none",
        markersize=9,
        label="given" if place == 0 else None,
    )
    ax.plot(
        after, place, "o", color="#D55E00", markersize=8, label="after the correction" if place == 0 else None
    )
ax.set(yticks=range(len(names)), yticklabels=names, xlabel="wrong labels", xlim=(0, None))
ax.set_title("Errors that are spread out are undone")
ax.grid(axis="x", color="0.9")
figure.legend(loc="outside lower center", ncols=2)
plt.show()

# %%
# If you know that the classes are well separated, and how many labels may be wrong, the paper's
# plain vote can be asked to go further. Along the border it corrects some labels on balance. But on
# clean labels it does harm, so this is not a default:

for title, labels in (("boundary", attacks["boundary"].labels), ("clean labels", clean)):
    plain = correct_labels(X, labels, rule="majority", max_error_rate=0.15, random_state=0)
    before, after = (labels != clean).sum(), (plain.labels != clean).sum()
    print(f"{title}: {before} wrong before, {after} after the plain vote")
