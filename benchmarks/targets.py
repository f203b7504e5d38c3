"""Measure what a quality target costs, and whether intervals of a score hold.

    python -m benchmarks.targets target            # a quarter of an hour; finished cells are not repeated
    python -m benchmarks.targets score             # an hour
    python -m benchmarks.targets report

*Target.* Tables with real noise (SUBSVMS_REAL_NOISE), and the paper's data (SUBSVMS_DATA) with 10 % of wrong
labels of four kinds. Perfect people. Each is certified 1,000 times with the order of suspicion of a
correction, with a random order, and with the worst one (all wrong rows are the safest). *Plain*: answers of a
random sample that certifies the same in half of the draws, with the same credit for corrected rows; its size
is known beforehand here, from the truth. *False*: share of runs that leave more wrong labels than claimed;
*limit*: 5 % and two standard errors. *Forecast*: what was said before any answer, and after 60.

*Score.* Half of each table trains a model, with its noisy labels; the other half is the test set. 100 draws
of m rows; *covered*: the interval holds the score on the true labels. *Plain*: a random sample of as many
rows, for the accuracy with the interval of Clopper and Pearson, else with the same interval as ours.
"""

import argparse
import math
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import hypergeom
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from benchmarks import ordinary
from benchmarks.audit import corrupt, encode
from benchmarks.made import append_lines, find_done, write
from benchmarks.pages import as_markdown
from subsvms import LabelCorrector
from subsvms._numbers import lower_limit, upper_limit  # private: the plain interval
from subsvms.audit import Ranking, certify_target
from subsvms.audit import _target as target_of  # private: a thousand runs of one stage
from subsvms.evaluation import _score as score_of  # private: each pair of counts once
from subsvms.evaluation import compare_models, draw_test_rows
from subsvms.evaluation._draw import Tested

RESULTS = Path(__file__).parent / "results"
RATES, ORDERS, LEVEL = (0.05, 0.02), ("suspicion", "random", "worst"), 0.95
KINDS = ("uniform", "class", "boundary", "region")
N_RUNS, N_DRAWS, N_FORECASTS, SEED = 1000, 100, 8, 100
EARLY = 60  # answers before the second forecast
ANSWERS, METRICS = (50, 100, 200), ("accuracy", "balanced_accuracy", "f1")
SETS = ("splice", "svmguide1", "mushrooms", "a1a", "w1a")  # the others are more of the last two
MODELS = {
    "forest": lambda: ExtraTreesClassifier(300, min_samples_leaf=2, random_state=0),
    "logistic": lambda: make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000)),
}
CELL = ("data", "kind")
TARGET_COLUMNS = (
    *CELL, "error_rate", "order", "rows", "wrong", "sampled", "answers", "answers_90", "plain", "false",
    "forecast", "forecast_ratio", "early_ratio",
)  # fmt: skip
SCORE_COLUMNS = (
    *CELL,
    "model",
    "metric",
    "m",
    "rows",
    "truth",
    "noisy",
    "covered",
    "width",
    "plain_covered",
    "plain_width",
)


def list_cells(sets):
    """Return (data, kind) of every cell."""
    made = [(name, kind) for name in sets for kind in KINDS]
    return [(name, "real") for name in ordinary.list_real()] + made


def read(name, kind):
    """Return the rows of a table, its clean and its given labels, and where both are known."""
    X, clean, given, known = ordinary.read("real noise" if kind == "real" else "LIBSVM", name, SEED)
    return X, clean, corrupt(X, clean, kind, SEED) if given is None else given, known


