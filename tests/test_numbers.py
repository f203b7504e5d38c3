import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest

from subsvms._numbers import check_count, check_range, lower_limit, upper_limit


def test_numbers_out_of_range_are_refused():
    check_range("a", np.inf, 0, np.inf)
    with pytest.raises(ValueError, match="a must be at least 0 and finite; got inf"):
        check_range("a", np.inf, 0, np.inf, "[)")
    with pytest.raises(ValueError, match="a must be more than 0 and at most 1; got nan"):
        check_range("a", np.nan, 0, 1, "(]")
    with pytest.raises(TypeError, match="a must be a number; got True"):
        check_range("a", True, 0, 1)
    check_count("n", np.int64(3), 3)
    for value in (2, 3.0, True):
        with pytest.raises(ValueError, match=f"n must be a whole number, at least 3; got {value}"):
            check_count("n", value, 3)


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
