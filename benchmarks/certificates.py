"""Attack exact certificates, and measure how many labels they withstand beside others.

    python -m benchmarks.certificates tables      # a quarter of an hour on one core
    python -m benchmarks.certificates attacks     # some minutes
    python -m benchmarks.certificates svms        # some minutes
    python -m benchmarks.certificates report

`tables`: the 13 LIBSVM sets of the paper (SUBSVMS_DATA) and breast cancer, clean labels, every row judged by
members that did not see it. Methods: `exact` (LinearCommittee); `vote` (SubSVMClassifier, `count_withstood`,
confidence .999); `partitions` (DPA of Levine and Feizi, 2021: the table is cut by a hash into parts of 10
rows, or of as many as a member sees, a least squares machine with the same kernel is trained on each, and a
flipped label changes one vote; a row's own part is left out); `smoothing` (Rosenfeld et al., ICML 2020: each
label is flipped with probability q, and the verdict of the *same* committee is smoothed; their formula, with
Chernoff's bound on the probability; the q of the largest median is taken, on 500 rows of a table).

`attacks`: labels are flipped and members trained again, by code of its own, on rows of these tables; all
pairs and triples on small ones. `svms`: what a white-box certificate of a vote of SVMs could reach at most.
"""

import argparse
import os
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.ordinary import append_lines, find_done
from benchmarks.peers.tables import as_markdown
from benchmarks.quality import FEATURES, load
from subsvms import SubSVMClassifier
from subsvms.certificates import certify, count_withstood, find_turning_flips
from subsvms.ensemble import LinearCommittee, solve_subsets, subset_size

# Private: partitions and SVMs are to be given the same label-blind draws, and smoothing the same weights
from subsvms.ensemble._linear import draw_blind
from subsvms.ensemble._pool import hash_rows
from subsvms.ensemble._rows import Kernel

RESULTS = Path(__file__).parent / "results"
MADE_BY = "python -m benchmarks.certificates"
NAMES = ("breast cancer", *FEATURES)
CHOSEN_ON = ("breast cancer", "splice", "a1a")  # lambda was looked at on these
FLIPS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)
NOISE = (0.1, 0.2, 0.3, 0.4)  # q
RIDGE, SEED = 0.1, 0
N_SMOOTHED = 500  # rows of a table
N_ATTACKS, N_TIGHT = 10_000, 200
N_VOTED = 30  # rows of a table whose SVMs are attacked one by one
COLUMNS = (
    "data", "method", "rows", "balanced accuracy", "median", *(f"right and {m}" for m in FLIPS), "seconds"
)  # fmt: skip


def run_exact(X, y):
    certificate = certify(LinearCommittee(random_state=SEED, ridge=RIDGE).fit(X, y))
    return certificate.verdicts, certificate.withstands


def run_vote(X, y):
    model = SubSVMClassifier(random_state=SEED).fit(X, y)
    size = subset_size("log_squared", len(y))
    return model.oob_winners_, count_withstood(model.oob_votes_, model.class_sizes_, y, size)


