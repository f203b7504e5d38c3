"""Check numbers that the user passes, as `_validation` checks tables; nothing here needs scikit-learn."""

from math import isfinite
from numbers import Integral, Real

from subsvms._sentences import Sentence, Setting
from subsvms.exceptions import InputError


def check_range(name: str, value: float, low: float, high: float, ends: str = "[]") -> None:
    """Raise an error unless value lies between low and high; `ends` says which of the two are included."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(Sentence("{name} must be a number; got {value!r}.", name=Setting(name), value=value))
    above = value >= low if ends[0] == "[" else value > low
    below = value <= high if ends[1] == "]" else value < high
    if above and below and (isfinite(value) or high == value):
        return
    least = f"at least {low:g}" if ends[0] == "[" else f"more than {low:g}"
    most = f"at most {high:g}" if ends[1] == "]" else f"less than {high:g}"
    most = "finite" if high == float("inf") else most
    words = "{name} must be {least} and {most}; got {value!r}."
    raise InputError(words, name=Setting(name), least=least, most=most, value=value)


def check_count(name: str, value: int, least: int = 1) -> None:
    """Raise an error unless value is a whole number, and at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        words = "{name} must be a whole number, at least {least}; got {value!r}."
        raise InputError(words, name=Setting(name), least=least, value=value)


def check_seed(random_state: int | None) -> int:
    """Return the seed of what is recorded and can be repeated: 0 by default, not one drawn at random."""
    if random_state is None:
        return 0
    check_count("random_state", random_state, least=0)
    return int(random_state)


def check_subset(s: int | None, r: int) -> int:
    """Return r/2 rounded up, the rows of each class; raise an error if r is more than the subset's s rows."""
    check_count("r", r)
    if s is not None:
        check_count("s", s)
        if r > s:
            raise InputError(f"r must be at most s, the size of the subset, {s}; got {r}.")
    return -(-r // 2)
