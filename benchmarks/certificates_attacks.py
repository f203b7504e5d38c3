"""Attack exact certificates by flipping labels and training again.

    python -m benchmarks.certificates_attacks attacks     # some minutes
    python -m benchmarks.certificates_attacks svms        # some minutes

`attacks`: labels are flipped and members trained again, by code of its own, on rows of the tables of
`benchmarks.certificates`; all pairs and triples on small ones. `svms`: what a white-box certificate of a vote
of SVMs could reach at most. `python -m benchmarks.certificates report` puts the results on its page.
"""

import argparse
import os
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.certificates import CHOSEN_ON, METHODS, NAMES, RESULTS, RIDGE, SEED
from benchmarks.made import write
from benchmarks.quality import load
from subsvms.certificates import certify, find_turning_flips
from subsvms.ensemble import LinearCommittee

# Private: SVMs are to be given the same label-blind draws as members
from subsvms.ensemble._linear import draw_blind
from subsvms.ensemble._rows import Kernel
from subsvms.ensemble._sampling import subset_size  # private: sizes of subsets as the paper draws them
from subsvms.ensemble._solver import solve_subsets  # private: the solver alone

N_ATTACKS, N_TIGHT = 10_000, 200
N_VOTED = 30  # rows of a table whose SVMs are attacked one by one


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


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=("attacks", "svms"), nargs="+")
    parser.add_argument("--only", nargs="*", default=NAMES, help="names of tables")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(words)
    warnings.simplefilter("ignore")
    if "attacks" in args.part:
        large, small = attack_tables(args.only), attack_small()
        line = {**large, **{f"small tables: {key}": value for key, value in small.items()}}
        found = pd.DataFrame({"what": line.keys(), "number": line.values()})
        write(args.results / "certificates_attacks.csv", found.to_csv(index=False, lineterminator="\n"))
    if "svms" in args.part:
        lines = pd.DataFrame([measure_svms(name) for name in args.only if name in CHOSEN_ON])
        write(args.results / "certificates_svms.csv", lines.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    main()
