"""Columns of numbers, dates and text as features that suit the kernel's default width, gamma = 1/d.

`recipes.py` and `coders.py` encode, as skrub's TableVectorizer does: a feature for each category where there
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

from dataclasses import dataclass

import numpy as np

from subsvms._states import State, is_array, is_choice, is_number, join_states, require
from subsvms.app.features.columns import Meaning
from subsvms.app.features.recipes import Recipe, learn_recipes
from subsvms.app.tables.table import LabelledTable
from subsvms.app.words import show, suggest
from subsvms.exceptions import TableError

MAX_NAMED = 5  # columns named in a message
SHAPED = ("kept", "center", "scale")  # arrays with an entry for each feature


@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """Turns tables into features, as learned from one of them."""

    recipes: tuple[Recipe, ...]  # one for each column
    kept: np.ndarray  # (n_features,): which of the recipes' values vary
    center: np.ndarray  # (n_features,)
    scale: np.ndarray
    factor: float  # sqrt(d / k)

    def transform(self, table: LabelledTable) -> np.ndarray:
        """Return the features of a table with the same columns; other columns do not matter.

        Shapes: returns (n_rows, n_features).
        """
        return self.encode(self.read(table))

    def read(self, table: LabelledTable) -> dict[str, np.ndarray]:
        """Return the values of the columns that the encoder knows."""
        if table.matrix is not None:
            raise TableError(
                f"{table.name} is LIBSVM text, but the model was trained on named columns: give it a table "
                "with these columns."
            )
        names = table.columns.column_names
        gone = [recipe.name for recipe in self.recipes if recipe.name not in names]
        if gone:
            shown = ", ".join(map(show, gone[:MAX_NAMED])) + ", ..." * (len(gone) > MAX_NAMED)
            hint = suggest(gone[0], names) if len(gone) == 1 else ""
            hint = hint or ": add what is missing, with empty cells for unknown values."
            column = "column" if len(gone) == 1 else "columns"
            raise TableError(f"{table.name} has no {column} {shown}, which the model needs{hint}")
        return {
            recipe.name: recipe.read(table.columns[recipe.name], decimal_comma=table.decimal_comma)
            for recipe in self.recipes
        }

    def encode(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Return the features of columns as `read` returns them."""
        return self._finish(_join(self.recipes, columns))

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
    return [(parts[i].coder, np.flatnonzero(owners == i)) for i in np.unique(owners)]


def fit_encoder(
    meanings: dict[str, Meaning], columns: dict[str, np.ndarray]
) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...], ColumnEncoder]:
    """Return the features of columns that vary, and the encoder that made them.

    Shapes: columns (n_rows,); returns X (n_rows, n_features).
    """
    recipes = learn_recipes(meanings, columns)
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
