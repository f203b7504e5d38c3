"""Warnings that name the user's line, and names that are accepted for one release more."""

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

BETWEEN = ("subsvms", "sklearn", "imblearn", "joblib")  # packages that may lie between the user and a warning
Function = TypeVar("Function", bound=Callable)


def find_stacklevel() -> int:
    """Return the `stacklevel` with which a warning names the first line outside these packages."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    return level


def find_moved(package: str, homes: dict[str, str], **gone: str) -> Callable[[str], Any]:
    """Return a package's `__getattr__` for names that are private now, {name: module}, or elsewhere."""

    def find(name):
        if name in gone:
            raise AttributeError(f"{package}.{name} is no longer part of the package: see {gone[name]}.")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = f"{package}.{homes[name]}"
        words = f"{package}.{name} is no longer public; it is in {home}, where it may change or go."
        warnings.warn(words, FutureWarning, stacklevel=find_stacklevel())
        return getattr(import_module(home), name)

    return find


def renamed(**new_names: str) -> Callable[[Function], Function]:
    """Let a function take parameters by their old names for one release, with a warning."""

    def decorate(function):
        @wraps(function)
        def call(*args, **parameters):
            for old in new_names.keys() & parameters:
                if new_names[old] in parameters:
                    raise TypeError(f"{old} is the old name of {new_names[old]}: give one of them.")
                warn_renamed(old, new_names[old])
                parameters[new_names[old]] = parameters.pop(old)
            return function(*args, **parameters)

        return call

    return decorate


def renamed_attribute(old: str, new: str) -> property:
    """Return a property that gives an attribute by its old name for one release, with a warning."""

    def read(self):
        warn_renamed(old, new)
        return getattr(self, new)

    return property(read, doc=f"The old name of `{new}`.")


def warn_renamed(old: str, new: str) -> None:
    """Warn that a name goes with the next release."""
    words = f"{old!r} is called {new!r} now; the old name goes with the next release."
    warnings.warn(words, FutureWarning, stacklevel=find_stacklevel())
