"""A table in parts: the same bits as in memory, in any batches, in any order, and with fewer votes."""

import pickle
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from large_tables import correct_in_parts, make_columns, write_files
from numpy.testing import assert_array_equal
from pyarrow import parquet

from subsvms.app.large.early_exit import Exits
from subsvms.app.large.sources import open_source
from subsvms.app.runs.issues import find_issues
from subsvms.app.runs.options import Options
from subsvms.app.runs.run import correct_table
from subsvms.app.tables.table import read_table
from subsvms.correction._rule import find_posterior
from subsvms.ensemble._votes import Votes
from subsvms.exceptions import InputError, TableError
from subsvms.scale import correct_batch, correct_batches, fit_batches

OPTIONS = Options("label", exclude=("true",), n_estimators=100)


@pytest.fixture(scope="module")
def columns():
    return make_columns(4000)


@pytest.fixture(scope="module")
def folder(columns, tmp_path_factory):
    return write_files(columns, tmp_path_factory.mktemp("large") / "big")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"rule": "majority"},
        {"max_error_rate": 0.03},
        {"rule": "majority", "max_error_rate": 0.05},
        {"max_error_rate": 0.0},
        {"action": "drop"},
        {"action": "weight"},
        {"action": "review"},
        {"by": ("colour", "city")},
        {"min_confidence": 0.9},
    ],
    ids=lambda changes: " ".join(f"{key}={value}" for key, value in changes.items()) or "default",
)
def test_what_fits_into_the_pool_is_judged_as_in_memory(columns, folder, tmp_path, changes):
    options = replace(OPTIONS, **changes)
    run = correct_table(read_table(sorted(folder.iterdir()), "label"), options)
    learned, finding, (corrected, issues) = correct_in_parts(folder, tmp_path, options)
    kept = run.correction.kept
    assert corrected["label"] == run.correction.labels[kept].tolist()
    assert corrected["label_given"] == run.table.labels[kept].tolist()
    if options.action == "weight":
        assert corrected["sample_weight"] == run.correction.sample_weight.round(4).tolist()
    assert finding.run.tally == run.tally
    assert_array_equal(learned.corrector.rule.noise.matrix, run.correction.noise.matrix)
    assert_array_equal(learned.corrector.rule.noise.rate_interval, run.correction.noise.rate_interval)
    whole = find_issues(run.correction, run.features.X)
    listed = whole.to_columns()
    order = np.argsort(listed["row"])
    n_doubtful = len(finding.doubtful)
    assert finding.n_issues == len(whole) and len(issues["row"]) == len(whole) - n_doubtful
    if n_doubtful == 0:
        for name in set(listed) - {"supporting", "opposing"}:
            assert issues[name] == [listed[name][i] for i in order], name
    n_shown = min(50, len(whole))
    assert_array_equal(finding.numbers[:n_shown], whole.rows[:n_shown])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_batches_and_files_do_not_matter(tmp_path, n_classes):
    columns = make_columns(6000, n_classes=n_classes, seed=1)
    found = []
    for i, (n_files, group, batch_rows) in enumerate([(1, 6000, 65536), (1, 500, 333), (4, 1000, 1000)]):
        where = write_files(columns, tmp_path / str(i), n_files, group)
        learned, finding, written = correct_in_parts(
            where, tmp_path / f"work{i}", OPTIONS, pool_size=600, batch_rows=batch_rows
        )
        found.append(
            (written, finding.run.tally, learned.corrector.rule.noise.matrix.tolist(), finding.numbers)
        )
    for other in found[1:]:
        assert other[:3] == found[0][:3]
        assert_array_equal(other[3], found[0][3])
    changed = np.array(found[0][0][0]["label"]) != np.array(columns["label"].to_pylist())
    assert changed.sum() < 1200 and (n_classes > 2 or changed.sum() > 100)


def test_files_may_be_named_in_any_order(folder, tmp_path):
    paths = sorted(folder.iterdir())
    one = correct_in_parts(paths, tmp_path / "a", pool_size=500)[2]
    assert correct_in_parts(paths[::-1], tmp_path / "b", pool_size=500)[2] == one


