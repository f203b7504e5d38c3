"""Ways to damage a file. Each function takes a random generator and bytes, and returns other bytes.

Some work on any bytes, some know a format: `MUTATIONS` says which of them suit which files.
"""

import gzip
import json
import math
import re
import struct
from decimal import Decimal
from functools import cache, partial

import pyarrow as pa

from fuzz.files import read_arrow, write_delimited, write_ipc, write_json_lines, write_parquet
from fuzz.more_files import unzip_files, zip_files
from fuzz.statements import change_database, change_decisions

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
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def set_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 4, 30])):
        data[rng.randrange(len(data))] = rng.choice([0, 0xFF, 0x80, 0x0A, 0x22, 0x2C, rng.randrange(256)])
    return bytes(data)


def set_number(rng, data):
    """Write an extreme number over four or eight bytes, as if it were a length or an offset."""
    size = rng.choice([4, 8])
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
    """Drop, repeat, swap, join, split, lengthen or empty a line, or keep the first few."""
    lines = data.split(b"\n")
    at, other = (rng.randrange(len(lines)) for _ in range(2))
    line, half = lines[at], len(lines[at]) // 2
    way = rng.choice(["swap", "keep few", "join", "drop", "repeat", "split", "lengthen", "empty"])
    if way == "swap":
        lines[at], lines[other] = lines[other], line
    elif way == "keep few":
        del lines[rng.randrange(1, 6) :]
    elif way == "join":
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    else:
        lines[at : at + 1] = {
            "drop": [],
            "repeat": [line] * (1 + rng.choice([1, 2, 200])),
            "split": [line[:half], line[half:]],
            "lengthen": [line * (1 + rng.choice([1, 500]))],
            "empty": [rng.choice([b"", b" ", b"\t", b",,,,", b"#"])],
        }[way]
    return b"\n".join(lines)


def change_numbers(rng, data):
    """Replace a number in text, for example an index of LIBSVM, by an extreme one."""
    found = list(re.finditer(rb"\d+(\.\d+)?", data))
    if not found:
        return set_bytes(rng, data)
    match = rng.choice(found)
    extreme = b"-1 0 20000000 200000000 2147483648 1e400 nan".split()
    new = rng.choice([*extreme, b"9" * 25, b"9" * 5000])
    return data[: match.start()] + new + data[match.end() :]


def change_json(rng, data):
    """Give one node of a JSON document another type, remove it, or add one."""
    document = json.loads(data)
    if not document:
        return rng.choice(MAGIC)
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
    if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
        return find_node(rng, inner)
    return holder, key


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
    """Return a Parquet or Arrow file as a table, and a function that writes one of the same kind."""
    if data.startswith(b"PAR1"):
        return read_arrow("parquet", data), partial(write_parquet, use_dictionary=False)
    return read_arrow("ipc", data), write_ipc


def replace_column(arrow, name, column):
    return arrow.set_column(arrow.column_names.index(name), name, column)


def spoil_text(rng, data):
    """Put bytes that are no UTF-8 into a string column of a Parquet or Arrow file."""
    arrow, write = open_arrow(data)
    names = [name for name in arrow.column_names if pa.types.is_string(arrow[name].type)]
    if not names:
        return set_number(rng, data)
    name = rng.choice(names)
    values = [None if value is None else value.encode() for value in arrow[name].to_pylist()]
    values[rng.randrange(len(values))] = rng.choice([b"\xff", b"\xed\xa0\x80", b"a\xc3", b"\x00"])
    return write(replace_column(arrow, name, pa.array(values, pa.binary()).view(pa.string())))


