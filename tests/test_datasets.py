import numpy as np
import pytest
from scipy.stats import kstest, norm, truncnorm

from subsvms.datasets import make_separable_gaussians


@pytest.mark.parametrize("d", [2, 16, 30])
@pytest.mark.parametrize("beta", [0.05, 0.3, 0.5])
def test_class_sizes_and_margin_are_as_requested(d, beta):
    X, y = make_separable_gaussians(1000, d, beta=beta, random_state=0)
    assert X.shape == (1000, d) and y.sum() == 1000 * beta
    assert X[y == 1, 0].min() >= 0.2 and X[y == 0, 0].max() <= -0.2
    assert make_separable_gaussians(3, d, random_state=0)[1].sum() == 1  # the larger class gets the odd row


def test_the_gaussians_are_those_of_the_paper():
    """Variance 0.1 in every direction, means 2 apart; the first feature is cut off at the margin."""
    X, y = make_separable_gaussians(20_000, 3, random_state=0)
    sd = np.sqrt(0.1)
    first = X[y == 1, 0]
    assert kstest(first, truncnorm((0.2 - 1) / sd, np.inf, loc=1, scale=sd).cdf).pvalue > 1e-4
    assert kstest(-X[y == 0, 0], truncnorm((0.2 - 1) / sd, np.inf, loc=1, scale=sd).cdf).pvalue > 1e-4
    for column in (1, 2):
        assert kstest(X[:, column], norm(0, sd).cdf).pvalue > 1e-4


def test_the_same_seed_makes_the_same_rows():
    one, other, third = (make_separable_gaussians(50, random_state=s)[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(one, other)
    assert np.any(one != third)


@pytest.mark.parametrize("bad, message", [
    (dict(beta=0.0), "beta must be more than 0 and at most 0.5"),
    (dict(beta=0.6), "beta must be more than 0"),
    (dict(margin=1.0), "margin must be at least 0 and less than 1"),
    (dict(n_samples=1), "n_samples must be a whole number, at least 2"),
    (dict(n_features=0), "n_features must be a whole number"),
])  # fmt: skip
def test_values_out_of_range_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        make_separable_gaussians(**bad)
