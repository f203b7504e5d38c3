import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest

from subsvms._intervals import lower_limit, upper_limit


@given(n=st.integers(1, 400), data=st.data(), confidence=st.floats(0.5, 0.9999))
def test_limits_agree_with_scipy(n, data, confidence):
    k = data.draw(st.integers(0, n))
    low = binomtest(k, n, alternative="greater").proportion_ci(confidence).low
    high = binomtest(k, n, alternative="less").proportion_ci(confidence).high
    assert_allclose(lower_limit(k, n, confidence), low, atol=1e-9)
    assert_allclose(upper_limit(k, n, confidence), high, atol=1e-9)


@pytest.mark.parametrize("share", [0.03, 0.5, 0.97])
def test_the_limit_is_above_the_share_no_more_often_than_its_confidence_allows(share):
    n = 60
    k = np.arange(n + 1)
    missed = lower_limit(k, n, 0.9) > share
    assert binom.pmf(k, n, share)[missed].sum() <= 0.1
