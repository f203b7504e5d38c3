"""The whole job in parts, as a person runs it: the folder, continuing after a stop, and mistakes."""

import json
import os
import shutil
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from ensemble.emulated_gpu import COMPILER, EmulatedGPU, emulate
from filelock import FileLock
from large_tables import make_columns, read_files, set_labels, write_files
from loans import call, refuse
from nasty_texts import assert_refused
from pyarrow import parquet

from subsvms._effort import listening
from subsvms.app.names import UNDER_WAY
from subsvms.app.options import Options, Work
from subsvms.app.runs import issues, job, judge, outputs
from subsvms.app.runs.job import fits_in_memory
from subsvms.app.runs.record import read_record
from subsvms.app.tables.files import digest_file
from subsvms.ensemble import _device
from subsvms.exceptions import TableError

N = 1200  # rows, in three files
OPTIONS = Options("label", exclude=("true", "city"), n_estimators=40, pool_size=400)
COMMON = ["--label", "label", "--exclude", "true", "--exclude", "city", "--svms", "40", "--pool-size", "400"]


def do_job_in_parts(*where, **more):
    return job.do_job(*where, Work(**{"engine": "local", "n_jobs": 1} | more))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run, beside its table, the folder big: not to be changed."""
    place = tmp_path_factory.mktemp("finished")
    big = write_files(make_columns(N), place / "big")
    words = ("correct", str(big / "*.parquet"), *COMMON, "--engine", "local", "--save-model", place / "model")
    (place / "output.txt").write_text(call(*words).output)
    return place / "big.subsvms"


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of the table."""
    return shutil.copytree(finished.with_name("big"), tmp_path / "big")


def test_a_folder_of_files_becomes_a_folder_of_parts(finished, tmp_path):
    names = ["big", "big.subsvms", "model", "output.txt"]
    assert sorted(path.name for path in finished.parent.iterdir()) == names
    names = ["corrected", "issues", "issues.csv", "issues.parquet", "report.html", "run.json", "scores"]
    assert sorted(path.name for path in finished.iterdir()) == names
    columns, corrected = make_columns(N), parquet.read_table(finished / "corrected")
    assert parquet.read_table(finished.with_name("big")).equals(columns)
    assert corrected["label_given"].to_pylist() == columns["label"].to_pylist()
    assert corrected.column_names == [
        *columns.column_names[:7], "label_given", *columns.column_names[7:]
    ]  # fmt: skip
    for name in ("x0", "city", "true"):
        assert corrected[name].equals(columns[name])
    true = np.array(columns["true"].to_pylist())
    wrong = np.mean(np.array(corrected["label"].to_pylist()) != true)
    assert wrong < 0.7 * np.mean(np.array(columns["label"].to_pylist()) != true)
    record = read_record(finished)
    assert record.options == OPTIONS and record.found.rows == N
    assert set(record.digests) == {"report.html", *read_files(finished)}
    assert all(digest_file(finished / name) == digest for name, digest in record.digests.items())
    page, output = (finished / "report.html").read_text(), finished.with_name("output.txt").read_text()
    assert f"{N:,}" in page and "rows that SVMs are trained on" in page
    assert "subsvms review" in output and "corrected/" in output
    one = finished.with_name("big") / "0.parquet"
    call("predict", finished.with_name("model"), one, "--output", tmp_path / "p.parquet")
    assert len(parquet.read_table(tmp_path / "p.parquet")) == N // 3


