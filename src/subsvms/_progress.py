"""Say how far a fit has come: to scikit-learn's callbacks, on standard output if asked, and to a listener.

scikit-learn 1.9 brought callbacks (`estimator.set_callbacks(ProgressBar())`). With an older version the
estimators work the same and only `verbose` speaks. The command line listens, whatever is fitted inside.
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
        """Stand in for what scikit-learn before 1.9 does not have."""


STEPS = 100  # a stage is reported in percent
LINES = 10  # verbose=2 writes a line for every tenth
Listener = Callable[[str, int, int], None]  # listener(stage, done, total)
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call listener(stage, done, total) as work in this context goes on.

    Examples
    --------
    >>> with listening(lambda *told: print(*told)):
    ...     announce("reading")
    reading 0 1
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(stage: str, done: int = 0, total: int = 1) -> None:
    """Tell whoever listens which stage begins, or how far it has come."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


@contextmanager
def one_stage(name: str) -> Iterator[None]:
    """Announce a stage, and nothing of what goes on inside."""
    announce(name)
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


class Progress:
    """The progress of one fit, stage after stage.

    Parameters
    ----------
    estimator : estimator
        Its callbacks are told; its `verbose` is 0 for silence, 1 for a line per stage, 2 for more.
    n_stages : int
    """

    def __init__(self, estimator: Any, n_stages: int, X: Any = None, y: Any = None):
        self.estimator, self.data = estimator, {"X": X, "y": y}
        self.context: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(max_subtasks=n_stages)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def stage(self, name: str) -> OnProgress:
        """Return a function on_progress(done, total) for the next stage."""
        began, told = time.monotonic(), 0
        context = self.context and self.context.subcontext(name, max_subtasks=STEPS)
        if context:
            context.call_on_fit_task_begin(estimator=self.estimator)

        def on_progress(done, total):
            nonlocal told
            announce(name, done, total)
            percent = STEPS * done // total
            for _ in range(told, percent) if context else ():
                step = context.subcontext(f"{name} step")
                step.call_on_fit_task_begin(estimator=self.estimator)
                step.call_on_fit_task_end(estimator=self.estimator)
            self.print_line(name, done, total, told, percent, time.monotonic() - began)
            told = percent
            if done == total and context:
                context.call_on_fit_task_end(estimator=self.estimator)

        return on_progress

    def print_line(self, name, done, total, told, percent, seconds):
        """Print how far a stage has come, as often as `verbose` asks."""
        verbose, title = self.estimator.verbose, type(self.estimator).__name__
        if verbose and done == total:
            print(f"[{title}] {name}: {total} done in {seconds:.1f} s", flush=True)
        elif verbose > 1 and percent * LINES // STEPS > told * LINES // STEPS:
            left = seconds / done * (total - done)
            print(f"[{title}] {name}: {done} of {total}, {left:.1f} s left", flush=True)

    def end(self) -> None:
        """Tell that the fit is done and the estimator ready."""
        if self.context:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes={}, **self.data
            )
