"""Valid tables in formats that hold types, those that several people answered, and those that name pictures.

Like those of `files`, they are the same bytes for the same generator, and so nothing in them says when they
were made; and no library that writes them may start a thread.
"""

import io
import json
import re
import sqlite3
import struct
import tempfile
import zipfile
import zlib
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
from workbooks import make_ods

from fuzz.files import (
    Table,
    as_rows,
    compress,
    draw_columns,
    draw_csv,
    get_kind,
    read_rows,
    write_delimited,
    write_parquet,
)

LONG_AGO = (2024, 1, 1, 0, 0, 0)
MADE = {"time_stamp": datetime(*LONG_AGO)}  # an option of Stata files


def zip_files(files, how=zipfile.ZIP_DEFLATED):
    """Return an archive of files, {name: bytes}, which has no time in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), data)
    return out.getvalue()


def unzip_files(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def in_a_folder(write):
    """Return what a function writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        write(path)
        return path.read_bytes()


def draw_workbook(rng):
    """Return an Excel workbook, sometimes with a title above the table, or a second sheet."""
    columns, book = draw_columns(rng), openpyxl.Workbook()
    sheet, titled = book.active, rng.random() < 0.2
    if titled:
        sheet.append(["Measured in March"])
    for row in [list(columns), *zip(*columns.values(), strict=True)]:
        sheet.append(row)
    if rng.random() < 0.2:
        book.create_sheet("Notes").append(["nothing"])
    out = io.BytesIO()
    book.save(out)
    files = unzip_files(out.getvalue())
    files["docProps/core.xml"] = re.sub(rb"\d{4}-[^<]*Z", b"2024-01-01T00:00:00Z", files["docProps/core.xml"])
    return Table("xlsx", "y", columns, "t.xlsx", {"t.xlsx": zip_files(files)}, style={"titled": titled})


def draw_open_document(rng):
    columns = {name: list(map(as_plain, values)) for name, values in draw_columns(rng).items()}
    data = in_a_folder(lambda path: make_ods(path, [list(columns), *zip(*columns.values(), strict=True)]))
    return Table("ods", "y", columns, "t.ods", {"t.ods": zip_files(unzip_files(data), zipfile.ZIP_STORED)})


def as_plain(value):
    """Return a value as a number, text or None, for formats and libraries that know nothing else."""
    return int(value) if isinstance(value, bool) else str(value) if isinstance(value, date) else value


def draw_json(rng):
    columns = draw_columns(rng)
    text = json.dumps(list(as_rows(columns)), ensure_ascii=False, default=str, indent=rng.choice([None, 1]))
    return compress(rng, Table("json", "y", columns, "t.json", {"t.json": text.encode()}))


def draw_sqlite(rng):
    """Return a database with the table, and perhaps another one, an index or a view."""
    columns = {name: list(map(as_plain, values)) for name, values in draw_columns(rng).items()}
    name = rng.choice(["t.sqlite", "t.sqlite3", "t.db"])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE loans ({', '.join(columns)})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO loans VALUES ({marks})", zip(*columns.values(), strict=True))
        for statement in ("CREATE TABLE other (a)", "CREATE INDEX i ON loans (size)",
                          "CREATE VIEW some AS SELECT * FROM loans LIMIT 5"):  # fmt: skip
            if rng.random() < 0.2:
                connection.execute(statement)
        connection.commit()
        data = connection.serialize()
    reading = ["--query", "select * from loans"] if rng.random() < 0.2 else []
    return Table("sqlite", "y", columns, name, {name: data}, reading)


def as_frame(columns):
    return pd.DataFrame({name: list(map(as_plain, values)) for name, values in columns.items()})


def draw_stata(rng):
    columns, out = draw_columns(rng, ("Koln", "Oslo")), io.BytesIO()
    as_frame(columns).to_stata(out, write_index=False, version=rng.choice([117, 118]), **MADE)
    return Table("dta", "y", columns, "t.dta", {"t.dta": out.getvalue()})


def draw_spss(rng):
    columns = draw_columns(rng)
    how = {"row_compress": rng.random() < 0.7}
    named = {"variable_value_labels": {"y": {0: "no", 1: "yes"}}} if columns["y"][0] == 0 else {}
    data = in_a_folder(lambda path: pyreadstat.write_sav(as_frame(columns), path, **how, **named))
    data = data[:92] + b"01 Jan 24" + b"00:00:00" + data[109:]
    return Table("sav", "y", columns, "t.sav", {"t.sav": data})


DELTA = {"string": "string", "int64": "long", "double": "double", "bool": "boolean", "date32[day]": "date"}


