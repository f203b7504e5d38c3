"""A mixed table of loans, and the command line as its user calls it."""

import csv

import numpy as np
from typer.testing import CliRunner

from subsvms.app.cli.main import app


def make_rows(n=600, wrong=0.15, seed=0):
    """Return a mixed table as a list of dictionaries, and its clean labels."""
    rng = np.random.default_rng(seed)
    clean = np.where(rng.random(n) < 0.4, "yes", "no")
    shift = 1.0 * (clean == "yes")
    flips = rng.random(n) < wrong
    given = np.where(flips, np.where(clean == "yes", "no", "yes"), clean)
    colour = np.where(rng.random(n) < 0.85, np.where(clean == "yes", "red", "blue"), "green")
    rows = [{
        "id": f"P{i:05d}", "age": "" if i % 50 == 0 else f"{40 + 12 * (shift[i] + rng.normal(0, 0.35)):.1f}",
        "size": f"{3 * (shift[i] + rng.normal(0, 0.35)):.3f}",
        "colour": colour[i], "who": ["ann", "bob"][i % 2], "default": given[i],
    } for i in range(n)]  # fmt: skip
    return rows, clean


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def call(*words, code=0, **options):
    result = CliRunner().invoke(app, [str(word) for word in words], **options)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def refuse(sentence, *words, **options):
    """Check that a command is refused with a sentence that contains this; return what was printed."""
    said = " ".join(call(*words, code=2, **options).output.split())
    assert sentence in said, said
    return said


def read(path):
    csv.field_size_limit(20_000_000)
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
