"""Columns of numbers, dates and text as features for which the kernel's default width, gamma = 1/d, fits.

skrub's TableVectorizer encodes: a feature for each category where there are few, the leading directions of
letter n-grams where there are many or free text, the calendar for dates. The kernel sees sums of squared
differences. So that each column of the table has about the same share in them, whatever it is made into:

    number     (x - median) / (95 % quantile - 5 % quantile), cut at -1 and 1, and 0 if missing. The middle
               nine tenths have range one, and no outlier drowns other columns. The squared difference of two
               rows is 0.18 on average if they are normal, 0.2 if uniform. Two values only: 0.71 apart.
    category   1/2 in its own feature. Rows that differ are 1/2 apart, squared; with two to ten categories
               that is 0.25 to 0.45 on average, as much as two numbers. With the usual 1 they would be 2
               apart, and drown ten numbers.
    text       a mean squared distance of 1/2, and no row further than 1 from the mean.
    date       its time as a number; its year, month, day, weekday and hour, the last four on circles, with
               range one in all.

"Missing" in at least 1 % of the rows is a feature of its own. If k such parts make d features, gamma = 1/d
would flatten the kernel with each further category. So all is multiplied by sqrt(d / k): then gamma = 1/d
takes the mean over the parts. Where all columns are numbers the factor is one.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms.columns import Meaning, find_missing_values, read_column
from subsvms.files import TableError, show, suggest
from subsvms.table import LabelledTable

CATEGORIES = 40  # a column with as many distinct texts or more is encoded by its letters
COMPONENTS = 30  # features of such a column
OFTEN_MISSING = 0.01  # share of missing values from which on they are a feature of their own
SPREADS = ((5, 95), (1, 99), (0, 100))  # per cent; wider where most values are one and the same


@dataclass(frozen=True)
class Recipe:
    """How one column of the table becomes parts of the matrix."""

    name: str
    meaning: Meaning
    center: float = 0.0  # of numbers, and of the time of dates
    scale: float = 1.0
    marks_missing: bool = False  # whether "missing" is a feature of its own


@dataclass(frozen=True)
class Part:
    """One input of the vectorizer."""

    source: str  # the column of the table
    what: str  # "number", "missing", "calendar" or "text"


@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """Turns tables into features, as learned from one of them."""

    recipes: tuple[Recipe, ...]
    vectorizer: Any  # skrub's TableVectorizer, fitted
    kept: np.ndarray  # (n_features,), int: outputs of the vectorizer that vary
    center: np.ndarray  # (n_features,)
    scale: np.ndarray  # (n_features,)
    blocks: tuple[np.ndarray, ...]  # features that are at most 1 from their center together
    factor: float

    def transform(self, table: LabelledTable) -> np.ndarray:
        """Return the features of a table with the same columns; further ones do not matter.

        Parameters
        ----------
        table : LabelledTable
            Read with or without label. Values that do not fit their column count as missing.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        names = table.columns.column_names
        for recipe in self.recipes:
            if recipe.name not in names:
                hint = suggest(recipe.name, names) or "."
                raise TableError(
                    f"{table.name} has no column {show(recipe.name)}, which the model needs{hint}"
                )
        columns = {
            recipe.name: read_column(table.columns[recipe.name], recipe.meaning) for recipe in self.recipes
        }
        frame, _ = _build_frame(self.recipes, columns)
        return self._finish(self.vectorizer.transform(frame))

    def _finish(self, encoded: Any) -> np.ndarray:
        X = encoded.to_numpy(dtype=np.float64)[:, self.kept]
        X -= self.center
        X *= self.scale
        np.nan_to_num(X, copy=False, nan=0.0)  # of dates; missing numbers are zero already
        for block in self.blocks:
            norms = np.linalg.norm(X[:, block], axis=1, keepdims=True)
            X[:, block] /= np.maximum(norms, 1.0)
        X *= self.factor
        return X


def _learn_recipe(name, meaning, values):
    missing = find_missing_values(values)
    if meaning.kind == "text":
        return Recipe(name, meaning)  # to the vectorizer "missing" is a category like others
    present = _as_numbers(values[~missing])
    often = OFTEN_MISSING * len(values) <= np.sum(missing)
    distinct = np.unique(present)
    if len(distinct) <= 2:
        spread = np.sqrt(2.0) * (distinct[-1] - distinct[0])
        return Recipe(name, meaning, float(distinct.mean()), 1.0 / spread if spread else 1.0, bool(often))
    for limits in SPREADS:
        low, high = np.percentile(present, limits)
        if high > low:
            break
    return Recipe(name, meaning, float(np.median(present)), float(1.0 / (high - low)), bool(often))


def _as_numbers(values):
    """Return dates as seconds, and numbers as they are."""
    return values if values.dtype.kind == "f" else values.astype("datetime64[us]").astype(np.int64) / 1e6