def rank(name, kind):
    """Correct a table; return its ranking of the rows whose truth is known, and the true class numbers."""
    X, clean, given, known = read(name, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = LabelCorrector(random_state=SEED, n_jobs=1, n_witnesses=0).fit(X, given).correction_
    ranking = Ranking.of(found)
    object.__setattr__(ranking, "order", ranking.order[known[ranking.order]])
    return ranking, encode(found.classes, clean)


# The target


def run_target(name, kind):
    """Correct a table, certify it many times with each order and target, and return the lines."""
    ranking, truth = rank(name, kind)
    wrong = (ranking.given != truth)[ranking.order[::-1]]
    rng = np.random.default_rng(0)
    orders = {"suspicion": wrong, "random": rng.permutation(wrong), "worst": np.sort(wrong)[::-1]}
    for rate in RATES:
        for order, places in orders.items():
            line = {"data": name, "kind": kind, "error_rate": rate, "order": order, "rows": len(wrong)}
            line |= {"wrong": float(wrong.mean())} | certify_often(places, rate)
            yield line | (measure_forecast(ranking, truth, rate) if order == "suspicion" else {})


def certify_often(wrong, rate):
    """Return what a target costs, and how often it is missed; the safest row first."""
    n = len(wrong)
    allowed, m = math.floor(rate * n + 1e-9), target_of.count_sample(n, rate)
    spared = target_of.count_spared(n, allowed, m, 1 - LEVEL)
    m = m if spared >= 0 else 0
    taken, false = [], 0
    for seed in range(N_RUNS):
        seen = np.zeros(n, dtype=bool)
        seen[np.random.default_rng([seed, 2]).choice(n, m, replace=False)] = True
        seen[target_of.list_rest(wrong & seen, seen.copy(), spared, allowed)] = True
        taken.append(int(seen.sum()))
        false += int(np.sum(wrong & ~seen)) > allowed
    plain = count_plain(n, int(wrong.sum()), allowed)
    return {
        "sampled": m, "answers": float(np.median(taken)), "answers_90": float(np.quantile(taken, 0.9)),
        "plain": plain, "false": false / N_RUNS,
    }  # fmt: skip


@cache
def count_plain(n_rows, n_wrong, allowed):
    """Return the least size of a random sample that certifies the same in half of the draws, about."""
    for n in np.unique(np.geomspace(20, n_rows - allowed, 100).astype(int)).tolist():
        s = np.arange(min(n, n_rows - allowed - 1) + 1)
        passes = hypergeom.cdf(s, n_rows, np.minimum(s + allowed + 1, n_rows), n) <= 1 - LEVEL
        if hypergeom.pmf(s[passes], n_rows, n_wrong, n).sum() >= 0.5:
            return n
    return n_rows - allowed


def measure_forecast(ranking, truth, rate):
    """Return the first forecast, and the factors by which it and one after some answers were wrong."""
    ratios = []
    for seed in range(N_FORECASTS):
        target, labels = certify_target(ranking, rate, random_state=seed), ranking.classes
        first = target.forecast.n_answers
        for row in target.upcoming(min(EARLY, target.n_sample)):
            target.answer(row, labels[truth[row]] if truth[row] >= 0 else None)
        early, sampled = target.forecast.n_answers, target._sampled  # private: no need to ask about the rest
        wrong = (ranking.given != truth)[ranking.order[::-1]] & sampled
        rest = target_of.list_rest(wrong, sampled, target._spared, target.n_allowed)
        taken = target.n_sample + len(rest)
        ratios.append((abs(math.log(first / taken)), abs(math.log(early / taken))))
    one, two = np.exp(np.median(ratios, axis=0))
    return {"forecast": first, "forecast_ratio": float(one), "early_ratio": float(two)}


# The score


def run_score(name, kind):
    """Train models on half of a table, and measure intervals of their scores on the other half."""
    X, clean, given, known = read(name, kind)
    X, clean, given = X[known], clean[known], given[known]
    train, test = train_test_split(np.arange(len(given)), test_size=0.5, random_state=SEED, stratify=given)
    clean, noisy, predictions = clean[test], given[test], {}
    for model, make in MODELS.items():
        predictions[model] = make().fit(X[train], given[train]).predict(X[test])
    several = len(np.unique(np.concatenate([clean, noisy]))) > 2
    for model, predicted in predictions.items():
        for metric in METRICS[:1] if several or model != "forest" else METRICS:
            for m in ANSWERS:
                line = {
                    "data": name,
                    "kind": kind,
                    "model": model,
                    "metric": metric,
                    "m": m,
                    "rows": len(test),
                }
                yield line | measure_score(clean, noisy, predicted, metric, m)
    for m in ANSWERS:
        line = {"data": name, "kind": kind, "model": "forest - logistic", "metric": "accuracy", "m": m}
        yield line | {"rows": len(test)} | measure_difference(clean, noisy, *predictions.values(), m)


def measure_score(clean, noisy, predicted, metric, m):
    """Return coverage and width of the interval, and of that of a plain sample."""
    first, number = Tested.read(noisy, predicted).split(metric, None)
    right = clean == predicted
    truth = float(number(np.sum(right & first), np.sum(right & ~first)))
    given = noisy == predicted
    strata = np.array([first, ~first])

    @cache
    def limit(n_1, n_2, x_1, x_2):
        counts = (np.array(one) for one in ((n_1, n_2), (x_1, x_2)))
        seen = score_of.Strata(strata.sum(axis=1), *counts)
        return score_of.find_lower(number, seen, 0.025), score_of.find_upper(number, seen, 0.025)

    ours, plain = [], []
    for seed in range(N_DRAWS):
        rows = draw_test_rows(noisy, predicted, m, metric=metric, random_state=seed)
        ours.append(limit(*strata[:, rows].sum(axis=1), *(strata & right)[:, rows].sum(axis=1)))
        rows = np.random.default_rng([seed, 9]).choice(len(clean), m, replace=False)
        k = int(right[rows].sum())
        if metric == "accuracy":
            plain.append((float(lower_limit(k, m, 0.975)), float(upper_limit(k, m, 0.975))))
        else:
            plain.append(limit(*strata[:, rows].sum(axis=1), *(strata & right)[:, rows].sum(axis=1)))
    noisy_score = float(number(np.sum(given & first), np.sum(given & ~first)))
    return {"truth": truth, "noisy": noisy_score} | summarise(truth, ours, plain)


def measure_difference(clean, noisy, one, two, m):
    """Return the same for the difference of two models; a plain sample has intervals of both models."""
    truth = float(np.mean(one == clean) - np.mean(two == clean))
    given = float(np.mean(one == noisy) - np.mean(two == noisy))
    ours, plain, known = [], [], {}
    for seed in range(N_DRAWS // 4):
        rows = draw_test_rows(noisy, one, m, other=two, random_state=seed)
        first = (noisy == one)[rows]
        right = [(clean == p)[rows] & half for p in (one, two) for half in (first, ~first)]
        counts = (int(first.sum()), *(int(some.sum()) for some in right))
        if counts not in known:
            found = compare_models(noisy, one, two, rows, clean[rows].tolist())
            known[counts] = found.low, found.high
        ours.append(known[counts])
        rows = np.random.default_rng([seed, 9]).choice(len(clean), m, replace=False)
        k = np.array([np.sum((clean == p)[rows]) for p in (one, two)])
        low, high = lower_limit(k, m, 0.9875), upper_limit(k, m, 0.9875)
        plain.append((low[0] - high[1], high[0] - low[1]))
    return {"truth": truth, "noisy": given} | summarise(truth, ours, plain)


def summarise(truth, ours, plain):
    """Return how often intervals hold the truth, and how wide they are."""
    ours, plain = np.array(ours), np.array(plain)
    holds = [np.mean((a[:, 0] <= truth + 1e-9) & (truth - 1e-9 <= a[:, 1])) for a in (ours, plain)]
    widths = [np.mean(a[:, 1] - a[:, 0]) for a in (ours, plain)]
    names = ("covered", "width", "plain_covered", "plain_width")
    return dict(zip(names, map(float, (holds[0], widths[0], holds[1], widths[1])), strict=True))


# The report


def write_report(folder):
    """Write the tables of both parts."""
    cost, score = folder / "targets.csv", folder / "targets_score.csv"
    text = [
        "# Quality targets, and scores on noisy test sets\n\n`python -m benchmarks.targets`; perfect people."
    ]
    if cost.exists():
        text += describe_targets(pd.read_csv(cost))
    if score.exists():
        text += describe_scores(pd.read_csv(score))
    write(folder / "targets.md", "\n\n".join(text) + "\n", lines=cost if cost.exists() else score)


def describe_targets(lines):
    """Return the tables of targets: cost, claims, forecasts, and every losing cell."""
    lines["noise"] = np.where(lines["kind"] == "real", "real", "made")
    lines["ratio"] = lines["answers"] / lines["plain"]
    lines["share"] = lines["answers"] / lines["rows"]
    groups = lines.groupby(["noise", "error_rate", "order"])
    cost = groups[["answers", "plain", "ratio", "share", "false"]].median().assign(
        worst_false=groups["false"].max(), cells=groups.size()
    )  # fmt: skip
    asked = lines[lines["order"] == "suspicion"]
    near = asked.groupby(["noise", "error_rate"])[["forecast_ratio", "early_ratio"]]
    near = near.quantile([0.5, 0.8, 0.9]).reset_index(names=["noise", "error_rate", "share of cells"])
    loses = asked[asked["ratio"] > 1].sort_values("ratio")[
        ["data", "kind", "error_rate", "rows", "wrong", "answers", "plain", "ratio"]
    ]
    limit = 0.05 + 2 * math.sqrt(0.05 * 0.95 / N_RUNS)
    broken = int((lines["false"] > limit).sum())
    head = (
        f"## Targets\n\n{N_RUNS:,} runs of each of {len(lines)} cells; medians over cells. The claim was "
        f"false in more than {limit:.3f} of the runs (5 % and two standard errors) in {broken} of them. "
        "Share: of the rows; ratio: of the answers of a plain sample, whose size is known from the truth."
    )
    tables = {"": cost.reset_index(), "### Forecasts: by which factor they were wrong": near}
    tables["### Where a plain sample is cheaper"] = loses
    return [
        head,
        *(f"{title}\n\n" * bool(title) + "\n".join(as_markdown(t, 3)) for title, t in tables.items()),
    ]


def describe_scores(lines):
    """Return the tables of scores: coverage, width, and every losing cell."""
    lines["ratio"] = lines["width"] / lines["plain_width"]
    lines["what"] = np.where(lines["model"].str.contains(" - "), "two models", lines["metric"])
    groups = lines.groupby(["what", "m"])
    table = groups[["covered", "width", "plain_covered", "plain_width", "ratio"]].mean().assign(
        worst_covered=groups["covered"].min(), worst_ratio=groups["ratio"].max(), cells=groups.size()
    )  # fmt: skip
    loses = lines[lines["ratio"] > 1].sort_values("ratio")[
        [*CELL, "model", "what", "m", "rows", "width", "plain_width"]
    ]
    runs = f"{N_DRAWS} draws of each of {len(lines)} cells ({N_DRAWS // 4} for two models)"
    head = f"## Scores\n\n{runs}; means over cells. Ratio: of the width of the plain sample."
    tables = {"": table.reset_index(), "### Where a plain sample is narrower": loses}
    return [
        head,
        *(f"{title}\n\n" * bool(title) + "\n".join(as_markdown(t, 3)) for title, t in tables.items()),
    ]


def main(words=None):
    """Do the cells that are missing, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("target", "score", "report"))
    parser.add_argument("--only", nargs="*", help="names of tables")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(words)
    if args.what != "report":
        is_target = args.what == "target"
        path = args.results / ("targets.csv" if is_target else "targets_score.csv")
        run, columns = (run_target, TARGET_COLUMNS) if is_target else (run_score, SCORE_COLUMNS)
        done = find_done(path, CELL)
        cells = list_cells(SETS)
        cells = [cell for cell in cells if cell not in done and (not args.only or cell[0] in args.only)]
        for cell in cells:
            append_lines(path, columns, list(run(*cell)))
    write_report(args.results)


if __name__ == "__main__":
    main()
