"""Sentences in which parameters are fields."""

import copy
import json
import pickle
import warnings

import pytest

from subsvms import exceptions
from subsvms.exceptions import DeviceError, InputError, Note, Sentence, Setting, TableError, join_sentences

BRACES = "{by} {0} {value!r} {"  # what a table may hold


def shout(setting):
    name = setting.parameter.upper()
    words = name if setting.value is ... else f"{name} {setting.value}"
    return f" ({words})" if setting.aside else words


@pytest.mark.parametrize("template, values, python, other", [
    ("plain", {}, "plain", "plain"),
    ("{by} is {value!r}.", {"value": 3}, "by is 3.", "BY is 3."),
    ("See {by}.", {"by": Setting("by", "a b")}, "See by='a b'.", "See BY a b."),
    ("{by=a} {keep=False}", {}, "by='a' keep=False", "BY a KEEP False"),
    ("See {hint}.", {"hint": Sentence("{by}")}, "See by.", "See BY."),
    ("Move it{output:aside}.", {}, "Move it.", "Move it (OUTPUT)."),
    ("{n:,} of {x:.1f}; {{}}", {"n": 1000, "x": 0.25}, "1,000 of 0.2; {}", "1,000 of 0.2; {}"),
    ("{found}; {keep}", {"found": BRACES}, f"{BRACES}; keep", f"{BRACES}; KEEP"),
])  # fmt: skip
def test_a_template_is_told_with_either_names(template, values, python, other):
    sentence = Sentence(template, **values)
    assert sentence == python and sentence.told(shout) == other


@pytest.mark.parametrize("error", [InputError, TableError, DeviceError, TypeError])
@pytest.mark.parametrize("repeat", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_errors_and_notes_survive_the_way_to_another_process(error, repeat):
    note = Note("odd", "{by} is {value}", value=BRACES)
    (found,) = repeat(error(note)).args
    raised = InputError(note)
    assert (raised.kind, raised.parameter) == ("odd", "by")
    assert (InputError("by").kind, InputError().parameter) == ("", None)
    assert (found, found.kind, found.parameter) == (note, "odd", "by")
    assert found.told(shout) == f"BY is {BRACES}"


def test_sentences_are_text_for_json_warnings_and_joins():
    note = Note("odd", "{by} is odd.")
    assert json.dumps([note]) == '["by is odd."]'
    both = join_sentences([note, "Plain."])
    assert both == "by is odd. Plain." and both.told(shout) == "BY is odd. Plain."
    assert join_sentences([]) == ""
    with pytest.warns(UserWarning, match="by is odd") as caught:
        warnings.warn(note, UserWarning, stacklevel=1)
    assert caught[0].message.args[0].kind == "odd"


def test_sentences_are_told_wherever_they_are():
    told = exceptions.tell({"notes": [Sentence("{by}")], "pair": (Setting("by", 1), 2), "n": None}, shout)
    assert told == {"notes": ["BY"], "pair": ("BY 1", 2), "n": None}
