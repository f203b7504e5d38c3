"""The public functions for batches: as Spark and Ray call them, with the bits of a run over files."""

import pickle

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from large_tables import OPTIONS, correct_in_parts, make_columns, write_files

from subsvms.exceptions import InputError, TableError
from subsvms.scale import correct_batch, correct_batches, fit_batches

LEARNING = {"exclude": (*OPTIONS.exclude, "number"), "n_estimators": 40, "pool_size": 200}


@pytest.fixture(scope="module")
def table():
    columns = make_columns(1500)
    return columns.append_column("number", pa.array(np.arange(1500)))


def put(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.chunked_array([values]))


@pytest.fixture(scope="module")
def corrector(table):
    """Learned from small batches, and sent elsewhere."""
    corrector = fit_batches(lambda: iter(table.to_batches(max_chunksize=123)), "label", **LEARNING)
    return pickle.loads(pickle.dumps(corrector))


def test_batches_in_any_order_get_the_labels_of_a_run_over_files(corrector, table, tmp_path):
    """Spark's mapInArrow passes an iterator of record batches."""
    where = write_files(table.drop_columns(["number"]), tmp_path / "big")
    corrected = correct_in_parts(where, tmp_path / "work", pool_size=200)[2][0]
    batches = table.to_batches(max_chunksize=700)[::-1]
    found = list(correct_batches(corrector, iter(batches), "number"))
    assert all(isinstance(batch, pa.RecordBatch) for batch in found)
    whole = pa.Table.from_batches(found).sort_by("number")
    for name in ("label", "label_given"):
        assert whole[name].to_pylist() == corrected[name]


def test_lazy_tables_and_files_give_the_bits_of_the_table(corrector, table, tmp_path):
    expected = pa.Table.from_batches(correct_batches(corrector, [table], "number"))
    write_files(table, tmp_path / "big")
    lazy = pl.scan_parquet(tmp_path / "big" / "*.parquet")
    relation = duckdb.read_parquet(f"{tmp_path}/big/*.parquet")
    for where in (lazy, relation, tmp_path / "big", f"{tmp_path}/big/*.parquet"):
        found = fit_batches(where, "label", **LEARNING)
        assert (found.learned.rows == corrector.learned.rows).all()
        corrected = pa.Table.from_batches(correct_batches(found, where, "number"))
        assert corrected.to_pydict() == expected.to_pydict()


def test_a_table_a_record_batch_and_no_rows_at_all_get_the_same_columns(corrector, table):
    """Ray's map_batches passes a table."""
    whole = correct_batch(corrector, table, "number")
    assert whole.num_rows == 1500 and whole.column_names[-3:] == [
        "is_label_issue", "label_quality", "suggested_label"
    ]  # fmt: skip
    one = correct_batch(corrector, table.to_batches(max_chunksize=100)[0], "number")
    assert one.equals(whole.slice(0, 100).combine_chunks())
    assert correct_batch(corrector, table.slice(0, 0), "number").schema.equals(whole.schema)
    assert correct_batch(corrector, table)["label_given"].equals(table["label"])  # without row numbers


def test_a_number_of_another_row_does_not_bring_its_votes(corrector, table):
    added = ["label", "label_quality", "suggested_label"]
    right, unnumbered = (correct_batch(corrector, table, name).select(added) for name in ("number", None))
    shifted = put(table, "number", np.arange(1, 1501))
    assert correct_batch(corrector, shifted, "number").select(added).equals(unnumbered)
    assert not right.equals(unnumbered)  # those that SVMs were trained on
    numbers = np.where(np.arange(1500) < 700, np.arange(1500), -5)
    mixed = correct_batch(corrector, put(table, "number", numbers), "number").select(added)
    assert mixed.slice(0, 700).equals(right.slice(0, 700))
    assert mixed.slice(700).equals(unnumbered.slice(700))


