"""Text and dates as numbers: categories, letters and the calendar, as skrub learns them, in plain arrays.

skrub's TableVectorizer fits encoders of categories and dates; `letters.py` does what its StringEncoder does,
faster. What was learned is then copied into the classes here, which encode training rows and new rows alike,
before and after a model is saved. So all rows get the same bits, and a saved model holds no objects of
another library.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from subsvms._states import State, is_array, is_number, require
from subsvms.app.features.letters import CODE, learn_letters, project_letters

CATEGORIES = 40  # a column with at least this many distinct texts is encoded by its letters
ANY_DATE = np.datetime64(
    "2000-01-01T01:00:00", "us"
)  # with an hour, so that skrub does not see a day without a time


@dataclass(frozen=True)
class Categories:
    """One feature for each known category."""

    values: tuple[str | None, ...]  # None for missing values

    limited: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        return tuple("missing" if value is None else value for value in self.values)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return 1 in the feature of each row's category and 0 elsewhere; an unknown category is all 0."""
        place = {value: j for j, value in enumerate(self.values)}
        found = np.array([place.get(value, -1) for value in values], dtype=np.int64)
        encoded = np.zeros((len(values), len(place)), dtype=CODE)
        rows = np.flatnonzero(found >= 0)
        encoded[rows, found[rows]] = 1.0
        return encoded

    def weigh(self, encoded: np.ndarray) -> tuple[Any, Any]:
        """Return center and scale of the features."""
        return 0.0, 0.5

    def to_state(self) -> State:
        """Return what was learned."""
        return State({"coder": "categories", "values": list(self.values)}, {})

    @classmethod
    def from_state(cls, state: State) -> "Categories":
        """Build it from a state that may have been forged."""
        values = state.header["values"]
        require(isinstance(values, list) and all(isinstance(v, str | None) for v in values), "categories")
        require(len(set(values)) == len(values), "categories")
        return cls(tuple(values))


@dataclass(frozen=True, eq=False)
class Letters:
    """The directions in which the letter n-grams of texts differ most: tf-idf times a few components."""

    ngrams: tuple[str, ...]
    idf: np.ndarray  # (n_ngrams,)
    components: np.ndarray  # (n_features, n_ngrams): rows of the identity if there are few n-grams
    divisor: float  # the scale of all features

    limited: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        n = len(self.components)
        return tuple(str(j).zfill(len(str(n - 1))) for j in range(n))

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return the features of texts; missing texts, and those with unknown n-grams only, are at zero."""
        import pandas as pd

        places, distinct = pd.factorize(values)  # names of cities, for example, repeat; -1 is missing
        encoded = project_letters(distinct, self.ngrams, self.idf, self.components) / CODE(self.divisor)
        return np.append(encoded, np.zeros((1, encoded.shape[1]), dtype=CODE), axis=0)[places]

    def weigh(self, encoded: np.ndarray) -> tuple[Any, Any]:
        """Return center and scale of the features: a mean squared distance of 1/2."""
        return encoded.mean(axis=0), 0.5 / np.sqrt(encoded.var(axis=0).sum())

    def to_state(self) -> State:
        """Return what was learned; the many n-grams, none with a line break, are one array of bytes."""
        text = np.frombuffer("\n".join(self.ngrams).encode(), dtype=np.uint8)
        arrays = {"ngrams": text, "idf": self.idf, "components": self.components}
        return State({"coder": "letters", "divisor": self.divisor}, arrays)

    @classmethod
    def from_state(cls, state: State) -> "Letters":
        """Build it from a state that may have been forged."""
        text, idf, components = (state.arrays[key] for key in ("ngrams", "idf", "components"))
        divisor = state.header["divisor"]
        require(is_array(text, "u1", (None,)), "n-grams")
        ngrams = tuple(text.tobytes().decode().split("\n"))
        require(len(set(ngrams)) == len(ngrams), "n-grams")
        require(is_array(idf, "f8", (len(ngrams),)), "weights of n-grams")
        require(is_array(components, "f4", (None, len(ngrams))) and len(components) > 0, "components")
        require(is_number(divisor) and 1e-30 < divisor < 1e30, "text scale")  # within CODE
        return cls(ngrams, idf, components, float(divisor))


@dataclass(frozen=True)
class Calendar:
    """Year, month, day, weekday and perhaps hour of dates; all but the year are points on circles."""

    resolution: str  # "hour", or "day" if no date has a time

    limited: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        return tuple(name.removeprefix("date_") for name in fit_date_encoder(self.resolution).all_outputs_)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return the features of dates, NaN where they are missing."""
        import pandas as pd

        encoder = fit_date_encoder(self.resolution)
        return encoder.transform(pd.Series(values, name="date")).to_numpy(dtype=CODE)

    def weigh(self, encoded: np.ndarray) -> tuple[Any, Any]:
        """Return center and scale of the features, so that together they have a range of one."""
        low, high = np.nanmin(encoded, axis=0), np.nanmax(encoded, axis=0)
        return (low + high) / 2.0, 1.0 / ((high - low) * np.sqrt(encoded.shape[1]))

    def to_state(self) -> State:
        """Return what was learned."""
        return State({"coder": "calendar", "resolution": self.resolution}, {})

    @classmethod
    def from_state(cls, state: State) -> "Calendar":
        """Build it from a state that may have been forged."""
        require(state.header["resolution"] in ("day", "hour"), "calendar")
        return cls(state.header["resolution"])


