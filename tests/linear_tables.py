"""Small tables for linear committees, and adversaries that retrain them."""

from itertools import combinations, product

import numpy as np
from reference import committee_scores

from subsvms.ensemble import LinearCommittee

GAMMA, RIDGE = 2.0, 0.1


def make_table(seed, n=12, n_classes=2, n_features=2):
    """Return overlapping classes, each with at least two rows."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.concatenate([np.arange(2 * n_classes) % n_classes,
                                             rng.integers(0, n_classes, n - 2 * n_classes)]))  # fmt: skip
    return rng.random((n, n_features)) + labels[:, None] * rng.uniform(0, 1), labels


def make_committee(X, labels, seed, size=5, n_members=12, **params):
    params = {"gamma": GAMMA, "ridge": RIDGE, "subsample_size": size, "n_estimators": n_members} | params
    return LinearCommittee(random_state=seed, **params).fit(X, labels)


def retrain(committee, X, labels, rows=None):
    """Return the scores after training every member again, with other labels."""
    n_classes = len(committee.classes_)
    return committee_scores(X, labels, n_classes, committee.members_.subsets, RIDGE, GAMMA, rows)


def list_flips(labels, n_classes, n_flips):
    for rows in combinations(range(len(labels)), n_flips):
        for steps in product(range(1, n_classes), repeat=n_flips):
            flipped = labels.copy()
            flipped[list(rows)] = (labels[list(rows)] + steps) % n_classes
            if len(np.unique(flipped)) == n_classes:
                yield flipped


def still_stands(scores, verdicts, close=1e-12):
    """Return which verdicts are still ahead of all other classes, by more than rounding."""
    each = np.arange(len(verdicts))
    others = scores.copy()
    others[each, verdicts] = -np.inf
    return scores[each, verdicts] > others.max(axis=1) + close
