"""The formats that tables are read from and written to, all in one list.

A new format is one more line here and the module that the line names. That module has two functions,

    read(content, label, reading) -> columns, more       render(columns, format) -> bytes

where `columns` is a pyarrow.Table, and `more` holds further fields of a `LabelledTable`; a format that is
`written` as another one needs no `render`.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from subsvms.exceptions import TableError


@dataclass(frozen=True)
class Format:
    """One format of files."""

    name: str  # as in `--format`
    title: str  # what people call it
    suffixes: tuple[str, ...]  # the usual one first
    module: str  # in this package; it has the functions above
    all_text: bool = False  # whether all its values are text, so that numbers are text as well
    in_parts: bool = False  # whether it can be read in parts
    # bytes of memory for each byte of a file, in a run in memory: a guess, on the high side. Zero if it is
    # always read in memory.
    growth: float = 0.0
    written_as: str = ""  # name of the format in which such a table is written, if not the same

    @property
    def written(self) -> str:
        """Name of the format in which such a table is written."""
        return self.written_as or self.name


@dataclass(frozen=True)
class Reading:
    """How to read a file, as far as the user says; None for what is to be detected."""

    encoding: str | None = None  # of text
    separator: str | None = None
    sheet: str | None = None  # of a workbook
    query: str | None = None  # to a database


FORMATS = {
    one.name: one
    for one in (
        Format("csv", "CSV", (".csv",), "csv_text", all_text=True, in_parts=True, growth=8.0),
        Format("tsv", "TSV", (".tsv", ".tab"), "csv_text", all_text=True, in_parts=True, growth=8.0),
        Format("xlsx", "Excel", (".xlsx",), "spreadsheet"),
        Format("xls", "old Excel", (".xls",), "spreadsheet", written_as="xlsx"),
        Format("ods", "OpenDocument", (".ods",), "spreadsheet", written_as="xlsx"),
        Format("parquet", "Parquet", (".parquet", ".pq"), "typed", in_parts=True, growth=12.0),
        Format("feather", "Feather", (".feather", ".arrow", ".ipc"), "typed", in_parts=True, growth=6.0),
        Format("jsonl", "JSON Lines", (".jsonl", ".ndjson", ".json"), "json_lines"),
        Format("json", "JSON", (".json",), "json_array"),
        Format("dta", "Stata", (".dta",), "stata"),
        Format("sav", "SPSS", (".sav",), "spss"),
        Format("sqlite", "SQLite", (".sqlite", ".sqlite3", ".db"), "sqlite", written_as="parquet"),
        Format("svmlight", "LIBSVM text", (".libsvm", ".svm", ".svmlight"), "svmlight", all_text=True),
    )
}
SUFFIXES = {suffix: one.name for one in FORMATS.values() for suffix in one.suffixes}  # .json: the last
OPTIONS = {  # that only some formats have, which people call
    "separator": ("CSV and TSV", ("csv", "tsv")),
    "sheet": ("workbooks", ("xlsx", "ods", "xls")),
    "query": ("databases", ("sqlite",)),
}


def check_reading(format: str, name: str, reading: Reading) -> None:
    """Raise an error if the user sets what a format does not have."""
    for option, (kind, formats) in OPTIONS.items():
        if getattr(reading, option) is not None and format not in formats:
            raise TableError(
                f"--{option} is for {kind}, but {name} is read as {FORMATS[format].title}: leave it out, or "
                "name the format with --format."
            )


def load_format(name: str) -> Any:
    """Return the module that reads and writes a format."""
    return import_module(f"{__package__}.{FORMATS[name].module}")


def list_formats() -> str:
    """Return the formats that can be read, with their usual suffixes, as the end of a sentence."""
    named = [f"{one.title} ({one.suffixes[0]})" for one in FORMATS.values()]
    return f"{', '.join(named[:-1])} and {named[-1]}"
