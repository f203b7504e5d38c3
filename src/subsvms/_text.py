"""Text that goes into messages and files."""

import reprlib


def is_text(value: str) -> bool:
    r"""Return whether text can be written as UTF-8: it cannot if it contains an unpaired surrogate.

    Examples
    --------
    >>> is_text("é"), is_text("\ud800")
    (True, False)
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def format_value(value: object) -> str:
    """Return a value for a message, cut short, in one line.

    Examples
    --------
    >>> format_value(list(range(100)))
    '[0, 1, 2, 3, 4, 5, ...]'
    """
    return " ".join(reprlib.repr(value).split())
