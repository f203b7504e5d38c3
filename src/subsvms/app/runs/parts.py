"""A table in parts: text and Arrow files copied to Parquet, and the files that a run writes for each unit.

Cells of text stay text, as in `subsvms.app.tables.csv_text`: what the columns mean is decided later. A part
is written under a temporary name and renamed when it is complete. The table with the labels that people
decided (`subsvms apply`) is a folder of such files as well, filled under a hidden name.
"""

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._effort import announce
from subsvms._labels import Classes
from subsvms.app.names import FINAL_PARTS, SCORE_PARTS, SCRAP, SEPARATOR, STAGED, TOKEN
from subsvms.app.options import Options
from subsvms.app.quoting import explaining_each, first_sentence, show
from subsvms.app.runs.folder import fill_folder, refuse, remove_known
from subsvms.app.runs.parquet_files import DIGITS, open_scores
from subsvms.app.runs.record import Record
from subsvms.app.runs.source import UNIT_ROWS, Files, Source, join_digests, open_source, release_memory
from subsvms.app.tables.addresses import Place, as_place
from subsvms.app.tables.arrow import as_type, check_values, encode_like, find_difference, use_plain_types
from subsvms.app.tables.csv_text import USUAL, check_separator, choose_separator, read_header, text_options
from subsvms.app.tables.files import COMPRESSIONS, check_names, digest_file
from subsvms.app.tables.formats import FORMATS
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.table import number_name
from subsvms.app.tables.text import BYTE_ORDER_MARKS, check_encoding
from subsvms.app.tables.where import find_common_format, name_files
from subsvms.correction._result import Correction
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
        tables = explaining_each(batches, partial(_explain_reading, name))
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
        reason = first_sentence(error)
        if "Empty CSV file" in reason:
            raise TableError(f"{name} has a header but no rows: a table needs some of each class.") from None
        is_encoding = "utf" in reason.lower().replace("-", "")
        hint = Sentence(", or name its encoding{encoding:aside}" if is_encoding else "")
        words = "{name} cannot be read ({reason}): fix the file{hint}."
        raise TableError(words, name=name, reason=reason, hint=hint) from None


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
    separator = check_separator(separator) or choose_separator(head, label, USUAL[format])
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


SHOWN_ROWS = 4096  # that show which columns repeat values


@contextmanager
def open_new(folder: Path, kind: str, name: str, token: str = "") -> Iterator[Path]:
    """Provide a temporary path; the file is renamed when the block succeeds, and removed if it fails."""
    # `token` is that of the run: a worker left over from an earlier one must not write into its folder. Two
    # workers may process the same unit at once, if a cluster takes a slow worker for dead.
    path = folder / kind / f".{name}-{secrets.token_hex(8)}"
    try:
        yield path
        if token:
            own = folder / TOKEN
            if not own.is_file() or own.read_text(encoding="utf-8") != token:
                raise TableError("This part belongs to an earlier run that was stopped.")
        os.replace(path, folder / kind / name)
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def open_writer(folder: Path | None, number: int, kinds: tuple[str, ...], token: str) -> Iterator:
    """Provide write(kind, table), which adds rows to the unit's part of that kind; all of them or none."""
    if folder is None:
        yield lambda kind, table: None
        return
    files: dict[str, Any] = {}
    with ExitStack() as stack:
        name = name_part(number)
        places = {kind: stack.enter_context(open_new(folder, kind, name, token)) for kind in kinds}

        def write(kind, table):
            if kind not in files:
                opening = open_scores if kind == SCORE_PARTS else open_parquet
                files[kind] = stack.enter_context(opening(places[kind], table))
            files[kind].write_table(table)

        yield write


def open_parquet(path: Path, first: Any) -> Any:
    """Return a writer of tables like this one, which is the first of them."""
    # Numbers that hardly repeat take six times as long to write with a dictionary, and more space.
    import pyarrow as pa
    from pyarrow import compute, parquet

    start = first.slice(0, SHOWN_ROWS)
    varied = [
        pa.types.is_primitive(column.type) and 2 * compute.count_distinct(column).as_py() > len(start)
        for column in start.columns
    ]
    nested = any(pa.types.is_nested(column.type) for column in start.columns)  # has other names in Parquet
    names = [name for name, found in zip(first.column_names, varied, strict=True) if not found]
    return parquet.ParquetWriter(path, first.schema, use_dictionary=nested or names)


def name_part(number: int) -> str:
    """Return the name of a part's file."""
    return f"part-{number:06d}.parquet"


def apply_correction(meaning: Labels, batch: Any, correction: Correction) -> Any:
    """Return a batch with its labels corrected, the given ones next to them, and weights if asked for."""
    import pyarrow as pa

    place = batch.column_names.index(meaning.column)
    new = correction.filled | correction.changed | correction.decided
    batch = replace_labels(batch, meaning, correction.given, new, correction.labels)
    if correction.settings.action == "weight":
        weights = pa.array(np.round(correction.sample_weight, DIGITS))
        batch = batch.add_column(place + 2, number_name("sample_weight", batch.column_names), weights)
    return batch if correction.kept.all() else batch.filter(pa.array(correction.kept))


