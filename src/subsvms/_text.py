"""Text that goes into messages and files."""

import difflib
import reprlib
from collections.abc import Iterable

WIDE = 0.25  # an interval of a rate that is wider says too little for the middle of it to be named
UNKNOWN = "not known"
CHARACTERS_SHOWN = 300  # of a name, and of a value of a row to compare with
WHOLE = 100_000  # characters of a value for people who decide or answer: all of it, but for absurd sizes


def cut(text: str, most: int = CHARACTERS_SHOWN) -> str:
    """Return text that is short enough to be shown."""
    return text if len(text) <= most else text[:most] + "…"


def is_text(value: str) -> bool:
    """Return whether text can be written as UTF-8: it cannot if it contains an unpaired surrogate."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def format_value(value: object) -> str:
    """Return a value for a message, cut short, in one line."""
    return " ".join(reprlib.repr(value).split())


def find_closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is written most like this one; None if none is close."""
    folded = {other.strip().casefold(): other for other in known}
    near = difflib.get_close_matches(name.strip().casefold(), folded, n=1)
    return folded[near[0]] if near else None


def quote_spaces(name: str) -> str:
    """Return the name of a class; in quotes if it has spaces that cannot be seen, or several in a row."""
    return name if name == " ".join(name.split()) else repr(name)


# Shares and rates


def is_rate_known(low: float, high: float) -> bool:
    """Return whether an estimated rate may be named: only if its interval is not too wide.

    Where nothing can be estimated the interval goes from 0 to 1. Terminal, report and library ask here.
    """
    return high - low <= WIDE


def format_percent(share: float) -> str:
    """Return a share in per cent, with a decimal where it matters; only 0 and 1 become 0 % and 100 %."""
    if share <= 0 or share >= 1:
        return f"{100 * share:.0f} %"
    if share < 0.001 or share > 0.999:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    decimals = 1 if share < 0.0995 or share > 0.99 else 0
    return f"{100 * share:.{decimals}f} %"


def format_interval(low: float, high: float) -> str:
    """Return an interval of shares."""
    return f"{format_percent(low).removesuffix(' %')} to {format_percent(high)}"


def format_rate(rate: float, low: float, high: float) -> str:
    """Return an estimated rate and its interval; the rate only if it is known."""
    if high - low >= 1:
        return UNKNOWN
    return f"{format_percent(rate) if is_rate_known(low, high) else UNKNOWN} ({format_interval(low, high)})"
