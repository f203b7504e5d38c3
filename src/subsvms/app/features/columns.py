"""What the columns of a table mean: numbers, dates or text, and which are useless.

Text is read as numbers if nearly all of it looks like numbers; the rest then counts as missing, with a note.
Codes such as 007 stay text. A column is an identifier if none of its values occurs twice, and they are short
text, or a running number (whole, and without a gap, or counting up or down the table with few of them), or
whole with a name such as customer_id. Sorted measurements with wide gaps, such as prices, are features.
`leaks.py` says which give the label away.
"""

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms.app.tables.labels import MISSING_MARKS
from subsvms.exceptions import Note

MIN_NUMERIC = 0.95  # share of the values that must be numbers in a column of numbers
MAX_CODES = 0.01  # share of values like 007 above which a column holds codes, not numbers
DATES = 30  # values of a column from which the format of dates is guessed
MIN_ROWS = 20  # in fewer rows it means little that all values differ or match the labels
SHORT_TEXT = 3.0  # words on average; reviews and comments are longer, names and codes are not
MAX_STEP = 10  # on average, of numbers that count up
MAX_CHARACTERS = 100_000  # of a cell that are looked at; the letters of one cell of 10 MB take a minute
PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
THOUSANDS = r"^[+-]?(\d{1,3}(,\d{3})+(\.\d+)?|\d+\.?\d*|\.\d+)$"
DECIMAL_COMMA = r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$"
PATTERNS = ("", PLAIN, THOUSANDS, DECIMAL_COMMA)  # of numbers; "" for typed columns
LEADING_ZERO = r"^[+-]?0\d"
IDENTIFIER_NAME = re.compile(r"(?:^|[^A-Za-z])(?:[iI][dD]|uuid|UUID|key|index|Index)$|[a-z]I[dD]$")


@dataclass(frozen=True)
class Meaning:
    """How to read the values of a column."""

    kind: str  # {"number", "date", "text"}
    pattern: str = ""  # one of `PATTERNS`: what text must match to be a number
    comma: str = ""  # what replaces a comma in such text: "." or nothing
    format: str | None = None  # of dates written as text


