"""Valid tables of every kind that the command line reads, as bytes; and plain readers that check the results.

The readers use nothing of the package: csv, json and pyarrow.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

WORDS = "good bad slow quick cheap dear loud quiet late early dull bright café naïve".split()
CITIES = ("Köln", "Paris", "Łódź", "東京", "Zürich", "Oslo")
LATIN_CITIES = ("Köln", "Paris", "Málaga", "Oslo")  # that cp1252 can hold
CLASSES = (("no", "yes"), ("no", "yes", "maybe"), (0, 1), (0, 1, 2), ("ja, klar", 'ne"in', "weiß nicht"))
COMPRESSIONS = {
    "gz": (lambda data: gzip.compress(data, mtime=0), gzip.decompress),
    "bz2": (bz2.compress, bz2.decompress),
    "xz": (lzma.compress, lzma.decompress),
    "zst": (
        lambda data: pa.Codec("zstd").compress(data, asbytes=True),
        lambda data: pa.CompressedInputStream(pa.BufferReader(data), "zstd").read(),
    ),
}


@dataclass
class Table:
    """A table as files."""

    kind: str  # what the counts call it, such as "csv" or "feather"
    label: str
    columns: dict[str, list]  # values; None where they are missing
    where: str  # what the command is given: a file, a pattern, a folder, or "-"
    files: dict[str, bytes] = field(default_factory=dict)  # by name
    reading: list[str] = field(default_factory=list)  # options without which the files cannot be read
    style: dict = field(default_factory=dict)  # how text is written: separator, encoding and so on
    asking: list[str] = field(default_factory=list)  # options that say which columns are people's answers
    is_labelled: bool = True  # else only people's answers are, and `label` is one of them

    @property
    def n_rows(self):
        return len(self.columns[self.label])

    @property
    def main(self):
        return next(iter(self.files))

    @property
    def named(self):
        """The options that name the labels."""
        return (["--label", self.label] if self.is_labelled else []) + self.asking

    @property
    def parts(self):
        """The files that hold rows, and not embeddings, pictures, a log, or what the log has removed."""
        beside = ("x.", "p/", "t/_delta_log/", *(["t/c."] if self.kind == "delta" else []))
        return {name: data for name, data in self.files.items() if not name.startswith(beside)}


def draw_columns(rng, cities=CITIES):
    """Return columns of every kind and a label that depends on some of them; a few labels are wrong."""
    classes = rng.choice(CLASSES)
    clean = [rng.randrange(len(classes)) for _ in range(rng.randrange(24, 64))]
    made = {
        "id": [f"P{i:04d}" for i in range(len(clean))],
        "size": [round(rng.gauss(2.0 * k, 1.0), 3) for k in clean],
        "weight": [round(rng.gauss(-1.5 * k, 1.0), 2) for k in clean],
        "count": [rng.randrange(10) + 5 * k for k in clean],
        "colour": [("red", "green", "blue")[k if rng.random() < 0.8 else 0] for k in clean],
        "city": [rng.choice(cities) for _ in clean],
        "flag": [rng.random() < 0.3 + 0.3 * k for k in clean],
        "day": [date(2021, 3, 1) + timedelta(rng.randrange(900)) for _ in clean],
        "note": [" ".join(rng.choice(WORDS) for _ in range(4)) for _ in clean],
    }
    columns = {name: made[name] for name in made if name in ("size", "weight") or rng.random() < 0.6}
    for name in columns.keys() - {"id"}:
        if rng.random() < 0.4:
            columns[name] = [None if rng.random() < 0.1 else value for value in columns[name]]
    given = [classes[k if rng.random() < 0.85 else rng.randrange(len(classes))] for k in clean]
    if rng.random() < 0.3:
        given = [None if rng.random() < 0.08 else value for value in given]
    names = list(columns)
    names.insert(rng.randrange(len(names) + 1), "y")
    columns["y"] = given
    return {name: columns[name] for name in names}


def compress(rng, table):
    """Compress the file of a table with one of the four methods, or leave it as it is."""
    if rng.random() < 0.25:
        ending = rng.choice(list(COMPRESSIONS))
        ((name, data),) = table.files.items()
        table.where = f"{name}.{ending}"
        table.files = {table.where: COMPRESSIONS[ending][0](data)}
        table.kind += f".{ending}"
    return table


STEMS = ("a b", "\u00fc", "[x]", "*", "'q\"", "n\nl", "\x1b[2J", "t\udcff", "-t", ".t", "x" * 200, "x" * 243)


def rename(rng, table):
    ((name, data),) = table.files.items()
    table.where = rng.choice(STEMS) + name.removeprefix("t")
    table.files = {table.where: data}


def write_delimited(table):
    style, out = table.style, io.StringIO(newline="")
    how = {"delimiter": style["separator"], "lineterminator": style["newline"], "quoting": style["quoting"]}
    writer = csv.writer(out, **how)
    writer.writerow(table.columns)
    for row in zip(*table.columns.values(), strict=True):
        writer.writerow([
            str(cell).replace(".", style["decimal"]) if isinstance(cell, float) else cell for cell in row
        ])  # fmt: skip
    return out.getvalue().encode(style["encoding"])


def draw_csv(rng, suffix="csv", separators=",,,;|\t"):
    encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
    latin = encoding in ("cp1252", "latin-1")
    columns = draw_columns(rng, LATIN_CITIES if latin else CITIES)
    separator = rng.choice(separators)
    style = {
        "separator": separator,
        "quoting": rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        "newline": rng.choice(["\n", "\n", "\r\n"]),
        "decimal": rng.choice(".,") if separator == ";" else ".",
        "encoding": encoding,
    }
    table = Table(suffix, "y", columns, f"t.{suffix}", style=style)
    table.reading = ["--encoding", encoding] if latin else []
    table.files[table.where] = write_delimited(table)
    return compress(rng, table)


def draw_tsv(rng):
    return draw_csv(rng, "tsv", "\t")


def write_json_lines(columns):
    """Return JSON Lines; what is missing is null."""
    rows = as_rows(columns)
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows).encode()


def as_rows(columns):
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def draw_json_lines(rng):
    columns = draw_columns(rng)
    name = rng.choice(["t.jsonl", "t.ndjson"])
    return compress(rng, Table("jsonl", "y", columns, name, {name: write_json_lines(columns)}))


def draw_libsvm(rng):
    """Return LIBSVM text whose values depend on the labels."""
    names, first = rng.choice([(-1, 1), ("+1", "-1"), (1, 2, 3)]), rng.choice([0, 1])
    labels, lines = [rng.choice(names) for _ in range(rng.randrange(24, 64))], []
    for label in labels:
        drawn = [j for j in range(first, 9) if rng.random() < 0.8]
        cells = [f"{j}:{rng.gauss(names.index(label) if j % 2 else 0, 1.0):.3f}" for j in drawn]
        lines.append(" ".join([str(label), *cells]) + "\n")
    name = rng.choice(["t.libsvm", "t.svm"])
    return compress(rng, Table("libsvm", "label", {"label": labels}, name, {name: "".join(lines).encode()}))


def as_arrow(rng, columns):
    """Return a typed table; text is sometimes a dictionary, or of another width."""
    arrays = {name: pa.array(values) for name, values in columns.items()}
    for name, array in arrays.items():
        if pa.types.is_string(array.type):
            coded, wide = array.dictionary_encode(), array.cast(pa.large_string())
            arrays[name] = rng.choice([array, array, coded, wide])
        if pa.types.is_integer(array.type) and rng.random() < 0.3:
            arrays[name] = array.cast(rng.choice([pa.int8(), pa.uint64(), pa.int32()]))
    return pa.table(arrays)


def write_parquet(arrow, **options):
    sink = pa.BufferOutputStream()
    parquet.write_table(arrow, sink, **options)
    return sink.getvalue().to_pybytes()


def write_ipc(arrow, *, stream=False, compression=None):
    """Return an Arrow file or stream. Threads would outlive the call, in a process that is to be forked."""
    sink = pa.BufferOutputStream()
    options = ipc.IpcWriteOptions(compression=compression, use_threads=False)
    with (ipc.new_stream if stream else ipc.new_file)(sink, arrow.schema, options=options) as writer:
        writer.write_table(arrow, max_chunksize=50)
    return sink.getvalue().to_pybytes()


def draw_parquet(rng):
    """Return one file, several files by a pattern, or a folder of partitions."""
    columns = draw_columns(rng)
    arrow = as_arrow(rng, columns)
    options = {
        "compression": rng.choice(["snappy", "zstd", "none"]),
        "row_group_size": rng.choice([20, 1000]),
        "use_dictionary": rng.random() < 0.5,
    }
    shape = rng.choice(["file", "file", "pattern", "folder", "partitions"])
    if shape == "file":
        data = write_parquet(arrow, **options)
        return Table("parquet", "y", columns, "t.parquet", {"t.parquet": data})
    cut = rng.randrange(10, len(arrow) - 10)
    name = "t/p={}/a.parquet" if shape == "partitions" else "t/{}.parquet"
    parts = enumerate((arrow.slice(0, cut), arrow.slice(cut)))
    files = {name.format(number): write_parquet(part, **options) for number, part in parts}
    return Table(f"parquet {shape}", "y", columns, "t/*.parquet" if shape == "pattern" else "t", files)


def draw_feather(rng):
    columns = draw_columns(rng)
    name = rng.choice(["t.feather", "t.arrow", "t.ipc"])
    compression = rng.choice([None, None, None, "lz4", "zstd"])
    data = write_ipc(as_arrow(rng, columns), stream=rng.random() < 0.3, compression=compression)
    return Table("feather", "y", columns, name, {name: data})


def draw_embeddings(rng):
    """Return a CSV file, and a second file with a row of numbers for each of its rows."""
    table = draw_csv(rng, separators=",")
    classes = sorted(set(table.columns["y"]), key=str)
    X = [[rng.gauss(classes.index(label), 1.0) for _ in range(5)] for label in table.columns["y"]]
    X = np.array(X, dtype=rng.choice(["float64", "float32"]))
    out, name = io.BytesIO(), rng.choice(["x.npy", "x.npz"])
    np.save(out, X) if name == "x.npy" else np.savez(out, X=X)
    table.files[name] = out.getvalue()
    table.reading += ["--features", name]
    table.kind = "embeddings"
    return table


DRAW = {
    "csv": draw_csv, "tsv": draw_tsv, "jsonl": draw_json_lines, "libsvm": draw_libsvm,
    "parquet": draw_parquet, "feather": draw_feather, "embeddings": draw_embeddings,
}  # fmt: skip


KINDS = {"ndjson": "jsonl", "svm": "libsvm", "arrow": "feather", "ipc": "feather"}


def get_kind(name):
    """Return the format that a name says, such as "csv" or "feather"."""
    words = name.split(".")
    ending = words[-2] if words[-1] in COMPRESSIONS else words[-1]
    return KINDS.get(ending, ending)


def read_rows(name, data, style=None):
    """Return the rows of a table as dictionaries, and its column names, with none of the package's code."""
    kind, style = get_kind(name), style or {}
    _, decompress = COMPRESSIONS.get(name.rsplit(".", 1)[-1], (None, bytes))
    data = decompress(data)
    if kind in ("csv", "tsv"):
        text = data.decode(style.get("encoding", "utf-8"))
        names, *lines = csv.reader(io.StringIO(text, newline=""), delimiter=style.get("separator", ","))
        return [dict(zip(names, line, strict=True)) for line in lines], names
    if kind == "jsonl":
        rows = [json.loads(line) for line in data.decode().split("\n") if line.strip()]
        return rows, list(rows[0])
    if kind == "libsvm":
        cells = [line.split(" ", 1) for line in data.decode().splitlines()]
        return [{"label": one, "values": "".join(rest)} for one, *rest in cells], ["label", "values"]
    if kind == "json":
        rows = json.loads(data)
        return rows, list(rows[0])
    arrow = read_arrow(kind, data)
    return arrow.to_pylist(), arrow.column_names


def read_arrow(kind, data):
    source = pa.BufferReader(data)
    if kind == "parquet":
        with parquet.ParquetFile(source, pre_buffer=False) as file:
            return file.read(use_threads=False)
    read = ipc.open_file if data.startswith(b"ARROW1") else ipc.open_stream
    return read(source, options=ipc.IpcReadOptions(use_threads=False)).read_all()