def test_a_pool_leaves_hardly_more_wrong_labels(columns, folder, tmp_path):
    true = np.array(columns["true"].to_pylist())
    wrong = {
        size: np.mean(
            np.array(correct_in_parts(folder, tmp_path / str(size), pool_size=size)[2][0]["label"]) != true
        )
        for size in (500, 10_000)
    }
    given = np.mean(np.array(columns["label"].to_pylist()) != true)
    assert wrong[10_000] < given / 2 and wrong[500] < given * 0.7


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("rule", ["posterior", "majority"])
@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_exact_exits_change_no_bit(tmp_path, kernel, rule, wrong):
    where = write_files(make_columns(4000, wrong=wrong, seed=2), tmp_path / "big")
    options = replace(OPTIONS, kernel=kernel, rule=rule)
    results = []
    for i, stages in enumerate([(1.0,), (0.5, 0.75, 1.0)]):
        learned, finding, written = correct_in_parts(
            where, tmp_path / str(i), options, pool_size=400, stages=stages
        )
        assert (learned.corrector.exits is None) == (len(stages) == 1)
        results.append((written, finding.run.tally, finding.doubtful.to_pydict(), finding.numbers.tolist()))
    assert results[0] == results[1]
    assert (len(results[0][2]["row"]) > 0) == (wrong == 0.0 and rule == "posterior")


def test_exits_spare_votes_and_confident_ones_more(tmp_path):
    where = write_files(make_columns(4000, seed=3), tmp_path / "big")
    source = open_source(where, "label")
    batch = next(source.read(source.units[0]))[1]
    asked = {}
    for confidence in (None, 0.999):
        options = replace(OPTIONS, early_exit=confidence)
        learned, *_ = correct_in_parts(
            where, tmp_path / str(confidence), options, pool_size=400, stages=(0.2, 0.5, 1.0)
        )
        corrector = learned.corrector
        given = corrector.labels.read(batch)
        rows = np.arange(len(given))
        some = corrector.count_votes(batch, rows, given, early=True)
        every = corrector.count_votes(batch, rows, given)
        whole = some.n_voters > 0
        asked[confidence] = whole.mean()
        for name in ("counts", "sums", "n_voters"):
            assert_array_equal(getattr(some, name)[whole], getattr(every, name)[whole])
        plain = corrector.conclude(given, every, rows)
        assert not (plain.flagged | plain.held_back)[~whole].any()
    assert asked[0.999] < asked[None] < 0.9


def test_more_than_two_classes_are_asked_about_wholly(tmp_path):
    where = write_files(make_columns(2000, n_classes=3), tmp_path / "big")
    assert correct_in_parts(where, tmp_path / "w", stages=(0.5, 1.0))[0].corrector.exits is None


def test_a_row_gets_the_same_bits_alone(folder, tmp_path):
    learned, *_ = correct_in_parts(folder, tmp_path, pool_size=300)
    corrector = learned.corrector
    columns = pa.concat_tables([parquet.read_table(path) for path in sorted(folder.iterdir())])
    rows = np.arange(len(columns))
    whole = corrector.judge(columns, rows, n_jobs=2)
    for row in (0, 17, 3999, int(corrector.pool_rows[5])):
        alone = corrector.judge(columns.slice(row, 1), rows[row : row + 1])
        assert_array_equal(alone.judgement.posterior[0], whole.judgement.posterior[row])
        assert alone.withstands[0] == whole.withstands[row]
        assert alone.votes.n_voters[0] == whole.votes.n_voters[row]
    assert np.mean(whole.votes.n_voters[corrector.pool_rows] < 100) > 0.99  # those SVMs did not see them


