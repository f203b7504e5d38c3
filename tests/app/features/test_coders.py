"""Text and dates are encoded as skrub encodes them, from plain arrays and lists."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsvms._states import State
from subsvms.app.features.coders import (
    CATEGORIES,
    CODERS,
    COMPONENTS,
    Calendar,
    Categories,
    Letters,
    learn_coders,
    make_vectorizer,
)

WORDS = ["good", "bad", "slow", "Quick", "cheap", "déjà", "vu", "loud.", "quiet", "güzel", "日本語", "a"]


def objects(values):
    column = np.full(len(values), None, dtype=object)
    column[:] = values
    return column


def draw_column(rng, kind, n):
    """Return a column as a table would give it, with holes."""
    if kind == "categories":
        values = rng.choice(["red", "green", "Ü", "x" * 50], n)
    elif kind == "words":
        values = rng.choice([f"{a} {b}" for a in WORDS for b in WORDS], n)
    elif kind == "letters":
        values = [" ".join(rng.choice(list("abcd"), 6)) for _ in range(n)]
    elif kind == "alphabet":
        values = [" ".join(rng.permutation([chr(ord("α") + i) for i in range(COMPONENTS)])) for _ in range(n)]
    elif kind == "text":
        values = [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(n)]
    else:
        days = np.datetime64("2020-01-01", "us") + rng.integers(0, 900, n) * np.timedelta64(1, "D")
        moments = days + rng.integers(0, 10**6, n) * np.timedelta64(1, "s")
        values = days if kind == "days" else moments
        values[rng.random(n) < 0.1] = np.datetime64("NaT")
        return values
    return objects([None if hole else str(v) for v, hole in zip(values, rng.random(n) < 0.1, strict=True)])


def frame_of(columns):
    data = (pd.Categorical(v) if v.dtype == object else v for v in columns.values())
    return pd.DataFrame({str(i): values for i, values in enumerate(data)})


KINDS = ("categories", "words", "letters", "alphabet", "text", "days", "moments")


@pytest.mark.filterwarnings("ignore:The matrix shape is:UserWarning")
@pytest.mark.parametrize("n", [60, 300])
def test_features_are_those_of_skrub(n, seed):
    """Four letters are too few for components, thirty exactly enough to need none."""
    rng = np.random.default_rng(seed)
    columns = {kind: draw_column(rng, kind, n) for kind in KINDS}
    coders = learn_coders(columns)
    vectorizer = make_vectorizer().fit(frame_of(columns))
    strange = {
        "categories": objects(["mauve", None, "red", "RED"]),
        "words": objects(["good vu", "", None, "never seen"]),
        "letters": objects(["a b", "zzz", None, "ab ab"]),
        "alphabet": objects(["α β", "zzz", None, "ω"]),
        "text": objects([None, "déjà vu " * 90, "\t\n", "日本"]),
        "days": np.array(["NaT", "1850-01-01", "2020-02-29T23:00", "2500-12-31"], "datetime64[us]"),
        "moments": np.array(["NaT", "1850-01-01", "2020-02-29T23:00", "2500-12-31"], "datetime64[us]"),
    }
    for rows in (columns, {kind: draw_column(rng, kind, 40) for kind in KINDS}, strange):
        wanted = vectorizer.transform(frame_of(rows)).to_numpy(dtype=np.float32)
        found = np.concatenate([coders[kind].encode(rows[kind]) for kind in KINDS], axis=1)
        np.testing.assert_array_equal(found, wanted)


@given(st.data())
def test_any_text_is_encoded_as_by_skrub(data):
    texts = st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1)
    known = data.draw(st.lists(texts, min_size=1, max_size=20).filter(any))
    extra = [f"text {i}" for i in range(data.draw(st.sampled_from([0, CATEGORIES])))]
    columns = {"c": objects(known + extra)}
    new = {"c": objects(data.draw(st.lists(texts, min_size=1, max_size=9).filter(any)))}
    (coder,) = learn_coders(columns).values()
    assert isinstance(coder, Letters if extra else Categories)
    vectorizer = make_vectorizer().fit(frame_of(columns))
    for rows in (columns, new):
        wanted = vectorizer.transform(frame_of(rows)).to_numpy(dtype=np.float32)
        np.testing.assert_array_equal(coder.encode(rows["c"]), wanted)


def test_a_coder_is_chosen_by_the_values(seed):
    rng = np.random.default_rng(seed)
    coders = learn_coders({kind: draw_column(rng, kind, 300) for kind in KINDS})
    types = [type(coders[kind]) for kind in KINDS]
    assert types == [Categories, Letters, Letters, Letters, Letters, Calendar, Calendar]
    assert [len(coders[kind].names) for kind in KINDS[1:5]] == [COMPONENTS, 4, COMPONENTS, COMPONENTS]
    assert (coders["days"].resolution, coders["moments"].resolution) == ("day", "hour")
    assert coders["text"].names[7] == "07"
    assert coders["categories"].names[-1] == "missing"
    assert learn_coders({"nothing": objects([None, None])})["nothing"] == Categories(())
    assert learn_coders({}) == {}


def test_a_row_is_encoded_alike_alone_and_among_others(seed):
    rng = np.random.default_rng(seed)
    columns = {kind: draw_column(rng, kind, 100) for kind in KINDS}
    for kind, coder in learn_coders(columns).items():
        together = coder.encode(columns[kind])
        alone = [coder.encode(columns[kind][i : i + 1]) for i in range(20)]
        np.testing.assert_array_equal(np.concatenate(alone), together[:20])


def test_a_state_gives_the_same_coder_again(seed):
    rng = np.random.default_rng(seed)
    columns = {kind: draw_column(rng, kind, 100) for kind in KINDS}
    for kind, coder in learn_coders(columns).items():
        header, arrays = coder.to_state()
        again = CODERS[header["coder"]].from_state(State(json.loads(json.dumps(header)), arrays))
        assert again.names == coder.names
        np.testing.assert_array_equal(again.encode(columns[kind]), coder.encode(columns[kind]))
