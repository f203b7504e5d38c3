"""The archives that workbooks are: .xlsx and .ods files are ZIP archives of XML.

An archive is opened within the free memory, and never handed to another program as it came: the sizes that it
claims may be forged. Document types, which XML bombs need, are refused.
"""

import lzma
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from xml.parsers import expat

from subsvms.app.tables.compression import CHUNK, MAX_SHARE, measure_free_memory
from subsvms.app.words import first_sentence
from subsvms.exceptions import TableError

PROTECTED = "EncryptedPackage".encode("utf-16-le")  # in the old container that holds a protected workbook
CELL = 200  # bytes of memory for a cell in Python, its text not included; a guess, on the high side
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date that a ZIP archive can hold
WRONG = (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError, lzma.LZMAError, zlib.error)


def open_archive(data: bytes, name: str) -> dict[str, bytes]:
    """Return the files in a ZIP archive, by name, as far as the free memory allows."""
    if PROTECTED in data:
        raise TableError(f"{name} is protected with a password: save it without one.")
    limit = MAX_SHARE * measure_free_memory()
    files: dict[str, bytes] = {}
    held = 0
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for info in archive.infolist():
                if info.flag_bits & 1:
                    raise TableError(f"{name} is protected with a password: save it without one.")
                pieces = []
                with archive.open(info) as stream:
                    while piece := stream.read(CHUNK):
                        pieces.append(piece)
                        held += len(piece)
                        if held > limit:
                            raise TableError(
                                f"{name} holds more than {limit / 1e9:.2g} GB of data, {MAX_SHARE:.0%} of "
                                "the free memory: free some memory, or save the table as CSV or Parquet."
                            )
                files[info.filename] = b"".join(pieces)
    except TableError:
        raise
    except WRONG as error:
        raise TableError(
            f"{name} is damaged or not a workbook ({first_sentence(error)}): save it again."
        ) from None
    return files


def close_archive(files: Mapping[str, bytes], *, compressed: bool = True) -> bytes:
    """Return files as a ZIP archive; the same files give the same bytes."""
    sink = BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, EARLIEST)
            info.compress_type = (
                zipfile.ZIP_DEFLATED if compressed and name != "mimetype" else zipfile.ZIP_STORED
            )
            archive.writestr(info, data)
    return sink.getvalue()


def find_sheets(files: Mapping[str, bytes], name: str) -> dict[str, str]:
    """Return the name of the XML file of each sheet of an .xlsx workbook, by the sheet's name."""
    book, links = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
    if book not in files or links not in files:
        raise TableError(f"{name} is damaged or not an Excel workbook (no {book}): save it again.")
    targets = {
        found["Id"]: found.get("Target", "")
        for tag, found in list_elements(files[links], name)
        if "Id" in found
    }
    sheets = {}
    for tag, found in list_elements(files[book], name):
        if tag == "sheet":
            key = next((value for key, value in found.items() if key.rpartition(":")[2] == "id"), "")
            target = targets.get(key, "")
            sheets[found.get("name", "")] = target[1:] if target.startswith("/") else f"xl/{target}"
    return sheets


def list_elements(data: bytes, name: str) -> list[tuple[str, dict[str, str]]]:
    """Return (name without prefix, attributes) of all elements of an XML file."""
    found: list[tuple[str, dict[str, str]]] = []
    parse(data, name, start=lambda tag, attributes: found.append((tag.rpartition(":")[2], attributes)))
    return found


def parse(data: bytes, name: str, *, start: Any, end: Any = None, text: Any = None) -> None:
    """Call functions for the start and end of each element of an XML file, and for its text."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    if hasattr(start, "__self__") and hasattr(start.__self__, "parser"):
        start.__self__.parser = parser
    try:
        parser.Parse(data, True)
    except TableError:
        raise
    except (expat.ExpatError, ValueError) as error:
        raise TableError(
            f"{name} is damaged ({first_sentence(error)}): save it again in the program that made it."
        ) from None


def _refuse_doctype(*_: Any) -> None:
    raise ValueError("it holds a document type")


def check_size(n_rows: int, n_columns: int, n_characters: int, name: str) -> None:
    """Raise an error if the cells of a sheet do not fit in the free memory.

    A few bytes can claim a cell in the last row and column, and share one long text between all cells.
    """
    if CELL * n_rows * n_columns + 4 * n_characters > MAX_SHARE * measure_free_memory():
        raise TableError(
            f"{name} has a sheet of {n_rows:,} rows and {n_columns:,} columns, too large for the free "
            "memory: delete empty rows and columns, or save the table as CSV or Parquet."
        )
