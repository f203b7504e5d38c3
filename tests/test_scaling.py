"""Columns of any units come to one scale: not misled by outliers, sparse ones stay sparse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from subsvms import correct_labels
from subsvms._scaling import FAR, ColumnScaler

pytestmark = pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")


def scale(X):
    return ColumnScaler.fit(X).transform(X)


def test_units_do_not_matter():
    X = np.random.default_rng(0).normal(size=(300, 4))
    assert_allclose(scale(X * [1, 1e6, 1e-9, 3] + [0, 5e6, 1, -2]), scale(X), atol=1e-6)


def test_a_few_huge_values_change_nothing_for_the_others():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    odd = X.copy()
    odd[:5, 0] = 1e12
    assert_allclose(scale(odd)[5:], scale(X)[5:], atol=0.05)
    assert np.abs(scale(odd)).max() <= FAR


@pytest.mark.parametrize("column", [[3.0] * 100, [0.0] * 99 + [7.0], [0.0] * 98 + [1.0, 1e300]])
def test_columns_that_hardly_vary_stay_finite(column):
    X = np.array(column)[:, None]
    for table in (X, sparse.csr_array(X)):
        found = scale(table)
        found = found.toarray() if sparse.issparse(found) else found
        assert np.isfinite(found).all() and np.abs(found).max() <= FAR


def test_sparse_columns_stay_sparse_and_binary_ones_stay_as_they_are():
    X = sparse.random_array((200, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    scaled = scale(X * 1000.0)
    assert sparse.issparse(scaled) and scaled.nnz == X.nnz
    assert_allclose(scaled.toarray(), scale(X).toarray())
    binary = (X > 0).astype(float)
    assert_allclose(scale(binary).toarray(), binary.toarray())


def test_the_input_stays_as_it_was():
    X = np.random.default_rng(0).normal(size=(50, 2)) * 1e5
    for table in (X, sparse.csr_array(X)):
        before = table.copy()
        scale(table)
        assert (table != before).sum() == 0


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_raw_columns_are_corrected_as_well_as_scaled_ones(make):
    rng = np.random.default_rng(0)
    clean = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + 2.5 * clean[:, None]
    given = np.where(rng.random(400) < 0.15, 1 - clean, clean)
    raw = make(X * [1, 40_000])
    plain, large = (correct_labels(table, given, random_state=0) for table in (make(X), raw))
    assert (plain.labels == large.labels).mean() > 0.99  # rounding may turn a tie
    assert (large.labels != clean).mean() < 0.7 * (given != clean).mean()
    refused = correct_labels(raw, given, scale=False, random_state=0)
    assert refused.choice.chosen.log_loss > large.choice.chosen.log_loss  # only one column counts
