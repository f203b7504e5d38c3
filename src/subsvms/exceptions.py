"""Errors and warnings for users: one sentence that says what was expected, what was found and what to do."""

__all__ = ["InputError", "LabelNoiseWarning", "TableError"]


class InputError(ValueError):
    """A value or a file that cannot be used."""


class TableError(InputError):
    """A table that cannot be used as it is."""


class LabelNoiseWarning(UserWarning):
    """The labels are such that a correction should be reviewed before it is used."""
