"""One run over a table: in parts it gives the same bits as in memory, in any batches and files."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from large_tables import OPTIONS, correct_in_parts, make_columns, reading_batches, set_labels, write_files
from numpy.testing import assert_array_equal
from pyarrow import parquet

from subsvms.app.runs.issues import find_issues
from subsvms.app.runs.run import LABELLERS, run_in_memory
from subsvms.app.runs.tally import add_doubt
from subsvms.app.tables.table import read_table
from subsvms.ensemble import _sampling


def test_names_of_who_labels_are_known_and_longer_words_say_nothing():
    for name in ("coder", "coder_2", "WorkerId", "n_workers", "operator", "the rater"):
        assert LABELLERS.search(name), name
    for name in ("encoder", "barcoder", "coworkers", "cooperator", "workerless", "grater"):
        assert not LABELLERS.search(name), name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_files(make_columns(1200), tmp_path_factory.mktemp("large") / "big")


@pytest.mark.parametrize("changes", [
    {"exclude": ("true",)}, {"max_error_rate": 0.03}, {"rule": "majority", "max_error_rate": 0.05},
    {"max_error_rate": 0.0}, {"action": "drop", "rule": "majority"},
    {"action": "weight", "by": ("colour", "city")}, {"action": "review", "min_confidence": 0.9},
], ids=str)  # fmt: skip
def test_a_table_that_fits_in_the_pool_is_judged_as_in_memory(folder, tmp_path, changes):
    judge_twice(folder, tmp_path, replace(OPTIONS, **changes))


@pytest.mark.parametrize(
    ("n_classes", "changes"), [(2, {}), (3, {}), (2, {"max_error_rate": 0.03, "by": ("colour",)})]
)
def test_a_large_table_is_judged_as_in_memory(tmp_path, monkeypatch, n_classes, changes, seed):
    """SVMs are chosen; pool, sample, features and rule are the same."""
    monkeypatch.setattr(_sampling, "POOL_SIZE", 200)
    monkeypatch.setattr(_sampling, "KERNELS", 400**2)
    columns = make_columns(1500, seed=seed, n_classes=n_classes)
    folder = write_files(columns, tmp_path / "big")
    options = replace(OPTIONS, n_estimators=None, random_state=seed, **changes)
    run, learned = judge_twice(folder, tmp_path / "work", options)
    assert learned.learned.in_pool.sum() <= 200 and len(learned.at_hand.few) == 800
    assert learned.learned.choice == run.correction.choice is not None


def judge_twice(folder, work, options):
    """Judge a table in memory and in parts, and compare everything."""
    run = run_in_memory(read_table(sorted(folder.iterdir()), "label"), options)
    learned, finding, (corrected, issues) = correct_in_parts(folder, work, options, pool_size=None)
    kept = run.correction.kept
    assert corrected["label"] == run.correction.labels[kept].tolist()
    assert corrected["label_given"] == run.table.labels[kept].tolist()
    if options.action == "weight":
        assert corrected["sample_weight"] == run.correction.sample_weight.round(4).tolist()
    assert finding.run.tally == run.tally
    assert_array_equal(learned.learned.rule.noise.matrix, run.correction.noise.matrix)
    assert_array_equal(learned.learned.rule.noise.rate_interval, run.correction.noise.rate_interval)
    whole = find_issues(run.correction, run.features.X)
    listed = whole.to_table(run.table).to_pydict()
    n_doubtful = len(finding.doubtful)  # labels that nothing changes; they have a file of their own
    assert finding.n_issues == len(whole) and len(issues["row"]) == len(whole) - n_doubtful
    assert finding.n_labels == whole.n_labels and finding.doubt == add_doubt(run.correction, whole.rows)
    order = [i for i in np.argsort(listed["row"]) if listed["row"][i] in set(issues["row"])]
    for name in set(listed) - {"supporting", "opposing"}:
        assert issues[name] == [listed[name][i] for i in order], name
    n_shown = min(50, len(whole))
    assert_array_equal(finding.numbers[finding.issues.rows[:n_shown]], whole.rows[:n_shown])
    return run, learned


@pytest.mark.parametrize("n_classes", [2, 3])
def test_batches_and_files_do_not_matter(tmp_path, n_classes):
    columns = make_columns(3000, n_classes=n_classes, seed=1)
    found = []
    for i, (n_files, group, batch_rows) in enumerate([(1, 3000, 65536), (1, 500, 333), (4, 1000, 1000)]):
        where = write_files(columns, tmp_path / str(i), n_files, group)
        paths = sorted(where.iterdir(), reverse=True)  # nor does the order of the names
        with reading_batches(batch_rows):
            learned, finding, written = correct_in_parts(paths, tmp_path / f"work{i}", pool_size=400)
        noise = learned.learned.rule.noise.matrix.tolist()
        found.append((written, finding.run.tally, noise, finding.issues.rows.tolist()))
    assert found[1] == found[0] and found[2] == found[0]
    given, true = (np.array(columns[name].to_pylist()) for name in ("label", "true"))
    wrong = np.mean(np.array(found[0][0][0]["label"]) != true)
    assert wrong < (0.7 if n_classes == 2 else 1.0) * np.mean(given != true)


def test_missing_labels_are_filled_in_and_listed(tmp_path):
    columns = make_columns(1000)
    labels = columns["label"].to_pylist()
    labels[::50] = [None] * 20
    where = write_files(set_labels(columns, labels), tmp_path / "big")
    for fill in (False, True):
        options = replace(OPTIONS, fill_missing=fill)
        run = run_in_memory(read_table(sorted(where.iterdir()), "label"), options)
        work = tmp_path / f"work {fill}"
        _, finding, (corrected, issues) = correct_in_parts(where, work, options=options)
        assert corrected["label"] == run.correction.labels.tolist()
        assert corrected["label"].count(None) == (0 if fill else 20)
        assert corrected["label_given"] == labels
        assert finding.run.tally == run.tally
        assert issues["action"].count("missing") == 20


def test_merged_labels_are_written_in_one_spelling_and_the_given_ones_as_they_were(tmp_path):
    columns = make_columns(1000)
    labels = columns["label"].to_pylist()
    first = labels[0]
    labels[::10] = [label.upper() if label == first else label for label in labels[::10]]
    assert first.upper() != first and labels.count(first.upper()) < labels.count(first)
    where = write_files(set_labels(columns, labels), tmp_path / "big")
    options = replace(OPTIONS, merge_labels=True)
    table = read_table(sorted(where.iterdir()), "label", merge_labels=True)
    _, finding, (corrected, _) = correct_in_parts(where, tmp_path / "work", options=options)
    assert set(corrected["label"]) == set(table.classes) == {label.lower() for label in set(labels)}
    assert corrected["label"] == run_in_memory(table, options).correction.labels.tolist()
    assert corrected["label_given"] == labels
    assert "Read in another spelling" in finding.run.table_notes[0]


def test_a_class_with_few_rows_in_the_sample_is_left_alone(tmp_path):
    columns = make_columns(2000, wrong=0.0)
    labels = columns["label"].to_pylist()
    labels[::200] = ["rare"] * 10
    where = write_files(set_labels(columns, labels), tmp_path / "big")
    learned, _, (corrected, _) = correct_in_parts(where, tmp_path / "work", pool_size=100)
    assert corrected["label"] == labels
    assert any("in the sample" in note and "'rare' (2 of 10)" in note for note in learned.learned.notes)


def test_labels_keep_their_type(tmp_path):
    columns = make_columns(600)
    codes = [label == "yes" for label in columns["label"].to_pylist()]
    kinds = {
        "text": columns["label"],
        "dictionary": columns["label"].dictionary_encode(),
        "int8": pa.array([int(code) for code in codes], pa.int8()),
        "bool": pa.array(codes),
        "decimal": pa.array([Decimal(code) for code in codes], pa.decimal128(5, 0)),
    }
    tallies = []
    for name, labels in kinds.items():
        where = write_files(set_labels(columns, labels), tmp_path / name)
        _, finding, (corrected, _) = correct_in_parts(where, tmp_path / f"{name}-work")
        tallies.append(finding.run.tally)
        assert corrected["label_given"] == labels.to_pylist()
        written = parquet.read_schema(next((tmp_path / f"{name}-work/corrected").iterdir()))
        assert written.field("label").type == labels.type
    assert all(tally == tallies[0] for tally in tallies) and tallies[0].n_flagged > 20
