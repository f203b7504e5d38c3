"""What goes wrong, in the user's words: one sentence that says what was expected, what came, what to do."""

__all__ = ["InputError", "LabelNoiseWarning", "TableError"]


class InputError(ValueError):
    """A value or a file that cannot be used."""


class TableError(InputError):
    """A table that cannot be used as it is."""


class LabelNoiseWarning(UserWarning):
    """The labels are in a state in which a correction should be looked at before it is used."""