Coder = Categories | Letters | Calendar
CODERS: dict[str, type[Coder]] = {"categories": Categories, "letters": Letters, "calendar": Calendar}


def learn_coders(columns: dict[str, np.ndarray]) -> dict[str, Coder]:
    """Return how to encode columns of text or dates."""
    varied = {name for name, values in columns.items() if _holds_varied_text(values)}
    others = _learn_others({name: values for name, values in columns.items() if name not in varied})
    return {
        name: Letters(*learn_letters(values)) if name in varied else others[name]
        for name, values in columns.items()
    }


def _holds_varied_text(values):
    return values.dtype == object and len(set(values.tolist()) - {None}) >= CATEGORIES


def _learn_others(columns: dict[str, np.ndarray]) -> dict[str, Coder]:
    """Return how skrub encodes columns of few categories, and of dates."""
    import pandas as pd

    if not columns:
        return {}
    # Columns are named by number, because skrub builds names from theirs; and text is passed as categories,
    # because skrub would parse plain text as numbers or dates.
    data = (pd.Categorical(values) if values.dtype == object else values for values in columns.values())
    frame = pd.DataFrame({str(i): values for i, values in enumerate(data)})
    learned = make_vectorizer().fit(frame).transformers_
    return {name: _extract(learned.get(str(i))) for i, name in enumerate(columns)}


def make_vectorizer() -> Any:
    """Return skrub's vectorizer, with the encoders used here."""
    from sklearn.preprocessing import OneHotEncoder
    from skrub import TableVectorizer

    return TableVectorizer(
        cardinality_threshold=CATEGORIES,
        low_cardinality=OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=CODE),
        datetime=make_date_encoder("hour"),
        n_jobs=1,
    )


def make_date_encoder(resolution: str) -> Any:
    """Return skrub's encoder of dates."""
    from skrub import DatetimeEncoder

    return DatetimeEncoder(
        resolution=resolution, add_weekday=True, add_total_seconds=False, periodic_encoding="circular"
    )


@cache
def fit_date_encoder(resolution: str) -> Any:
    """Return skrub's encoder of dates, fitted: it learns only names."""
    import pandas as pd

    return make_date_encoder(resolution).fit(pd.Series([ANY_DATE], name="date"))


def _extract(learned: Any) -> Coder:
    """Return what one of skrub's fitted encoders has learned."""
    if learned is None:  # skrub drops an empty column
        return Categories(())
    if hasattr(learned, "categories_"):
        (values,) = learned.categories_
        return Categories(tuple(None if value != value else str(value) for value in values))
    return Calendar("hour" if "hour" in learned.extracted_features_ else "day")
