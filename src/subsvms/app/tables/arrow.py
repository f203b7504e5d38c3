"""Arrow tables: Parquet, Feather and Arrow files, plain types and values, and new labels in a column.

Labels keep the type of their column. Codes may have names, as those of Hugging Face's ClassLabel and of value
labels of Stata and SPSS: people see the names, and files keep the codes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np

from subsvms.app.quoting import explaining, show
from subsvms.app.tables.files import Content, check_names, digest_bytes, measure_free_memory
from subsvms.app.tables.formats import FORMATS, Reading
from subsvms.exceptions import TableError

UNLABELLED = -1  # Hugging Face's code of a row without a label


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a file, and further fields of the table."""
    return _read_all([content], label)


def read_several(contents: Sequence[Content], label: str | None) -> tuple[Any, dict[str, Any]]:
    """Return the rows of all files, one below the other, and further fields of the table."""
    formats = sorted({content.format for content in contents})
    if len(formats) > 1 or not FORMATS[formats[0]].several:
        raise TableError(
            f"Several files must all be Parquet or all be Feather, but these {len(contents)} files are "
            f"{' and '.join(formats)}: combine them into one file first."
        )
    digest = digest_bytes("".join(content.digest for content in contents).encode())
    columns, more = _read_all(contents, label)
    return columns, {"name": f"{contents[0].name} and {len(contents) - 1} more", "digest": digest} | more


def _read_all(contents, label):
    columns = _join([_read_file(content) for content in contents], [content.name for content in contents])
    names = find_class_names(columns.schema, label)
    if not names:
        return columns, {}
    write = partial(render_arrow, format=contents[0].format)
    return name_labels(columns, label, names, write, missing=[UNLABELLED])


def render_arrow(columns: Any, format: str) -> bytes:
    """Return a table as the bytes of a Parquet or Feather file."""
    from pyarrow import feather, parquet

    sink = BytesIO()
    (parquet.write_table if format == "parquet" else feather.write_feather)(columns, sink)
    return sink.getvalue()


def _read_file(content):
    import pyarrow as pa
    from pyarrow import feather, parquet

    source = open_for_arrow(content.data)
    if content.data.startswith(b"FEA1"):
        raise TableError(
            f"{content.name} is a Feather file of version 1, which cannot be read safely: write it again as "
            "version 2, for example with pandas."
        )
    damaged = f"{content.name} is damaged or not a {content.format} file"
    advice = "write it again, or say which format it is."
    try:
        with explaining(damaged, advice, (pa.ArrowException, OSError, ValueError)):
            if content.format == "parquet":
                with parquet.ParquetFile(source, page_checksum_verification=True) as file:
                    if _measure_claims(file) > measure_free_memory():
                        raise MemoryError
                    table = file.read()
            elif content.data.startswith(b"ARROW1"):
                table = feather.read_table(source)
            else:
                table = pa.ipc.open_stream(source).read_all()
            return check_values(table)
    except MemoryError:  # also Arrow's
        raise TableError(
            "{name} does not fit in the free memory once decompressed: free some memory, or work in parts"
            "{engine=local:aside}.", name=content.name,
        ) from None  # fmt: skip


def open_for_arrow(data: bytes | memoryview) -> Any:
    """Return a copy of bytes that Arrow can read with threads, as a pyarrow.BufferReader."""
    # A thread of Arrow may drop it last, while Python ends: memory of Python's would abort the process.
    import pyarrow as pa

    buffer = pa.allocate_buffer(len(data))
    pa.FixedSizeBufferWriter(buffer).write(data)
    return pa.BufferReader(buffer)


def _measure_claims(file):
    """Return how many bytes a Parquet file says that it holds, at least: zeros compress to nearly nothing."""
    bits = 0
    for kind in file.schema_arrow.types:
        try:
            bits += kind.bit_width
        except ValueError:  # text and nested values, which have at least an offset
            bits += 32
    groups = (file.metadata.row_group(i) for i in range(file.num_row_groups))
    return max(bits / 8 * file.metadata.num_rows, sum(group.total_byte_size for group in groups))


def _join(tables, names):
    """Return the rows of all tables; raise an error unless they have the same columns and types."""
    import pyarrow as pa

    known = tables[0].schema
    for table, name in zip(tables, names, strict=True):
        check_names(table.schema.names, name, None)
        difference = find_difference(table.schema, known)
        if difference is not None:
            raise TableError(f"{name} does not match {names[0]}: {difference}; write both with one schema.")
        known = pa.unify_schemas([known, table.schema])
    return pa.concat_tables(tables, promote_options="default")


