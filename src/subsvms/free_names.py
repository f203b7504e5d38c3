"""Names for columns that are added to a table, so that no two share one."""

from collections.abc import Container


def find_free(name: str, taken: Container[str]) -> str:
    """Return a name for a user's column that none of ours has."""
    while name in taken:
        name += " (column)"
    return name


def number_name(wanted: str, taken: Container[str]) -> str:
    """Return a name for a column of ours that none of the user's has: with a number after it, if need be."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