def test_batches_of_views_and_without_values_are_those_of_plain_columns(corrector, table):
    """Chunks of a CSV file have a column without a type where all its cells are empty."""
    views = put(table, "label", table["label"].combine_chunks().cast(pa.string_view()))
    found = fit_batches(lambda: views.to_batches(max_chunksize=300), "label", **LEARNING)
    assert (found.learned.votes.counts == corrector.learned.votes.counts).all()
    same, expected = correct_batch(found, views, "number"), correct_batch(corrector, table, "number")
    assert same.to_pydict() == expected.to_pydict()
    some = pa.array(np.where(np.arange(1500) < 300, np.nan, np.arange(1500)), from_pandas=True)
    whole, batches = table.append_column("some", some), []
    for batch in whole.to_batches(max_chunksize=300):
        empty = batch["some"].null_count == 300
        batches.append(batch.set_column(batch.num_columns - 1, "some", pa.nulls(300)) if empty else batch)
    ours, theirs = (fit_batches(one.copy, "label", **LEARNING) for one in (batches, [whole]))
    assert (ours.learned.votes.counts == theirs.learned.votes.counts).all()


def test_labels_of_categories_keep_their_entries(table):
    codes = pa.array(np.where(np.array(table["label"].to_pylist()) == "yes", 7, 3))
    entries = pa.array([3, 7, 9])
    labels = pa.DictionaryArray.from_arrays(np.searchsorted([3, 7], codes).astype(np.int8), entries)
    coded, plain = (put(table, "label", one) for one in (labels, codes))
    found, expected = (
        correct_batch(fit_batches(lambda part=part: [part], "label", **LEARNING), part, "number")
        for part in (coded, plain)
    )
    assert found["label"].type == labels.type and found.to_pydict() == expected.to_pydict()
    assert found["label"].to_pylist() != codes.to_pylist()
    assert found["label"].chunk(0).dictionary.equals(entries)


@pytest.mark.parametrize(("batches", "options", "message"), [
    (lambda table: table.to_batches(), {}, "must be a function"),
    (lambda table: pl.from_arrow(table), {}, "got DataFrame: write .*, or frame.lazy()"),
    (lambda table: lambda: table, {}, "put a single table into a list"),
    (lambda table: lambda: [1], {}, "its first item is int"),
    (lambda table: lambda: [], {}, "at least one batch"),
    (lambda table: iter(table.to_batches()).__iter__, {}, "can be read only once"),
    (lambda table: duckdb.sql("select 1 as label where false"), {}, "at least one batch"),
    (lambda table: pl.from_arrow(table).lazy(), {"label": "lable"}, "no column 'lable'"),
    (lambda table: "none.parquet", {}, "There is no file 'none.parquet'"),
    (lambda table: lambda: [table, put(table, "x0", pa.array(["a"] * 1500))], {},
     "A batch of the table does not match the first: column 1 is 'x0' of string, not 'x0' of double;"),
    (lambda table: lambda: [table], {"label": "lable"}, "no column 'lable'"),
    (lambda table: lambda: [table], {"max_error_rate": 0.1}, "needs all rows at once"),
    (lambda table: lambda: [table], {"min_confidence": 2.0}, "^min_confidence must be at least 0"),
    (lambda table: lambda: [table], {"n_estimators": 0}, "^n_estimators must be a whole number"),
])  # fmt: skip
def test_batches_that_cannot_be_fitted_are_refused(table, batches, options, message):
    with pytest.raises((InputError, TableError), match=message):
        fit_batches(batches(table), **{"label": "label"} | options)


def test_batches_that_cannot_be_corrected_are_refused(corrector, table):
    text, halves, holes = pa.array(["a", None] * 750), pa.array([0.5] * 1500), pa.array([None, *range(1499)])
    for batch, number, message in (
        (table, "nr", "no column 'nr'"),
        (table.to_pandas(), None, "pyarrow Table or RecordBatch; got DataFrame"),
        (put(table, "number", text), "number", "of each row in the table, from 0; it is of type string"),
        (put(table, "number", halves), "number", "it is of type double"),
        (put(table, "number", holes), "number", "some are missing"),
        (put(table, "x0", text), None, "'x0' holds text without a number, but the corrector learned"),
    ):
        with pytest.raises(InputError, match=message):
            correct_batch(corrector, batch, number)
