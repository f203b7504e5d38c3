"""The paper's two claims about the vote, on its synthetic data (Section 4.1): rho = 0.75, s = log l."""

from itertools import product

import numpy as np
import pytest

from subsvms import SubSVMClassifier, adversaries
from subsvms.datasets import make_separable_gaussians
from subsvms.theory import vote_failure, vote_failure_exact

pytestmark = pytest.mark.slow
VOTES = (1, 7, 31, 63, 127)  # odd, so that no vote is tied
SETTINGS = list(product((0.1, 0.3, 0.5), (0.0, 0.5, 1.0), range(3)))  # beta, alpha, corruption


def attack(d, beta, alpha, seed):
    X, clean = make_separable_gaussians(1000, d, beta=beta, random_state=seed)
    given = adversaries.directed_flips(clean, rho=0.75, alpha=alpha, random_state=seed).labels
    return X, clean, given


def vote(X, given, n, p=0.5, seed=0):
    options = dict(n_estimators=n, subsample_size="log", sampling_bias=p, random_state=seed)
    return SubSVMClassifier(**options).fit(X, given)


def error_rates(d, votes, uniform=False):
    """Return the share of rows that the vote gets wrong, by setting and number of votes."""
    rates = np.empty((len(SETTINGS), len(votes)))
    for i, (beta, alpha, seed) in enumerate(SETTINGS):
        X, clean, given = attack(d, beta, alpha, seed)
        p = np.bincount(given).min() / len(given) if uniform else 0.5
        for j, n in enumerate(votes):
            rates[i, j] = np.mean(vote(X, given, n, p, seed).predict(X) != clean)
    return rates


@pytest.mark.parametrize("d", [2, *(pytest.param(d, marks=pytest.mark.nightly) for d in (16, 30))])
def test_class_balanced_draws_beat_uniform_ones_and_errors_fall_with_the_votes(d):
    balanced, uniform = error_rates(d, VOTES), error_rates(d, VOTES[-1:], uniform=True)
    means, worst = balanced.mean(axis=0), balanced.max(axis=0)
    assert np.all(np.diff(means) < 0) and means[-1] < 0.02
    assert means[-1] < means[0] / 10
    assert worst[-1] < 0.2 and uniform.max() > 0.4  # the worst case: 1 - accuracy of Figure 2
    assert means[-1] < uniform.mean() - 0.1


@pytest.mark.parametrize("d", [2, pytest.param(16, marks=pytest.mark.nightly)])
def test_the_error_falls_exponentially_row_by_row(d, seed):
    """With each row's phi from another, large ensemble, J votes are wrong as often as J independent ones.

    So the logarithm of a row's error falls in proportion to J where phi < 1/2, at least as fast as in
    Theorem 6.
    """
    X, clean, given = attack(d, 0.3, 0.5, seed)
    rows = np.arange(len(clean))
    phi = 1 - vote(X, given, 4000, seed=seed + 100).predict_proba(X)[rows, clean]
    for n in VOTES:
        wrong = [np.mean(vote(X, given, n, seed=10 * n + k).predict(X) != clean) for k in range(40)]
        tolerance = 5 * np.std(wrong) / np.sqrt(40) + 0.003  # phi is also known only to about 0.01
        exact, bound = (np.mean([f(n, share) for share in phi]) for f in (vote_failure_exact, vote_failure))
        assert np.mean(wrong) == pytest.approx(exact, abs=tolerance)
        assert exact <= bound and np.mean(wrong) <= bound + tolerance
    usual = phi[(phi > 0.1) & (phi < 0.4)]
    logs = np.log([[vote_failure_exact(n, share) for n in VOTES[1:]] for share in usual])
    slopes = np.diff(logs, axis=1) / np.diff(VOTES[1:])
    assert np.all(slopes < 0) and np.all(slopes[:, -1] / slopes[:, 0] > 0.5)  # nearly straight lines
