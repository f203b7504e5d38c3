"""Options have scikit-learn's names; the command line has names of its own."""

import inspect

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from subsvms.app import options
from subsvms.app.cli.main import app
from subsvms.app.declared import DECLARED, describe_type, list_options
from subsvms.app.frames import FrameOptions, correct_table
from subsvms.app.options import Options, TableOptions, Work, as_flag, tell_flags
from subsvms.exceptions import NOTHING, InputError, Sentence, Setting, TableError

WRONG = {
    "rule": "majorty", "action": 3, "kernel": "cubic", "max_error_rate": 2, "min_confidence": -1,
    "n_estimators": 0, "subsample_size": 1, "random_state": -1, "id_column": 7, "pool_size": 5,
    "fill_missing": "no",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_an_error_that_names_the_parameter_or_its_flag(name):
    with pytest.raises(InputError, match=f"^{name} must be .*; got {WRONG[name]!r}") as caught:
        Options("y", **{name: WRONG[name]})
    assert caught.value.parameter == name
    said = str(tell_flags(caught.value.args[0]))
    assert said.startswith(f"{as_flag(Setting(name))} must be ")


def test_values_are_recorded_as_plain_ones():
    made = Options("y", by=["who", "who"], keep=["a", 3], n_estimators=np.int64(7), random_state=None)
    assert (made.by, made.keep, made.n_estimators, made.random_state) == (("who",), ("a", "3"), 7, 0)
    assert type(made.n_estimators) is int
    X = np.ones((3, 2))
    assert FrameOptions(X, "y", features=X).features is X  # tables and arrays are left to others


def test_nearly_a_known_value_is_asked_back():
    with pytest.raises(TableError, match="did you mean 'majority'"):
        Options("y", rule="majorty")
    with pytest.raises(TableError, match="log, log_squared or a whole number; got 'ten'"):
        Options("y", subsample_size="ten")


@pytest.mark.parametrize("name, cls", [
    ("correct", Options), ("correct", Work), ("predict", options.PredictOptions),
    ("corrupt", options.AttackOptions), ("review", options.PageOptions), ("apply", options.ApplyOptions),
    ("export", options.ExportOptions), ("audit", options.AuditOptions), ("check", options.CheckOptions),
])  # fmt: skip
def test_each_declaration_is_a_parameter_of_the_command(name, cls):
    command = typer.main.get_command(app).commands[name]
    made = {one.name: one for one in command.params}
    for one in list_options(cls):
        flag = as_flag(Setting(one.name))
        assert flag in made[one.name].opts
        assert made[one.name].hidden == one.metadata[DECLARED].hidden
        assert made[one.name].help.startswith(str(tell_flags(Sentence(one.metadata[DECLARED].help))))


def test_each_declaration_is_a_documented_parameter_of_correct_table():
    parameters = inspect.signature(correct_table).parameters
    documented = correct_table.__doc__.partition("Returns")[0]
    for one in list_options(TableOptions):
        assert parameters[one.name].default == one.default
        assert f"\n{one.name} : {describe_type(one)}" in documented
    assert list(parameters)[:2] == ["frame", "label"] and "--" not in documented.replace("---", "")
    with pytest.raises(TypeError, match="unexpected keyword argument 'svms'"):
        correct_table(None, "y", svms=3)


@pytest.mark.parametrize("one", [*list_options(Options), *list_options(Work)], ids=lambda one: one.name)
def test_help_names_options_in_the_words_of_its_reader(one):
    template = Sentence(one.metadata[DECLARED].help)
    assert "--" not in template and "n_estimators" not in tell_flags(template)


@pytest.mark.parametrize("setting, words", [
    (Setting("n_estimators"), "--svms"), (Setting("max_error_rate", 0.1), "--max-error-rate 0.1"),
    (Setting("by", "a b"), "--by 'a b'"), (Setting("keep", ["a", "b"]), "--keep a --keep b"),
    (Setting("merge_labels", False), "--no-merge-labels"),
    (Setting("numeric_classes", True), "--numeric-classes"), (Setting("output", aside=True), " (--output)"),
    (Setting("gamma"), "gamma"),
])  # fmt: skip
def test_a_setting_is_written_as_the_command_line_has_it(setting, words):
    assert as_flag(setting) == words


def test_a_command_is_written_as_one_types_it():
    said = options.write_command("audit", "a b", estimate=NOTHING, import_from="x.csv")
    assert said == "subsvms audit 'a b' --estimate --import x.csv"
    assert tell_flags([Sentence("{y}")]) == ["--label"]


@pytest.mark.parametrize("words", ["audit . --answers 9", "audit . --level 1", "review . --port 65536"])
def test_the_command_line_refuses_what_is_beyond_a_span(words):
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 2 and f"Invalid value for '{words.split()[2]}'" in done.output
