"""The formats that tables are read from and written to, all in one list.

A new format is one more entry here (one of separated text also in `csv_text.USUAL`), and the two functions
that the entry names,

    read(content, label, reading) -> columns, more       render(columns, format) -> bytes

where `columns` is a pyarrow.Table, and `more` holds further fields of a `LabelledTable`. The format of a file
follows from its suffix, or else from its first bytes.
"""

import codecs
import json
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from subsvms.app.quoting import show, suggest
from subsvms.exceptions import Sentence, Setting, TableError

ZIP, OLE, SQLITE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"SQLite format 3\x00"  # first bytes of files


@dataclass(frozen=True)
class Format:
    """One format of files."""

    name: str  # as in `--format`
    title: str  # what people call it
    suffixes: tuple[str, ...]  # the usual one first
    reader: str  # module of this package, and function in it
    writer: str = ""  # likewise; nothing if only the text that was read is written back
    written_as: str = ""  # name of the format in which such a table is written, if not the same
    starts: tuple[bytes, ...] = ()  # the first bytes of such a file
    zipped: bytes = b""  # in a ZIP archive of this format
    is_text: bool = False  # whether such a file is text
    all_text: bool = False  # whether all its values are, so that numbers are text as well
    several: bool = False  # whether a table in memory may be split over several files
    # bytes of memory for each byte of a file: a guess, on the high side; zero if it is never read in parts
    growth: float = 0.0

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


TEXT: dict[str, Any] = {"is_text": True, "all_text": True}
SEPARATED: dict[str, Any] = {"reader": "csv_text.read", "writer": "csv_text.render", "growth": 8.0, **TEXT}
BINARY: dict[str, Any] = {"reader": "arrow.read", "writer": "arrow.render_arrow", "several": True}
FORMATS = {
    one.name: one
    for one in (
        Format("csv", "CSV", (".csv",), **SEPARATED),
        Format("tsv", "TSV", (".tsv", ".tab"), **SEPARATED),
        Format(
            "xlsx", "Excel", (".xlsx",), "workbook.read", "workbook_xml.render", zipped=b"xl/workbook.xml"
        ),
        Format("xls", "old Excel", (".xls",), "workbook.read", written_as="xlsx", starts=(OLE,)),
        Format(
            "ods", "OpenDocument", (".ods",), "workbook.read", written_as="xlsx",
            zipped=b"opendocument.spreadsheet",
        ),
        Format("parquet", "Parquet", (".parquet", ".pq"), starts=(b"PAR1",), growth=12.0, **BINARY),
        Format(
            "feather", "Feather", (".feather", ".arrow", ".ipc"), starts=(b"ARROW1", b"\xff\xff\xff\xff"),
            growth=6.0, **BINARY,
        ),
        Format(
            "jsonl", "JSON Lines", (".jsonl", ".ndjson", ".json"), "json_text.read_lines",
            "json_text.render_lines", is_text=True,
        ),
        Format("json", "JSON", (".json",), "json_text.read_array", "json_text.render_array", is_text=True),
        Format(
            "dta", "Stata", (".dta",), "statistics.read_stata", "statistics.render_stata",
            starts=(b"<stata_dta>",),
        ),
        Format(
            "sav", "SPSS", (".sav",), "statistics.read_spss", "statistics.render_spss",
            starts=(b"$FL2@(#)",),
        ),
        Format(
            "sqlite", "SQLite", (".sqlite", ".sqlite3", ".db"), "databases.read_sqlite", written_as="parquet",
            starts=(SQLITE,),
        ),
        Format("svmlight", "LIBSVM text", (".libsvm", ".svm", ".svmlight"), "svmlight.read", **TEXT),
    )
}  # fmt: skip
SUFFIXES = {suffix: one.name for one in FORMATS.values() for suffix in one.suffixes}  # .json: the last
OPTIONS = {  # that only some formats have, which people call
    "separator": ("CSV and TSV", ("csv", "tsv")),
    "sheet": ("workbooks", ("xlsx", "ods", "xls")),
    "query": ("databases", ("sqlite",)),
}
NOT_TEXT = {ZIP: "a ZIP archive or a workbook", OLE: "an old Excel file or a protected one"}  # by first bytes
TEXT_SUFFIXES = (".txt", ".data", ".dat", ".log")  # of text whose format follows from its content
PICKLE = "a pickle, which may run any code when it is read: save the table as Parquet"
NUMBERS = Sentence("a file of numbers: give the table itself, and this with {features}")
OTHER_FILES = {  # and what to do with them
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), PICKLE),
    **dict.fromkeys((".xlsm", ".xlsb", ".numbers"), "a workbook of another kind: save it as .xlsx"),
    **dict.fromkeys((".rds", ".rdata", ".rda"), "a file of R: save the table as CSV or Parquet"),
    **dict.fromkeys((".sas7bdat", ".xpt"), "a file of SAS: save the table as CSV or Parquet"),
    **dict.fromkeys((".h5", ".hdf5", ".mat"), "a file of arrays: save the table as CSV or Parquet"),
    **dict.fromkeys((".npy", ".npz"), NUMBERS),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar"), "an archive: extract the table first"),
}
SVMLIGHT_LINE = re.compile(rb"\s*+[^\s:#]++(?:[ \t]++\w++:[-+.\deEinfa]++)++\s*+(?:#.*)?$")


