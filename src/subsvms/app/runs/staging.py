"""Copy text and Arrow files to Parquet, a block at a time, so that they can be read in parts.

Cells of text stay text, as in `subsvms.app.tables.csv_text`: what the columns mean is decided later.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from subsvms._effort import announce
from subsvms.app.names import SEPARATOR, STAGED
from subsvms.app.runs.options import Options
from subsvms.app.runs.source import UNIT_ROWS, Files, open_source
from subsvms.app.tables.addresses import Place
from subsvms.app.tables.arrow import check_values, find_difference, use_plain_types
from subsvms.app.tables.csv_text import check_separator, choose_separator, read_header, text_options
from subsvms.app.tables.files import COMPRESSIONS, check_names
from subsvms.app.tables.formats import FORMATS
from subsvms.app.tables.text import BYTE_ORDER_MARKS, check_encoding
from subsvms.app.tables.where import find_common_format, name_files
from subsvms.app.words import first_sentence
from subsvms.exceptions import Sentence, TableError

HEADER_BYTES = 1 << 20  # within which the first line must end
BLOCK_BYTES = 1 << 24  # of text read at a time; a row must fit in
STAGE = "reading the table"


def stage_files(
    paths: Sequence[Place], format: str, folder: Path, *, label: str | None = None,
    encoding: str | None = None, separator: str | None = None,
) -> str | None:  # fmt: skip
    """Write each file as Parquet to a folder, under names that keep their order."""
    import pyarrow as pa
    from pyarrow import parquet

    total = sum(path.stat().st_size for path in paths)
    done, known = 0, None
    for number, path in enumerate(paths):
        name = repr(str(path))
        with _explain_reading(name):  # and not while its copy is written: the disk may be full
            if format == "feather":
                batches = _open_arrow(path)
            else:
                separator, batches = _open_text(path, name, format, label, encoding, separator)
        tables = _explain_each(name, batches)
        schema = next(tables)
        check_names(schema.names, name, label)
        difference = find_difference(schema, known or schema)
        if difference is not None:
            raise TableError(
                f"{name} has other columns than {str(paths[0])!r} ({difference}): give all files the same "
                "columns."
            )
        known = pa.unify_schemas([known or schema, schema])
        with (
            _explain_reading(name, pa.ArrowException),  # of types that Parquet does not have
            parquet.ParquetWriter(folder / f"{number:06d}.parquet", schema, compression="zstd") as file,
        ):
            for batch in _regroup(schema, tables):
                file.write_table(batch)
                announce(STAGE, done, total)
        done += path.stat().st_size
        announce(STAGE, done, total)
    return separator


@contextmanager
def _explain_reading(name: str, *errors: type[Exception]) -> Iterator[None]:
    """Report what is wrong with a file that is read; by default anything that reading can raise."""
    import pyarrow as pa

    expected = errors or (pa.ArrowException, OSError, EOFError, LookupError, ValueError)
    try:
        yield
    except TableError:
        raise
    except expected as error:
        raise TableError(_format_unreadable(name, first_sentence(error))) from None


def _explain_each(name: str, batches: Iterator) -> Iterator:
    """Yield what an iterator over a file yields."""
    while True:
        with _explain_reading(name):
            try:
                batch = next(batches)
            except StopIteration:
                return
        yield batch


def _format_unreadable(name: str, reason: str) -> str:
    """Return a sentence about a file that cannot be read; `reason` is Arrow's."""
    if "Empty CSV file" in reason:
        return f"{name} has a header but no rows: a table needs some of each class."
    is_encoding = "utf" in reason.lower().replace("-", "")
    hint = ", or name its encoding{encoding:aside}" if is_encoding else ""
    return Sentence(f"{{name}} cannot be read ({{reason}}): fix the file{hint}.", name=name, reason=reason)


def _regroup(schema: Any, batches: Iterator) -> Iterator:
    """Yield tables with about as many rows as a unit."""
    import pyarrow as pa

    waiting, n_rows = [], 0
    for batch in batches:
        waiting.append(batch)
        n_rows += batch.num_rows
        if n_rows >= UNIT_ROWS:
            yield pa.Table.from_batches(waiting, schema)
            waiting, n_rows = [], 0
    if n_rows:
        yield pa.Table.from_batches(waiting, schema)