RARE = (  # a type, and its values by the number of the row
    (pa.uint64(), lambda i: 2**63 + i % 3), (pa.list_(pa.int64()), lambda i: [i % 2]),
    (pa.struct({"a": pa.int64()}), lambda i: {"a": i % 2}), (pa.decimal128(38, 2), lambda i: Decimal(i % 3)),
    (pa.binary(), lambda i: bytes([i % 2, 255])), (pa.null(), lambda i: None),
    (pa.bool_(), lambda i: i % 2 == 0), (pa.duration("s"), lambda i: i % 2),
    (pa.timestamp("ns", "UTC"), lambda i: i * 86_400_000_000_000), (pa.timestamp("us"), lambda i: 2**62 + i),
    (pa.time64("ns"), lambda i: i % 4), (pa.float64(), lambda i: i % 2 if i % 5 else math.nan),
    (pa.float32(), lambda i: i % 2 if i % 5 else math.inf), (pa.string_view(), lambda i: "x" * (i % 2)),
)  # fmt: skip


def change_type(rng, data):
    """Give a column of a Parquet or Arrow file a type that is rare."""
    arrow, write = open_arrow(data)
    kind, draw = rng.choice(RARE[:-1] if data.startswith(b"PAR1") else RARE)  # Parquet has no views
    column = pa.array([draw(i) for i in range(len(arrow))], kind)
    return write(replace_column(arrow, rng.choice(arrow.column_names), column))


def change_names(rng, data):
    arrow, write = open_arrow(data)
    names = arrow.column_names
    strange = ["", "y", "y_given", "row", "\x00", "\x1b[2J", "x" * 300, "a,b"]
    place = rng.randrange(max(len(names), 1))
    names[place : place + 1] = [rng.choice(strange)] * bool(names)
    return write(arrow.rename_columns(names))


def change_member(rng, data):
    """Change a file in a workbook, which is an archive: its text, or how often a cell is repeated."""
    files = unzip_files(data)
    name = rng.choice([one for one in files if one.endswith("xml")])
    way = rng.choice([*TEXT, repeat_cells, repeat_cells])
    name = max(files, key=lambda one: len(files[one])) if way is repeat_cells else name
    changed = {} if rng.random() < 0.1 else {name: way(rng, files[name])}
    return zip_files({one: changed.get(one, files[one]) for one in files if one != name or changed})


def repeat_cells(rng, data):
    """Let a cell, a row or a space of an OpenDocument file be repeated, or give one of Excel a far place."""
    many = str(rng.choice([2, 1000, 10**9, -1])).encode()
    forged = {
        b"<table:table-cell": b' table:number-columns-repeated="' + many + b'"',
        b"<table:table-row": b' table:number-rows-repeated="' + many + b'"',
        b"<text:p>": b'<text:s text:c="' + many + b'"/>',
        b'<row r="3"': b' spans="1:' + many + b'"',
        b'<c r="A3"': b' s="' + many + b'"',
    }
    start = rng.choice([one for one in forged if one in data] or [data[:1]])
    return data.replace(start, start + forged.get(start, b" "), 1)


def change_issues(rng, data):
    """Change one value, the type or the name of a column of issues.parquet."""
    arrow, write = open_arrow(data)
    name = rng.choice(arrow.column_names[:12])
    way = rng.choice(["value", "value", "drop", "text", "null", "repeat", "empty"])
    if way in ("drop", "repeat", "empty"):
        changed = {"drop": arrow.drop_columns([name]), "repeat": pa.concat_tables([arrow, arrow])}
        return write(changed.get(way, arrow.slice(0, 0)))
    values, kind = arrow[name].to_pylist(), arrow[name].type
    if way == "value" and values:
        by_type = {int: (0, -1, 2**40), str: ("zzz", "", "\x1b[2J"), float: (-1.0, math.nan, 1e300)}
        at = rng.randrange(len(values))
        values[at] = rng.choice(by_type.get(type(values[at]), (None,)))
    elif way == "text":
        values, kind = [str(value) for value in values], pa.string()
    elif way == "null":
        values, kind = [None] * len(values), pa.null()
    return write(replace_column(arrow, name, pa.array(values, kind)))