def run_partitions(X, y, size=10):
    """Return verdicts and radii of a vote of label-blind parts, each row's own part left out."""
    order = np.argsort(hash_rows(np.arange(len(y)), SEED))
    parts = np.array_split(order, len(y) // size)
    votes = np.zeros((len(y), 2), dtype=int)
    for part in parts:
        others = np.ones(len(y), dtype=bool)
        others[part] = False
        sums = fit_least_squares(X, y, part, X)
        counts = np.maximum(np.bincount(y[part], minlength=2), 1)
        second = sums[:, 1] / counts[1] > sums[:, 0] / counts[0]
        votes[others, second[others].astype(int)] += 1
    return votes.argmax(axis=1), np.maximum((np.abs(votes[:, 1] - votes[:, 0]) - 1) // 2, 0)


def fit_least_squares(X, y, rows, asked):
    """Return the sums of weights of both classes at the rows asked for; y may hold several columns."""
    gamma = 1.0 / X.shape[1]
    K = rbf_kernel(X[rows], gamma=gamma) + 1.0 + RIDGE * np.eye(len(rows))
    return (rbf_kernel(asked, X[rows], gamma=gamma) + 1.0) @ np.linalg.solve(K, np.eye(2)[y[rows]])


def run_smoothing(X, y):
    """Return verdicts and radii of the smoothed committee, on the rows of `choose_rows`.

    With B_i = 1 where label i is +, G = sum_i d_i B_i; noise leaves its sign in the mean, as the d_i add up
    to 0. Chernoff: P(G <= 0) <= min over t of prod_i E exp(-t d_i B_i). Theirs: the smoothed verdict stands
    for all m <= log(4 p (1 - p)) / (2 (1 - 2 q) log(q / (1 - q))).
    """
    rows = choose_rows(len(y))
    committee = LinearCommittee(random_state=SEED, ridge=RIDGE).fit(X, y)
    a = committee.weigh(rows=rows)
    d = len(y) * a - a.sum(axis=1, keepdims=True)
    G = d[:, y == 1].sum(axis=1)
    verdicts = (G > 0).astype(int)
    towards = np.where(verdicts[:, None] == 1, d, -d) / np.abs(d).max(axis=1, keepdims=True)
    best = np.zeros(len(rows))
    for q in NOISE:
        plus = np.where(y == 1, 1 - q, q)  # P(B_i = 1)
        wrong = np.zeros(len(rows))  # log of the bound on P(the verdict turns)
        for t in np.geomspace(0.003, 10, 25):
            wrong = np.minimum(wrong, np.log1p(plus * np.expm1(-t * towards)).sum(axis=1))
        sure = wrong < np.log(0.5)
        tail = np.where(sure, wrong + np.log1p(-np.exp(wrong)) + np.log(4), 0.0)
        radius = np.floor(tail / (2 * (1 - 2 * q) * np.log(q / (1 - q))))
        best = max(best, radius, key=np.median)
    return verdicts, best.astype(int)


def choose_rows(n):
    return np.sort(np.argsort(hash_rows(np.arange(n), SEED + 1))[:N_SMOOTHED])


METHODS = {
    "exact": run_exact,
    "vote": run_vote,
    "partitions of 10": run_partitions,
    "partitions of s": lambda X, y: run_partitions(X, y, subset_size("log_squared", len(y))),
    "smoothing": run_smoothing,
}


def measure(name, method):
    """Return the line of a table and a method."""
    X, y = load(name, os.environ.get("SUBSVMS_DATA"))
    start = time.process_time()
    verdicts, radii = METHODS[method](X, y)
    seconds = time.process_time() - start
    if len(radii) < len(y):
        y = y[choose_rows(len(y))]
    right = verdicts == y
    line = {"data": name, "method": method, "rows": len(y), "median": float(np.median(radii))}
    line |= {f"right and {m}": float(np.mean(right & (radii >= m))) for m in FLIPS}
    return line | {"balanced accuracy": balanced_accuracy_score(y, verdicts), "seconds": seconds}


class Rebuilt:
    """A committee that is trained again from its subsets, with nothing of the package."""

    def __init__(self, X, committee, row):
        self.row = row
        self.subsets = np.array([s for s in committee.members_.subsets if row not in s])
        gamma = 1.0 / X.shape[1]
        used, places = np.unique(self.subsets, return_inverse=True)
        places = places.reshape(self.subsets.shape)
        K = rbf_kernel(X[used], gamma=gamma) + 1.0
        self.matrices = K[places[:, :, None], places[:, None, :]] + RIDGE * np.eye(places.shape[1])
        self.kernels = (rbf_kernel(X[used], X[[row]], gamma=gamma)[:, 0] + 1.0)[places]

    def judge(self, labels):
        """Return S+ / n+ - S- / n- for each line of labels, (n_labellings, n_rows); members are fitted."""
        targets = labels.T[self.subsets].astype(float)  # (members, s, labellings)
        both = np.concatenate([targets, 1.0 - targets], axis=2)
        sums = np.einsum("js,jsl->l", self.kernels, np.linalg.solve(self.matrices, both))
        plus, minus = sums.reshape(2, -1) / len(self.subsets)
        n_plus = labels.sum(axis=1)
        return plus / n_plus - minus / (labels.shape[1] - n_plus)


def flip(y, choices):
    """Return a line of labels for each list of rows to flip."""
    labels = np.repeat(y[None], len(choices), axis=0)
    for line, rows in zip(labels, choices, strict=True):
        line[rows] = 1 - line[rows]
    return labels


def choose_flips(committee, row, m, rng, n=40):
    """Return lists of m rows: the most influential, mixtures of these and others, and random ones."""
    y = committee.labels_
    a = committee.weigh(rows=[row])[0]
    pull = len(y) * a - a.sum()
    plus = pull[y == 1].sum() > 0
    order = np.argsort(-np.where((y == 1) == plus, pull, -pull))
    lists = [order[:m]]
    for i in range(1, n):
        among = order[: min(3 * m + 5, len(y))] if i % 2 else order
        lists.append(rng.choice(among, m, replace=False))
    return lists


def attack_greedily(rebuilt, y, m, side, rng):
    """Flip one label after the other, each time the worst of 20, found by training again."""
    flipped = y.copy()
    for _ in range(min(m, 6)):
        trials = flip(flipped, [[i] for i in rng.choice(len(y), 20, replace=False)])
        flipped = trials[np.argmin(side * rebuilt.judge(trials))]
    return side * rebuilt.judge(flipped[None])[0] <= 0


def attack_tables(names):
    """Return how many attacks were tried and turned a certified verdict, and how many cases were tight."""
    rng = np.random.default_rng(SEED)
    counts = dict.fromkeys(("attacks", "turned", "greedy", "turned by greedy", "cases", "tight"), 0)
    while counts["attacks"] < N_ATTACKS or counts["cases"] < N_TIGHT:
        for name in names:
            X, y = load(name, os.environ.get("SUBSVMS_DATA"))
            committee = LinearCommittee(random_state=int(rng.integers(2**31)), ridge=RIDGE).fit(X, y)
            for row in rng.choice(len(y), 10, replace=False):
                m = int(certify(committee, rows=[row]).withstands[0])
                rebuilt = Rebuilt(X, committee, row)
                side = np.sign(rebuilt.judge(y[None])[0])
                worst = find_turning_flips(committee, row).rows
                counts["cases"] += 1
                counts["tight"] += int(len(worst) == m + 1 and side * rebuilt.judge(flip(y, [worst]))[0] <= 0)
                if m > 0:
                    margins = side * rebuilt.judge(flip(y, choose_flips(committee, row, m, rng)))
                    counts["attacks"] += len(margins)
                    counts["turned"] += int(np.sum(margins <= 0))
                    if counts["greedy"] < counts["attacks"] // 100:
                        counts["greedy"] += 1
                        counts["turned by greedy"] += int(attack_greedily(rebuilt, y, m, side, rng))
    return counts


def attack_small(n_tables=20, n=14):
    """Return how many pairs and triples of small tables turned a certified verdict, and missed radii."""
    counts = dict.fromkeys(("flips tried", "turned", "radii below 3", "not exact"), 0)
    X, y = load("breast cancer", None)
    rng = np.random.default_rng(SEED)
    for _ in range(n_tables):
        rows = np.concatenate([rng.choice(np.flatnonzero(y == c), n // 2, replace=False) for c in (0, 1)])
        small = rng.permutation(y[rows]) if rng.random() < 0.5 else y[rows]
        committee = LinearCommittee(subsample_size=5, n_estimators=20, random_state=SEED).fit(X[rows], small)
        for row, m in enumerate(certify(committee).withstands):
            rebuilt = Rebuilt(X[rows], committee, row)
            side = np.sign(rebuilt.judge(small[None])[0])
            found = 4
            for n_flips in (3, 2, 1):
                lists = [list(pick) for pick in combinations(range(n), n_flips)]
                turned = side * rebuilt.judge(flip(small, lists)) <= 1e-12
                found = n_flips if turned.any() else found
                counts["flips tried"] += len(lists)
                counts["turned"] += int(turned.sum()) if n_flips <= m else 0
            counts["radii below 3"] += found < 4
            counts["not exact"] += found < 4 and found != m + 1
    return counts


def measure_svms(name):
    """Return what a white-box certificate of a vote of 300 SVMs could reach at most, and what is there.

    Each SVM sees a label-blind subset. Its own radius is at most what a simple attack finds: its labels are
    flipped, nearest to x first, until it turns. An adversary must turn enough SVMs, each for its own number
    of flips, the cheapest first; one flip counts in every SVM that saw the row. So no certificate of this
    kind can prove more, but for SVMs that the simple attack does not turn, which count as one flip more.
    """
    X, y = load(name, os.environ.get("SUBSVMS_DATA"))
    X = X.toarray() if hasattr(X, "toarray") else X
    size = subset_size("log_squared", len(y))
    subsets = draw_blind(len(y), 300, size, seed=SEED)
    cover = np.sort(np.bincount(subsets.ravel(), minlength=len(y)))[::-1].cumsum()
    reached = []
    for row in np.random.default_rng(SEED).choice(len(y), N_VOTED, replace=False):
        own = np.array([s for s in subsets if row not in s and 0 < y[s].sum() < size])
        prices, values = price_svms(X, y, own, row)
        winner = values.sum() > len(values) / 2
        needed = int(np.sum(values == winner) - len(values) / 2) + 1  # turned, these would tie or win
        cost = np.sort(prices[values == winner])[:needed].sum()
        reached.append(int(np.searchsorted(cover, cost)))
    radii = {method: int(np.median(METHODS[method](X, y)[1])) for method in ("vote", "exact")}
    return {"data": name, "SVMs, at most": float(np.median(reached)), **radii}


def price_svms(X, y, subsets, row, most=8):
    """Return how many flips turn each SVM at a row, by a simple attack, and its vote."""
    stacked, labels = X[subsets.ravel()], y[subsets.ravel()].copy()
    each = np.arange(subsets.size).reshape(subsets.shape)
    kernel = Kernel.named("rbf", 1.0 / X.shape[1])
    k = rbf_kernel(stacked, X[[row]], gamma=kernel.gamma)[:, 0][each]

    def judge():
        solution = solve_subsets(stacked, labels, each, kernel=kernel, C=100.0)
        coef = solution.as_matrix(subsets.size)
        return np.asarray(coef @ k.ravel()).ravel() + solution.intercept[:, 0] > 0

    votes = judge()
    order = np.argsort(-k * np.where((labels[each] == 1) == votes[:, None], 1.0, 0.0), axis=1)
    prices = np.full(len(subsets), most + 1)
    for n_flips in range(1, most + 1):
        at = each[np.arange(len(each)), order[:, n_flips - 1]]
        one = labels[each].sum(axis=1)
        left = np.where(labels[at] == 1, one - 1, each.shape[1] - one - 1) > 0  # no class of it vanishes
        labels[at[left]] = 1 - labels[at[left]]
        prices = np.where((judge() != votes) & (prices > most), n_flips, prices)
    return prices, votes


def write_report(folder):
    """Write certificates.md and the picture from the files of the three parts."""
    lines = pd.read_csv(folder / "certificates.csv")
    order = [name for name in NAMES if name in set(lines["data"])]
    methods = [name for name in METHODS if name in set(lines["method"])]

    def spread(key):
        return lines.pivot(index="data", columns="method", values=key).loc[order, methods]

    medians, accuracy = spread("median"), spread("balanced accuracy")
    text = ["# Exact certificates beside others", "", f"Made by `{MADE_BY}`, whose docstring says how.", ""]
    text += [*format_losses(medians, accuracy), ""]
    tables = {
        "Median radius: flips that cannot turn the verdict": (medians, 1),
        "Balanced accuracy of the out-of-bag verdicts, clean labels": (accuracy, 3),
        **{f"Certified accuracy at {m} flips: judged right and certain": (spread(f"right and {m}"), 3)
           for m in (1, 10, 50)},
        "CPU seconds, one thread": (spread("seconds"), 1),
    }  # fmt: skip
    for title, (table, digits) in tables.items():
        text += [f"## {title}", "", *as_markdown(table, digits, "data"), ""]
    text += ["![Certified accuracy against flips](certificates.png)"]
    for part, title in (("attacks", "Attacks"), ("svms", "A white-box certificate of the vote of SVMs")):
        path = folder / f"certificates_{part}.csv"
        if path.exists():
            text += ["", f"## {title}", "", *as_markdown(pd.read_csv(path), 1)]
    (folder / "certificates.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    draw(lines, order, folder / "certificates.png")


def format_losses(medians, accuracy):
    """Return in sentences where others are better, before where they are not."""
    other = "partitions of 10"
    more = [name for name in medians.index if medians.loc[name, other] > medians.loc[name, "exact"]]
    constant = [name for name in more if accuracy.loc[name, other] < 0.55]
    large = "partitions of s"
    both = (medians[large] > medians["exact"]) & (accuracy[large] >= accuracy["exact"] - 0.01)
    larger = (medians["exact"] / medians["vote"].clip(lower=1)).median()
    return [
        f"**Losses first.** Label-blind {other} rows have a larger median radius than the exact certificate "
        f"on {len(more)} of {len(medians)} tables ({', '.join(more) or 'none'}). On {len(constant)} of these "
        f"({', '.join(constant) or 'none'}) nearly all of their verdicts are the larger class (balanced "
        "accuracy below .55): certain, and useless. Partitions of s rows, as many as a member sees, have a "
        "larger median radius and a balanced accuracy that is no more than .01 lower on "
        f"{both.sum()} tables ({', '.join(medians.index[both]) or 'none'}). Neither names weights of single "
        "labels. The vote of SVMs "
        f"has the better balanced accuracy on {int((accuracy['vote'] > accuracy['exact']).sum())} of "
        f"{len(medians)} tables. lambda = {RIDGE} was chosen on some of the same tables "
        f"({', '.join(CHOSEN_ON)}).",
        "",
        f"The exact median radius is {larger:.0f} times that of the vote of SVMs, at the median over the "
        "tables (a radius of 0 of the vote counts as 1).",
    ]


def draw(lines, order, path):
    """Draw certified accuracy against flips, a panel for each table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n_rows = -(-len(order) // 5)
    figure, axes = plt.subplots(
        n_rows, 5, figsize=(10, 2.1 * n_rows), sharex=True, sharey=True, layout="constrained", squeeze=False
    )
    for axis, name in zip(axes.flat, order, strict=False):
        for i, method in enumerate(METHODS):
            line = lines[(lines["data"] == name) & (lines["method"] == method)]
            if len(line):
                values = line.iloc[0][[f"right and {m}" for m in FLIPS]].to_numpy(float)
                style = {"lw": 2.2} if method == "exact" else {"lw": 1}
                axis.plot(FLIPS, values, f"C{i}", label=method, **style)
        axis.set_xscale("symlog", linthresh=1)
        axis.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
        axis.set_title(name, fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(order) :]:
        axis.set_axis_off()
    figure.supxlabel("flipped labels", fontsize=8)
    figure.supylabel("judged right, whatever is flipped (share of rows)", fontsize=8)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=5, fontsize=8)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=("tables", "attacks", "svms", "report"), nargs="+")
    parser.add_argument("--only", nargs="*", default=NAMES, help="names of tables")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(words)
    warnings.simplefilter("ignore")
    if "tables" in args.part:
        path = args.results / "certificates.csv"
        done = find_done(path, COLUMNS[:2])
        todo = [(name, m) for name in args.only for m in METHODS if (name, m) not in done]
        X, y = make_moons(200, random_state=SEED)
        for method in METHODS.values() if todo else ():
            method(X, y), method(sparse.csr_array(np.eye(200)), y)  # compiles for full and for sparse tables
        append_lines(path, COLUMNS, (measure(*job) for job in todo))
    if "attacks" in args.part:
        large, small = attack_tables(args.only), attack_small()
        line = {**large, **{f"small tables: {key}": value for key, value in small.items()}}
        pd.DataFrame({"what": line.keys(), "number": line.values()}).to_csv(
            args.results / "certificates_attacks.csv", index=False, lineterminator="\n"
        )
    if "svms" in args.part:
        lines = pd.DataFrame([measure_svms(name) for name in args.only if name in CHOSEN_ON])
        lines.to_csv(args.results / "certificates_svms.csv", index=False, lineterminator="\n")
    if "report" in args.part:
        write_report(args.results)


if __name__ == "__main__":
    main()
