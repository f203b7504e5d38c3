"""Noise by annotator, date or number."""

import numpy as np
import pytest

from subsvms import SubSVMClassifier, correct_labels
from subsvms.app.runs.tally import MISSING, Tally, count_groups, group_noise, learn_grouping
from subsvms.app.tables.table import read_table

ENSEMBLE = SubSVMClassifier(n_estimators=100, random_state=0)


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
    assert groups[0]["value"] == "bob" and groups[0]["low"] > max(group["high"] for group in groups[1:])
    total = sum(group["expected_wrong"] for group in groups)
    assert total == pytest.approx(np.sum(given != clean), rel=0.3)
    for group in groups:
        own = who == group["value"]
        assert group["rows"] == own.sum() and group["flagged"] == correction.flagged[own].sum()
        assert group["low"] <= group["share"] <= group["high"]


def test_rows_without_a_label_are_not_counted():
    rng = np.random.default_rng(0)
    y = np.repeat(np.array([0.0, 1.0]), 100)
    X = rng.normal(y[:, None], 0.2, (200, 3))
    y[:10] = np.nan
    everyone = np.full(200, "all", dtype=object)
    correction = correct_labels(X, y, estimator=ENSEMBLE)
    groups = group_noise(count_groups(everyone, correction))
    assert groups[0]["rows"] == 190
    tally = Tally.of(correction)
    assert tally.judged == 190 and sum(tally.contradicted) == correction.contradicted[10:].sum()


def test_dates_and_many_numbers_are_cut_into_groups(tmp_path):
    days = [f"2024-01-{1 + i % 20:02d}" for i in range(60)]
    columns = {
        "days": days, "months": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(60)],
        "years": [f"{1960 + i}-01-01" for i in range(60)], "few": [i % 3 for i in range(60)],
        "many": [i * 1.5 for i in range(60)], "who": ["ann", "", "bob", "NA"] * 15,
        "long": [1234560 + i % 4 for i in range(60)],
    }  # fmt: skip
    table = make_table(tmp_path, columns)
    groups = {name: learn_grouping(table, name).read(table.columns[name]) for name in columns}
    assert np.unique(groups.pop("many").astype(str), return_counts=True)[1].tolist() == [12] * 5
    assert {name: set(found) for name, found in groups.items()} == {
        "days": set(days), "months": {f"2024-{month:02d}" for month in range(1, 13)},
        "years": {str(year) for year in range(1960, 2020)}, "few": {"0", "1", "2"},
        "who": {MISSING, "ann", "bob"}, "long": {"1234560", "1234561", "1234562", "1234563"},
    }  # fmt: skip
