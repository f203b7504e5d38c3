"""Section 4.1: synthetic data, and how the accuracy of corrected labels grows with the number of SVMs.

1000 rows of two Gaussians in d = 2, 16 and 30 dimensions, beta from 0.05 to 0.5, rho = 0.75, alpha from 0 to
1, each pair corrupted 10 times; subsets of s = log l = 7 rows, drawn with p = 1/2 or uniformly. The paper's
figure shows the worst and the average case against J. We read "worst case" as the worst pair of beta and
alpha, averaged over its corruptions: that gives the paper's drop. The worst single table is a thin line.

The paper calls its second way "uniform sampling (p = beta)". Uniform over the given rows means that p is the
share of the smaller *given* class, and only that gives its numbers; with the clean share the average is 0.96.
"""

from itertools import product

import numpy as np

from experiments.protocol import RHO, seed_of
from subsvms import SubSVMClassifier, adversaries
from subsvms.datasets import make_separable_gaussians

BETAS = tuple(round(0.05 * k, 2) for k in range(1, 11))
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
VOTES = tuple(2**k for k in range(9))
TITLES = {"half": "p = 1/2", "uniform": "uniform, p = beta"}
BIASES = tuple(TITLES)


def list_settings(dimensions, corruptions):
    """Return (d, beta, corruption) for each batch of rows."""
    return list(product(dimensions, BETAS, range(corruptions)))


def do_setting(d, beta, corruption):
    """Return the rows of one synthetic table: every alpha, bias and number of SVMs."""
    X, clean = make_separable_gaussians(
        1000, d, beta=beta, random_state=seed_of("gaussians", d, beta, corruption)
    )
    rows = []
    for alpha, bias in product(ALPHAS, BIASES):
        seed = seed_of("synthetic", d, beta, corruption, alpha)
        given = adversaries.directed_flips(clean, rho=RHO, alpha=alpha, random_state=seed).labels
        p = 0.5 if bias == "half" else np.bincount(given).min() / len(given)
        for n in VOTES:
            model = SubSVMClassifier(
                n_estimators=n, subsample_size="log", sampling_bias=p, random_state=seed, n_jobs=1
            )  # fmt: skip
            accuracy = np.mean(model.fit(X, given).predict(X) == clean)
            rows.append({
                "d": d, "beta": beta, "corruption": corruption, "alpha": alpha, "bias": bias, "J": n,
                "accuracy": accuracy,
            })  # fmt: skip
    return rows


def summarise(rows):
    """Return accuracy by bias, d and J: for the worst (beta, alpha), for the worst table, and on average."""
    by_pair = rows.groupby(["bias", "d", "J", "beta", "alpha"])["accuracy"].agg(["mean", "min"])
    groups = by_pair.groupby(["bias", "d", "J"])
    return groups.agg(worst=("mean", "min"), worst_table=("min", "min"), mean=("mean", "mean"))


def make_table(rows):
    """Return the figure as (title, heads, lines), cells as text."""
    found = summarise(rows)
    heads = ["", "d", *(f"J={n}" for n in sorted(set(rows["J"])))]
    lines = []
    for column, what in (("worst", "worst case"), ("worst_table", "worst single table"), ("mean", "average")):
        wide = found[column].unstack("J")
        for (bias, d), values in wide.iterrows():
            lines.append([f"{what}, {TITLES[bias]}", str(d), *(f"{value:.3f}" for value in values)])
    return "Figure 2: accuracy of the corrected labels", heads, lines


def draw(rows, path):
    """Draw the paper's Figure 2: worst and average case, class-balanced above, uniform below."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = summarise(rows)
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 6.4), sharex=True, sharey=True, layout="constrained")
    for line, bias in zip(axes, BIASES, strict=True):
        for ax, column, what in zip(line, ("worst", "mean"), ("worst case", "average case"), strict=True):
            for d, marker in zip(sorted({d for _, d, _ in found.index}), "osv", strict=False):
                part = found.loc[bias, d][column]
                (drawn,) = ax.plot(part.index, part.to_numpy(), marker=marker, markersize=4, label=f"d = {d}")
                if column == "worst":
                    table = found.loc[bias, d]["worst_table"]
                    ax.plot(table.index, table.to_numpy(), color=drawn.get_color(), linewidth=0.5)
            ax.set_title(f"{what}, {TITLES[bias]}", fontsize=10)
            ax.set_xscale("log", base=2)
            ax.grid(color="0.9")
    axes[0, 0].set_ylim(0, 1.02)
    axes[0, 0].plot([], [], color="0.4", linewidth=0.5, label="worst single table")
    axes[0, 0].legend(loc="lower right", fontsize=8)
    for ax in axes[1]:
        ax.set_xlabel("SVMs, J")
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy of the labels")
    figure.savefig(path, dpi=80)
    plt.close(figure)
