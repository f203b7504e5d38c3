"""Ways to damage a file. Each function takes a random generator and bytes, and returns other bytes.

Some work on any bytes, some know a format: `MUTATIONS` says which of them suit which files.
"""

import gzip
import json
import re
import sqlite3
import struct
import tempfile
from functools import cache
from pathlib import Path

import pyarrow as pa

from fuzz.files import read_arrow, write_delimited, write_ipc, write_json_lines, write_parquet

MAGIC = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b[2J", b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"\xff" * 8,
    b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\xd0\xcf\x11\xe0",
    b"SQLite format 3\x00", b"\r", b"\r\n", b'"', b'""', b",", b";", b"\\", b"\xed\xa0\x80", b"\xc3\x28",
    b"\\ud800", b"NaN", b"Infinity", b"1e999", b"-0", b"9" * 400, b"null", b"{}", b"[" * 3000,
    b"=cmd|' /C calc'!A0", b"<script>", b"../../x", b"\x00\x00\x00\x80", b"4294967295:1 ", b" 1:1 1:1 ",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 127, 2**15, 2**31 - 1, -(2**31), 2**32 - 1, 2**40, 2**63 - 1, -(2**63))
VALUES = (  # in place of a value of JSON
    None, True, False, 0, -1, 1.5, 1e308, 10**30, float("nan"), -(2**63), "", "x", "label", "\x1b[2J",
    "\ud800", "9" * 300, "x" * 300, "../../../etc/passwd", "/dev/zero", [], [1], [[]], [None], {}, {"a": 1},
)  # fmt: skip
CELLS = (
    None, "", " ", "0", "-1", "1e999", "1e-400", "nan", "inf", "NA", "?", "true", "no", "yes", "1,5", "1_000",
    "0x10", "$5", "5 %", "12:30", "31/12/1999", "2020-13-45", "0001-01-01", "9" * 60, "10" * 200, "x" * 5000,
    "a\nb", "\r", 'say "hi"', "=1+1", "\x1b[2J", "\x00", "\u2028", "\u202e", "\u0663", "\U0001f648",
)  # fmt: skip


def flip_bits(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(len(data))
        data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def set_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 4, 30])):
        data[rng.randrange(len(data))] = rng.choice([0, 0xFF, 0x80, 0x0A, 0x22, 0x2C, rng.randrange(256)])
    return bytes(data)


def set_number(rng, data):
    """Write an extreme number over four or eight bytes, as if it were a length or an offset."""
    width = rng.choice(["<i", "<q"])
    size = struct.calcsize(width)
    at = rng.randrange(max(len(data) - size, 1)) // 4 * 4
    value = rng.choice(NUMBERS) & (2 ** (8 * size) - 1)
    return data[:at] + value.to_bytes(size, "little") + data[at + size :]


def cut(rng, data):
    """Keep only the first, or only the last, part."""
    at = rng.randrange(len(data))
    return data[:at] if rng.random() < 0.7 else data[at:]


def remove_slice(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice([1, 4, 50, 1000]) :]


