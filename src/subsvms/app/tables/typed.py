"""Parquet, Feather and Arrow files as formats of tables: one file, or several with one schema."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from subsvms.app.tables.arrow import join_tables, read_arrow, render_arrow
from subsvms.app.tables.coded import UNLABELLED, find_class_names, name_labels
from subsvms.app.tables.files import Content
from subsvms.app.tables.formats import Reading


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a file, and further fields of the table."""
    return read_all([content], label)


def read_all(contents: Sequence[Content], label: str | None) -> tuple[Any, dict[str, Any]]:
    """Return the rows of all files, one below the other, and further fields of the table."""
    tables = [read_arrow(content) for content in contents]
    columns = join_tables(tables, [content.name for content in contents])
    names = find_class_names(columns.schema, label)
    if not names:
        return columns, {}
    write = partial(render_arrow, format=contents[0].format)
    return name_labels(columns, label, names, write, missing=[UNLABELLED])


def render(columns: Any, format: str) -> bytes:
    """Return columns as the bytes of a Parquet or Feather file."""
    return render_arrow(columns, format)
