"""Options have scikit-learn's names, and messages name the flags of the command line."""

import pytest

from subsvms.app.runs.options import FLAGS, Options
from subsvms.exceptions import InputError


def test_flags_and_fields_ask_for_the_same():
    flags = Options.from_flags(label="y", svms=7, subset_size="log", seed=3, kernel="linear")
    assert flags == Options("y", n_estimators=7, subsample_size="log", random_state=3, kernel="linear")


@pytest.mark.parametrize("field", FLAGS)
def test_an_error_names_the_flag(field):
    flag = FLAGS[field].replace("_", "-")
    with pytest.raises(InputError, match=f"^--{flag} must be .*; got -1"):
        Options("y", **{field: -1})
