"""The first pass: labels are counted, and what was drawn is kept."""

from dataclasses import replace

import numpy as np
import pytest
from large_tables import OPTIONS, learn_in_parts, make_columns, set_labels, write_files

from subsvms.app.runs.engines import LocalEngine
from subsvms.app.runs.learn import load_drawn, save_drawn, survey_source
from subsvms.app.runs.source import open_source
from subsvms.exceptions import TableError


def survey(where, pool_size=100):
    return survey_source(
        open_source(where, "label"), replace(OPTIONS, pool_size=pool_size), LocalEngine(2, 3)
    )


def test_minus_zero_is_zero(tmp_path):
    columns = make_columns(600)
    labels = columns["label"].to_pylist()
    values = [1.0 if label == "yes" else (0.0, -0.0)[i % 2] for i, label in enumerate(labels)]
    labels, drawing, _ = survey(write_files(set_labels(columns, values), tmp_path / "big"))
    assert labels.classes.tolist() == [0.0, 1.0] and drawing.sizes.sum() == 600


@pytest.mark.parametrize("values", [["a", "b", None], [True, False], [1, 2]])
def test_what_was_drawn_can_be_saved_and_loaded(tmp_path, values):
    columns = set_labels(make_columns(600), [values[i % len(values)] for i in range(600)])
    labels, drawing, digest = survey(write_files(columns, tmp_path / "big"), pool_size=100)
    assert load_drawn(tmp_path) is None
    save_drawn(labels, drawing, digest, columns, tmp_path)
    found = load_drawn(tmp_path)
    for saved, loaded in ((labels, found[0]), (drawing, found[1])):
        for name, value in vars(saved).items():
            other = getattr(loaded, name)
            assert type(other) is type(value) and np.all(np.asarray(other == value)), name
            assert getattr(other, "dtype", None) == getattr(value, "dtype", None)
    assert found[2] == digest and found[3].equals(columns)


def test_a_column_with_too_many_values_is_refused_as_soon_as_that_is_known(tmp_path):
    columns = set_labels(make_columns(12_000), [f"name {i}" for i in range(12_000)])
    with pytest.raises(TableError, match="at most 200"):
        learn_in_parts(write_files(columns, tmp_path / "big"))