def change_header(rng, data):
    """Change a node of the JSON that a model file (safetensors: its length, JSON, arrays) begins with.

    Or one of the JSON that describes the model, which is a text in it.
    """
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    said = header["__metadata__"]
    texts = [key for key, value in said.items() if value[:1] in ("{", "[")]
    if rng.random() < 0.5 and texts:
        key = rng.choice(texts)
        said[key] = change_json(rng, said[key].encode()).decode()
    else:
        holder, key = find_node(rng, header)
        forged = ("F64", "F32", "I64", "U8", "<U400000000", "|O8", [2**40], [0], [0, 2**50], [-1])
        holder[key] = rng.choice([*VALUES, *forged])
    inner = json.dumps(header).encode()
    inner += b" " * (-len(inner) % 8)
    return struct.pack("<Q", len(inner)) + inner + data[8 + length :]


def change_array_header(rng, data):
    forged = {
        rb"\(\d+, ?\d+\)": [b"(99999999999, 5)", b"(40, 0)", b"(-1, 5)", b"()"],
        rb"<f[48]": [b"|O8", b"<U400000000", b"<c16"],
        rb"False": [b"True"],
        rb"'descr'": [b"'descx'"],
    }
    old, new = rng.choice([(old, new) for old, several in forged.items() for new in several])
    return re.sub(old, new, data, count=1)


def change_cells(rng, table):
    """Put strange values into cells, columns or names of a table that is written as text."""
    columns = {name: list(values) for name, values in table.columns.items()}
    name, value = rng.choice(list(columns)), rng.choice(CELLS)
    way = rng.choice(["cell", "cells", "column", "name", "label"])
    if way == "name":
        strange = ["", " ", "y", "y_given", "sample_weight", "row", "\x1b[2J", "x" * 300, "a,b", 'q"', "\n"]
        new = rng.choice(strange)
        columns = {new if one == name else one: values for one, values in columns.items()}
    elif way == "column":
        columns[name] = [value] * table.n_rows
    else:
        for _ in range(1 if way == "cell" else 8):
            columns[table.label if way == "label" else name][rng.randrange(table.n_rows)] = value
    table.columns = columns
    if table.kind == "jsonl":
        table.files[table.main] = write_json_lines(columns)
        return
    try:
        table.files[table.main] = write_delimited(table)
    except UnicodeEncodeError:  # the encoding of this table does not have the character
        table.style["encoding"] = "utf-8"
        table.reading = []
        table.files[table.main] = write_delimited(table)


ANY = (flip_bits, set_bytes, set_number, cut, remove_slice, double, insert_magic, replace_all)
TEXT = (*ANY[:2], *ANY[3:], change_lines, change_lines, change_numbers, insert_magic)
MUTATIONS = {
    "csv": TEXT,
    "tsv": TEXT,
    "answers": TEXT,
    "jsonl": (*TEXT, change_json_line, change_json_line),
    "libsvm": (*TEXT, change_numbers),
    "parquet": (*ANY, spoil_text, change_type, change_type, change_names),
    "feather": (*ANY, set_number, *[change_offset] * 2, spoil_text, *[change_type] * 2, change_names),
    "compressed": (*ANY, explode),
    "xlsx": (*ANY, *[change_member] * 8),
    "ods": (*ANY, *[change_member] * 8),
    "json": (*TEXT, *[change_json] * 3),
    "sqlite": (*ANY, *[set_number] * 2, *[change_database] * 6),
    "dta": (*ANY, *[set_number] * 4),
    "sav": (*ANY, *[set_number] * 4),
    "picture": (*ANY, *[set_number] * 4),
    "embeddings": (*ANY, change_array_header, change_array_header),
    "run.json": (*TEXT, *[change_json] * 12),
    "issues.parquet": (*ANY, *[change_issues] * 6),
    "decisions.sqlite": (*ANY, *[change_decisions] * 8),
    "model": (*ANY, *[change_header] * 8),
}
