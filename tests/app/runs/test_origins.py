"""A value of a column at which labels contradict the votes is found; a column that is a feature is not."""

import numpy as np
import pytest
from loans import call, make_rows, write

from subsvms.app.runs.origins import Origin, find_origins, format_origins

N = 1200


def make_votes(seed, noise):
    """Return shares of votes that know the truth as well as a feature tells it, and noisy labels."""
    rng = np.random.default_rng(seed)
    feature = rng.integers(5, size=N)  # the classes overlap where it is large
    truth = rng.random(N) < 0.5
    sure = np.clip(0.98 - 0.1 * feature + rng.normal(0, 0.02, N), 0.5, 1)
    guess = np.where(rng.random(N) < sure, truth, ~truth)
    share = np.where(guess, sure, 1 - sure)
    who = rng.integers(6, size=N)
    given = truth ^ (rng.random(N) < noise(who, truth))
    return feature * 1.0, who, given.astype(int), np.stack([1 - share, share], axis=1)


def test_an_annotator_who_is_worse_is_found(seed):
    feature, who, given, share = make_votes(seed, lambda who, truth: np.where(who == 3, 0.35, 0.03))
    names = np.array(list("abcdef"), dtype=object)[who]
    (found,) = find_origins({"feature": feature, "who": names}, given, share)
    assert (found.column, found.value, found.n_rows) == ("who", "d", np.sum(who == 3))
    assert found.n_contradicted > 1.5 * found.expected


@pytest.mark.parametrize("noise", [lambda who, truth: 0.1, lambda who, truth: np.where(truth, 0.3, 0.02)])
def test_columns_are_passed_over_where_nobody_is_worse(seed, noise):
    """Nor is a column that goes with overlap or with a noisy class, or has one value, or too many."""
    feature, who, given, share = make_votes(seed, noise)
    columns = {"feature": feature, "who": who * 1.0, "many": np.arange(N) // 20.0, "one": np.zeros(N)}
    given[:30], share[30:60] = -1, np.nan
    assert find_origins(columns, given, share) == []
    assert find_origins(columns, np.full(N, -1), share) == []


def test_a_note_names_the_clearest_value_and_counts_other_columns():
    one = Origin("my site", 3.0, 50, 20, 4.2)
    (note,) = format_origins([one, Origin("b", None, 9, 8, 1.0)])
    assert note.startswith("Where 'my site' is '3', 20 of 50 labels contradict the votes; of other rows with")
    assert "about 4 would. The same holds for 1 more column. " in note and note.endswith("by='my site'.")
    assert format_origins([]) == []
    assert "Where 'b' is missing, " in format_origins([Origin("b", None, 9, 8, 1.0)])[0]


def test_the_command_line_suggests_the_column_until_it_is_used(tmp_path):
    rows, clean = make_rows(600, wrong=0.03)
    rng = np.random.default_rng(0)
    for i, row in enumerate(rows):
        row["desk"] = int(rng.integers(5))
        if row["desk"] == 2 and rng.random() < 0.4:
            row["default"] = {"no": "yes", "yes": "no"}[clean[i]]
    path = write(tmp_path / "loans.csv", rows)
    words = ("correct", path, "--label", "default", "--svms", 100, "--threads", 1, "--dry-run")
    said = " ".join(call(*words).output.split())
    assert "Where 'desk' is '2', " in said and "with --by desk." in said
    assert "Where " not in call(*words, "--by", "desk").output
