"""Find the user's line, which a warning should name."""

import sys

BETWEEN = ("subsvms", "sklearn", "imblearn", "joblib")  # packages that may lie between the user and a warning


def find_stacklevel() -> int:
    """Return the `stacklevel` with which a warning names the first line outside these packages."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    return level
