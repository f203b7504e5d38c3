"""Text and numbers as the page prints them, and the templates that print them.

Any text may come from an untrusted table. So everything that a template prints is escaped, and first goes
through one function (`format_value`) that limits its length and replaces characters that HTML cannot hold.
"""

import math
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from importlib.util import cache_from_source
from numbers import Real
from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache, Environment, PackageLoader, Undefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from subsvms import exceptions
from subsvms._atomic import write_whole
from subsvms.exceptions import UNKNOWN

MAX_TEXT, MAX_CELL, MAX_NAME = 1000, 300, 60  # characters
MAX_WHOLE = 5000  # characters of a text that is there to be read
UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not in XML, or C1


class Compiled(BytecodeCache):
    """Keeps compiled templates where Python keeps compiled modules, if it may."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read what was kept, if there is something."""
        with suppress(OSError), self._locate(bucket).open("rb") as file:
            bucket.load_bytecode(file)  # unless it is of another version

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                write_whole(self._locate(bucket), bucket.bytecode_to_string())

    def _locate(self, bucket):
        return Path(cache_from_source(__file__)).with_name(f"{bucket.key}.template")


@cache
def open_templates() -> Environment:
    """Return the templates of this package, with the filters they use for numbers and text."""
    pages = Environment(
        loader=PackageLoader("subsvms.app.report"), autoescape=True, finalize=format_value,
        trim_blocks=True, lstrip_blocks=True, optimized=False,  # which takes longer than it saves
        bytecode_cache=Compiled(),
    )  # fmt: skip
    pages.filters |= {
        "cell": lambda value: cut(value, MAX_CELL), "name": lambda value: cut(value, MAX_NAME),
        "count": format_count, "percent": format_percent, "place": format_place, "time": format_time,
        "number": read_number, "digits": format_digits, "key": format_key,
    }  # fmt: skip
    pages.globals |= {"between": format_interval, "largest": largest, "max_whole": MAX_WHOLE}
    return pages


# Text


def format_value(value: Any) -> Any:
    """Return a value as the page prints it: not too long, and without characters that HTML cannot hold."""
    if isinstance(value, Markup):  # made by the page itself
        return value
    return "" if value is None else cut(value, MAX_TEXT)


def cut(value: Any, limit: int) -> str:
    """Return text of at most `limit` characters."""
    text = "" if value is None else str(value)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return UNPRINTABLE.sub("�", text.replace("\r\n", "\n").replace("\r", "\n"))


# Numbers


def read_number(value: Any) -> float | None:
    """Return a finite number, or None for anything else."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer with hundreds of digits
        return None
    return number if math.isfinite(number) else None


def format_count(value: Any) -> str:
    """Return a count as text."""
    number = read_number(value)
    if number is None:
        return UNKNOWN if value is None or isinstance(value, Undefined) else cut(value, MAX_CELL)
    return f"{number:,.0f}" if number.is_integer() or number >= 10 else f"{number:.1f}"


def format_digits(value: Any, form: str = ".3f") -> str:
    """Return a number with a few digits."""
    number = read_number(value)
    return UNKNOWN if number is None else f"{number:z{form}}"  # z: no -0.00


def format_percent(share: Any) -> str:
    """Return a share in per cent, on one line."""
    number = read_number(share)
    return UNKNOWN if number is None else exceptions.format_percent(number).replace(" ", "\xa0")


def format_interval(low: Any, high: Any) -> str:
    """Return an interval of shares, or nothing if an end is missing."""
    start, end = read_number(low), read_number(high)
    if start is None or end is None:
        return ""
    return exceptions.format_interval(start, end).replace(" %", "\xa0%")


def format_place(value: Any, full: Any = 1.0) -> str:
    """Return a CSS percentage for a position between 0 and `full`."""
    number, whole = read_number(value), read_number(full)
    if number is None or not whole:
        return "0%"
    return f"{100 * min(max(number / whole, 0.0), 1.0):.2f}%"


def format_key(value: Any) -> str:
    """Return a number to sort by; nothing for anything else."""
    number = read_number(value)
    return "" if number is None else f"{number:.12g}" if number.is_integer() else f"{number:.6g}"


def largest(lines: Iterable[Mapping[str, Any]], *names: str) -> float:
    """Return the largest number under these names, where a bar ends; 1 if there is none."""
    numbers = (read_number(line.get(name)) for line in lines for name in names)
    return max((number for number in numbers if number), default=1.0)


def format_time(value: Any) -> str:
    """Return an ISO time in a readable form, or the text itself if it is not one."""
    try:
        when = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return cut(value, MAX_NAME)
    return f"{when:%Y-%m-%d %H:%M} {when.tzname() or ''}".strip()