def _build_frame(recipes, columns):
    """Return the vectorizer's input, and what each of its columns is.

    The columns are called by their number, since skrub makes names from theirs; and text comes as categories,
    which skrub leaves alone where it would read other text as numbers or dates.
    """
    import pandas as pd

    parts, data = [], []
    for recipe in recipes:
        values = columns[recipe.name]
        if recipe.meaning.kind == "text":
            parts.append(Part(recipe.name, "text"))
            data.append(pd.Categorical(values))
            continue
        missing = find_missing_values(values)
        scaled = np.clip((_as_numbers(values) - recipe.center) * recipe.scale, -1.0, 1.0)
        parts.append(Part(recipe.name, "number"))
        data.append(np.where(missing, 0.0, scaled))
        if recipe.marks_missing:
            parts.append(Part(recipe.name, "missing"))
            data.append(missing / np.sqrt(2.0))
        if recipe.meaning.kind == "date":
            parts.append(Part(recipe.name, "calendar"))
            data.append(values)
    return pd.DataFrame({str(i): values for i, values in enumerate(data)}), parts


def fit_encoder(
    meanings: dict[str, Meaning], columns: dict[str, np.ndarray]
) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...], ColumnEncoder]:
    """Return the features of columns that vary, and the encoder that made them.

    Parameters
    ----------
    meanings : dict of str to Meaning
    columns : dict of str to ndarray of shape (n_rows,)
        As `read_column` returns them.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
    names, sources : tuple of str
        What each feature is called, and the column it came from.
    encoder : ColumnEncoder

    Examples
    --------
    >>> meanings = {"size": Meaning("number"), "colour": Meaning("text")}
    >>> columns = {"size": np.arange(6.0), "colour": np.array(["r", "g", "b"] * 2, dtype=object)}
    >>> X, names, sources, encoder = fit_encoder(meanings, columns)
    >>> names, sources
    (('size', 'colour=b', 'colour=g', 'colour=r'), ('size', 'colour', 'colour', 'colour'))
    """
    recipes = tuple(_learn_recipe(name, meanings[name], values) for name, values in columns.items())
    frame, parts = _build_frame(recipes, columns)
    vectorizer = _make_vectorizer()
    with warnings.catch_warnings():  # with fewer letter n-grams than components all of them are kept: no loss
        warnings.filterwarnings("ignore", message="The matrix shape is", category=UserWarning)
        encoded = vectorizer.fit_transform(frame)
    raw = encoded.to_numpy(dtype=np.float64)
    kept = np.flatnonzero(np.nanmax(raw, axis=0) > np.nanmin(raw, axis=0))
    inputs = [vectorizer.output_to_input_[encoded.columns[j]] for j in kept]
    kinds = {name: vectorizer.column_to_kind_[name] for name in dict.fromkeys(inputs)}
    center, scale, blocks = _learn_scales(raw[:, kept], np.array(inputs), kinds)
    factor = float(np.sqrt(len(kept) / len(kinds)))
    encoder = ColumnEncoder(recipes, vectorizer, kept, center, scale, blocks, factor)
    parts = [parts[int(name)] for name in inputs]
    names = tuple(_name(part, encoded.columns[j]) for part, j in zip(parts, kept, strict=True))
    return encoder._finish(encoded), names, tuple(part.source for part in parts), encoder


def _make_vectorizer():
    """Return skrub's vectorizer; it takes numbers as they are, and never guesses what text means."""
    from sklearn.preprocessing import OneHotEncoder
    from skrub import DatetimeEncoder, StringEncoder, TableVectorizer

    return TableVectorizer(
        cardinality_threshold=CATEGORIES,
        low_cardinality=OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32),
        high_cardinality=StringEncoder(n_components=COMPONENTS, random_state=0),
        numeric="passthrough",
        datetime=DatetimeEncoder(add_weekday=True, add_total_seconds=False, periodic_encoding="circular"),
        n_jobs=1,
    )


def _learn_scales(raw, inputs, kinds):
    """Return center and scale of each output that varies, and the blocks whose length is limited."""
    center, scale, blocks = np.zeros(raw.shape[1]), np.ones(raw.shape[1]), []
    for name, kind in kinds.items():
        block = np.flatnonzero(inputs == name)
        values = raw[:, block]
        if kind == "low_cardinality":
            scale[block] = 0.5
        elif kind == "high_cardinality":
            center[block] = values.mean(axis=0)
            scale[block] = 0.5 / np.sqrt(values.var(axis=0).sum())
            blocks.append(block)
        elif kind == "datetime":
            low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
            center[block] = (low + high) / 2.0
            scale[block] = 1.0 / ((high - low) * np.sqrt(len(block)))
            blocks.append(block)
    return center, scale, tuple(blocks)


def _name(part, output):
    """Return what a feature is called, from the vectorizer's name for it, such as 3_red or 4_month."""
    _, _, rest = output.partition("_")
    if part.what == "text":
        return f"{part.source}={'missing' if rest == 'nan' else rest}"
    return {"number": part.source, "missing": f"{part.source}=missing"}.get(
        part.what, f"{part.source} {rest}"
    )
