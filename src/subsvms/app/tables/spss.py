"""SPSS files (.sav): read and written by pyreadstat, with value labels, variable labels and measures.

pyreadstat is not installed with the rest: pip install 'subsvms[spss]'.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from subsvms.app.tables.coded import name_labels
from subsvms.app.tables.files import Content
from subsvms.app.tables.formats import Reading
from subsvms.app.tables.stata import explain_reading, note_missing
from subsvms.app.words import first_sentence
from subsvms.exceptions import TableError


def load_library() -> Any:
    """Return pyreadstat, or raise an error that says how to install it."""
    try:
        import pyreadstat
    except ImportError:
        raise TableError(
            "SPSS files need pyreadstat: install it with pip install 'subsvms[spss]', or save the table as "
            "CSV."
        ) from None
    return pyreadstat


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of an SPSS file, and further fields of the table."""
    import pyarrow as pa

    library = load_library()
    with tempfile.TemporaryDirectory() as folder, explain_reading(content.name, "SPSS"):
        path = Path(folder) / "table.sav"  # pyreadstat reads from disk
        path.write_bytes(content.data)
        frame, about = library.read_sav(str(path), dates_as_pandas_datetime=True, encoding=reading.encoding)
        _, raw = library.read_sav(str(path), user_missing=True, metadataonly=True, encoding=reading.encoding)
        columns = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    kept = {
        "file_label": about.file_label or "",
        "column_labels": {name: text for name, text in about.column_names_to_labels.items() if text},
        "variable_value_labels": about.variable_value_labels,
        "variable_measure": {name: one for name, one in about.variable_measure.items() if one != "unknown"},
    }
    classes = {
        int(code): str(word)
        for code, word in about.variable_value_labels.get(label, {}).items()
        if isinstance(code, int | float) and code % 1 == 0
    }
    table, more = name_labels(columns, label, classes, partial(render_spss, kept=kept))
    return table, more | {"notes": note_missing(list(raw.missing_ranges), content.name)}


def render(columns: Any, format: str) -> bytes:
    """Return columns as the bytes of an SPSS file."""
    return render_spss(columns, kept={})


def render_spss(columns: Any, kept: dict[str, Any]) -> bytes:
    """Return columns as the bytes of an SPSS file."""
    library = load_library()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.sav"
        try:
            library.write_sav(columns.to_pandas(), str(path), **kept)
        except Exception as error:  # its errors have many types
            raise TableError(
                f"The table cannot be written for SPSS ({first_sentence(error)}): write Parquet or CSV."
            ) from None
        return path.read_bytes()
