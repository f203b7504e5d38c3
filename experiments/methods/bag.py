"""Bag-SVM: ordinary bagging of SVMs on bootstrap samples, with Oracle-SVM's best parameters for BAC."""

import time

import numpy as np

from experiments.grid import solve, training_kernel, values_on_test
from experiments.methods import Answer, oracle

NAME, SEES_TEST_LABELS, CHOOSES = "Bag-SVM", True, True


def run(task):
    """Let the SVMs of bootstrap samples vote on the test rows."""
    best = oracle.run(task).chosen["bac"].iloc[0]
    n = len(task.given)
    rng = np.random.default_rng(task.seed)
    began = time.perf_counter()
    K, _ = training_kernel(task.data, best["gamma"])
    coefs, intercepts = np.zeros((task.protocol.bags, n)), np.zeros(task.protocol.bags)
    for bag in range(task.protocol.bags):
        rows = rng.integers(n, size=n)
        target = 2.0 * task.given[rows] - 1.0
        if abs(target.sum()) == n:  # one class only: it wins everywhere
            intercepts[bag] = target[0]
            continue
        svm = solve(K[np.ix_(rows, rows)], target[None], best["C"], best["ratio"], task.protocol)
        np.add.at(coefs[bag], rows, svm.coef[0])
        intercepts[bag] = svm.intercept[0]
    trained = time.perf_counter()
    values = values_on_test(task.data, best["gamma"], coefs, intercepts)
    labels = (np.sum(values > 0, axis=0) > task.protocol.bags / 2).astype(int)
    parameters = {name: float(best[name]) for name in ("gamma", "C", "ratio")}
    seconds = time.perf_counter() - trained
    return Answer(trained - began, labels, values.mean(axis=0), test_seconds=seconds, parameters=parameters)