def draw_delta(rng):
    """Return a Delta table of two files whose log removes a third; deltalake would start threads."""
    columns = draw_columns(rng)
    columns = {name: [f"{one}" for one in v] if name == "y" else v for name, v in columns.items()}
    arrow = pa.table({name: pa.array(values) for name, values in columns.items()})
    cut = rng.randrange(5, len(arrow) - 5)
    parts = {"a.parquet": arrow.slice(0, cut), "b.parquet": arrow.slice(cut), "c.parquet": arrow.slice(0, 3)}
    files = {f"t/{name}": write_parquet(part) for name, part in parts.items()}
    fields = [
        {"name": field.name, "type": DELTA[str(field.type)], "nullable": True, "metadata": {}}
        for field in arrow.schema
    ]
    about = {
        "id": "0", "format": {"provider": "parquet", "options": {}}, "configuration": {},
        "schemaString": json.dumps({"type": "struct", "fields": fields}), "partitionColumns": [],
    }  # fmt: skip
    add = {"partitionValues": {}, "modificationTime": 0, "dataChange": True}
    added = [{"add": {"path": name, "size": len(files[f"t/{name}"]), **add}} for name in parts]
    removed = {"remove": {"path": "c.parquet", "deletionTimestamp": 0, "dataChange": True}}
    first = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": about}, *added]
    for version, lines in enumerate((first, [removed])):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        files[f"t/_delta_log/{version:020}.json"] = text.encode()
    return Table("delta", "y", columns, "t", files)


def draw_answers(rng):
    """Return a table with columns of three people's answers, sometimes without another label."""
    table = draw_csv(rng)
    while "." in table.kind:
        table = draw_csv(rng)
    names = [one for one in dict.fromkeys(table.columns["y"]) if one is not None]
    people = {f"by{i}": [answer(rng, names, one) for one in table.columns["y"]] for i in range(3)}
    table.columns |= people
    table.asking = [word for name in people for word in ("--annotator", name)]
    table.is_labelled = rng.random() < 0.5
    if not table.is_labelled:
        del table.columns["y"]
        table.label = "by0"
    table.files, table.kind = {table.where: write_delimited(table)}, "answers"
    return table


def answer(rng, names, label):
    """Return what a person says, who is mostly right."""
    if label is None or rng.random() < 0.1:
        return None
    return label if rng.random() < 0.8 else rng.choice(names)


def draw_lines(rng):
    """Return a table with a line for each answer."""
    table = draw_answers(rng)
    people, lines = table.asking[1::2], []
    for number, row in enumerate(as_rows(table.columns)):
        shared = {name: row[name] for name in row if name not in ("y", "id", *people)}
        for name in people:
            if row[name] is not None:
                lines.append({"item": f"I{number}", "who": name, **shared, "y": row[name]})
    table.columns = {name: [line[name] for line in lines] for name in lines[0]}
    table.asking = ["--annotator-column", "who", "--id", "item"]
    table.label, table.is_labelled, table.kind = "y", True, "answers in lines"
    table.files = {table.where: write_delimited(table)}
    return table


def make_png(width=2, height=2):
    header = struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
    parts = {b"IHDR": header, b"IDAT": zlib.compress(bytes(height * (1 + 3 * width))), b"IEND": b""}
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


WAV = b"RIFF\x24\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data\0\0\0\0"
JPEG = b"\xff\xd8\xff\xe0\0\x04JF\xff\xc0\0\x0b\x08\0\x02\0\x02\x01\x01\x11\0\xff\xd9"
MEDIA = {
    "a.png": make_png(), "b.gif": b"GIF89a\x02\0\x02\0\0\0\0;", "c.jpg": JPEG, "d.wav": WAV,
    "e.webp": b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\x01\x40\0\0\x07\x50\0\0\0\0\0\0\0",
}  # fmt: skip


def draw_pictures(rng):
    """Return a CSV file with a column of paths, and the pictures or sounds that it names."""
    table = draw_csv(rng)
    while "." in table.kind:
        table = draw_csv(rng)
    sounds = rng.random() < 0.2
    names = [f"p/{name}" for name in MEDIA if name.endswith(".wav") == sounds]
    table.columns["shown"] = [rng.choice(names) for _ in range(table.n_rows)]
    if rng.random() < 0.3:
        strange = ["../x.png", "/etc/passwd", "p", "p/a.png/b.png", "p/\x00.png", "https://x.org/a.png", ""]
        table.columns["shown"][rng.randrange(table.n_rows)] = rng.choice(strange)
    table.files = {table.where: write_delimited(table)}
    table.files |= {f"p/{name}": data for name, data in MEDIA.items()}
    table.kind = "pictures"
    return table


DRAW = {
    "xlsx": draw_workbook, "ods": draw_open_document, "json": draw_json, "sqlite": draw_sqlite,
    "dta": draw_stata, "sav": draw_spss, "delta": draw_delta, "answers": draw_answers,
    "answers in lines": draw_lines, "pictures": draw_pictures,
}  # fmt: skip


def read_any(name, data, style=None):
    """Return the rows of a table and its column names, as `files.read_rows` does, also of these formats."""
    kind = get_kind(name)
    if kind == "xlsx":
        return read_workbook(data, (style or {}).get("titled", False))
    return read_frame(kind, data) if kind in ("dta", "sav") else read_rows(name, data, style)


def read_workbook(data, titled):
    rows = openpyxl.load_workbook(io.BytesIO(data)).worksheets[0].values
    _, *rows = rows if titled else (None, *rows)
    names = [str(name) for name in rows[0] if name is not None]
    return [dict(zip(names, row, strict=False)) for row in rows[1:]], names


def read_frame(kind, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        path.write_bytes(data)
        frame, _ = {"dta": pyreadstat.read_dta, "sav": pyreadstat.read_sav}[kind](path)
    return frame.astype(object).to_dict("records"), list(frame.columns)
