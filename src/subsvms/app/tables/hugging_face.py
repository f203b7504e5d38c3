"""Folders that `save_to_disk` of Hugging Face's datasets writes, and the names of classes in its files.

Such a folder holds Arrow streams, whose order is in state.json. Which names the codes of a ClassLabel have is
said in the schema of each Arrow or Parquet file that the library writes, so the file alone is enough.
"""

import json
from pathlib import Path
from typing import Any

from subsvms.app.tables.formats import FORMATS
from subsvms.exceptions import TableError

STATE, INFO, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
METADATA = b"huggingface"  # key in the schema of a file
UNLABELLED = -1  # the code of a row without a label


def is_data_set(folder: Path) -> bool:
    """Return whether `save_to_disk` made a folder, of one data set or of several splits."""
    return (folder / SPLITS).is_file() or ((folder / STATE).is_file() and (folder / INFO).is_file())


def list_data_files(folder: Path) -> list[Path]:
    """Return the Arrow files of a data set in their order."""
    shown = repr(str(folder))
    if (folder / SPLITS).is_file():
        splits = sorted(path.name for path in folder.iterdir() if is_data_set(path))
        example = f", such as {str(folder / splits[0])!r}" if splits else ""
        listed = ", ".join(splits) or "none that can be read"
        raise TableError(f"{shown} holds several data sets ({listed}): give the folder of one{example}.")
    try:
        state = json.loads((folder / STATE).read_bytes())
        names = [str(one["filename"]) for one in state["_data_files"]]
        indices = state.get("_indices_data_files")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise TableError(f"{str(folder / STATE)!r} is damaged: save the data set again.") from None
    if indices:
        raise TableError(f"{shown} holds a selection of rows only: save flatten_indices() of the data set.")
    for name in names:  # nobody reads a file elsewhere because this one says so
        inside = Path(name).name == name and Path(name).suffix in FORMATS["feather"].suffixes
        if not inside or not (folder / name).is_file():
            raise TableError(
                f"{shown} has no Arrow file {name[:60]!r}, which its {STATE} names: save it again."
            )
    if not names:
        raise TableError(f"{shown} is a data set without rows: choose another one.")
    return [folder / name for name in names]


def find_class_names(schema: Any, label: str | None) -> dict[int, str]:
    """Return the names of a ClassLabel by code, from the schema of an Arrow or Parquet file."""
    try:
        features = json.loads((schema.metadata or {})[METADATA])["info"]["features"]
        names = features[label]["names"] if features[label]["_type"] == "ClassLabel" else []
    except (ValueError, LookupError, TypeError, RecursionError):  # not by that library, or changed since
        return {}
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return {}
    return dict(enumerate(names))
