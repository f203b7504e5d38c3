"""Columns of numbers, dates and text as features that suit the kernel's default width, gamma = 1/d.

`coders.py` encodes text and dates, as skrub's TableVectorizer does: a feature for each category where there
are few, the leading directions of letter n-grams for many categories or free text, the calendar for dates.
The kernel sees sums of squared differences. Each column of the table should have about the same share in
them, however many features it becomes:

    number     (x - median) / (95 % quantile - 5 % quantile), clipped to [-1, 1], and 0 if missing. The middle
               nine tenths have range one, and no outlier dominates other columns. The squared difference of
               two rows is 0.18 on average if they are normal, 0.2 if uniform. With two values: 0.71 apart.
    category   1/2 in its own feature. Rows that differ are 1/2 apart, squared; with two to ten categories
               that is 0.25 to 0.45 on average, as much as two numbers. With the usual 1 they would be 2
               apart, and dominate ten numbers.
    text       a mean squared distance of 1/2, and no row further than 1 from the mean.
    date       its time as a number; its year, month, day, weekday and hour, the last four on circles, with
               a range of one together.

If at least 1 % of a column is missing, "missing" is a separate feature. If k such parts make d features,
gamma = 1/d would flatten the kernel with each further category. So everything is multiplied by sqrt(d / k):
then gamma = 1/d takes the mean over the parts. If all columns are numbers, the factor is one.
"""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from subsvms._states import State, is_array, is_choice, is_number, join_states, require
from subsvms.app.features.coders import (
    CODE,
    CODERS,
    COMPONENTS,
    FEWEST_COMPONENTS,
    Categories,
    Coder,
    is_free_text,
    learn_coder,
)  # fmt: skip
from subsvms.app.features.columns import PATTERNS, Meaning, find_meaning, find_missing_values, read_column
from subsvms.app.quoting import name_some, show, suggest
from subsvms.app.tables.table import LabelledTable
from subsvms.exceptions import TableError

OFTEN_MISSING = 0.01  # share of missing values from which "missing" is a separate feature
SPREADS = ((5, 95), (1, 99), (0, 100))  # per cent; wider if most values are the same
FARTHEST = 1e6  # spans from the center
SHAPED = ("kept", "center", "scale")  # arrays with an entry for each feature


class Part(NamedTuple):
    """Features that share the weight of one."""

    names: tuple[str, ...]
    coder: Coder | None  # None for a number, and for "missing"