def find_difference(schema: Any, other: Any) -> str | None:
    """Return in which column a schema (pyarrow) differs from another one; None if both can be joined."""
    for i, (ours, theirs) in enumerate(zip(schema, other, strict=False), start=1):
        if ours.name != theirs.name or not are_alike(ours.type, theirs.type):
            return f"column {i} is {show(ours.name)} of {ours.type}, not {show(theirs.name)} of {theirs.type}"
    return None if len(schema) == len(other) else f"it has {len(schema)} columns, not {len(other)}"


def are_alike(kind: Any, other: Any) -> bool:
    """Return whether columns of two types can be joined: one without a value fits any."""
    import pyarrow as pa

    return kind == other or pa.types.is_null(kind) or pa.types.is_null(other)


# Types and values


def check_values(data: Any) -> Any:
    """Return a table or batch in plain types, or raise an error that Arrow or Python has for what is forged.

    Arrow believes what a file says about itself: offsets and indices that point elsewhere would end the
    process as soon as a value is used.
    """
    import pyarrow as pa

    for field in data.schema:
        if "list_view<" in str(field.type):  # `validate` refuses even valid ones
            raise pa.ArrowNotImplementedError(
                f"its column {show(field.name)} holds views of lists, which cannot be checked"
            )
    data.validate(full=True)
    return use_plain_columns(data)


