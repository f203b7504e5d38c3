"""Check each claim of the paper's list (Section 4.2), and those about its Figure 2, against the rows."""

import pandas as pd

from experiments.protocol import UNWEIGHTED, WEIGHTED
from experiments.synthetic import summarise
from experiments.tables import FAR, METHODS, SHOWN, compare, measured

MUCH = 0.05  # "significantly", in the paper's words


def answer(runs, synthetic=None):
    """Return (sentence, baselines, answer, how it was counted) for each claim that the rows can answer."""
    means = measured(runs, "bac")["mean"].unstack("method").reindex(columns=METHODS)
    means = means[means.index.get_level_values("alpha").isin(SHOWN)].dropna()
    found = []
    for kind, suffix in (("W=1", UNWEIGHTED), ("W tuned", "")):
        names = {name + suffix: name for name in WEIGHTED} | {"SubSVMs": "SubSVMs"}
        if len(means):  # otherwise the baselines were not run
            part = means[list(names)].rename(columns=names)
            found += [(sentence, kind, *rest) for sentence, *rest in answer_table_2(part)]
    return found + [(sentence, "", *rest) for sentence, *rest in figure_claims(synthetic)]


def answer_table_2(means):
    """Return (sentence, answer, how it was counted) for one kind of baselines."""
    others = means[list(WEIGHTED)]
    ours, best, oracle = means["SubSVMs"], others.max(axis=1), means["Oracle-SVM"]
    rivals = {name: means[name] for name in WEIGHTED}
    n = len(means)
    better, worse = int((ours >= best + MUCH).sum()), int((ours <= best - MUCH).sum())
    noisy = means.index.get_level_values("alpha") != "clean"
    noisy_better = int((ours[noisy] >= best[noisy] + MUCH).sum())
    blind = int((oracle >= rivals["Blind-SVM"] - 1e-9).sum())
    over_cv = {name: int((rivals[name] >= rivals["CV-SVM"] - 1e-9).sum()) for name in WEIGHTED[:3]}
    similar = int(((rivals["Bag-SVM"] - oracle).abs() < MUCH).sum())
    lowest = int((rivals["CV-SVM"] <= means.drop(columns="CV-SVM").min(axis=1) + 1e-9).sum())
    much_lower = int((rivals["CV-SVM"] <= means.drop(columns="CV-SVM").max(axis=1) - MUCH).sum())
    return [
        (
            "SubSVMs is almost always significantly better than all the other methods (by 5 % or more)",
            yes(better > 0.9 * n),
            f"better than the best other by {MUCH} in {better} of {n} cells, "
            f"and in {noisy_better} of the {noisy.sum()} noisy ones",
        ),
        ("SubSVMs is never significantly worse", yes(worse == 0), f"worse by {MUCH} in {worse} of {n} cells"),
        ("For imbalanced data the advantage increases for smaller alpha", *advantage(ours - best)),
        ("Oracle-SVM is at least as good as Blind-SVM", yes(blind == n), f"in {blind} of {n} cells"),
        (
            "Oracle-SVM, Blind-SVM and Bag-SVM are better than CV-SVM",
            yes(min(over_cv.values()) == n),
            ", ".join(f"{name}: at least as good in {count} of {n}" for name, count in over_cv.items()),
        ),
        (
            "Bag-SVM's performance is similar to that of Oracle-SVM",
            yes(similar == n),
            f"less than {MUCH} apart in {similar} of {n} cells",
        ),
        (
            "CV-SVM is the worst performing method and is often significantly worse than others",
            yes(lowest > n / 2 and much_lower > n / 4),
            f"worst in {lowest} of {n} cells, worse than the best by {MUCH} in {much_lower}",
        ),
    ]


def yes(holds):
    """Return the answer as a word."""
    return "yes" if holds else "no"


def advantage(lead):
    """Answer whether the lead grows from alpha = 1 over 0.5 to 0 on the imbalanced sets."""
    wide = lead.unstack("alpha")
    wide = wide[[name for name in ("1.0", "0.5", "0.0") if name in wide]]
    wide = wide[[name[0] in "aw" for name in wide.index]].dropna()
    if wide.shape[1] < 3 or wide.empty:
        return "not run", "needs alpha = 1, 0.5 and 0 on a1a to a5a and w1a to w5a"
    grows = int(((wide["0.0"] > wide["0.5"]) & (wide["0.5"] > wide["1.0"])).sum())
    means = ", ".join(f"{value:.2f}" for value in wide.mean())
    return yes(grows == len(wide)), f"on {grows} of {len(wide)} sets; mean lead at alpha = 1, 0.5, 0: {means}"


def figure_claims(synthetic):
    """Answer the claims about Figure 2."""
    if synthetic is None or synthetic.empty:
        return []
    at = summarise(synthetic).xs(128, level="J").groupby("bias")
    at = at.agg(worst=("worst", "min"), worst_table=("worst_table", "min"), mean=("mean", "mean"))
    half, uniform = at.loc["half"], at.loc["uniform"]
    drops = (half - uniform) * 100
    return [
        (
            "Near-perfect error-correction is achieved using p = 1/2 for J as small as 2^7",
            yes(half["mean"] > 0.99 and half["worst"] > 0.95),
            f"average {half['mean']:.3f}, worst beta and alpha {half['worst']:.3f}, worst single table "
            f"{half['worst_table']:.3f}",
        ),
        (
            "For p = beta the worst and average case are worse by about 60 % and 20 %",
            yes(50 <= drops["worst"] <= 70 and 15 <= drops["mean"] <= 25),
            f"by {drops['worst']:.0f} and {drops['mean']:.0f} points",
        ),
    ]


def closeness(runs, name):
    """Return how close each method comes to the paper's table: cells, mean and worst absolute difference."""
    size = compare(runs, name)["difference"].abs().dropna().groupby("method")
    far = size.agg(lambda differences: int((differences > FAR).sum()))
    return pd.DataFrame({"cells": size.size(), "mean": size.mean(), "worst": size.max(), "far": far})