def find_meaning(column: Any, decimal_comma: bool = False) -> Meaning | None:
    """Return how to read a column, or None if it holds no numbers, dates or text."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    types = pa.types
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_duration, types.is_time)
    if any(is_type(kind) for is_type in numeric):
        return Meaning("number")
    if types.is_temporal(kind):
        return Meaning("date")
    if types.is_boolean(kind) or types.is_null(kind):
        return Meaning("text")
    if types.is_string(kind) or types.is_large_string(kind) or kind == pa.string_view():
        return _find_text_meaning(clean_text(column), decimal_comma)
    return None


def clean_text(column: Any) -> Any:
    """Return text without surrounding spaces, cut where too long, null where it is a mark such as NA."""
    import pyarrow as pa
    from pyarrow import compute

    text = compute.utf8_trim_whitespace(column.cast(pa.string()))
    if (compute.max(compute.binary_length(text)).as_py() or 0) > MAX_CHARACTERS:
        text = compute.utf8_slice_codeunits(text, 0, MAX_CHARACTERS)
    return compute.if_else(compute.is_in(text, pa.array(sorted(MISSING_MARKS))), None, text)


def _find_text_meaning(text, decimal_comma):
    n = len(text) - text.null_count
    if n == 0:
        return Meaning("text")
    ways = [(PLAIN, ""), (THOUSANDS, ""), (DECIMAL_COMMA, ".")]
    if decimal_comma:
        ways[1:] = [(DECIMAL_COMMA, "."), (THOUSANDS, "")]
    fits = [_count_matches(text, pattern) for pattern, _ in ways]
    if max(fits) < MIN_NUMERIC * n:
        return _find_date(text)
    if _count_matches(text, LEADING_ZERO) > MAX_CODES * n:
        return Meaning("text")
    pattern, comma = ways[fits.index(max(fits))]
    return Meaning("number", pattern, comma)


def _count_matches(text, pattern):
    from pyarrow import compute

    return compute.sum(compute.match_substring_regex(text, pattern)).as_py() or 0


def _find_date(text):
    """Return how to read text: as dates, if pandas finds one format for a sample, and it fits all of them."""
    import pandas as pd

    dates = text.drop_null().to_pandas()
    try:
        form = _guess_format(dates.sample(min(DATES, len(dates)), random_state=0))
        if form is not None:
            pd.to_datetime(dates, format=form, utc="%z" in form)
            return Meaning("date", format=form)
    except Exception:  # pandas raises many kinds on what only looks like dates
        pass
    return Meaning("text")


def _guess_format(texts):
    """Return the format that dates share; the month comes first if both it and the day could."""
    from pandas.tseries.api import guess_datetime_format

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # on days that can only come first
        for dayfirst in (False, True):
            formats = (guess_datetime_format(text, dayfirst=dayfirst) for text in texts)
            first = next(formats)
            if first is not None and all(form == first for form in formats):
                return first
    return None


def read_column(column: Any, meaning: Meaning) -> np.ndarray:
    """Return a column as floats with NaN, dates with NaT, or objects with None, where values do not fit."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if meaning.kind == "text":
        return np.array(clean_text(column).to_pylist(), dtype=object)
    if meaning.kind == "number":
        numbers = _parse_numbers(column, meaning) if meaning.pattern else _as_floats(column)
        values = numbers.to_numpy().astype(np.float64)
        values[np.isinf(values)] = np.nan
        return values
    if meaning.format is None:
        if not pa.types.is_temporal(kind):
            return np.full(len(column), "NaT", dtype="datetime64[us]")
        zone = getattr(kind, "tz", None)
        dates = column.cast(pa.timestamp("us", zone), safe=False).to_numpy()
        return dates.astype("datetime64[us]")
    import pandas as pd

    text = clean_text(column).to_pandas()
    dates = pd.to_datetime(text, format=meaning.format, errors="coerce", utc=True)
    return dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]")


def _parse_numbers(column, meaning):
    import pyarrow as pa
    from pyarrow import compute

    text = clean_text(column)
    text = compute.if_else(compute.match_substring_regex(text, meaning.pattern), text, None)
    text = compute.replace_substring(text, ",", meaning.comma)
    return compute.replace_substring(text, "+", "").cast(pa.float64())  # "1e+5" is "1e5"


def _as_floats(column):
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):  # new rows, in another format
        return _parse_numbers(column, Meaning("number", PLAIN))
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    return column.cast(pa.float64(), safe=False)


def find_missing_values(values: np.ndarray) -> np.ndarray:
    """Return which values of a column, as `read_column` returns them, are missing."""
    if values.dtype == object:
        return np.array([value is None for value in values], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)


def number_values(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a number for each row's value, equal ones alike and missing ones too, and how many there are."""
    import pandas as pd

    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    return codes, len(distinct)


def why_useless(values: np.ndarray, name: str = "") -> str | None:
    """Return why a column cannot help with other rows, or None if it may."""
    present = values[~find_missing_values(values)]
    _, n_distinct = number_values(present)
    n, n_missing = len(values), len(values) - len(present)
    if n_distinct == 0 or (n_distinct == 1 and n_missing < MAX_CODES * n):
        return "constant"
    if n_distinct < len(present) or n_distinct < MIN_ROWS:
        return None
    if values.dtype == object:
        n_words = sum(len(value.split()) for value in present)
        return "identifier" if n_words < SHORT_TEXT * n_distinct else None
    if values.dtype.kind != "f" or np.any(present != np.round(present)):
        return None
    steps = np.diff(present)
    span = present.max() - present.min()
    counts = (np.all(steps > 0) or np.all(steps < 0)) and span <= MAX_STEP * n_distinct
    fills_its_range = span == n_distinct - 1
    return "identifier" if counts or fills_its_range or IDENTIFIER_NAME.search(name) else None


def note_unused(template: str, **values: Any) -> Note:
    """Return a note on a column that is not a feature."""
    return Note("unused", f"Not used: {template}.", **values)