def load_function(path: str) -> Any:
    """Return the function that an entry names, such as "csv_text.read"."""
    module, name = path.split(".")
    return getattr(import_module(f"{__package__}.{module}"), name)


def default_ending(format: str) -> str:
    """Return the usual suffix of the format in which such a table is written."""
    return FORMATS[FORMATS[format].written].suffixes[0]


def check_format(format: str | None) -> None:
    """Raise an error unless a format exists; None is one that is to be detected."""
    if format is not None and format not in FORMATS:
        hint, known = suggest(format, FORMATS) or ".", ", ".join(FORMATS)
        words = "{format} must be one of {known}; got {got!r}{hint}"
        raise TableError(words, known=known, got=format, hint=hint)


def check_reading(format: str, name: str, reading: Reading) -> None:
    """Raise an error if the user sets what a format does not have."""
    for option, (kind, formats) in OPTIONS.items():
        if getattr(reading, option) is not None and format not in formats:
            raise TableError(
                "{option} is for {kind}, but {name} is read as {title}: leave it out, or name the format "
                "with {format}.",
                option=Setting(option), kind=kind, name=name, title=FORMATS[format].title,
            )  # fmt: skip


def check_text(data: bytes, name: str, format: str) -> None:
    """Raise an error if a file of a format that is text starts as a workbook or an archive does."""
    for start, what in NOT_TEXT.items() if FORMATS[format].is_text else ():
        if data.startswith(start):
            raise TableError(
                "{name} is {what}, not {title}: give it the right suffix, or name its format with {format}.",
                name=name, what=what, title=FORMATS[format].title,
            )  # fmt: skip


def find_format(data: bytes, name: str, suffix: str, *, known: bool = False) -> str:
    """Return the format of a file, by its suffix, or else by its first bytes."""
    format = SUFFIXES.get(suffix)
    sniffed = sniff_format(data)
    if format == "json" and sniffed == "jsonl" and _is_object(data):
        raise TableError(
            f"{name} holds one JSON object, which is no table: write an array of objects, one for each row, "
            "or one object on each line."
        )
    if format is not None:
        return "jsonl" if format == "json" and sniffed != "json" else format
    if suffix in OTHER_FILES:
        raise TableError("{name} is {what}.", name=name, what=OTHER_FILES[suffix])
    if sniffed == "csv" and not known and suffix not in TEXT_SUFFIXES:
        what = f"the unknown suffix {show(suffix)}" if suffix else "no suffix"
        *others, last = (f"{one.title} ({one.suffixes[0]})" for one in FORMATS.values())
        raise TableError(
            "{name} has {what}: subsvms reads {formats}; convert the file, or name its format with {format}.",
            name=name, what=what, formats=f"{', '.join(others)} and {last}",
        )  # fmt: skip
    return sniffed


def _is_object(data):
    try:
        return isinstance(json.loads(data), dict)
    except (RecursionError, ValueError):  # objects on several lines, for example
        return False


def sniff_format(data: bytes) -> str:
    """Return the format that bytes look like; "csv" if nothing else fits."""
    for one in FORMATS.values():
        if one.starts and data.startswith(one.starts):
            return one.name
    if data.startswith(ZIP):
        fitting = [one.name for one in FORMATS.values() if one.zipped and one.zipped in data]
        return fitting[-1] if fitting else "csv"
    start = data[:200_000]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        start = start[2:].replace(b"\0", b"")
    first = start.removeprefix(codecs.BOM_UTF8).lstrip()[:100_000].split(b"\n", 1)[0].strip()
    if first.startswith((b"{", b"[")):
        return "jsonl" if first.startswith(b"{") else "json"
    return "svmlight" if SVMLIGHT_LINE.match(first) else "csv"
