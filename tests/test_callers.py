"""A warning names the line of the user, however the package was called."""

import importlib
import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from subsvms import LabelCorrector, SubSVMClassifier, correct_labels, correct_table
from subsvms._callers import find_stacklevel, renamed, renamed_attribute
from subsvms.exceptions import LabelNoiseWarning

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.array(["often"] * 57 + ["seldom"] * 3)
SMALL = SubSVMClassifier(n_estimators=20, random_state=0)
CALLS = {
    "correct_labels": lambda: correct_labels(X, Y, estimator=SMALL),
    "fit": lambda: LabelCorrector(SMALL).fit(X, Y),
    "fit_resample": lambda: LabelCorrector(SMALL).fit_resample(X, Y),
    "correct_table": lambda: correct_table(pd.DataFrame(X, columns=["a", "b"]).assign(y=Y), "y"),
}


def find_lines(call, category):
    """Return the files and lines that warnings of this kind name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return {(one.filename, one.lineno) for one in caught if issubclass(one.category, category)}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_about_labels_names_the_line_that_called(name):
    line = inspect.getsourcelines(CALLS[name])[1]
    assert find_lines(CALLS[name], LabelNoiseWarning) == {(__file__, line)}


def test_it_does_so_in_a_pipeline():
    pipelines = pytest.importorskip("imblearn.pipeline")
    pipeline = pipelines.make_pipeline(LabelCorrector(SMALL), clone(SMALL))
    call, here = lambda: pipeline.fit(X, Y), inspect.currentframe().f_lineno
    assert find_lines(call, LabelNoiseWarning) == {(__file__, here)}


@pytest.mark.parametrize("fit", [SMALL.fit, lambda X, y: correct_labels(X, y, estimator=SMALL)])
def test_so_do_warnings_about_features_and_solver(fit):
    labels = np.tile(["one", "two"], 30)
    for category, call in (
        (UserWarning, lambda: fit(1e4 * X, labels)),
        (ConvergenceWarning, lambda: SubSVMClassifier(max_iter=1, random_state=0).fit(X, labels)),
    ):
        lines = find_lines(call, category)
        assert lines and {path for path, _ in lines} == {__file__}


def test_the_last_line_is_named_where_nobody_called():
    assert find_stacklevel() == 1
    level = eval("find()", {"find": find_stacklevel, "__name__": "sklearn.somewhere"})
    assert level == 2


MOVED = [
    ("subsvms.ensemble", "Votes", "_votes"), ("subsvms.ensemble", "class_probabilities", "_sampling"),
    ("subsvms.ensemble", "draw_subsets", "_sampling"), ("subsvms.ensemble", "subset_size", "_sampling"),
    ("subsvms.ensemble", "solve_subsets", "_solver"),
    ("subsvms.certificates", "changed_draw", "_vote"), ("subsvms.displays", "find_thresholds", "_votes"),
]  # fmt: skip


@pytest.mark.parametrize(("package", "name", "home"), MOVED)
def test_names_that_are_private_now_are_found_with_a_warning_that_says_where(package, name, home):
    words = rf"{name} is no longer public; it is in {package}\.{home},"
    with pytest.warns(FutureWarning, match=words) as caught:
        thing = getattr(importlib.import_module(package), name)
    assert thing is getattr(importlib.import_module(f"{package}.{home}"), name)
    assert {one.filename for one in caught} == {__file__}


def test_a_name_that_never_was_is_an_error_as_ever():
    with pytest.raises(ImportError, match="cannot import name 'draw_nothing'"):
        exec("from subsvms.ensemble import draw_nothing")
    with pytest.raises(AttributeError, match="solve_shared is no longer .* see experiments/shared.py"):
        importlib.import_module("subsvms.ensemble").solve_shared  # noqa: B018


class Level:
    """Something whose parameter and attribute have a new name."""

    certainty = renamed_attribute("certainty", "level")

    @renamed(certainty="level")
    def __init__(self, *, level):
        self.level = level


def test_an_old_name_of_a_parameter_or_attribute_is_taken_with_a_warning():
    with pytest.warns(FutureWarning, match="'certainty' is called 'level' now") as caught:
        assert Level(certainty=0.9).certainty == Level(level=0.9).level == 0.9
    assert [one.filename for one in caught] == [__file__, __file__]
    assert list(inspect.signature(Level).parameters) == ["level"]
    with pytest.raises(TypeError, match="certainty is the old name of level: give one of them"):
        renamed(certainty="level")(lambda level: level)(certainty=0.9, level=0.8)
