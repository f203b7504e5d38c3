"""Words of messages."""

import pytest

from subsvms.app.quoting import first_sentence, name_some, show, suggest


@pytest.mark.parametrize(("value", "shown"), [
    ("a\x1b[2J\x9b\0\r\n\x7f\u202eb\udcff", r"'a\x1b[2J\x9b\x00\r\n\x7f\u202eb\udcff'"),
    ("x" * 100, "'" + "x" * 58 + "...'"), (1.5, "1.5"),
])  # fmt: skip
def test_a_value_is_shown_in_quotes_without_control_characters_and_not_too_long(value, shown):
    assert show(value) == shown


def test_the_closest_name_is_suggested_whatever_its_case():
    assert suggest("lable", ["age", " Label "]) == "; did you mean ' Label '?"
    assert suggest("lable", ["age"]) == ""


def test_only_so_many_names_are_listed_as_a_message_can_hold():
    assert name_some(["a", "b"]) == "'a', 'b'"
    assert name_some(["x" * 50] * 9).endswith("' and 5 more")


@pytest.mark.parametrize("text", ["No such key. Try again.", "No such key\nat line 3", "No such key."])
def test_an_error_is_cut_to_its_first_sentence(text):
    assert first_sentence(ValueError(text)) == "No such key"