@dataclass(frozen=True)
class Recipe:
    """How one column becomes parts of the matrix."""

    name: str  # of the column
    meaning: Meaning
    center: float = 0.0  # of numbers, and of the time of dates
    scale: float = 1.0
    marks_missing: bool = False  # whether "missing" is a separate feature
    coder: Coder | None = None  # of text and dates

    @property
    def parts(self) -> list[Part]:
        """The parts that the column becomes."""
        sign = "=" if self.meaning.kind == "text" else " "
        names = () if self.coder is None else (f"{self.name}{sign}{name}" for name in self.coder.names)
        coded = [] if self.coder is None else [Part(tuple(names), self.coder)]
        if self.meaning.kind == "text":
            return coded
        marks = [Part((f"{self.name}=missing",), None)] * self.marks_missing
        return [Part((self.name,), None), *marks, *coded]

    def encode(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the values of each part, for a column as `read_column` returns it."""
        coded = [] if self.coder is None else [self.coder.encode(values)]
        if self.meaning.kind == "text":
            return coded
        missing = find_missing_values(values)
        scaled = np.clip(self.scale_numbers(values), -1.0, 1.0)
        numbers = [np.where(missing, 0.0, scaled), *[missing / np.sqrt(2.0)] * self.marks_missing]
        return [*(number.astype(CODE)[:, None] for number in numbers), *coded]

    def scale_numbers(self, values: np.ndarray) -> np.ndarray:
        """Return numbers or dates as they are before they are clipped."""
        with np.errstate(over="ignore", invalid="ignore"):  # too large ones are clipped, NaN becomes 0
            return (_as_numbers(values) - self.center) * self.scale

    def read(self, column: Any, *, decimal_comma: bool = False) -> np.ndarray:
        """Return the values of this column in another table, which may have another format."""
        import pyarrow as pa

        meaning = self.meaning
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if meaning.kind != "text" and is_text != bool(meaning.pattern or meaning.format):
            found = find_meaning(column, decimal_comma)
            meaning = found if found is not None and found.kind == meaning.kind else meaning
        try:
            return read_column(column, meaning)
        except pa.ArrowException:
            raise TableError(
                f"The column {show(self.name)} holds values of type {column.type}, but the model expects a "
                f"{meaning.kind}: convert it first."
            ) from None

    def is_unreadable(self, column: Any) -> bool:
        """Return whether numbers or dates were learned, and this column is text that holds none of them."""
        import pyarrow as pa

        meaning, kind = self.meaning, column.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if meaning.kind == "text" or meaning.pattern or meaning.format or not is_text:
            return False
        return column.null_count < len(column) and bool(find_missing_values(self.read(column)).all())

    def find_fault(self, values: np.ndarray) -> str | None:
        """Return a sentence if the model can use none of a column's values."""
        if isinstance(self.coder, Categories):
            if set(values.tolist()).isdisjoint(self.coder.values):
                return f"The column {show(self.name)} holds no value that the model knows: it is ignored."
        elif self.meaning.kind != "text" and find_missing_values(values).all():
            return f"The column {show(self.name)} holds no {self.meaning.kind}: all of it counts as missing."
        return None

    def to_state(self) -> State:
        """Return what was learned."""
        header = {name: getattr(self, name) for name in ("name", "center", "scale", "marks_missing")}
        header["meaning"] = asdict(self.meaning)
        return State(header, {}) if self.coder is None else join_states(header, coder=self.coder.to_state())

    @classmethod
    def from_state(cls, state: State) -> "Recipe":
        """Build a recipe from a state that may have been forged."""
        header = state.header
        meaning = Meaning(**header["meaning"])
        _check_meaning(meaning)
        name, marks, center, scale = (header[key] for key in ("name", "marks_missing", "center", "scale"))
        require(isinstance(name, str) and isinstance(marks, bool), "columns")
        require(is_number(center) and is_number(scale), "scales")
        coder = None
        if meaning.kind != "number":
            part = state.part("coder")
            older = part.header["coder"] == "letters"  # of version 0.1.0
            require(not older, "text, which this version encodes otherwise: train the model again")
            require((part.header["coder"] == "calendar") == (meaning.kind == "date"), "columns")
            coder = CODERS[part.header["coder"]].from_state(part)
        return cls(name, meaning, float(center), float(scale), marks, coder)


def _check_meaning(meaning):
    """Raise an error unless columns can be read with this meaning."""
    import pyarrow as pa

    require(meaning.kind in ("number", "date", "text"), "columns")
    require(meaning.pattern in PATTERNS and meaning.comma in ("", "."), "numbers")
    require(isinstance(meaning.format, str | None), "dates")
    read_column(pa.chunked_array([["1"]]), meaning)  # raises an error if the date format is impossible


def learn_recipe(name: str, meaning: Meaning, values: np.ndarray, n_components: int) -> Recipe:
    """Return how a column becomes numbers: its coder, and center and scale of its numbers or times."""
    coder = None if meaning.kind == "number" else learn_coder(values, n_components)
    if meaning.kind == "text":
        return Recipe(name, meaning, coder=coder)
    missing = find_missing_values(values)
    present = _as_numbers(values[~missing])
    often = bool(OFTEN_MISSING * len(values) <= np.sum(missing))
    distinct = np.unique(present)
    if len(distinct) <= 2:
        spread = np.sqrt(2.0) * (distinct[-1] - distinct[0])
        scale = float(1.0 / spread if spread else 1.0)
        return Recipe(name, meaning, float(distinct.mean()), scale, often, coder)
    for limits in SPREADS:
        low, high = np.percentile(present, limits)
        if high > low:
            break
    return Recipe(name, meaning, float(np.median(present)), float(1.0 / (high - low)), often, coder)


def _as_numbers(values):
    """Return dates as seconds, and numbers as they are."""
    return values if values.dtype.kind == "f" else values.astype("datetime64[us]").astype(np.int64) / 1e6


@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """Turns tables into features, as learned from one of them."""

    recipes: tuple[Recipe, ...]  # one for each column
    kept: np.ndarray  # (n_features,): which of the recipes' values vary
    center: np.ndarray  # (n_features,)
    scale: np.ndarray
    factor: float  # sqrt(d / k)

    def transform(self, table: LabelledTable) -> np.ndarray:
        """Return the features (n_rows, n_features) of a table that has these columns, and perhaps others."""
        return self.encode(self.read(table))

    def read(self, table: LabelledTable) -> dict[str, np.ndarray]:
        """Return the values of the columns that the encoder knows."""
        if table.matrix is not None:
            raise TableError(
                f"{table.name} is LIBSVM text, but the model was trained on named columns: give it a table "
                "with these columns."
            )
        names = table.columns.column_names
        known = set(names)
        gone = [recipe.name for recipe in self.recipes if recipe.name not in known]
        if gone:
            hint = suggest(gone[0], names) if len(gone) == 1 else ""
            hint = hint or ": add what is missing, with empty cells for unknown values."
            column = "column" if len(gone) == 1 else "columns"
            raise TableError(f"{table.name} has no {column} {name_some(gone)}, which the model needs{hint}")
        return {
            recipe.name: recipe.read(table.columns[recipe.name], decimal_comma=table.decimal_comma)
            for recipe in self.recipes
        }

    def encode(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Return the features of columns as `read` returns them."""
        return self._finish(_join(self.recipes, columns))

    def find_excess(self, table: LabelledTable, X: np.ndarray) -> sparse.csr_matrix:
        """Return what clipping took from the features of a table."""
        named = [(recipe, name) for recipe in self.recipes for part in recipe.parts for name in part.names]
        values, rows, columns = [np.zeros(0)], [np.zeros(0, int)], [np.zeros(0, int)]
        for j, (recipe, name) in enumerate(named[place] for place in self.kept):
            if recipe.meaning.kind != "text" and name == recipe.name:
                hit = np.flatnonzero(np.abs(X[:, j]) >= self.factor)
                read = recipe.read(table.columns[name].take(hit), decimal_comma=table.decimal_comma)
                whole = np.clip(recipe.scale_numbers(read), -FARTHEST, FARTHEST) * self.factor
                values.append(whole - X[hit, j])
                rows.append(hit)
                columns.append(np.full(len(hit), j))
        places = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_matrix((np.concatenate(values), places), X.shape)

    def _finish(self, values):
        """Return the features, centred and scaled, from the values that the recipes give."""
        X = values[:, self.kept]
        X -= self.center
        X *= self.scale
        np.nan_to_num(X, copy=False, nan=0.0)  # of dates; missing numbers are zero already
        for coder, block in _find_blocks(self.recipes, self.kept):
            if coder is not None and coder.limited:  # no row is further than 1 from the center
                squares = sum(X[:, [j]] ** 2 for j in block)  # in a fixed order, however many rows there are
                X[:, block] /= np.maximum(np.sqrt(squares), 1.0)
        X *= self.factor
        return X

    def to_state(self) -> State:
        """Return what was learned."""
        parts = {str(i): recipe.to_state() for i, recipe in enumerate(self.recipes)}
        state = join_states({"n_recipes": len(parts), "factor": self.factor}, **parts)
        return State(state.header, state.arrays | {key: getattr(self, key) for key in SHAPED})

    @classmethod
    def from_state(cls, state: State) -> "ColumnEncoder":
        """Build an encoder from a state that may have been forged."""
        recipes = tuple(Recipe.from_state(state.part(str(i))) for i in range(state.header["n_recipes"]))
        kept, center, scale = (state.arrays[key] for key in SHAPED)
        factor = state.header["factor"]
        n_values = sum(len(part.names) for recipe in recipes for part in recipe.parts)
        require(len({recipe.name for recipe in recipes}) == len(recipes), "columns")
        require(is_choice(kept, n_values), "features")
        require(all(is_array(array, "f8", kept.shape) for array in (center, scale)), "scales")
        require(is_number(factor) and factor > 0, "factor")
        return cls(recipes, kept, center, scale, float(factor))


def _join(recipes, columns):
    """Return the values that the recipes make of the columns, side by side."""
    blocks = [block for recipe in recipes for block in recipe.encode(columns[recipe.name])]
    return np.concatenate([block.T for block in blocks], dtype=np.float64).T


def _find_blocks(recipes, kept):
    """Return the coder and the numbers of the features of each part that has kept any."""
    parts = [part for recipe in recipes for part in recipe.parts]
    owners = np.repeat(np.arange(len(parts)), [len(part.names) for part in parts])[kept]
    starts = np.flatnonzero(np.diff(owners, prepend=-1))  # the numbers that are kept increase
    blocks = np.split(np.arange(len(kept)), starts[1:])
    return [(parts[owners[start]].coder, block) for start, block in zip(starts, blocks, strict=True)]


def fit_encoder(
    meanings: dict[str, Meaning], columns: dict[str, np.ndarray]
) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...], ColumnEncoder]:
    """Return the features (n_rows, n_features) that vary, their names and columns, and their encoder."""
    only_texts = all(map(is_free_text, columns.values()))  # beside others more only take time
    share = max(COMPONENTS // len(columns), FEWEST_COMPONENTS) if only_texts else FEWEST_COMPONENTS
    recipes = tuple(learn_recipe(name, meanings[name], values, share) for name, values in columns.items())
    values = _join(recipes, columns)
    kept = np.flatnonzero(np.nanmax(values, axis=0) > np.nanmin(values, axis=0))
    blocks = _find_blocks(recipes, kept)
    center, scale = np.zeros(len(kept)), np.ones(len(kept))
    for coder, block in blocks:
        if coder is not None:
            center[block], scale[block] = coder.weigh(values[:, kept[block]])
    encoder = ColumnEncoder(recipes, kept, center, scale, float(np.sqrt(len(kept) / len(blocks))))
    described = [(name, recipe.name) for recipe in recipes for part in recipe.parts for name in part.names]
    names, sources = zip(*(described[j] for j in kept), strict=True)
    return encoder._finish(values), names, sources, encoder
