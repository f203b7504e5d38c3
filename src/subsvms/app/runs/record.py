"""run.json, the record of a run: what it was asked, what it read and found, and how to repeat it."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from subsvms.app.runs.folder import RECORD
from subsvms.app.runs.options import Options
from subsvms.app.runs.run import Run
from subsvms.app.runs.summary import Summary
from subsvms.app.tables.files import show
from subsvms.exceptions import TableError

FORMAT = 2  # raised when an older reader could misread it; in format 1 options had the names of their flags
ELSEWHERE = ("worst", "versions", "seconds")  # parts of a summary that "found" leaves out


def make_record(
    run: Run, summary: Summary, place: Path, files: dict[str, str], base: Path | None = None
) -> dict[str, Any]:
    """Return what repeats a run, and what it found.

    Parameters
    ----------
    run : Run
    summary : Summary
    place : Path
        The folder of the result. Paths of the input are relative to it, so that both can be moved together.
    files : dict of str to str
        SHA-256 of the files that depend on options and input alone, by name.
    base : Path, optional
        The folder from which partitions are read, if the run was made in parts.
    """
    found = {key: value for key, value in asdict(summary).items() if key not in ELSEWHERE}
    return {
        "subsvms": FORMAT,
        "version": summary.version,
        "input": {
            "paths": [_relative(path, place) for path in run.table.paths],
            "sha256": run.table.digest,
            "features": None if run.features_path is None else _relative(run.features_path, place),
            "features_sha256": run.features_digest,
            "base": None if base is None else _relative(base, place),
        },
        "options": asdict(run.options),
        "files": files,
        "found": found,
        "versions": dict(summary.versions),
        "seconds": dict(summary.seconds),
    }


def _relative(path, place):
    return os.path.relpath(path.resolve(), place.resolve())


def write_record(record: dict[str, Any], folder: Path) -> None:
    """Write run.json."""
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")


def read_record(path: Path) -> dict[str, Any]:
    """Return what run.json says: "options" as `Options`, the paths of "input" as seen from here.

    Parameters
    ----------
    path : Path
        The file, or the folder of the run.
    """
    path = path / RECORD if path.is_dir() else path
    shown = repr(str(path))
    if not path.is_file():
        raise TableError(f"There is no file {shown}: give the folder of an earlier run, or its run.json.")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        version = record["subsvms"]
        if version in (1, FORMAT):
            options: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in record["options"].items()
            }
            options["verified"] = tuple((int(row), label) for row, label in options.get("verified", ()))
            record["options"] = Options.from_flags(**options)
            source = record["input"]
            source["paths"] = [_seen_from(path.parent, one) for one in source["paths"]]
            for name in ("features", "base"):
                there = source.get(name)
                source[name] = None if there is None else _seen_from(path.parent, there)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TableError(
            f"{shown} is not the record of a run, or it was changed ({show(str(error))}): run subsvms "
            "correct on the table again."
        ) from None
    if version not in (1, FORMAT):
        raise TableError(
            f"{shown} has format {show(version)}, but this version of subsvms reads up to {FORMAT}: use the "
            "version that wrote it."
        )
    return record


def _seen_from(folder, name):
    """Return a path that is relative to a folder, as seen from the working directory."""
    return os.path.relpath((folder / name).resolve())