def double(rng, data):
    return data + data[: rng.choice([len(data), len(data) // 2, 20])]


def insert_magic(rng, data):
    at = rng.choice([0, len(data), rng.randrange(len(data))])
    return data[:at] + rng.choice(MAGIC) + data[at:]


def replace_all(rng, data):
    """Return something else altogether."""
    noise = bytes(rng.randrange(256) for _ in range(200))
    return rng.choice([b"", b"\n", b" " * 50, bytes(2000), noise, *MAGIC])


def explode(rng, data):
    """Return a small compressed file that holds 256 MiB."""
    return make_bomb("gzip" if data.startswith(b"\x1f\x8b") else "zstd")


@cache
def make_bomb(how):
    zeros = bytes(1 << 28)
    return gzip.compress(zeros, 1) if how == "gzip" else pa.Codec("zstd").compress(zeros, asbytes=True)


def change_lines(rng, data):
    """Drop, repeat, swap, join, split or lengthen a line."""
    lines = data.split(b"\n")
    at, other = (rng.randrange(len(lines)) for _ in range(2))
    way = rng.choice(["drop", "repeat", "swap", "join", "split", "lengthen", "empty", "keep few"])
    if way == "drop":
        del lines[at]
    elif way == "repeat":
        lines[at:at] = [lines[at]] * rng.choice([1, 2, 200])
    elif way == "swap":
        lines[at], lines[other] = lines[other], lines[at]
    elif way == "join":
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    elif way == "split":
        lines[at : at + 1] = [lines[at][: len(lines[at]) // 2], lines[at][len(lines[at]) // 2 :]]
    elif way == "lengthen":
        lines[at] += lines[at] * rng.choice([1, 500])
    elif way == "empty":
        lines[at] = rng.choice([b"", b" ", b"\t", b",,,,", b"#"])
    else:
        lines = lines[: rng.randrange(1, 6)]
    return b"\n".join(lines)


def change_numbers(rng, data):
    """Replace a number in text, for example an index of LIBSVM, by an extreme one."""
    found = list(re.finditer(rb"\d+(\.\d+)?", data))
    if not found:
        return set_bytes(rng, data)
    match = rng.choice(found)
    new = rng.choice(
        [b"-1", b"0", b"20000000", b"200000000", b"2147483648", b"9" * 25, b"1e400", b"nan", b"9" * 5000]
    )
    return data[: match.start()] + new + data[match.end() :]


def change_json(rng, data):
    """Give one node of a JSON document another type, remove it, or add one."""
    document = json.loads(data)
    holder, key = find_node(rng, document)
    way = rng.choice(["replace", "replace", "replace", "remove", "add", "nest"])
    if way == "replace":
        holder[key] = rng.choice(VALUES)
    elif way == "remove":
        del holder[key]
    elif way == "add" and isinstance(holder, dict):
        holder[rng.choice(["x", "svms", "label", "__class__", "", "\ud800", "k" * 300])] = rng.choice(VALUES)
    else:
        holder[key] = [holder[key]]
    return json.dumps(document).encode()


def find_node(rng, holder):
    """Return the holder and the key of a node, at any depth."""
    key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    inner = holder[key]
    return (
        find_node(rng, inner)
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8
        else (holder, key)
    )


def change_json_line(rng, data):
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    lines[at] = change_json(rng, lines[at]) + b"\n"
    return b"".join(lines)


def change_offset(rng, data):
    """Let an offset of a string column, or an index into a dictionary, of an Arrow file point outside."""
    arrow = read_arrow("ipc", data).combine_chunks()
    buffers = []
    for column in arrow.columns:
        array = column.chunk(0)
        indices = array.indices if pa.types.is_dictionary(array.type) else array
        first = indices.slice(0, 10).buffers()[1]  # as far as the first batch surely goes
        if first is not None and not pa.types.is_boolean(indices.type) and len(bytes(first)) >= 40:
            buffers.append(bytes(first)[:40])
    found = [data.find(start) for start in buffers if start in data]
    if not found:  # compressed
        return set_number(rng, data)
    at = rng.choice(found) + 4 * rng.randrange(10)
    value = rng.choice([-1, 2**31 - 1, -(2**31), 1_000_000, 120, 4096])
    return data[:at] + struct.pack("<i", value) + data[at + 4 :]


def open_arrow(data):
    kind = "parquet" if data.startswith(b"PAR1") else "ipc"
    return kind, read_arrow(kind, data)


def spoil_text(rng, data):
    """Put bytes that are no UTF-8 into a string column of a Parquet or Arrow file."""
    kind, arrow = open_arrow(data)
    names = [name for name in arrow.column_names if pa.types.is_string(arrow[name].type)]
    if not names:
        return set_number(rng, data)
    name = rng.choice(names)
    values = [None if value is None else value.encode() for value in arrow[name].to_pylist()]
    values[rng.randrange(len(values))] = rng.choice([b"\xff", b"\xed\xa0\x80", b"a\xc3", b"\x00"])
    spoiled = pa.array(values, pa.binary()).view(pa.string())
    arrow = arrow.set_column(arrow.column_names.index(name), name, spoiled)
    return write_parquet(arrow, use_dictionary=False) if kind == "parquet" else write_ipc(arrow)


def change_type(rng, data):
    """Give a column of a Parquet or Arrow file a type that is rare."""
    kind, arrow = open_arrow(data)
    name, n = rng.choice(arrow.column_names), len(arrow)
    column = rng.choice([
        pa.array([2**63 + i % 3 for i in range(n)], pa.uint64()),
        pa.array([[i % 2] for i in range(n)]),
        pa.array([{"a": i % 2} for i in range(n)]),
        pa.array([i % 3 for i in range(n)]).cast(pa.decimal128(38, 2)),
        pa.array([bytes([i % 2, 255]) for i in range(n)]),
        pa.nulls(n),
        pa.array([i % 2 == 0 for i in range(n)]),
        pa.array([i * 86_400_000_000_000 for i in range(n)], pa.timestamp("ns", "UTC")),
        pa.array([2**62 + i for i in range(n)], pa.timestamp("us")),
        pa.array([i % 4 for i in range(n)], pa.time64("ns")),
        pa.array([i % 2 for i in range(n)], pa.duration("s")),
        pa.array([float("nan") if i % 5 == 0 else i % 2 for i in range(n)], pa.float64()),
        pa.array([float("inf") if i % 5 == 0 else i % 2 for i in range(n)], pa.float32()),
        pa.array(["x" * (i % 2) for i in range(n)], pa.string_view()) if kind == "ipc" else pa.nulls(n),
    ])  # fmt: skip
    arrow = arrow.set_column(arrow.column_names.index(name), name, column)
    return write_parquet(arrow) if kind == "parquet" else write_ipc(arrow)


def change_names(rng, data):
    """Give a column of a Parquet or Arrow file a strange name, or one that another has."""
    kind, arrow = open_arrow(data)
    names = arrow.column_names
    names[rng.randrange(len(names))] = rng.choice(
        ["", "y", "y_given", "row", "\x00", "\x1b[2J", "x" * 300, "a,b"]
    )
    arrow = arrow.rename_columns(names)
    return write_parquet(arrow) if kind == "parquet" else write_ipc(arrow)


def change_issues(rng, data):
    """Change one value, the type or the name of a column of issues.parquet."""
    arrow = read_arrow("parquet", data)
    name = rng.choice([one for one in arrow.column_names[:12]])
    place, values = arrow.column_names.index(name), arrow[name].to_pylist()
    way = rng.choice(["value", "value", "drop", "text", "null", "repeat", "empty"])
    if way == "drop":
        return write_parquet(arrow.drop_columns([name]))
    if way == "empty":
        return write_parquet(arrow.slice(0, 0))
    if way == "repeat":
        return write_parquet(pa.concat_tables([arrow, arrow]))
    if way == "text":
        return write_parquet(arrow.set_column(place, name, pa.array([str(value) for value in values])))
    if values and way == "value":
        by_type = {int: (0, -1, 2**40), str: ("zzz", "", "\x1b[2J"), float: (-1.0, float("nan"), 1e300)}
        at = rng.randrange(len(values))
        values[at] = rng.choice(by_type.get(type(values[at]), (None,)))
    kind = pa.null() if way == "null" else arrow[name].type
    values = [None] * len(values) if way == "null" else values
    return write_parquet(arrow.set_column(place, name, pa.array(values, kind)))


LABELS = (
    '"zzz"', "[1]", '{"a": 1}', "null", "true", '"' + "x" * 10**6 + '"', "", "1e999", '"\\ud800"', '"\x1b[2J"'
)  # fmt: skip
STATEMENTS = (
    "INSERT INTO decisions SELECT max(id), 10000000, 'label', '\"no\"', NULL FROM acts",
    "INSERT INTO decisions SELECT max(id), 0, 'accept', '\"no\"', NULL FROM acts",
    "INSERT INTO decisions SELECT max(id), -5, 'keep', '\"no\"', NULL FROM acts",
    "PRAGMA user_version = 0", "PRAGMA user_version = 77", "PRAGMA application_id = 1",
    "DROP TRIGGER acts_stay", "CREATE TABLE more (a)", "DROP TABLE decisions",
    "INSERT INTO acts (undoes, who, at) VALUES (999, 'Ann', '2024')",
    "INSERT INTO acts (undoes, who, at) SELECT max(id), 'Bob', 'no time' FROM acts",
    "INSERT INTO acts (who, at) VALUES ('\x1b[2J', '2024')",
)  # fmt: skip


def change_decisions(rng, data):
    """Change a file of decisions with SQL, as another program could."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.sqlite"
        path.write_bytes(data)
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = OFF")
            if rng.random() < 0.5:
                forged = (rng.randrange(1, 31), rng.choice(LABELS))
                connection.execute(
                    "INSERT INTO decisions SELECT max(id), ?, 'label', ?, NULL FROM acts", forged
                )
            else:
                connection.execute(rng.choice(STATEMENTS))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:  # a row that is there already
            pass
        finally:
            connection.close()
        return path.read_bytes()


def rewrite_header(data, change):
    """Return a model file (safetensors: the length of its header, JSON, arrays) with a changed header."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    change(header)
    inner = json.dumps(header).encode()
    inner += b" " * (-len(inner) % 8)
    return struct.pack("<Q", len(inner)) + inner + data[8 + length :]


def change_header(rng, data):
    """Change one node of the JSON at the start of a model file."""

    def change(header):
        holder, key = find_node(rng, header)
        forged = (*VALUES, "F64", "F32", "I64", "U8", "<U400000000", "|O8", [2**40], [0], [0, 2**50], [-1])
        holder[key] = rng.choice(forged)

    return rewrite_header(data, change)


def change_metadata(rng, data):
    """Change the JSON that describes a model, inside the header of its file."""

    def change(header):
        said = header["__metadata__"]
        texts = [key for key, value in said.items() if value[:1] in ("{", "[")]
        key = rng.choice(texts or list(said))
        said[key] = (change_json if texts else set_bytes)(rng, said[key].encode()).decode("utf-8", "replace")

    return rewrite_header(data, change)


def change_array_header(rng, data):
    """Forge the shape or type of an array of NumPy."""
    new = rng.choice([
        (rb"\((\d+), ?(\d+)\)", b"(99999999999, 5)"), (rb"\((\d+), ?(\d+)\)", b"(40, 0)"),
        (rb"\((\d+), ?(\d+)\)", b"(-1, 5)"), (rb"\((\d+), ?(\d+)\)", b"()"), (rb"<f[48]", b"|O8"),
        (rb"<f[48]", b"<U400000000"), (rb"<f[48]", b"<c16"), (rb"False", b"True"), (rb"'descr'", b"'descx'"),
    ])  # fmt: skip
    return re.sub(new[0], new[1], data, count=1)


def change_cells(rng, table):
    """Put strange values into cells, columns or names of a table that is written as text."""
    columns = {name: list(values) for name, values in table.columns.items()}
    name = rng.choice(list(columns))
    value = rng.choice(CELLS)
    way = rng.choice(["cell", "cells", "column", "name", "label"])
    if way == "name":
        new = rng.choice(
            ["", " ", "y", "y_given", "sample_weight", "row", "\x1b[2J", "x" * 300, "a,b", 'q"', "\n"]
        )
        columns = {new if one == name else one: values for one, values in columns.items()}
    elif way == "column":
        columns[name] = [value] * table.n_rows
    else:
        name = table.label if way == "label" else name
        for _ in range(1 if way == "cell" else 8):
            columns[name][rng.randrange(table.n_rows)] = value
    table.columns = columns
    write = write_json_lines if table.kind == "jsonl" else lambda columns: write_delimited(table)
    try:
        table.files[table.main] = write(columns)
    except UnicodeEncodeError:  # the encoding of this table does not have the character
        table.style["encoding"] = "utf-8"
        table.reading = [one for one in table.reading if one not in ("--encoding", "cp1252", "latin-1")]
        table.files[table.main] = write(columns)


ANY = (flip_bits, set_bytes, set_number, cut, remove_slice, double, insert_magic, replace_all)
TEXT = (*ANY[:2], *ANY[3:], change_lines, change_lines, change_numbers, insert_magic)
MUTATIONS = {
    "csv": TEXT,
    "tsv": TEXT,
    "jsonl": (*TEXT, change_json_line, change_json_line),
    "libsvm": (*TEXT, change_numbers),
    "parquet": (*ANY, spoil_text, change_type, change_type, change_names),
    "feather": (*ANY, set_number, *[change_offset] * 2, spoil_text, *[change_type] * 2, change_names),
    "compressed": (*ANY, explode),
    "embeddings": (*ANY, change_array_header, change_array_header),
    "run.json": (*TEXT, *[change_json] * 12),
    "issues.parquet": (*ANY, *[change_issues] * 6),
    "decisions.sqlite": (*ANY, *[change_decisions] * 8),
    "model": (*ANY, *[change_header] * 4, *[change_metadata] * 4),
}
