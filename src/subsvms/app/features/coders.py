"""Text and dates as numbers: categories, letters and the calendar.

Categories and dates are encoded as skrub's TableVectorizer encodes them; the tests compare with it, and it is
not needed here: its import alone takes seconds. Training rows and new rows are encoded alike, before and
after a model is saved, so all rows get the same bits, and a saved model holds no objects of another library.

A text becomes what scikit-learn's TfidfVectorizer (`char_wb`, sublinear) makes of its letter n-grams,

    w = u / |u|,    u_g = (1 + log n_g) idf_g    for each n-gram g that occurs n_g times,

projected on the directions C in which the texts differ most: C w. Three things decide how well that tells
classes apart (`python -m benchmarks.text`): enough directions, the logarithm, and pairs of letters. What is
counted depends on the words of a text alone, and texts repeat words. So the n-grams of each distinct word are
counted once; with T the words of each text and W the n-grams of each word, n = T W. Words are sorted, so a
text gets the same bits whatever is beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from subsvms._states import State, is_array, is_number, require

CATEGORIES = 40  # a column with at least this many distinct texts is encoded by its letters
NGRAMS = {"analyzer": "char_wb", "ngram_range": (2, 4)}  # letters that follow each other within a word
COMPONENTS, FEWEST_COMPONENTS = 100, 30  # of texts alone, shared out; of each, or beside other columns
MAX_NGRAMS = 20_000  # the most frequent ones
MOST_TEXTS = 0.8  # an n-gram in more of the texts tells little, and one in a single text links it to no other
# To learn from, whichever is fewer; more change little and take longer
MAX_TEXTS, MAX_LETTERS = 10_000, 3_000_000
PASSES = 2  # over the texts, to find the components
CODE = np.float32  # as in skrub; categories and letters need no more
SMALLEST_SPREAD = 10 * np.finfo(CODE).eps  # a smaller spread is rounding
PERIODS = {"month": 12, "day": 30, "hour": 24, "weekday": 7}  # of the parts of a date that lie on circles


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
        return State({"coder": "ngrams", "divisor": self.divisor}, arrays)

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
        return ("year", *(f"{part}_circular_{axis}" for part in self._circles for axis in (0, 1)))

    @property
    def _circles(self):
        return [part for part in PERIODS if part != "hour" or self.resolution == "hour"]

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return the features of dates, NaN where they are missing."""
        import pandas as pd

        missing = np.isnat(values)
        dates = pd.DatetimeIndex(np.where(missing, np.datetime64(0, "us"), values))
        features = [dates.year.to_numpy()]
        for part in self._circles:
            number = dates.day_of_week + 1 if part == "weekday" else getattr(dates, part)
            angle = number.to_numpy() / PERIODS[part] * 2 * np.pi
            features += [np.sin(angle), np.cos(angle)]
        encoded = np.stack(features, axis=1).astype(CODE)
        encoded[missing] = np.nan
        return encoded

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
CODERS: dict[str, type[Coder]] = {"categories": Categories, "ngrams": Letters, "calendar": Calendar}


def is_free_text(values: np.ndarray) -> bool:
    """Return whether a column of text or dates is encoded by its letters."""
    return values.dtype == object and len(set(values.tolist()) - {None}) >= CATEGORIES


def learn_coder(values: np.ndarray, n_components: int = COMPONENTS) -> Coder:
    """Return how to encode a column of text or dates; by its letters, with at most so many features."""
    if values.dtype != object:
        has_time = values != values.astype("datetime64[D]")  # also true of missing dates
        return Calendar("hour" if np.any(has_time & ~np.isnat(values)) else "day")
    if is_free_text(values):
        return Letters(*learn_letters(values, n_components))
    distinct = set(values.tolist())
    present = sorted(distinct - {None})
    return Categories((*present, *[None] * (None in distinct and len(present) > 0)))


def learn_letters(
    texts: np.ndarray, n_components: int = COMPONENTS
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, float]:
    """Return the fields of `Letters`, learned from texts (n_rows,)."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from threadpoolctl import threadpool_limits

    present = np.array([text for text in texts if text is not None], dtype=object)
    n_parts = max(len(texts) / MAX_TEXTS, sum(map(len, present)) / MAX_LETTERS)
    holds, words = count_words(present[:: math.ceil(n_parts)])
    vectorizer = CountVectorizer(**NGRAMS)
    counts = sparse.csr_matrix(holds @ vectorizer.fit_transform(words).astype(CODE))
    n_texts = np.bincount(counts.indices, minlength=counts.shape[1])
    telling = (n_texts > 1) & (n_texts <= MOST_TEXTS * counts.shape[0])
    telling |= not telling.any()
    kept = np.sort(np.argsort(-n_texts * telling, kind="stable")[: min(MAX_NGRAMS, telling.sum())])
    counts = counts[:, kept]
    weigher = TfidfTransformer(sublinear_tf=True).fit(counts)
    weights = weigher.transform(counts)
    n_components = min(n_components, *weights.shape)
    # one thread gives the same bits on every machine, and more mostly wait; equal texts have no variance
    with threadpool_limits(1, "blas"), np.errstate(divide="ignore", invalid="ignore"):
        components = TruncatedSVD(n_components, n_iter=PASSES, random_state=0).fit(weights).components_
    spread = float(np.sqrt((weights @ components.T).var(axis=0).sum()))
    divisor = spread if spread > SMALLEST_SPREAD else 1.0
    ngrams = tuple(map(str, vectorizer.get_feature_names_out()[kept]))
    return ngrams, weigher.idf_.astype(np.float64), components.astype(CODE), divisor


def project_letters(
    texts: np.ndarray, ngrams: Sequence[str], idf: np.ndarray, components: np.ndarray
) -> np.ndarray:
    """Return the components (n_rows, n_features) of texts, zero where one is missing or holds no n-gram."""
    from sklearn.feature_extraction.text import CountVectorizer

    from subsvms.app.features.letter_pass import project  # here: importing numba takes a while

    found = np.zeros((len(texts), len(components)), dtype=CODE)
    holds, words = count_words(texts)
    if len(words) == 0:
        return found
    counts = CountVectorizer(vocabulary=ngrams, **NGRAMS).transform(words)
    project(
        holds.indptr, holds.indices, holds.data, counts.indptr, counts.indices, counts.data,
        idf, np.ascontiguousarray(components.T), found,
    )  # fmt: skip
    return found


def count_words(texts: np.ndarray) -> tuple[Any, list[str]]:
    """Return how often each text holds each word (n_rows, n_words), and the words."""
    import pandas as pd

    split = [() if text is None else text.lower().split() for text in texts]
    found = np.array(list(chain.from_iterable(split)), dtype=object)
    codes, words = pd.factorize(found)
    order = np.argsort(words, kind="stable")
    place = np.argsort(order)
    ends = np.cumsum([0, *map(len, split)])
    shape = (len(texts), len(words))
    counts = sparse.csr_array((np.ones(len(codes), dtype=np.int64), place[codes], ends), shape=shape)
    counts.sum_duplicates()
    return counts, words[order].tolist()
