"""Numbers that users pass, checked as `_validation` checks tables; and exact limits of a share.

Nothing here needs NumPy before it is called: the command line checks numbers while it loads.
"""

from math import isfinite
from numbers import Integral, Real
from typing import Any

from subsvms.exceptions import InputError, Sentence, Setting

MOST = 2**63


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
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value < MOST:
        words = "{name} must be a whole number, at least {least}; got {value!r}."
        if isinstance(value, Integral) and value >= MOST:
            words = "{name} must be a whole number of at most 63 bits; got {value!r}."
        raise InputError(words, name=Setting(name), least=least, value=value)


def check_type(name: str, value: Any, what: str, *kinds: Any) -> None:
    """Raise an error unless a value is of one of these types."""
    if not isinstance(value, kinds):
        words = "{name} must be {what}; got {kind}."
        raise TypeError(Sentence(words, name=Setting(name), what=what, kind=type(value).__name__))


def read_array(name: str, values: Any, dtype: Any = float) -> Any:
    """Return values as an array of numbers; an error names them."""
    import numpy as np

    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        words = "{name} must be an array of numbers, but {error}."
        raise InputError(words, name=Setting(name), error=str(error).splitlines()[0].rstrip(".")) from None


def make_rng(random_state: Any) -> Any:
    """Return scikit-learn's generator of random numbers for what a user passes."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, Integral) and not 0 <= int(random_state) < 2**32:
        raise InputError("{random_state} must be at least 0 and less than 2^32; got {got}.", got=random_state)
    return check_random_state(random_state)


def check_seed(random_state: int | None) -> int:
    """Return the seed of what is recorded and can be repeated: 0 by default, not one drawn at random."""
    if random_state is None:
        return 0
    check_count("random_state", random_state, least=0)
    return int(random_state)


def lower_limit(k: Any, n: Any, level: float) -> Any:
    """Return a lower limit of a share, from k of n draws: too high with probability <= 1 - level.

    Numbers or arrays; the exact limits of Clopper and Pearson (Biometrika 1934).
    """
    import numpy as np
    from scipy.special import betaincinv  # a quarter of a second, for which the review page need not wait

    k, n = np.asarray(k), np.asarray(n)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), np.maximum(n - k + 1, 1), 1.0 - level), 0.0)


def upper_limit(k: Any, n: Any, level: float) -> Any:
    """Return an upper limit of a share, from k of n draws: too low with probability <= 1 - level."""
    return 1.0 - lower_limit(n - k, n, level)
