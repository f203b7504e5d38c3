"""Quotes in messages: values and names, the name that was probably meant, what another program said."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from subsvms.exceptions import TableError, find_closest

MAX_SHOWN = 240  # characters of the columns named in a message
MAX_LENGTH = 60  # characters of a name or label in a message
MAX_REASON = 300  # characters of what another program says


def show(value: object) -> str:
    """Return a value in quotes for a message, cut short if it is long."""
    shown = repr(value[:MAX_LENGTH] if isinstance(value, str) else value)
    return shown if len(shown) < MAX_LENGTH else shown[: MAX_LENGTH - 1] + "..." + shown[-1]


def name_some(names: Sequence[str]) -> str:
    """Return names in quotes, as many as a message can hold, and how many more there are."""
    shown = list(map(show, names))
    fitting = sum(length < MAX_SHOWN for length in accumulate(len(one) + 2 for one in shown))
    more = f" and {len(names) - fitting} more" if fitting < len(names) else ""
    return ", ".join(shown[:fitting]) + more


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the closest name, or nothing if none is close."""
    close = find_closest(name, known)
    return "" if close is None else f"; did you mean {show(close)}?"


def suggest_file(path: Path) -> str:
    """Return a question that suggests another file in place of a missing one, or else what to check."""
    others = os.listdir(path.parent) if path.parent.is_dir() else []
    return suggest(path.name, (one for one in others if one != path.name)) or ": check its name and folder."


def first_sentence(error: BaseException) -> str:
    """Return the first sentence of an error's message."""
    return re.split(r"\.\s|\n", str(error))[0].rstrip(".")[:MAX_REASON]


@contextmanager
def explaining(what: str, advice: str, errors: tuple[type[Exception], ...] = (Exception,)) -> Iterator[None]:
    """Turn errors of other programs into a sentence: what is wrong, the reason in brackets, what to do."""
    try:
        yield
    except (MemoryError, TableError):
        raise
    except errors as error:
        reason = first_sentence(error) or type(error).__name__
        raise TableError(f"{what} ({reason}): {advice}") from None


def explaining_each(items: Iterator[Any], explain: Callable[[], AbstractContextManager]) -> Iterator[Any]:
    """Yield what an iterator yields, and explain the errors that it raises, but none of whoever takes it."""
    while True:
        with explain():
            item = next(items, None)
        if item is None:
            return
        yield item