def replace_labels(
    batch: Any, meaning: Labels, given: np.ndarray, new: np.ndarray, labels: np.ndarray
) -> Any:
    """Return a batch with other labels in some rows, and the given ones next to them."""
    import pyarrow as pa
    from pyarrow import compute

    place = batch.column_names.index(meaning.column)
    field, column, names = batch.schema.field(place), batch.column(place), pa.array(meaning.classes.names)
    beside = names.take(pa.array(given, mask=given < 0))
    if meaning.classes.merged:
        new = new | (given >= 0)
        beside = compute.if_else(pa.array(given < 0), None, column.cast(names.type).combine_chunks())
    if new.any():
        coded = pa.types.is_dictionary(field.type)
        kind = field.type.value_type if coded else field.type
        plain = column.cast(kind).combine_chunks()
        changed = compute.replace_with_mask(plain, pa.array(new), as_type(labels[new].tolist(), kind))
        batch = batch.set_column(place, field, encode_like(changed, column) if coded else changed)
    return batch.add_column(place + 1, number_name(f"{meaning.column}_given", batch.column_names), beside)


# The table after a review


def check_final(target: Path, *, force: bool) -> None:
    """Raise an error if there is something that must not be replaced."""
    if not (target.exists() or target.is_symlink()):
        return
    if not target.is_dir() or target.is_symlink():
        words = "is not a folder, but the table is written in parts: choose another name."
        raise TableError(f"{str(target)!r} {words}")
    names = sorted(path.name for path in target.iterdir())
    foreign = [name for name in names if not FINAL_PARTS.fullmatch(name)]
    if foreign:
        refuse(target, "holds {name}, which subsvms apply did not write: {other}.", name=show(foreign[0]))
    if names and not force:
        refuse(target, "already exists: {other}, or replace it{force:aside}.")


def write_final(
    record: Record, target: Path, labels: Mapping[int, Any], dropped: Iterable[int] = (), *, force: bool
) -> int:
    """Write the table with other labels in some rows, and the given ones next to them; all else stays."""
    check_same(record)
    paths = [as_place(one) for one in record.input.paths]
    with fill_folder(target, force=force, check=check_final) as folder:
        base, options = as_place(str(record.input.base)), record.options
        source = prepare_source(paths, base, find_part_format(paths, options.format), options, folder)
        assert record.labels is not None  # without them the run could not be opened
        meaning = Labels(options.label, Classes.of(record.labels.classes, dict(record.labels.values)))
        n_changed = write_parts(source, meaning, labels, dropped, folder)
        remove_known(folder, SCRAP.fullmatch)
    return n_changed


def check_same(record: Record) -> None:
    """Raise an error if the table is not the one that a run read."""
    paths = [as_place(one) for one in record.input.paths]
    gone = [path for path in paths if not path.is_file()]
    if gone:
        raise TableError(f"There is no file {str(gone[0])!r}, which the run read: put it back.")
    digests: list[str] = []
    for path in paths:
        announce("checking the table", len(digests), len(paths))
        digests.append(digest_file(path))
    if join_digests(digests) != record.input.sha256:
        raise TableError(
            f"{name_files(paths)} has changed since the run: correct it again, or restore the table that the "
            "run read."
        )


def write_parts(
    source: Source, meaning: Labels, labels: Mapping[int, Any], dropped: Iterable[int], folder: Path
) -> int:
    """Write a file for each unit of a table, and return how many labels differ from the given ones."""
    rows = np.array(sorted(labels), dtype=np.int64)
    codes = meaning.classes.number([labels[row] for row in rows.tolist()])
    left_out, n_changed = np.array(sorted(dropped), dtype=np.int64), 0
    for unit in source.units:
        with ExitStack() as stack:
            file = None
            for first, batch in source.read(unit):
                given = meaning.read(batch)
                new = given.copy()
                inside = slice(*np.searchsorted(rows, [first + 1, first + 1 + len(batch)]))
                new[rows[inside] - 1 - first] = codes[inside]
                gone = left_out[slice(*np.searchsorted(left_out, [first + 1, first + 1 + len(batch)]))]
                kept = ~np.isin(np.arange(first + 1, first + 1 + len(batch)), gone)
                n_changed += int(np.sum((new != given) & kept))
                batch = replace_labels(batch, meaning, given, new != given, meaning.classes.name(new))
                if file is None:
                    file = stack.enter_context(open_parquet(folder / name_part(unit.number), batch))
                file.write_table(batch if kept.all() else batch.filter(kept))
        release_memory()
        announce("writing", unit.first + unit.n_rows, source.n_rows or 0)
    return n_changed
