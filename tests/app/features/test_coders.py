"""Categories and dates are encoded as skrub encodes them, and texts as scikit-learn does."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder
from skrub import DatetimeEncoder, TableVectorizer

from subsvms._states import State
from subsvms.app.features import coders
from subsvms.app.features.coders import COMPONENTS, NGRAMS, Calendar, Categories, Letters, learn_coder

WORDS = ["good", "bad", "slow", "Quick", "cheap", "déjà", "vu", "loud.", "quiet", "güzel", "日本語", "a"]


def draw_columns(rng, n):
    """Return columns of every kind as they are read from a table, with missing values."""
    alphabet = [chr(ord("α") + i) for i in range(COMPONENTS)]
    texts = {
        "categories": rng.choice(["red", "green", "Ü", "x" * 50], n),
        "words": rng.choice([f"{a} {b}" for a in WORDS for b in WORDS], n),
        "letters": [" ".join(rng.choice(list("abcd"), 6)) for _ in range(n)],
        "alphabet": [" ".join(rng.permutation(alphabet)) for _ in range(n)],
        "text": [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(n)],
    }
    days = np.datetime64("2020-01-01", "us") + rng.integers(0, 900, n) * np.timedelta64(1, "D")
    dates = {"days": days, "moments": days + rng.integers(0, 10**6, n) * np.timedelta64(1, "s")}
    columns = {kind: np.array(list(map(str, values)), dtype=object) for kind, values in texts.items()} | dates
    for values in columns.values():
        values[rng.random(n) < 0.1] = None  # NaT among dates
    return columns


def learn_coders(columns):
    return {name: learn_coder(values) for name, values in columns.items()}


def encode_with_skrub(known, *others):
    """Return the features of some tables from skrub, fitted on the first."""
    frames = [
        pd.DataFrame({k: pd.Categorical(v) if v.dtype == object else v for k, v in table.items()})
        for table in (known, *others)
    ]
    vectorizer = TableVectorizer(
        cardinality_threshold=coders.CATEGORIES,
        low_cardinality=OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32),
        datetime=DatetimeEncoder(add_weekday=True, add_total_seconds=False, periodic_encoding="circular"),
        n_jobs=1,
    ).fit(frames[0])
    return [vectorizer.transform(frame).to_numpy(dtype=np.float32) for frame in frames]


@pytest.fixture(scope="module")
def learned():
    """Columns of every kind, and their coders."""
    columns = draw_columns(np.random.default_rng(0), 100)
    return columns, learn_coders(columns)


def encode_with_sklearn(coder, known, values):
    """Return the features of texts by what was learned, from counts of whole texts."""
    known, values = (
        ["" if value is None else value.lower() for value in column] for column in (known, values)
    )
    vectorizer = TfidfVectorizer(vocabulary=coder.ngrams, sublinear_tf=True, lowercase=False, **NGRAMS).fit(
        known
    )
    vectorizer.idf_ = coder.idf
    return vectorizer.transform(values) @ coder.components.T / coder.divisor


def test_features_of_categories_and_dates_are_those_of_skrub(seed):
    rng = np.random.default_rng(seed)
    columns, new = draw_columns(rng, 120), draw_columns(rng, 40)
    dates = np.array(["NaT", "1850-01-01", "2020-02-29T23:00", "2500-12-31"], "datetime64[us]")
    strange = {"categories": np.array(["mauve", None, "red", "RED"], dtype=object), "days": dates}
    tables = [
        {kind: table[kind] for kind in ("categories", "days", "moments")}
        for table in (columns, new, strange | {"moments": dates})
    ]
    fitted = learn_coders(tables[0])
    for rows, wanted in zip(tables, encode_with_skrub(*tables), strict=True):
        found = np.concatenate([coder.encode(rows[kind]) for kind, coder in fitted.items()], axis=1)
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_features_of_texts_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    columns, new = draw_columns(rng, 120), draw_columns(rng, 40)
    strange = np.array(["good vu", "", None, "zzz", "déjà vu " * 90, "\t\n", "日本", "α β"], dtype=object)
    for kind in ("words", "letters", "alphabet", "text"):
        coder = learn_coder(columns[kind])
        for values in (columns[kind], new[kind], strange):
            wanted = encode_with_sklearn(coder, columns[kind], values)
            np.testing.assert_allclose(coder.encode(values), wanted, atol=1e-5)


@given(st.data())
@settings(max_examples=10)
def test_any_text_is_encoded_as_scikit_learn_does(data):
    texts = st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1)
    known = data.draw(st.lists(texts, min_size=1, max_size=20).filter(any))
    known = np.array(known + [f"text {i}" for i in range(coders.CATEGORIES)], dtype=object)
    new = np.array(data.draw(st.lists(texts, min_size=1, max_size=9)), dtype=object)
    coder = learn_coder(known)
    for values in (known, new):
        np.testing.assert_allclose(coder.encode(values), encode_with_sklearn(coder, known, values), atol=1e-4)


def test_what_few_texts_share_tells_more_than_what_all_or_one_hold():
    common, rare = "the ", " zyx"
    texts = [f"{common}{'cat' if i % 3 else 'dog'} {i}{rare * (i == 0)}" for i in range(90)]
    ngrams = set(learn_coder(np.array(texts, dtype=object)).ngrams)
    assert {"cat", "dog", " dog"} <= ngrams | {"cat"} and ngrams.isdisjoint({"the", "zyx"})


def test_a_coder_is_chosen_by_the_values(learned):
    categories, *letters, days, moments = learned[1].values()
    assert isinstance(categories, Categories) and categories.names[-1] == "missing"
    assert {type(coder) for coder in letters} == {Letters}
    assert all(1 < len(coder.names) <= COMPONENTS for coder in letters)
    assert letters[-1].names[7] == "07"
    assert (days, moments) == (Calendar("day"), Calendar("hour"))
    assert learn_coder(np.array([None, None], dtype=object)) == Categories(())


def test_a_row_is_encoded_alike_alone_among_others_and_after_a_model_is_saved(learned):
    columns, fitted = learned
    for kind, coder in fitted.items():
        together = coder.encode(columns[kind])
        alone = [coder.encode(columns[kind][i : i + 1]) for i in range(8)]
        np.testing.assert_array_equal(np.concatenate(alone), together[:8])
        header, arrays = coder.to_state()
        again = coders.CODERS[header["coder"]].from_state(State(json.loads(json.dumps(header)), arrays))
        assert again.names == coder.names
        np.testing.assert_array_equal(again.encode(columns[kind]), together)


def test_counting_by_words_counts_what_scikit_learn_counts():
    texts = ["To be, or not to be", "", "a", "that  is\tthe Question", "İstanbul ŠKODA", "aaaa aaaa"]
    holds, words = coders.count_words(np.array(texts, object))
    vectorizer, whole = CountVectorizer(**NGRAMS), CountVectorizer(**NGRAMS)
    found = (holds @ vectorizer.fit_transform(words)).toarray()
    np.testing.assert_array_equal(found, whole.fit_transform(texts).toarray())
    assert list(vectorizer.get_feature_names_out()) == list(whole.get_feature_names_out())


@pytest.mark.parametrize(("limit", "most"), [("MAX_TEXTS", 150), ("MAX_LETTERS", 1500)])
def test_very_many_texts_are_learned_from_in_part(monkeypatch, limit, most):
    texts = np.array([f"word{i % 7} other{i % 11}" if i % 3 else None for i in range(300)], dtype=object)
    monkeypatch.setattr(coders, limit, most)
    present = np.array([text for text in texts if text is not None], dtype=object)
    learned = coders.learn_letters(texts)
    monkeypatch.setattr(coders, limit, 10**6)
    for found, wanted in zip(learned, coders.learn_letters(present[::2]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert not coders.project_letters(np.array([None, "???"], dtype=object), *learned[:3]).any()
