"""Text files in any encoding: decoded to UTF-8, and encoded again as they were."""

import codecs
from dataclasses import dataclass

from subsvms.app.tables.files import Content, first_sentence, show
from subsvms.exceptions import TableError

# Codecs of Python for names and literals, not for files: some do not even write back what they read.
NOT_FOR_FILES = frozenset("idna punycode raw-unicode-escape undefined unicode-escape".split())
BYTE_ORDER_MARKS = {  # UTF-32 first, because its mark starts like that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


@dataclass(frozen=True)
class Encoding:
    """How a file encodes its text.

    Attributes
    ----------
    name : str
    mark : bytes
        The byte order mark, if there is one.
    """

    name: str = "utf-8"
    mark: bytes = b""

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


def decode(content: Content, encoding: str | None = None) -> tuple[bytes, Encoding]:
    """Return a text file's bytes in UTF-8, without byte order mark, and their encoding in the file.

    Parameters
    ----------
    content : Content
    encoding : str, optional
        For example "cp1252"; by default what the byte order mark says, or else UTF-8.
    """
    data, name = content.data, content.name
    mark = next((mark for mark in BYTE_ORDER_MARKS if data.startswith(mark)), b"")
    if encoding is not None and not check_encoding(encoding).startswith("utf"):
        mark = b""  # in other encodings these bytes are letters
    codec = BYTE_ORDER_MARKS[mark] if mark else encoding or "utf-8"
    try:
        if codec == "utf-8":
            data = data[len(mark) :]
            if not data.isascii():
                data.decode()
        else:
            data = data[len(mark) :].decode(codec).encode()
    except UnicodeDecodeError as error:
        at, line = error.start + len(mark), 1 + error.object[: error.start].count(b"\n")
        wrong = error.object[error.start]
        raise TableError(
            f"{name} is not text in the encoding {codec!r}: byte {wrong:#04x} at position {at} (line {line}) "
            "does not fit; convert the file to UTF-8, or give its encoding, for example 'cp1252'."
        ) from None
    except UnicodeError as error:  # UTF-7, for example, can hold halves of surrogate pairs
        raise TableError(
            f"{name} is not text in the encoding {codec!r} ({first_sentence(error)}): convert it to UTF-8."
        ) from None
    return data, Encoding(codec, mark)


def check_encoding(encoding: str) -> str:
    """Return the name that Python has for an encoding of text files, or raise an error if it is not one.

    Examples
    --------
    >>> check_encoding("UTF8"), check_encoding("latin-1")
    ('utf-8', 'iso8859-1')
    """
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
