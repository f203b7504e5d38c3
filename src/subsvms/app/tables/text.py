"""Text that a table was read from, in any encoding, in which labels are replaced and rows removed.

An encoding that nobody names is detected as far as that is safe: a byte order mark, UTF-8, UTF-16 without a
mark, and cp1252 (Windows, Western European) where the letters beyond ASCII stand alone between others, as in
Müller. In most other encodings they stand together, as in Cyrillic, Greek or Japanese: those must be named.
"""

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from subsvms.app.quoting import first_sentence, show
from subsvms.app.tables.files import Content
from subsvms.exceptions import Note, TableError

# Codecs of Python for names and literals, not for files: some do not even write back what they read.
NOT_FOR_FILES = frozenset("idna punycode raw-unicode-escape undefined unicode-escape".split())
BYTE_ORDER_MARKS = {  # UTF-32 first, because its mark starts like that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
SNIFFED = 1 << 20  # bytes in which every second one is zero in UTF-16
MIN_ZEROS = 0.4  # share of the bytes of one half that are zero in UTF-16
OTHER_ZEROS = 0.1  # of these, as many may be zero in the other half
LINE_END, BLANK = re.compile(rb"\r\n?|\n"), re.compile(rb"[\r\n]*")
RUN = re.compile(rb"[\x80-\xff]{3,}")  # hardly any in Western European text
MAX_IN_RUNS = 0.1  # share of the bytes beyond ASCII that may stand in such runs
MIN_UTF8 = 0.5  # share of the bytes beyond ASCII in letters of UTF-8 above which it is damaged UTF-8
UTF8_LETTER = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
FOREIGN_WORD = re.compile(r"\w*[^\W\x00-\x7f]\w*|[^\x00-\x7f]")
MAX_WORD = 30  # characters of an example


class Original(Protocol):
    """A file that was read: text, a workbook, or a table whose labels have codes."""

    def replace_labels(self, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]) -> bytes:
        """Return the file with new labels where they differ, and further columns directly after them."""

    def keep_rows(self, keep: np.ndarray) -> "Original | None":
        """Return the file without some rows; None if that is not possible, so that only columns are left."""


@dataclass(frozen=True)
class TableText:
    """Text, and the positions of its rows and labels."""

    data: bytes  # UTF-8
    rows: np.ndarray  # (n_rows,): where each row starts
    starts: np.ndarray  # (n_rows,): where each label starts and ends; in JSON Lines, the object that holds it
    ends: np.ndarray

    @property
    def cells(self) -> list[bytes]:
        """The bytes between `starts` and `ends`."""
        return [self.data[a:b] for a, b in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]

    @property
    def lines(self) -> np.ndarray:
        """The number of the line, counted from 1, on which each row starts, after empty lines."""
        ends = [found.end() for found in LINE_END.finditer(self.data)]
        first = [row + len(BLANK.match(self.data, row)[0]) for row in self.rows.tolist()]  # type: ignore[index]
        return 1 + np.searchsorted(ends, first, side="right")

    def splice(self, cells: Iterable[bytes]) -> bytes:
        """Return the text with other bytes between `starts` and `ends`."""
        pieces, at = [], 0
        for start, end, cell in zip(self.starts.tolist(), self.ends.tolist(), cells, strict=True):
            pieces += [self.data[at:start], cell]
            at = end
        return b"".join(pieces) + self.data[at:]

    def keep_rows(self, keep: np.ndarray) -> Self:
        """Return the text without some rows; what stands between two rows stays or goes with one of them."""
        ends = np.append(self.rows[1:], len(self.data))
        kept = zip(self.rows[keep].tolist(), ends[keep].tolist(), strict=True)
        pieces = [self.data[: self.rows[0]], *(self.data[a:b] for a, b in kept)]
        shift = np.cumsum(np.where(keep, 0, ends - self.rows))[keep]
        positions = {name: getattr(self, name)[keep] - shift for name in ("rows", "starts", "ends")}
        return replace(self, data=b"".join(pieces), **positions)


def format_cells(values: Iterable) -> list[str | None]:
    """Return values as the text of cells; None stays None."""
    texts = (str(value).lower() if isinstance(value, bool) else value for value in values)
    return [text if text is None else str(text) for text in texts]


