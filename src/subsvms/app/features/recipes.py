"""How one column of a table becomes numbers: numbers are scaled, text and dates encoded by their coders.

`encoder.py` says how much weight each of them has.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from subsvms._states import State, is_number, join_states, require
from subsvms.app.features.coders import CODE, CODERS, Categories, Coder, learn_coders
from subsvms.app.features.columns import PATTERNS, Meaning, find_meaning, find_missing_values, read_column
from subsvms.app.words import show
from subsvms.exceptions import TableError

OFTEN_MISSING = 0.01  # share of missing values from which "missing" is a separate feature
SPREADS = ((5, 95), (1, 99), (0, 100))  # per cent; wider if most values are the same


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
        with np.errstate(over="ignore", invalid="ignore"):  # too large ones are clipped, NaN becomes 0
            scaled = np.clip((_as_numbers(values) - self.center) * self.scale, -1.0, 1.0)
        numbers = [np.where(missing, 0.0, scaled), *[missing / np.sqrt(2.0)] * self.marks_missing]
        return [*(number.astype(CODE)[:, None] for number in numbers), *coded]

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


def learn_recipes(meanings: dict[str, Meaning], columns: dict[str, np.ndarray]) -> tuple[Recipe, ...]:
    """Return how columns become numbers."""
    coders = learn_coders({name: v for name, v in columns.items() if meanings[name].kind != "number"})
    recipes = (_scale(Recipe(name, meanings[name]), values) for name, values in columns.items())
    return tuple(replace(recipe, coder=coders.get(recipe.name)) for recipe in recipes)


def _scale(recipe, values):
    """Return the recipe with the center and scale of its numbers, or of the time of its dates."""
    if recipe.meaning.kind == "text":
        return recipe
    missing = find_missing_values(values)
    present = _as_numbers(values[~missing])
    often = bool(OFTEN_MISSING * len(values) <= np.sum(missing))
    distinct = np.unique(present)
    if len(distinct) <= 2:
        spread = np.sqrt(2.0) * (distinct[-1] - distinct[0])
        scale = float(1.0 / spread if spread else 1.0)
        return replace(recipe, center=float(distinct.mean()), scale=scale, marks_missing=often)
    for limits in SPREADS:
        low, high = np.percentile(present, limits)
        if high > low:
            break
    scale = float(1.0 / (high - low))
    return replace(recipe, center=float(np.median(present)), scale=scale, marks_missing=often)


def _as_numbers(values):
    """Return dates as seconds, and numbers as they are."""
    return values if values.dtype.kind == "f" else values.astype("datetime64[us]").astype(np.int64) / 1e6
