"""Scores that only rank: each takes (X, given, seed) and returns a quality; lower is worse.

They say how suspicious a label is, not which labels to change. Written from what was published, with
scikit-learn's models at their defaults:

- area under the margin (Pleiss et al. 2020; with boosting in the package mislabeled): the mean, over the
  stages of boosting, of the value of the given class minus the largest other value. A wrong label is learnt
  late or never, so its margin is small for long;
- self-influence with boosting (Sharchilev et al. 2018; Brophy, Hammoudeh and Lowd 2023, BoostIn): how fast a
  row's own loss falls as its weight grows, if the trees stay as they are. In stage t a leaf with the rows L
  has the value

      theta = -c sum_{i in L} w_i g_i / sum_{i in L} w_i h_i,

  where g = p - 1[own class], h = p (1 - p) and c is 1 for two classes, (K - 1) / K for K. So, at w = 1,
  d theta / d w_i = -(c g_i + h_i theta) / sum_L h, and the row's loss changes by g_i times the learning rate
  times that. The score is the sum over stages and classes with its sign turned: a wrong label holds
  itself up;
- Data-OOB (Kwon and Zou 2023): the share of the trees which did not see a row that predict its given label.
  They grow 800 trees. The out-of-bag vote of SubSVMs is the same value with tiny SVMs in place of trees.
"""

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.peers.methods import take_margins

N_TREES = 200


def area_under_margin(X, given, seed):
    return average_margins(boost(X, given, seed), X, given)


def self_influence(X, given, seed):
    X = sparse.csr_matrix(X, dtype=np.float32) if sparse.issparse(X) else np.asarray(X, dtype=np.float32)
    return -sum_influence(boost(X, given, seed), X, given)


def data_oob(X, given, seed):
    forest = RandomForestClassifier(N_TREES, random_state=seed, n_jobs=1).fit(X, given)
    return score_out_of_bag(forest, X, given)


def boost(X, given, seed):
    return GradientBoostingClassifier(random_state=seed).fit(X, given)


def average_margins(model, X, given):
    """Return the mean over stages of by how much the given class, numbered from 0, is ahead."""
    return np.mean([take_margins(values, given) for values in model.staged_decision_function(X)], axis=0)


def sum_influence(model, X, given):
    """Return how fast the loss of each row falls as its weight grows, for class numbers from 0."""
    n_stages, n_outputs = model.estimators_.shape
    leaves = model.apply(X).reshape(len(given), n_stages, n_outputs).astype(int)
    own = given[:, None] == (np.arange(n_outputs) if n_outputs > 1 else 1)
    c = (n_outputs - 1) / n_outputs if n_outputs > 1 else 1.0
    total = np.zeros(len(given))
    for stage, after in enumerate(model.staged_decision_function(X)):
        theta = np.stack([tree.predict(X) for tree in model.estimators_[stage]], axis=1)
        before = after.reshape(theta.shape) - model.learning_rate * theta
        p = softmax(before, axis=1) if n_outputs > 1 else expit(before)
        g, h = p - own, p * (1 - p)
        for k in range(n_outputs):
            leaf = leaves[:, stage, k]
            curvature = np.maximum(np.bincount(leaf, h[:, k])[leaf], np.finfo(float).tiny)
            total += model.learning_rate * g[:, k] * (c * g[:, k] + h[:, k] * theta[:, k]) / curvature
    return total


def score_out_of_bag(forest, X, given):
    """Return the share of right trees among those that did not see a row; one half if all saw it."""
    right, asked = np.zeros(len(given)), np.zeros(len(given))
    for tree, seen in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        rows = np.setdiff1d(np.arange(len(given)), seen)
        if len(rows):
            right[rows] += tree.predict(X[rows]) == given[rows]
            asked[rows] += 1
    return np.where(asked > 0, right / np.maximum(asked, 1), 0.5)


SCORES = {
    "area under the margin": area_under_margin,
    "self-influence": self_influence,
    "Data-OOB": data_oob,
}


def rank(wrong, quality):
    """Return how well a quality ranks wrong labels first; NaN where none is wrong."""
    if not wrong.any():
        return {"auc": np.nan, "ap": np.nan}
    most = np.finfo(float).max
    doubt = -np.nan_to_num(quality, nan=most, posinf=most, neginf=-most)
    return {"auc": roc_auc_score(wrong, doubt), "ap": average_precision_score(wrong, doubt)}
