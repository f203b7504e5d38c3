"""Report the progress of a fit to scikit-learn's callbacks and to a listener, and print it if `verbose`.

Callbacks (`estimator.set_callbacks(ProgressBar())`) need scikit-learn 1.9; with older versions the estimators
work the same without them. The command line is a listener, whatever it fits.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from subsvms._typing import OnProgress

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A placeholder for older versions of scikit-learn."""


STEPS = 100  # a stage is reported in percent
LINES = 10  # verbose=2 prints a line for every tenth of a stage
Listener = Callable[[str, int, int], None]  # listener(stage, done, total)
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call listener(stage, done, total) as the work in this context progresses."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(stage: str, done: int = 0, total: int = 1) -> None:
    """Report to the listener, if any, that a stage begins or how far it has come."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


@contextmanager
def one_stage(name: str, done: int = 0, total: int = 1) -> Iterator[None]:
    """Announce a stage, but none of the stages inside it."""
    announce(name, done, total)
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


class Progress:
    """The progress of one fit, stage after stage.

    estimator: its callbacks are called; its `verbose` is 0 for silence, 1 for a line per stage, 2 for more.
    X, y: passed on to the callbacks.
    """

    def __init__(self, estimator: Any, n_stages: int, X: Any = None, y: Any = None):
        self.estimator, self.data = estimator, {"X": X, "y": y}
        self.context: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(max_subtasks=n_stages)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def stage(self, name: str) -> OnProgress:
        """Return a function on_progress(done, total) for the next stage."""
        began, reported = time.monotonic(), 0
        context = self.context and self.context.subcontext(name, max_subtasks=STEPS)
        if context:
            context.call_on_fit_task_begin(estimator=self.estimator)

        def on_progress(done, total):
            nonlocal reported
            announce(name, done, total)
            percent = STEPS * done // total
            for _ in range(reported, percent) if context else ():
                step = context.subcontext(f"{name} step")
                step.call_on_fit_task_begin(estimator=self.estimator)
                step.call_on_fit_task_end(estimator=self.estimator)
            self.print_line(name, done, total, reported, percent, time.monotonic() - began)
            reported = percent
            if done == total and context:
                context.call_on_fit_task_end(estimator=self.estimator)

        return on_progress

    def print_line(self, name, done, total, reported, percent, seconds):
        """Print how far a stage has come, as often as `verbose` asks."""
        verbose, title = self.estimator.verbose, type(self.estimator).__name__
        if verbose and done == total:
            print(f"[{title}] {name}: {total} done in {seconds:.1f} s", flush=True)
        elif verbose > 1 and percent * LINES // STEPS > reported * LINES // STEPS:
            left = seconds / done * (total - done)
            print(f"[{title}] {name}: {done} of {total}, {left:.1f} s left", flush=True)

    def end(self) -> None:
        """Report that the fit is complete."""
        if self.context:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes={}, **self.data
            )
