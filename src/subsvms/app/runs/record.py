"""run.json, the record of a run: what it was asked, what it read and found. `outputs` writes it."""

import os
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from subsvms.app.names import RECORD, REPORT
from subsvms.app.options import Options
from subsvms.app.quoting import first_sentence, show
from subsvms.app.tables.addresses import is_address
from subsvms.exceptions import TableError

FORMAT = 2  # raised when an older reader could misread it
RECORDED = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "pandas")  # whose versions are recorded


@dataclass(frozen=True)
class Input:
    """The files that a run read."""

    # of the table, as seen from the working directory, or addresses; none if it came from standard input
    paths: list[str]
    sha256: str  # of the table
    features: str | None = None  # path of the file of embeddings, and its SHA-256
    features_sha256: str | None = None
    base: str | None = None  # the folder from which partitions are read, if the run was made in parts
    pred_probs: str | None = None  # path of the file of probabilities that judged, and its SHA-256
    pred_probs_sha256: str | None = None
    estimator: str | None = None  # what judged, if it came from a program, which alone has it


@dataclass(frozen=True)
class Found:
    """What is read of the summary in a record; the attributes are those of its parts."""

    title: str
    rows: int
    action: str
    words: list[str]
    explained: bool = True
    columns: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class StoredLabels:
    """What the values of the label column mean, if the run was made in parts."""

    classes: list[str | int | float | bool]  # sorted
    # each value of the column, and the number of its class; -1 if it means a missing label
    values: list[tuple[str | int | float | bool | None, int]]

    def __post_init__(self) -> None:
        if len(set(map(type, self.classes))) > 1:
            raise ValueError("classes of several types")
        if not all(-1 <= number < len(self.classes) for _, number in self.values):
            raise ValueError("a value of a class that does not exist")


@dataclass(frozen=True)
class Record:
    """What run.json says, as far as a program reads it. Its types are checked by their annotations."""

    input: Input
    options: Options
    found: Found
    # SHA-256 of the files that depend on options and input alone, by name
    files: dict[str, str] = field(default_factory=dict)
    report: str | None = None  # SHA-256 of the report; None in records of earlier versions
    labels: StoredLabels | None = None  # of a run in parts; None also in records of earlier versions

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of all files of the run but its record, as far as it is known."""
        return self.files if self.report is None else self.files | {REPORT: self.report}


def get_version(package: str) -> str:
    """Return the version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def read_record(path: Path) -> Record:
    """Return what run.json says. Every value is checked: anybody may have edited it."""
    path = path / RECORD if path.is_dir() else path
    shown = repr(str(path))
    if not path.is_file():
        raise TableError(f"There is no file {shown}: give the folder of an earlier run, or its run.json.")
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        format = found["subsvms"]
        if format == FORMAT:
            return _build_record(found, path.parent)
    except (OSError, ValueError, KeyError, RecursionError) as error:
        if path.name != RECORD:
            raise TableError(
                f"{shown} is a file, and the folder of a run is expected: give the one that subsvms correct "
                f"made, such as {path.stem}.subsvms."
            ) from None
        raise TableError(
            f"{shown} is not the record of a run, or it was changed ({first_sentence(error)}): run subsvms "
            "correct on the table again."
        ) from None
    raise TableError(
        f"{shown} has format {show(format)}, but this version of subsvms reads format {FORMAT}: use the "
        "version that wrote it, or run subsvms correct on the table again."
    )


def _build_record(found: dict[str, Any], folder: Path) -> Record:
    """Return the record that a folder's run.json holds, its paths as seen from the working directory."""
    record = msgspec.convert(found, Record)
    unknown = set(found["options"]) - {one.name for one in fields(Options)}
    if unknown:  # of a later version, which may mean something else by the rest
        raise ValueError(f"unknown option {min(unknown)}")
    source = record.input
    others = {name: _seen_from(folder, getattr(source, name)) for name in ("features", "base", "pred_probs")}
    paths = [_seen_from(folder, one) for one in source.paths]
    options = without_early_exit(record.options)
    return replace(record, input=replace(source, paths=paths, **others), options=options)


def without_early_exit(options: Options) -> Options:
    """Return options of 0.1.0 without early exits, which stood for the paper's SVMs if none were chosen."""
    if options.early_exit is None:
        return options
    chosen = (options.n_estimators, options.subsample_size, options.kernel)
    kernel = "rbf" if chosen == (None, None, None) else options.kernel
    return replace(options, kernel=kernel, early_exit=None)


def _seen_from(folder, name):
    """Return a path relative to a folder as seen from the working directory; None and addresses stay."""
    return name if name is None or is_address(name) else os.path.relpath((folder / name).resolve())


def check_unchanged(what: str, found: str, wanted: str) -> None:
    """Raise an error if a file is not the one that an earlier run read."""
    if found != wanted:
        raise TableError(
            "{what} has changed since that run (SHA-256 {found:.12}..., not {wanted:.12}...): use the file "
            "that it read, or start a new run without {from_run} and {decisions}.",
            what=what, found=found, wanted=wanted,
        )  # fmt: skip