def test_the_signatures_of_other_engines(folder, tmp_path):
    """Spark's mapInArrow hands over an iterator of record batches, Ray's map_batches a table."""
    learned, _, (corrected, _) = correct_in_parts(folder, tmp_path, pool_size=300)
    columns = pa.concat_tables([parquet.read_table(path) for path in sorted(folder.iterdir())])
    numbered = columns.append_column("number", pa.array(np.arange(len(columns))))
    answer = correct_batches(learned.corrector, iter(numbered.to_batches(max_chunksize=700)), "number")
    batches = list(answer)
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
    table = pa.Table.from_batches(batches)
    assert table["label"].to_pylist() == corrected["label"]
    assert correct_batch(learned.corrector, numbered, "number").equals(table.combine_chunks())
    without = correct_batch(learned.corrector, columns)
    assert without.num_rows == len(columns) and "label_given" in without.column_names


def test_a_label_that_was_never_counted_is_refused(folder, tmp_path):
    learned, *_ = correct_in_parts(folder, tmp_path, pool_size=300)
    with pytest.raises(TableError, match="'perhaps' was not in the table"):
        learned.corrector.labels.read(pa.table({"label": ["no", "perhaps"]}))


def test_missing_labels_are_filled_in_and_listed(tmp_path):
    columns = make_columns(3000)
    labels = columns["label"].to_pylist()
    for row in range(0, 3000, 50):
        labels[row] = None
    place = columns.column_names.index("label")
    where = write_files(columns.set_column(place, "label", pa.array(labels)), tmp_path / "big")
    run = correct_table(read_table(sorted(where.iterdir()), "label"), OPTIONS)
    _, finding, (corrected, issues) = correct_in_parts(where, tmp_path / "w")
    assert corrected["label"] == run.correction.labels.tolist() and None not in corrected["label"]
    assert corrected["label_given"] == labels
    assert finding.run.tally == run.tally
    assert issues["action"].count("missing") == 60


@pytest.mark.parametrize("n_classes", [2, 4])
def test_batches_of_one_row_change_no_bit(tmp_path, n_classes):
    """Sums must not be added up in an order that depends on how many rows there are."""
    where = write_files(make_columns(900, n_classes=n_classes, wrong=0.2), tmp_path / "big", n_files=1)
    learned, *_ = correct_in_parts(where, tmp_path / "w", pool_size=200)
    columns = parquet.read_table(where)
    rows = np.arange(len(columns))
    whole = learned.corrector.judge(columns, rows)
    for row in range(0, 900, 3):
        alone = learned.corrector.judge(columns.slice(row, 1), rows[row : row + 1])
        for name in ("posterior", "quality", "score"):
            assert_array_equal(getattr(alone.judgement, name)[0], getattr(whole.judgement, name)[row])
        assert_array_equal(alone.votes.sums[0], whole.votes.sums[row])


def test_a_posterior_of_many_classes_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(0)
    matrix = 0.7 * np.eye(40) + 0.3 / 40
    eta, given = rng.dirichlet(np.ones(40), 300), rng.integers(0, 40, 300)
    whole = find_posterior(eta, matrix, given)
    for size in (1, 2, 7, 64):
        parts = [find_posterior(eta[i : i + size], matrix, given[i : i + size]) for i in range(0, 300, size)]
        assert_array_equal(np.concatenate(parts), whole)


def test_a_class_that_the_sample_hardly_has_is_left_alone(tmp_path):
    columns = make_columns(6000, wrong=0.0)
    labels = columns["label"].to_pylist()
    for row in range(0, 6000, 400):
        labels[row] = "rare"
    place = columns.column_names.index("label")
    where = write_files(columns.set_column(place, "label", pa.array(labels)), tmp_path / "big")
    learned, finding, (corrected, _) = correct_in_parts(where, tmp_path / "w", pool_size=300)
    assert corrected["label"] == labels
    assert any("'rare' has 15 labelled rows, of which the sample" in note for note in learned.notes)


def test_minus_zero_is_zero(tmp_path):
    columns = make_columns(600)
    zeros = (0.0, -0.0)
    labels = columns["label"].to_pylist()
    values = [1.0 if label == "yes" else zeros[i % 2] for i, label in enumerate(labels)]
    place = columns.column_names.index("label")
    where = write_files(columns.set_column(place, "label", pa.array(values)), tmp_path / "big")
    learned, finding, _ = correct_in_parts(where, tmp_path / "w")
    assert sum(finding.run.tally.given) == 600 and len(learned.corrector.labels.classes) == 2


