"""Noise by annotator, date or number."""

import numpy as np
import pytest

from subsvms import SubSVMClassifier, correct_labels
from subsvms.app.runs.tally import MISSING, count_groups, group_noise, learn_grouping
from subsvms.app.tables.table import read_table

ENSEMBLE = SubSVMClassifier(n_estimators=100, random_state=0)


def read_groups(table, name):
    return learn_grouping(table, name).read(table.columns[name])


def make_table(tmp_path, columns):
    n = len(next(iter(columns.values())))
    lines = [",".join([*columns, "y"])]
    lines += [",".join([*(str(c[i]) for c in columns.values()), "ab"[i % 2]]) for i in range(n)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    return read_table(tmp_path / "t.csv", "y")


def test_the_noisy_annotator_comes_first_and_counts_are_right():
    rng = np.random.default_rng(0)
    clean = np.repeat([0, 1], 300)
    X = rng.normal(clean[:, None], 0.2, (600, 4))
    who = rng.choice(["ann", "bob", "cid"], 600).astype(object)
    given = np.where((who == "bob") & (rng.random(600) < 0.3), 1 - clean, clean)
    correction = correct_labels(X, given, estimator=ENSEMBLE)
    groups = group_noise(count_groups(who, correction))
    assert groups[0].value == "bob" and groups[0].low > max(group.high for group in groups[1:])
    total = sum(group.expected_wrong for group in groups)
    assert total == pytest.approx(np.sum(given != clean), rel=0.3)
    for group in groups:
        own = who == group.value
        assert group.n_rows == own.sum() and group.n_flagged == correction.flagged[own].sum()
        assert group.low <= group.share <= group.high


def test_rows_without_a_label_are_not_counted():
    rng = np.random.default_rng(0)
    y = np.repeat(np.array([0.0, 1.0]), 100)
    X = rng.normal(y[:, None], 0.2, (200, 3))
    y[:10] = np.nan
    everyone = np.full(200, "all", dtype=object)
    groups = group_noise(count_groups(everyone, correct_labels(X, y, estimator=ENSEMBLE)))
    assert groups[0].n_rows == 190


def test_dates_are_grouped_by_days_months_or_years(tmp_path):
    days = [f"2024-01-{1 + i % 20:02d}" for i in range(60)]
    months = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(60)]
    years = [f"{1960 + i}-01-01" for i in range(60)]
    table = make_table(tmp_path, {"days": days, "months": months, "years": years})
    assert set(read_groups(table, "days")) == set(days)
    assert set(read_groups(table, "months")) == {f"2024-{month:02d}" for month in range(1, 13)}
    assert set(read_groups(table, "years")) == {str(year) for year in range(1960, 2020)}


def test_many_numbers_go_into_fifths_and_few_stay(tmp_path):
    table = make_table(tmp_path, {"few": [i % 3 for i in range(100)], "many": [i * 1.5 for i in range(100)]})
    assert set(read_groups(table, "few")) == {"0", "1", "2"}
    names, counts = np.unique(read_groups(table, "many").astype(str), return_counts=True)
    assert len(names) == 5 and counts.min() == 20 and counts.max() == 20


def test_missing_values_are_a_group(tmp_path):
    table = make_table(tmp_path, {"who": ["ann", "", "bob", "NA"] * 10})
    assert sorted(set(read_groups(table, "who"))) == [MISSING, "ann", "bob"]


def test_long_numbers_are_groups_of_their_own(tmp_path):
    table = make_table(tmp_path, {"who": [1234560 + i % 4 for i in range(40)]})
    assert set(read_groups(table, "who")) == {"1234560", "1234561", "1234562", "1234563"}
