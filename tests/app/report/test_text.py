import re

from hypothesis import given
from hypothesis import strategies as st

from subsvms.app.report.text import format_key, format_percent


@given(share=st.floats(0, 1))
def test_a_share_is_never_rounded_to_all_or_nothing(share):
    written = format_percent(share)
    assert (written == "0\xa0%") == (share == 0)
    assert (written == "100\xa0%") == (share == 1)
    number = float(re.sub(r"[^\d.]", "", written))
    assert abs(number - 100 * share) <= 0.5


@given(number=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**12), 10**12))
def test_a_key_is_the_number_but_for_its_last_digits(number):
    assert abs(float(format_key(number)) - number) <= 1e-5 * abs(number)