def find_line(data: bytes, position: int) -> int:
    """Return the number of the line, counted from one, that holds a position."""
    return 1 + len(LINE_END.findall(data[:position]))


# Encodings


@dataclass(frozen=True)
class Encoding:
    """How a file encodes its text."""

    name: str = "utf-8"
    mark: bytes = b""  # the byte order mark, if there is one

    def encode(self, data: bytes) -> bytes:
        """Return UTF-8 text in this encoding."""
        if self.name == "utf-8":
            return self.mark + data
        try:
            return self.mark + data.decode().encode(self.name)
        except UnicodeEncodeError as error:
            raise TableError(
                f"{error.object[error.start]!r} cannot be written in the encoding {self.name!r} of the "
                "table: convert the table to UTF-8 first."
            ) from None


def decode(content: Content, encoding: str | None = None) -> tuple[bytes, Encoding, tuple[str, ...]]:
    """Return a text file's bytes in UTF-8, without byte order mark, and their encoding in the file."""
    name = content.name
    mark = next((mark for mark in BYTE_ORDER_MARKS if content.data.startswith(mark)), b"")
    if encoding is not None and not check_encoding(encoding).startswith("utf"):
        mark = b""  # in other encodings these bytes are letters
    data = content.data[len(mark) :]
    guess = None if mark or encoding else guess_encoding(data)
    codec = BYTE_ORDER_MARKS[mark] if mark else encoding or guess or "utf-8"
    try:
        if codec != "utf-8":
            data = data.decode(codec).encode()
        elif not data.isascii():
            data.decode()
    except UnicodeDecodeError as error:
        at, line = error.start + len(mark), 1 + error.object[: error.start].count(b"\n")
        wrong = error.object[error.start]
        raise TableError(
            "{name} is not text in the encoding {codec!r}: byte {wrong:#04x} at position {at} (line {line}) "
            "does not fit; convert the file to UTF-8, or name its encoding with {encoding}, for example "
            "'cp1252'.",
            name=name, codec=codec, wrong=wrong, at=at, line=line,
        ) from None  # fmt: skip
    except UnicodeError as error:  # UTF-7, for example, can hold halves of surrogate pairs
        raise TableError(
            f"{name} is not text in the encoding {codec!r} ({first_sentence(error)}): convert it to UTF-8."
        ) from None
    return data, Encoding(codec, mark), () if guess is None else (_note_guess(data, name, guess),)


def guess_encoding(data: bytes) -> str | None:
    """Return the encoding of text that is probably not UTF-8, or None if it is, or if nobody can know."""
    start = data[:SNIFFED]
    if b"\0" in start:
        halves = start[::2].count(0), start[1::2].count(0)
        if max(halves) > MIN_ZEROS * len(start) / 2 and min(halves) < OTHER_ZEROS * max(halves):
            return "utf-16-be" if halves[0] > halves[1] else "utf-16-le"
        return None
    if data.isascii():
        return None
    try:
        data.decode()
        return None
    except UnicodeDecodeError:
        pass
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:  # five bytes are not in use
        return None
    beyond = len(re.findall(rb"[\x80-\xff]", data))
    if 2 * len(UTF8_LETTER.findall(data)) > MIN_UTF8 * beyond:  # a letter has two bytes or more
        return None
    in_runs = sum(len(run) for run in RUN.findall(data))
    return "cp1252" if in_runs <= MAX_IN_RUNS * beyond else None


def _note_guess(data, name, encoding):
    """Return a note on a guessed encoding, with a word by which people can see whether it is right."""
    word = FOREIGN_WORD.search(data.decode())
    example = f", as in {show(word[0][:MAX_WORD])}" if word else ""
    return Note(
        "encoding",
        "{name} does not say how its text is encoded: it was read as {guess}{example}; if that looks wrong, "
        "name the encoding with {encoding}.",
        name=name, guess=encoding, example=example,
    )  # fmt: skip


def check_encoding(encoding: str) -> str:
    """Return the name that Python has for an encoding of text files, or raise an error if it is not one."""
    try:
        "".encode(encoding)  # refuses codecs that do not encode text, such as base64
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        name = "undefined"
    if name in NOT_FOR_FILES:
        raise TableError(
            f"{show(encoding)} is not an encoding of text files: use one such as 'utf-8', 'cp1252' or "
            "'utf-16'."
        )
    return name
