"""Keep some rows of a table, in the text it came in as well as in its columns.

What stands between two rows, such as blank lines and remarks, goes with one of them.
"""

from dataclasses import replace

import numpy as np

from subsvms.app.tables.csv_text import Delimited
from subsvms.app.tables.svmlight import Svmlight
from subsvms.app.tables.table import LabelledTable


def keep_rows(table: LabelledTable, keep: np.ndarray) -> LabelledTable:
    r"""Return a table without some of its rows; the rest is as it was, byte by byte.

    Parameters
    ----------
    table : LabelledTable
    keep : ndarray of bool of shape (n_rows,)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from subsvms.app.tables.table import read_table, write_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "t.csv"
    >>> _ = path.write_text("a,y\n1,no\n\n2,yes\n3,no\n")
    >>> fewer = keep_rows(read_table(path, "y"), np.array([True, True, False]))
    >>> write_table(fewer, path.with_name("fewer.csv"))
    >>> path.with_name("fewer.csv").read_text()
    'a,y\n1,no\n\n2,yes\n'
    >>> folder.cleanup()
    """
    text = table.text
    if text is not None:
        if isinstance(text, Delimited):
            firsts = text.rows
        elif isinstance(text, Svmlight):
            firsts = np.array([text.data.rfind(b"\n", 0, start) + 1 for start in text.starts.tolist()])
        else:
            firsts = text.starts
        data, shift = _cut(text.data, firsts, keep)
        places = {name: getattr(text, name)[keep] - shift for name in ("starts", "ends")}
        if isinstance(text, Delimited):
            places["rows"] = text.rows[keep] - shift
        text = replace(text, data=data, **places)
    return replace(
        table,
        columns=table.columns.filter(np.asarray(keep)),
        labels=table.labels[keep],
        matrix=None if table.matrix is None else table.matrix[keep],
        text=text,
    )


def _cut(data, firsts, keep):
    """Return the bytes of the rows that stay, and how far each of them moved to the front."""
    ends = np.append(firsts[1:], len(data))
    pieces = [data[: firsts[0]]]
    pieces += [data[a:b] for a, b in zip(firsts[keep].tolist(), ends[keep].tolist(), strict=True)]
    gone = np.where(keep, 0, ends - firsts)
    return b"".join(pieces), np.cumsum(gone)[keep]
