"""Options have scikit-learn's names; the command line has names of its own."""

import pytest

from subsvms._sentences import NOTHING, Sentence, Setting
from subsvms.app.runs.options import FLAGS, Options, as_flag, tell_flags, write_command
from subsvms.exceptions import InputError


def test_flags_and_fields_ask_for_the_same():
    flags = Options.from_flags(label="y", svms=7, subset_size="log", seed=3, kernel="linear")
    assert flags == Options("y", n_estimators=7, subsample_size="log", random_state=3, kernel="linear")


@pytest.mark.parametrize("field", FLAGS)
def test_an_error_names_the_parameter_and_on_the_command_line_the_flag(field):
    with pytest.raises(InputError, match=f"^{field} must be .*; got -1") as caught:
        Options("y", **{field: -1})
    assert caught.value.parameter == field
    flag = FLAGS[field].replace("_", "-")
    assert tell_flags(caught.value.args[0]).startswith(f"--{flag} must be ")


@pytest.mark.parametrize(
    "setting, words",
    [
        (Setting("n_estimators"), "--svms"),
        (Setting("max_error_rate", 0.1), "--max-error-rate 0.1"),
        (Setting("by", "a b"), "--by 'a b'"),
        (Setting("keep", ["a", "b"]), "--keep a --keep b"),
        (Setting("merge_labels", False), "--no-merge-labels"),
        (Setting("numeric_classes", True), "--numeric-classes"),
        (Setting("output", aside=True), " (--output)"),
        (Setting("gamma"), "gamma"),
    ],
)
def test_a_setting_is_written_as_the_command_line_has_it(setting, words):
    assert as_flag(setting) == words


def test_a_command_is_written_as_one_types_it():
    said = write_command("audit", "a b", estimate=NOTHING, import_from="x.csv")
    assert said == "subsvms audit 'a b' --estimate --import x.csv"
    assert tell_flags([Sentence("{y}")]) == ["--label"]
