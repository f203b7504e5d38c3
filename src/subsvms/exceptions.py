"""Errors and warnings for users: one sentence that says what was expected, what was found and what to do."""

__all__ = ["DeviceError", "InputError", "LabelNoiseWarning", "TableError"]


class InputError(ValueError):
    """A value or a file that cannot be used."""


class TableError(InputError):
    """A table that cannot be used as it is."""


class DeviceError(RuntimeError):
    """A GPU has too little memory, or stopped answering."""


class LabelNoiseWarning(UserWarning):
    """The labels are such that a correction should be reviewed before it is used."""