def use_plain_columns(data: Any) -> Any:
    """Return a table or batch in the types of `use_plain_types`."""
    import pyarrow as pa

    plain = use_plain_types(data.schema)
    if plain.equals(data.schema):
        return data
    if isinstance(data, pa.Table):
        return pa.Table.from_batches([use_plain_columns(batch) for batch in data.to_batches()], plain)
    arrays = [_convert(array, kind) for array, kind in zip(data.columns, plain.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=plain)


def use_plain_types(schema: Any) -> Any:
    """Return a schema without views and run-end encoding, as polars writes: Arrow takes no rows of them."""
    import pyarrow as pa

    str(schema.names)  # an error, if one is not UTF-8
    return pa.schema([field.with_type(_find_plain(field.type)) for field in schema], schema.metadata)


def _find_plain(kind):
    import pyarrow as pa

    types = pa.types
    if kind in (pa.string_view(), pa.binary_view()):
        return pa.large_string() if kind == pa.string_view() else pa.large_binary()  # views exceed 2 GiB
    if types.is_run_end_encoded(kind):
        return _find_plain(kind.value_type)
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _find_plain(kind.value_type), kind.ordered)
    if types.is_struct(kind):
        return pa.struct([field.with_type(_find_plain(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(_find_plain(kind.key_type), _find_plain(kind.item_type), kind.keys_sorted)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = kind.value_field.with_type(_find_plain(kind.value_type))
        if types.is_fixed_size_list(kind):
            return pa.list_(inner, kind.list_size)
        return pa.list_(inner) if types.is_list(kind) else pa.large_list(inner)
    return kind


def _convert(array, kind):
    """Return an array with the type that `_find_plain` found for it."""
    import pyarrow as pa
    from pyarrow import compute

    if array.type == kind:
        return array
    if pa.types.is_run_end_encoded(array.type):
        array = compute.run_end_decode(array)
    if pa.types.is_dictionary(kind):
        entries = array.dictionary.cast(kind.value_type)
        return pa.DictionaryArray.from_arrays(array.indices, entries, ordered=kind.ordered)
    return array.cast(kind)


def list_values(column: Any, written: str | None = None) -> list:
    """Return the values of a column as Python has them, and as text where it does not: dates after 9999."""
    import pyarrow as pa

    wrong = (pa.ArrowException, ArithmeticError, LookupError, ValueError)
    try:
        return column.to_pylist()
    except wrong:
        pass
    values = []
    for cell in column:
        try:
            values.append(cell.as_py())
        except wrong:
            while isinstance(getattr(cell, "value", None), pa.Scalar):  # such as that of a dictionary
                cell = cell.value
            if written is not None and not hasattr(cell, "value"):
                raise TableError(
                    f"The column {show(written)} holds a value of type {show(str(cell.type))} that text "
                    "cannot hold, such as a date after the year 9999: write Parquet or Feather, or drop the "
                    "column."
                ) from None
            values.append(f"{getattr(cell, 'value', 'a value')} ({cell.type})")
    return values


# Labels


@dataclass(frozen=True, eq=False)
class Coded:
    """A table with codes in its label column."""

    columns: Any  # as in the file
    label: str | None  # name of the label column
    codes: Mapping[str, int]  # the code of each name; empty if the labels are as in the file
    render: Callable[[Any], bytes]  # returns a table as the bytes of a file

    def replace_labels(self, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]) -> bytes:
        """Return the file with new labels, and further columns directly after them."""
        if self.codes:
            labels, given = ([self.codes.get(name) for name in names] for names in (labels, given))
        return self.render(put_labels(self.columns, self.label, labels, given, extra))

    def keep_rows(self, keep: np.ndarray) -> "Coded":
        """Return the file without some rows."""
        return replace(self, columns=self.columns.filter(np.asarray(keep)))


def name_labels(
    columns: Any, label: str | None, names: Mapping[int, str], render: Callable[[Any], bytes], *,
    missing: Sequence[int] = (),
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Return a table with names in place of codes, and what is needed to write the codes back."""
    import pyarrow as pa

    plain = columns, {"text": Coded(columns, label, {}, render)}
    if label is None or label not in columns.column_names or not names:
        return plain
    place = columns.column_names.index(label)
    kind = columns.column(place).type
    if not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        return plain
    cells = [None if cell is None or cell != cell else cell for cell in columns.column(place).to_pylist()]
    used = {cell for cell in cells if cell is not None} - set(missing)
    if any(code % 1 for code in used):
        return plain
    named = {code: names.get(code, str(int(code))) for code in sorted(used | set(names))}
    if len(set(named.values())) < len(named):
        return plain
    shown = [None if cell is None or cell in missing else named[cell] for cell in cells]
    coded = Coded(columns, label, {name: int(code) for code, name in named.items()}, render)
    return columns.set_column(place, label, pa.array(shown, pa.string())), {"text": coded}


def find_class_names(schema: Any, label: str | None) -> dict[int, str]:
    """Return the names of a ClassLabel of Hugging Face by code; none if there is nothing that makes sense."""
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][label]
        names = feature["names"] if feature["_type"] == "ClassLabel" else []
    except (ValueError, LookupError, TypeError, RecursionError):  # not by that library, or changed since
        return {}
    sensible = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return dict(enumerate(names)) if sensible else {}


def put_labels(
    columns: Any, label: str | None, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]
) -> Any:
    """Return the table with new labels of the same type, and further columns directly after them."""
    import pyarrow as pa

    after = columns.num_columns
    if label is not None:
        place = columns.column_names.index(label)
        field, column = columns.schema.field(place), columns.column(place)
        if labels != given:
            cells = zip(labels, given, column.to_pylist(), strict=True)  # a missing label may be NaN or " "
            column = _cast_labels([cell if new == old else new for new, old, cell in cells], column, label)
        columns = columns.set_column(place, field.with_nullable(True) if None in labels else field, column)
        after = place + 1
    for name, values in reversed(list(extra.items())):
        try:
            array = pa.array(values)
        except (pa.ArrowException, OverflowError):
            array = pa.array([None if value is None else str(value) for value in values], pa.string())
        columns = columns.add_column(after, name, array)
    return columns


def _cast_labels(labels, column, label):
    import pyarrow as pa

    kind = column.type
    try:
        if not pa.types.is_dictionary(kind):
            return pa.chunked_array([as_type(labels, kind)])
        return pa.chunked_array([encode_like(as_type(labels, kind.value_type), column)])
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError) as error:
        raise TableError(
            f"The new labels do not fit the column {show(label)} of type {kind} ({error})."
        ) from None


def encode_like(values: Any, column: Any) -> Any:
    """Return an array with the type of a dictionary column, whose entries come first and in their order."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    entries = column.unify_dictionaries().combine_chunks()
    entries = entries.chunk(0).dictionary if isinstance(entries, pa.ChunkedArray) else entries.dictionary
    new = values.unique().drop_null()
    entries = pa.concat_arrays([entries, new.filter(compute.invert(compute.is_in(new, entries)))])
    places = compute.index_in(values, entries).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(places, entries, ordered=kind.ordered)


def as_type(values: Sequence, kind: Any) -> Any:
    """Return plain values as an array of this type."""
    import pyarrow as pa

    if pa.types.is_decimal(kind):  # pyarrow does not take plain numbers as decimals
        values = [None if value is None else Decimal(value) for value in values]
    return pa.array(values, kind)


def as_long_numbers(values: Sequence) -> Any:
    """Return whole numbers beyond 64 bits, exactly (pyarrow.Array); None if some are anything else."""
    import pyarrow as pa

    if all(one is None or type(one) is int for one in values):
        for kind in (pa.decimal128(38), pa.decimal256(76)):
            with suppress(pa.ArrowException, ValueError):
                return pa.array(values, kind)
    return None
