"""Check the saved state of an audit, which anyone may have changed: each fault is one sentence."""

from collections.abc import Callable, Mapping
from typing import Any

from subsvms._sentences import format_value
from subsvms.exceptions import InputError

PARAMETERS = ("n_answers", "confidence", "repeat", "random_state")


def check_state(state: Any, version: int) -> dict[str, Any]:
    """Return the parameters in a state; raise an error if a part of it is missing or of the wrong kind."""
    if not isinstance(state, Mapping):
        raise InputError(f"The state of an audit must be a dictionary; got {type(state).__name__}.")
    if state.get("format") != version:
        raise InputError(
            f"The audit has format {format_value(state.get('format'))}, but this version of subsvms reads "
            f"format {version}: use the version that began it."
        )
    kinds: dict[str, Callable[[Any], bool]] = {
        "made_from": lambda value: isinstance(value, str),
        "n_answers": _is_count,
        "confidence": lambda value: isinstance(value, float),
        "repeat": lambda value: isinstance(value, bool),
        "random_state": _is_count,
        "answers": lambda value: isinstance(value, list | tuple),
    }
    for name, fits in kinds.items():
        if not fits(state.get(name)):
            found = format_value(state.get(name))
            raise InputError(f"The state of the audit has no valid {name!r}; got {found}.")
    return {{"confidence": "level"}.get(name, name): state[name] for name in PARAMETERS}  # its name in files


def check_answer(i: int, pair: Any, n_classes: int) -> tuple[int, int | None]:
    """Return the row and the class number of the i-th answer in a state."""
    if not (isinstance(pair, list | tuple) and len(pair) == 2 and _is_count(pair[0])):
        raise InputError(f"Answer {i} of the audit must be a row and a class; got {format_value(pair)}.")
    row, number = pair
    if number is not None and not (_is_count(number) and number < n_classes):
        raise InputError(
            f"Answer {i} of the audit must be a class from 0 to {n_classes - 1} or None; got "
            f"{format_value(number)}."
        )
    return row, number


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