@pytest.mark.parametrize("kind", ["dictionary", "int8", "bool", "decimal"])
def test_labels_keep_their_type(tmp_path, kind):
    columns = make_columns(1500)
    codes = [label == "yes" for label in columns["label"].to_pylist()]
    made = {
        "dictionary": lambda: columns["label"].dictionary_encode(),
        "int8": lambda: pa.array([int(code) for code in codes], pa.int8()),
        "bool": lambda: pa.array(codes),
        "decimal": lambda: pa.array([Decimal(code) for code in codes], pa.decimal128(5, 0)),
    }[kind]()
    place = columns.column_names.index("label")
    where = write_files(columns.set_column(place, "label", made), tmp_path / "big")
    _, finding, (corrected, _) = correct_in_parts(where, tmp_path / "w")
    run = correct_table(read_table(sorted(where.iterdir()), "label"), OPTIONS)
    assert finding.run.tally == run.tally and finding.run.tally.n_flagged > 50
    assert [str(value) for value in corrected["label_given"]] == [str(value) for value in run.table.labels]
    written = parquet.read_schema(next((tmp_path / "w/corrected").iterdir())).field("label").type
    assert written == made.type


def test_any_program_can_hand_over_batches(folder, tmp_path):
    """The bits are those of a run over the files, however batches are cut, after a journey as a pickle."""
    columns = pa.concat_tables([parquet.read_table(path) for path in sorted(folder.iterdir())])
    numbered = columns.append_column("number", pa.array(np.arange(len(columns))))
    corrected = correct_in_parts(folder, tmp_path, replace(OPTIONS, pool_size=300), pool_size=300)[2][0]
    for cut in (4000, 123):
        batches = numbered.to_batches(max_chunksize=cut)
        corrector = fit_batches(
            lambda batches=batches: iter(batches),
            "label",
            exclude=("true", "number"),
            n_estimators=100,
            pool_size=300,
        )
        corrector = pickle.loads(pickle.dumps(corrector))
        table = pa.Table.from_batches(correct_batches(corrector, batches[::-1], "number")).sort_by("number")
        assert table["label"].to_pylist() == corrected["label"]
    one = correct_batch(corrector, batches[0], "number")  # a record batch, too
    assert one["label"].to_pylist() == table["label"].to_pylist()[: len(one)]
    with pytest.raises(TableError, match="no column 'lable'"):
        fit_batches(lambda: iter(batches), "lable")
    once = iter(batches)
    with pytest.raises(InputError, match="can be read only once"):
        fit_batches(lambda: once, "label")
    with pytest.raises(InputError, match="must be a function"):
        fit_batches(batches, "label")
    with pytest.raises(InputError, match="no column 'nr'"):
        correct_batch(corrector, batches[0], "nr")
    with pytest.raises(InputError, match="pyarrow Table or RecordBatch; got DataFrame"):
        correct_batch(corrector, batches[0].to_pandas())


def test_the_limit_of_a_confident_exit_holds_as_often_as_it_says():
    """The mean of all SVMs is below the limit that the first m give in at most a share delta of cases."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random((4000, 200)) < 0.5, 1.0, -1.0)  # as far apart as values can be
    for m, delta in ((10, 0.2), (50, 0.1), (120, 0.3)):
        exits = Exits((), 200, -np.inf, delta)
        first, wins = values[:, :m].sum(axis=1), (values[:, :m] > 0).sum(axis=1)
        votes = Votes(np.stack([m - wins, wins], 1), np.stack([-first, first], 1), np.full(4000, m))
        worst = exits.at_worst(votes, np.ones(4000, dtype=int))
        assert np.mean(values.mean(axis=1) < worst.mean_value[:, 1]) <= delta
        assert np.mean((values > 0).mean(axis=1) < worst.share[:, 1]) <= delta
        exact = Exits((), 200, -np.inf, None).at_worst(votes, np.ones(4000, dtype=int))
        assert np.all(values.mean(axis=1) >= exact.mean_value[:, 1])
        assert np.all((values > 0).mean(axis=1) >= exact.share[:, 1])
