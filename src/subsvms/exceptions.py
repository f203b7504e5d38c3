"""Errors and warnings for users: one sentence that says what was expected, what was found and what to do."""

from importlib.util import find_spec
from typing import Any

from subsvms._sentences import Sentence

__all__ = ["DeviceError", "InputError", "LabelNoiseWarning", "TableError"]


class _Told(Exception):
    """An error whose sentence has a kind and a parameter; with values it is a template (`Sentence`)."""

    def __init__(self, *sentence: str, **values: Any):
        super().__init__(*([Sentence(*sentence, **values)] if values else sentence))

    @property
    def kind(self) -> str:
        """What kind of error it is, for programs; empty if nobody needs to ask."""
        return getattr(self.args[0], "kind", "") if self.args else ""

    @property
    def parameter(self) -> str | None:
        """The first parameter that the sentence names; None if it names none."""
        return getattr(self.args[0], "parameter", None) if self.args else None


class InputError(_Told, ValueError):
    """A value or a file that cannot be used; programs may ask for its `kind` and its `parameter`.

    Examples
    --------
    >>> import subsvms
    >>> try:
    ...     subsvms.correct_labels([[0.0], [1.0]], ["no", "no"])
    ... except subsvms.exceptions.InputError as error:
    ...     print(error.parameter, "-", error)
    y - y must hold at least two classes, but holds only one class, 'no': check that y is the label column.
    """


class TableError(InputError):
    """A table that cannot be used as it is.

    Examples
    --------
    >>> import pandas as pd, subsvms
    >>> try:
    ...     subsvms.correct_table(pd.DataFrame({"x": [1, 2], "y": ["no", "yes"]}), label="z")
    ... except subsvms.exceptions.TableError as error:
    ...     print(error)
    'frame' has no column 'z': its columns are 'x', 'y'.
    """


class DeviceError(_Told, RuntimeError):
    """A GPU has too little memory, or stopped answering.

    Examples
    --------
    >>> import subsvms
    >>> model = subsvms.SubSVMClassifier(n_estimators=20, device="auto", random_state=0)
    >>> try:
    ...     model = model.fit([[0.0], [1.0]], ["no", "yes"])
    ... except subsvms.exceptions.DeviceError:  # the result has the same bits
    ...     model = model.set_params(device="cpu").fit([[0.0], [1.0]], ["no", "yes"])
    """


class LabelNoiseWarning(UserWarning):
    """The labels are such that a correction should be reviewed before it is used.

    Examples
    --------
    >>> import warnings, subsvms
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", subsvms.exceptions.LabelNoiseWarning)  # stop, and review
    ...     correction = subsvms.correct_labels([[0.0], [0.1], [0.9], [1.0]] * 10, [0, 0, 1, 1] * 10)
    """


class MissingExtraError(ImportError):
    """An ImportError that names the extra to install, which the command shows as one sentence."""


def require_extra(what: str, extra: str, *modules: str) -> None:
    """Raise an error that names the extra to install, unless all these modules are installed."""
    if not all(map(find_spec, modules)):
        needed = f"run pip install 'subsvms[{extra}]'"
        raise MissingExtraError(f"{what} needs more than the library alone: {needed}.")
