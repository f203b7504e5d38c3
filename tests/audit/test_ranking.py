"""What an audit starts from is checked."""

import numpy as np
import pytest

from subsvms.audit import Ranking
from subsvms.exceptions import InputError


@pytest.mark.parametrize(
    "given, suggested, quality, message",
    [
        (["a", "b"], ["b", "b"], [1, 2], "row 1 has 'b' twice"),
        (["a", "b"], ["b"], [1, 2], "equal lengths"),
        (["a", "b"], ["b", "a"], [1, np.nan], "one finite number"),
        (["a", None], ["b", "a"], [1, 2], "contains NaN, None"),
    ],
)
def test_a_ranking_is_checked(given, suggested, quality, message):
    with pytest.raises(InputError, match=message):
        Ranking.make(given, suggested, quality)