@pytest.mark.parametrize("changes", [{}, {"max_error_rate": 0.03, "id_column": "x3", "n_estimators": None}])
def test_issues_and_scores_are_those_of_a_run_in_memory(folder, tmp_path, changes):
    """With rows to compare with, and with the labels that carry the suggestions."""
    options = replace(OPTIONS, pool_size=None, **changes)
    job.do_job([str(path) for path in sorted(folder.iterdir())], options, Work(output=tmp_path / "memory"))
    do_job_in_parts(str(folder), options, output=tmp_path / "parts")
    for name in ("issues.csv", "issues.parquet"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
    scores = parquet.read_table(tmp_path / "parts/scores")
    assert scores.equals(parquet.read_table(tmp_path / "memory/scores.parquet"))
    stored = parquet.read_metadata(tmp_path / "parts/scores/part-000000.parquet").row_group(0).column(3)
    assert stored.encodings[-1] == "BYTE_STREAM_SPLIT" and not stored.is_stats_set  # small, soon written
    records = [json.loads((tmp_path / name / "run.json").read_text()) for name in ("parts", "memory")]
    share, again = (record["found"]["contradicted_share"] for record in records)
    assert share == again == np.mean(scores["contradicted"])
    listed = parquet.read_table(tmp_path / "parts/issues.parquet")
    assert listed["flips"].null_count < len(listed) and all(listed["supporting"].to_pylist())


def test_the_worst_issues_are_listed_with_rows_to_compare_with(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "LARGEST_LIST", 55)
    monkeypatch.setattr(outputs, "MOST_LISTED", 60)
    monkeypatch.setattr(issues, "WAITING", 1)  # the worst are chosen several times
    do_job_in_parts(str(folder), replace(OPTIONS, pool_size=100), output=tmp_path / "x")
    listed = parquet.read_table(tmp_path / "x/issues.parquet")
    everything = parquet.read_table(tmp_path / "x/issues").to_pandas()
    everything["kind"] = ~everything["is_label_issue"]
    wanted = everything.sort_values(["kind", "label_quality", "row"])["row"].tolist()
    assert len(wanted) > len(listed) == 60 and set(listed["row"].to_pylist()) == set(wanted[:60])
    compared = [len(rows) for rows in listed["supporting"].to_pylist()]
    assert compared == [3] * 55 + [0] * 5 and "flips" not in listed.column_names
    assert len((tmp_path / "x/issues.csv").read_text().splitlines()) == 61
    quality = listed["label_quality"].to_numpy()[listed["is_label_issue"].to_numpy()]
    assert np.all(np.diff(quality) >= 0)


def test_a_record_repeats_the_run_to_the_byte(finished, folder, tmp_path):
    copied = shutil.copytree(finished, tmp_path / "one")
    call("correct", "--from", copied, "--output", tmp_path / "two", "--threads", "1")
    assert read_files(tmp_path / "two") == read_files(finished)
    parquet.write_table(make_columns(500, seed=9), folder / "0.parquet")
    refuse("has changed since that run", "correct", "--from", copied, "--output", tmp_path / "three")
    assert not (tmp_path / "three").exists()


def test_partitions_are_kept_when_a_run_is_repeated(tmp_path):
    columns = make_columns(N).append_column("year", pa.array(np.repeat(2024, N)))
    parquet.write_to_dataset(columns, tmp_path / "big", partition_cols=["year"])
    call("correct", tmp_path / "big", *COMMON)  # a folder is always read in parts
    assert set(parquet.read_table(tmp_path / "big.subsvms/corrected")["year"].to_pylist()) == {2024}
    call("correct", "--from", tmp_path / "big.subsvms", "--output", tmp_path / "again")
    assert read_files(tmp_path / "big.subsvms") == read_files(tmp_path / "again")


def test_an_earlier_result_is_replaced_only_by_force_and_a_dry_run_writes_nothing(finished, folder, tmp_path):
    arguments = ["correct", folder, *COMMON]
    dry = call(*arguments, "--dry-run", "--json")
    assert [path.name for path in tmp_path.iterdir()] == ["big"]
    made = shutil.copytree(finished, tmp_path / "big.subsvms")
    refuse("holds the result of an earlier run", *arguments)
    (made / "report.html").unlink()
    forced = call(*arguments, "--force", "--json")
    assert (made / "report.html").is_file()
    counts = [json.loads(done.stdout)["flagged"] for done in (dry, forced)]
    assert counts[0] == counts[1] > 25


@pytest.mark.parametrize(("arguments", "message"), [
    (["--engine", "spark"], "--engine must be one of memory, local, dask; got 'spark'"),
    (["--engine", "local", "--scheduler", "tcp://x:1"], "--scheduler is the address of a Dask scheduler"),
    (["--pool-size", "5"], "--pool-size must be"),
    (["--engine", "memory", "--pool-size", "500"], "--pool-size is for work in parts"),
    (["--engine", "local", "--features", "x.npy"], "--features cannot be read in parts"),
    (["--engine", "local", "--exclude", "nothing"], "'nothing', which is not a column"),
    (["--engine", "local", "--by", "citty"], "did you mean 'city'"),
    (["--engine", "local", "--label", "x0"], "looks like a quantity"),
    (["--engine", "local", "--label", "none"], "no column 'none'"),
    (["--output", "/proc/out"], "'/proc/out' could not be written"),
    (["--engine", "local", "--output", "."], "holds files that do not belong to a run"),
    (["--engine", "local", "--output", "/"], "holds files that do not belong to a run"),
    (["--engine", "dask", "--scheduler", "nonsense"], "must be an address such as tcp://"),
    (["--engine", "local", "--label", "one"], "holds only one class"),
    (["--engine", "local", "--only", "label"], "which is the label"),
    (["--engine", "local", "--only", "one"], "no column to learn from"),
    (["--engine", "local", "--subset-size", "100000"], "between 2 and the number of rows"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["big", "big.csv"])
def test_a_mistake_gets_a_sentence_and_leaves_nothing(tmp_path, name, arguments, message):
    columns = make_columns(300).append_column("one", pa.array(["same"] * 300))
    where = tmp_path / name
    write_files(columns, where) if name == "big" else columns.to_pandas().to_csv(where, index=False)
    excluded = [] if "--only" in arguments else ["--exclude", "true"]
    refuse(message, "correct", where, "--label", "label", *excluded, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_disk_that_is_full_while_text_is_copied_is_not_blamed_on_the_text(tmp_path, monkeypatch):
    def fill_up(*args, **options):
        raise OSError(28, "[Errno 28] Error writing bytes to file. Detail: No space left on device")

    make_columns(300).to_pandas().to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(parquet.ParquetWriter, "write_table", fill_up)
    sentence = "t.subsvms' could not be written (No space left on device)"
    refuse(sentence, "correct", tmp_path / "t.csv", *COMMON)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_all_that_a_run_in_parts_writes_is_known_by_its_name(folder, tmp_path, monkeypatch):
    """At any moment, so that a folder that was left can be continued or emptied."""
    seen = set()

    def look(*args):
        for place in tmp_path.glob("*.unfinished"):
            seen.update(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())

    def replace_file(*args):
        look()
        real(*args)
        look()

    real = os.replace
    monkeypatch.setattr(os, "replace", replace_file)
    with listening(look):
        do_job_in_parts(str(folder), replace(OPTIONS, max_error_rate=0.05), output=tmp_path / "x")
        columns = make_columns(300)
        columns.to_pandas().to_csv(tmp_path / "t.csv", index=False)
        do_job_in_parts(str(tmp_path / "t.csv"), OPTIONS, output=tmp_path / "y")
    assert len(seen) > 20 and [name for name in seen if not UNDER_WAY.fullmatch(name)] == []
    corrected = parquet.read_table(tmp_path / "y/corrected")  # text is corrected as Parquet is
    assert corrected["label_given"].to_pylist() == columns["label"].to_pylist()
    assert not list(tmp_path.glob("**/input"))


def test_what_cannot_be_read_in_pieces_is_refused(folder, tmp_path):
    refuse("is inside the folder that is read", "correct", folder, *COMMON, "--output", folder / "out")
    (tmp_path / "t.jsonl").write_text('{"a": 1, "label": "x"}\n')
    words = ("correct", tmp_path / "t.jsonl", "--label", "label", "--engine", "local")
    refuse("cannot be read in pieces", *words)
    assert_refused("cannot be read twice", do_job_in_parts, "-", OPTIONS)


def test_parts_are_chosen_when_the_table_does_not_fit(folder, tmp_path, monkeypatch):
    where = str(folder / "0.parquet")
    assert fits_in_memory(where, None) and fits_in_memory("-", None) and not fits_in_memory(str(folder), None)
    monkeypatch.setattr(job, "measure_free_memory", lambda: 1000.0)
    assert not fits_in_memory(where, None)
    call("correct", where, *COMMON[:-2])
    assert (folder / "0.subsvms/corrected").is_dir()


def damage(path, group):
    """Make a row group unreadable, but not the footer."""
    column = parquet.ParquetFile(path).metadata.row_group(group).column(0)
    data = bytearray(path.read_bytes())
    start = column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)


def test_a_batch_that_cannot_be_read_is_named_and_nothing_is_left_half_written(tmp_path):
    folder = write_files(make_columns(N), tmp_path / "big", row_group_size=125)
    damage(folder / "1.parquet", 2)
    refuse("1.parquet', row groups 0, 1, 2, 3 cannot be read", "correct", folder, *COMMON)
    assert [path.name for path in tmp_path.iterdir()] == ["big"]


def test_a_run_that_failed_continues_where_it_stopped(finished, folder, tmp_path, monkeypatch):
    done, failing = [], True

    def do_part(work, unit):
        if failing and unit.number == 1:
            raise TableError("The disk is gone.")
        done.append(unit.number)
        return real(work, unit)

    real = judge.do_part
    monkeypatch.setattr(judge, "do_part", do_part)
    assert_refused("The disk is gone", do_job_in_parts, str(folder), OPTIONS, output=tmp_path / "x")
    unfinished = tmp_path / "x.unfinished"
    assert 0 in done and 1 not in done and (unfinished / "corrected/part-000000.parquet").is_file()
    assert not list(unfinished.glob("corrected/.*"))
    failing = False
    monkeypatch.setattr("subsvms.app.runs.learn.survey_source", None)  # the first pass is not done again
    stages = []
    with listening(lambda stage, *_: stages.append(stage)):
        do_job_in_parts(str(folder), OPTIONS, output=tmp_path / "x")
    assert any("parts were done before" in stage for stage in stages)
    assert sorted(done) == [0, 1, 2] and not unfinished.exists()
    assert read_files(tmp_path / "x") == read_files(finished)


@pytest.mark.parametrize(("device", "expected"), [("cpu", False), ("auto", True)])
def test_threads_are_those_that_feed_a_gpu_if_there_is_one(folder, monkeypatch, device, expected):
    open_engine, asked = job.open_engine, []

    def note(*words, gpu, **more):
        asked.append(gpu)
        return open_engine(*words, gpu=gpu, **more)

    monkeypatch.setattr(job, "count_gpus", lambda: 1)
    monkeypatch.setattr(job, "open_engine", note)
    do_job_in_parts(str(folder), OPTIONS, engine="local", device=device, dry_run=True)
    assert asked == [expected]


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
@pytest.mark.slow
def test_a_run_whose_gpu_is_lost_continues_where_it_stopped(folder, tmp_path, monkeypatch):
    gpu, real, done, failing = EmulatedGPU(tmp_path), judge.do_part, [], True
    emulate(monkeypatch, gpu)

    def do_part(work, unit):
        gpu.lost = gpu.lost or (unit.number == 1 and failing)
        part = real(work, unit)
        done.append(unit.number)
        return part

    monkeypatch.setattr(judge, "do_part", do_part)
    less = ["--pool-size", "100", "--threads", "1"]  # so that the sample is not the whole table
    arguments = ["correct", folder, *COMMON, *less, "--output", tmp_path / "x", "--device"]
    unfinished = tmp_path / "x.unfinished"
    message = call(*arguments, "cuda", code=2).output.splitlines()[-1]
    assert "The GPU failed (cudaErrorDeviceUninitialized" in message
    assert f"kept in {str(unfinished)!r}, and the same command continues from there" in message
    assert done == [0] and (unfinished / "corrected/part-000000.parquet").is_file()
    monkeypatch.setattr(_device, "count_gpus", lambda: 0)
    refuse("there is no GPU with CUDA here", *arguments, "cuda")
    assert (unfinished / "corrected/part-000000.parquet").is_file()
    monkeypatch.setattr(_device, "count_gpus", lambda: 1)
    gpu.lost = failing = False
    call(*arguments, "cuda")
    assert sorted(done) == [0, 1, 2]
    call("correct", folder, *COMMON, *less, "--output", tmp_path / "cpu")
    assert read_files(tmp_path / "x") == read_files(tmp_path / "cpu")


def test_stopped_by_a_key_it_says_what_is_kept(folder, tmp_path, monkeypatch):
    def do_part(work, unit):
        raise KeyboardInterrupt

    monkeypatch.setattr("subsvms.app.runs.judge.do_part", do_part)
    said = call("correct", folder, *COMMON, "--output", tmp_path / "x", code=130).output
    assert "the same command continues from there" in " ".join(said.split())
    assert (tmp_path / "x.unfinished").is_dir()
    said = call("correct", folder, *COMMON, "--output", tmp_path / "y", "--dry-run", code=130).output
    assert said.endswith("subsvms: stopped.\n")
    assert not list(tmp_path.glob("y*"))


def leave_unfinished(folder, options, output):
    """Stop a run at its first part, and return what that part was to be."""
    begun = []

    def do_part(work, unit):
        begun.append((work, unit))
        raise ZeroDivisionError

    with pytest.MonkeyPatch.context() as patched, pytest.raises(ZeroDivisionError):
        patched.setattr(judge, "do_part", do_part)
        do_job_in_parts(str(folder), options, output=output)
    return begun[0]


def test_another_plan_starts_again(finished, folder, tmp_path):
    leave_unfinished(folder, replace(OPTIONS, random_state=3), tmp_path / "x")
    (tmp_path / "x.unfinished/corrected/part-000000.parquet").write_text("of the other plan")
    stages = []
    with listening(lambda stage, *_: stages.append(stage)):
        do_job_in_parts(str(folder), OPTIONS, output=tmp_path / "x")
    assert any(stage.startswith("starting again") for stage in stages)
    assert read_files(tmp_path / "x") == read_files(finished)


@pytest.mark.parametrize("values", [
    pa.array([Decimal(0), Decimal(1)], pa.decimal128(5, 0)), pa.array([2**63 + 5, 2**64 - 1], pa.uint64()),
], ids=["decimal", "beyond int64"])  # fmt: skip
def test_labels_of_any_type_survive_a_stop(tmp_path, values):
    columns = make_columns(1500)
    labels = values.take(pa.array([int(label == "yes") for label in columns["label"].to_pylist()]))
    made = set_labels(columns, labels)
    folder = write_files(made.rename_columns([*made.column_names[:-1], "row"]), tmp_path / "big")
    options = replace(OPTIONS, exclude=("row", "city"))
    leave_unfinished(folder, options, tmp_path / "x")
    do_job_in_parts(str(folder), options, output=tmp_path / "x")
    corrected = parquet.read_table(tmp_path / "x/corrected")
    assert corrected["label_given"].to_pylist() == labels.to_pylist()
    assert corrected["label"].type == values.type
    assert set(corrected["label"].to_pylist()) == set(values.to_pylist())
    assert not (tmp_path / "x/.token").exists() and not (tmp_path / "x/.plan.json").exists()


def test_a_worker_of_an_earlier_run_writes_nothing_into_this_one(folder, tmp_path):
    earlier = leave_unfinished(folder, OPTIONS, tmp_path / "x")
    leave_unfinished(folder, replace(OPTIONS, random_state=3), tmp_path / "x")
    assert_refused("belongs to an earlier run", judge.do_part, *earlier)
    assert not list((tmp_path / "x.unfinished/corrected").iterdir())


def test_a_table_that_changes_while_it_is_read_is_refused(folder, tmp_path, monkeypatch):
    real = judge.do_part

    def do_part(work, unit):
        os.utime(folder / "2.parquet")
        return real(work, unit)

    monkeypatch.setattr(judge, "do_part", do_part)
    with pytest.raises(TableError, match="was changed while it was read"):
        do_job_in_parts(str(folder), OPTIONS, output=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_folder_that_is_in_use_is_left_alone(folder, tmp_path):
    unfinished = tmp_path / "x.unfinished"
    unfinished.mkdir()
    with FileLock(tmp_path / ".x-unfinished.lock"):
        with pytest.raises(TableError, match="is being filled by another run"):
            do_job_in_parts(str(folder), OPTIONS, output=tmp_path / "x")
    assert not list(unfinished.iterdir())