def _open_arrow(path: Place) -> Iterator:
    """Yield the schema of an Arrow file or stream, then its batches."""
    import pyarrow as pa

    with pa.OSFile(str(path)) if isinstance(path, Path) else path.open() as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        if not is_file:
            with pa.ipc.open_stream(file) as stream:
                yield use_plain_types(stream.schema)
                yield from map(check_values, stream)
            return
        with pa.ipc.open_file(file) as reader:
            yield use_plain_types(reader.schema)
            for number in range(reader.num_record_batches):
                yield check_values(reader.get_batch(number))


def _open_text(path, name, format, label, encoding, separator) -> tuple[str, Iterator]:
    """Return the separator of a text file, and an iterator over its schema and then its batches."""
    if path.suffix.lower() == ".xz":
        raise TableError(f"{name} is compressed with xz, which cannot be read in parts: decompress it first.")
    with _open_stream(path, b"", "utf-8") as stream:
        start = stream.read(4)
    mark = next((mark for mark in BYTE_ORDER_MARKS if start.startswith(mark)), b"")
    known = BYTE_ORDER_MARKS[mark] if mark else encoding or "utf-8"
    known = "utf-8" if check_encoding(known) == "utf-8" else known
    with _open_stream(path, mark, known) as stream:
        head = stream.read(HEADER_BYTES)
    if not head.strip():
        raise TableError(f"{name} is empty: it must contain a table.")
    separator = check_separator(separator) or choose_separator(head, label, "\t" if format == "tsv" else ",")
    names, _, body = read_header(head, separator)
    if names is None or body >= HEADER_BYTES:
        raise TableError(f"{name} has a first line that never ends, or a quote that is never closed.")
    return separator, _read_text(path, mark, known, body, names, separator)


def _open_stream(path, mark, encoding):
    """Return a text file as a stream of UTF-8, decompressed, after its byte order mark."""
    import pyarrow as pa

    codec = COMPRESSIONS.get(path.suffix.lower())
    file = str(path) if isinstance(path, Path) else path.open()
    stream = pa.input_stream(file, compression="bz2" if codec == "bzip2" else codec)
    stream.read(len(mark))
    return stream if encoding == "utf-8" else pa.transcoding_input_stream(stream, encoding, "utf-8")


def _read_text(path, mark, encoding, body, names, separator) -> Iterator:
    import pyarrow as pa
    from pyarrow import csv

    schema = pa.schema([(name, pa.string()) for name in names])
    yield schema
    with _open_stream(path, mark, encoding) as stream:
        stream.read(body)
        options = text_options(len(names), separator, BLOCK_BYTES, use_threads=False)
        for batch in csv.open_csv(stream, **options):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def find_part_format(paths: Sequence[Place], format: str | None) -> str:
    """Return the format of files, or raise an error if it cannot be read in parts."""
    format = find_common_format(paths, format)
    if not FORMATS[format].growth:
        raise TableError(
            f"{str(paths[0])!r} is {FORMATS[format].title}, which cannot be read in pieces: convert it to "
            "Parquet first."
        )
    return format


def prepare_source(paths: Sequence[Place], base: Place, format: str, options: Options, folder: Path) -> Files:
    """Return the table as a source of units; text and Arrow files are copied to Parquet first."""
    if format == "parquet":
        return open_source([str(path) for path in paths], options.label, base)
    staged, note = folder / STAGED, folder / STAGED / SEPARATOR
    staged.mkdir(exist_ok=True)
    if not note.is_file():  # the last that is written
        found = stage_files(
            paths, format, staged, label=options.label, encoding=options.encoding, separator=options.separator
        )
        note.write_text(found or "", encoding="utf-8")
    separator = note.read_text(encoding="utf-8") or None
    source = open_source(sorted(str(path) for path in staged.glob("*.parquet")), options.label, staged)
    return replace(source, name=name_files(paths), paths=tuple(paths), format=format, separator=separator)
