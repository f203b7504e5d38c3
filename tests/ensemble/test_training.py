from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.utils.fixes import parse_version

from subsvms import SubSVMClassifier
from subsvms._effort import announce, listening, one_stage
from subsvms.ensemble._training import Progress

X = np.arange(300.0)[:, None] / 300
Y = np.arange(300) >= 150
needs_callbacks = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"), reason="callbacks need scikit-learn 1.9"
)


def quick(**params):
    return SubSVMClassifier(n_estimators=100, random_state=0, **params)


def test_verbose_prints_a_line_per_stage_and_verbose_2_the_time_left(capsys):
    quick().fit(X, Y).predict(X)
    assert capsys.readouterr() == ("", "")
    quick(verbose=1).fit(X, Y)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("[SubSVMClassifier] training SVMs: 100 done in ")
    assert second.startswith("[SubSVMClassifier] voting on rows: 300 done in ")
    quick(verbose=2, n_jobs=2).set_params(n_estimators=1000).fit(X, Y)
    assert sum("s left" in line for line in capsys.readouterr().out.splitlines()) == 9


def test_a_listener_hears_of_all_stages_but_those_inside_another():
    heard = []
    with listening(lambda *report: heard.append(report)):
        with one_stage("checking"):
            quick().fit(X, Y)
        quick().fit(X, Y)
    announce("after")
    assert heard[0] == ("checking", 0, 1) and heard[-1] == ("voting on rows", 300, 300)
    assert {stage for stage, _, _ in heard[1:]} == {"training SVMs", "voting on rows"}


class Recorder:
    """Remembers what scikit-learn tells a callback."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))

    def teardown(self, estimator, context):
        self.events.append("teardown")


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_follow_the_fit(n_jobs):
    recorder = Recorder()
    quick(n_jobs=n_jobs).set_callbacks(recorder).fit(X, Y)
    events = recorder.events
    assert events[:3] == ["setup", ("begin", "fit"), ("begin", "training SVMs")]
    assert events[-3:] == [("end", "voting on rows"), ("end", "fit"), "teardown"]
    for name in ("training SVMs step", "voting on rows step"):
        assert events.count(("begin", name)) == events.count(("end", name)) == 100


@needs_callbacks
def test_callbacks_are_torn_down_when_a_fit_fails():
    recorder = Recorder()
    recorder.on_fit_task_end = lambda estimator, context: 1 / 0
    model = quick().set_callbacks(recorder)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, Y)
    assert recorder.events[-1] == "teardown" and not hasattr(model, "classes_")


@needs_callbacks
def test_a_progress_bar_shows_both_stages_also_inside_a_grid_search(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    for model in (quick(), GridSearchCV(quick(), {"C": [1.0, 10.0]}, cv=2)):
        model.set_callbacks(ProgressBar()).fit(X, Y)
        shown = capsys.readouterr().out
        assert "training SVMs" in shown and "voting on rows" in shown and "100%" in shown


def test_an_estimator_without_callbacks_can_report(capsys):
    """As with scikit-learn before 1.9."""
    progress = Progress(SimpleNamespace(verbose=1), n_stages=1)
    progress.stage("counting")(5, 5)
    progress.end()
    assert capsys.readouterr().out.startswith("[SimpleNamespace] counting: 5 done in")
