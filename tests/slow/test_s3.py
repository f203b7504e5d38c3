"""Tables in a bucket give the bytes that they give as files; a server of our own plays the part of S3."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pyarrow as pa
import pytest
from large_tables import make_columns, read_files, write_files
from loans import call
from pyarrow import csv, fs, parquet

from subsvms.app.runs import judge
from subsvms.app.tables import addresses
from subsvms.scale import correct_batches, fit_batches

pytest.importorskip("moto")
pytestmark = pytest.mark.slow

COMMON = ["--label", "label", "--exclude", "true", "--svms", "40"]
SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def start_server():
    """Return a process that serves buckets, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], **log)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            assert process.poll() is None
            time.sleep(0.1)
    return process, f"http://127.0.0.1:{port}"


def stop(process):
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def server():
    process, address = start_server()
    yield address
    stop(process)


@pytest.fixture
def bucket(server, monkeypatch):
    """A file system with an empty bucket named data, which the environment leads to."""
    return open_bucket(server, monkeypatch)


def open_bucket(server, monkeypatch):
    for name, value in (KEYS | {"AWS_ENDPOINT_URL": server}).items():
        monkeypatch.setenv(name, value)
    addresses._open_bucket.cache_clear()
    keys = {"access_key": KEYS["AWS_ACCESS_KEY_ID"], "secret_key": SECRET, "region": KEYS["AWS_REGION"]}
    system = fs.S3FileSystem(endpoint_override=server, allow_bucket_creation=True, **keys)
    system.create_dir("data")
    system.delete_dir_contents("data")
    return system


def copy_to(system, folder):
    fs.copy_files(str(folder), f"data/{folder.name}", fs.LocalFileSystem(), system)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory beside a folder big."""
    write_files(make_columns(3000, seed=6), tmp_path / "here" / "big")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    return tmp_path / "here" / "big"


def test_a_file_in_a_bucket_is_corrected_in_memory_and_again_from_its_record(bucket, folder):
    csv.write_csv(make_columns(400), folder / "t 100%.csv")
    parquet.write_table(make_columns(400), folder / "t.parquet")
    copy_to(bucket, folder)
    for name in ("t 100%.csv", "t.parquet"):
        call("correct", folder / name, *COMMON, "--output", "local.subsvms")
        call("correct", f"s3://data/big/{name}", *COMMON)
        found = Path(f"{name.rpartition('.')[0]}.subsvms")
        assert read_files(found) == read_files("local.subsvms")
        record = json.loads((found / "run.json").read_text())
        assert record["input"]["paths"] == [f"s3://data/big/{name}"]
        call("correct", "--from", found, "--output", "again.subsvms")
        assert read_files("again.subsvms") == read_files("local.subsvms")
        texts = {path: path.read_bytes() for path in found.rglob("*") if path.is_file()}
        assert not [path for path, text in texts.items() if SECRET.encode() in text]
        for place in ("local.subsvms", "again.subsvms", found):
            shutil.rmtree(place)


@pytest.mark.parametrize("engine", ["local", "dask"])
@pytest.mark.filterwarnings("ignore")  # of Dask
def test_a_folder_in_a_bucket_is_corrected_in_parts(bucket, folder, engine):
    for name, year in (("0", 2024), ("1", 2023), ("2", 2024)):
        (folder / f"year={year}").mkdir(exist_ok=True)
        (folder / f"{name}.parquet").rename(folder / f"year={year}" / f"{name}.parquet")
    write_files(make_columns(10), folder / "_old", n_files=1)
    copy_to(bucket, folder)
    call("correct", folder, *COMMON, "--output", "local.subsvms")
    options = [*COMMON, "--engine", engine]
    call("correct", "s3://data/big", *options)
    expected = read_files("local.subsvms")
    assert len(expected) > 4 and read_files("big.subsvms") == expected
    assert {2023, 2024} == set(parquet.read_table("big.subsvms/corrected")["year"].to_pylist())
    call("correct", "s3://data/big/year=*/[02].parquet", *options, "--output", "some.subsvms")
    call("correct", f"{folder}/year=*/[02].parquet", *COMMON, "--engine", "local", "--output", "few.subsvms")
    assert read_files("some.subsvms") == read_files("few.subsvms")
    call("correct", "--from", "big.subsvms", "--engine", engine, "--output", "again.subsvms")
    assert read_files("again.subsvms") == expected


def test_text_in_a_bucket_is_corrected_in_parts(bucket, folder):
    csv.write_csv(make_columns(3000), folder / "t.csv")
    with pa.CompressedOutputStream(str(folder / "u.csv.gz"), "gzip") as file:
        csv.write_csv(make_columns(3000), file)
    with pa.ipc.new_file(folder / "v.arrow", make_columns(1).schema) as file:
        file.write_table(make_columns(3000))
    copy_to(bucket, folder)
    for name in ("t.csv", "u.csv.gz", "v.arrow"):
        call("correct", folder / name, *COMMON, "--engine", "local", "--output", "local.subsvms", "--force")
        call("correct", f"s3://data/big/{name}", *COMMON, "--engine", "local")
        assert read_files(f"{name.partition('.')[0]}.subsvms") == read_files("local.subsvms")


def test_batches_are_learned_from_and_read_from_a_bucket(bucket, folder):
    copy_to(bucket, folder)
    options = {"exclude": ("true", "city"), "n_estimators": 40}
    results = []
    for where in (folder, "s3://data/big"):
        corrector = fit_batches(where, "label", **options)
        results.append(pa.Table.from_batches(correct_batches(corrector, where)))
    assert results[0].num_rows == 3000 and results[1].equals(results[0])


def test_a_delta_table_in_a_bucket_is_read_as_its_current_version(bucket, folder, monkeypatch):
    deltalake = pytest.importorskip("deltalake")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")  # deltalake asks for it
    table = folder.with_name("delta")
    columns = make_columns(600).append_column("code", pa.array(["007", "a b"] * 300))
    deltalake.write_deltalake(table, columns, partition_by=["code"])
    deltalake.DeltaTable(table).delete("x0 > 3")
    copy_to(bucket, table)
    call("correct", table, *COMMON, "--output", "local.subsvms")
    call("correct", "s3://data/delta", *COMMON)
    assert read_files("delta.subsvms") == read_files("local.subsvms")
    corrected = parquet.read_table("delta.subsvms/corrected")
    assert len(corrected) < 600 and set(corrected["code"].to_pylist()) == {"007", "a b"}


@pytest.mark.parametrize(("where", "message"), [
    ("s3://data/none.csv", "There is no file 's3://data/none.csv': check its name and folder."),
    ("s3://nowhere/t.csv", "There is no file 's3://nowhere/t.csv': check its name and folder."),
    ("s3://data/*.csv", "No file matches the pattern 's3://data/*.csv': check its name and folder."),
    (f"s3://data/t.csv?key={SECRET}", "This address s3:// holds a password or a query"),
])  # fmt: skip
def test_an_address_that_names_no_table_is_reported(bucket, folder, where, message):
    said = call("correct", where, *COMMON, code=2).output
    assert message in " ".join(said.split()) and SECRET not in said and os.listdir() == []


def allow_without_rights(server, n_requests):
    asked = {"data": n_requests, "headers": {"Content-Type": "text/plain"}, "method": "POST"}
    urllib.request.urlopen(urllib.request.Request(f"{server}/moto-api/reset-auth", **asked)).close()


def test_a_table_that_may_not_be_read_is_reported(bucket, folder, server):
    copy_to(bucket, folder)
    allow_without_rights(server, b"0")
    try:
        for where in ("s3://data/big", "s3://data/big/0.parquet", "s3://data/big/*.parquet"):
            said = " ".join(call("correct", where, *COMMON, code=2).output.split())
            assert "ACCESS_DENIED" in said or "INVALID_ACCESS_KEY_ID" in said or "Forbidden" in said, said
            assert "check the address, the connection and the keys in the environment." in said
            assert SECRET not in said and os.listdir() == []
    finally:
        allow_without_rights(server, b"inf")


RUN = ("correct", "s3://data/big", *COMMON, "--engine", "local", "--threads", "1")


def fail_in_the_middle(monkeypatch, fail):
    """Run until the second part, before which something fails; return what is said."""

    def fail_before_second(work, unit, do=judge.do_part):
        if unit.number == 1:
            fail()
        return do(work, unit)

    with monkeypatch.context() as patch:
        patch.setattr(judge, "do_part", fail_before_second)
        said = " ".join(call(*RUN, code=2).output.split())
    assert "'s3://data/big/1.parquet' cannot be read" in said
    assert "The same command continues where this one stopped." in said
    assert sorted(os.listdir("big.subsvms.unfinished/done")) == ["000000.json", "000000.parquet"]
    return said


def test_a_run_that_loses_its_rights_continues_later(bucket, folder, server, monkeypatch):
    copy_to(bucket, folder)
    call("correct", folder, *COMMON, "--output", "local.subsvms")
    try:
        fail_in_the_middle(monkeypatch, lambda: allow_without_rights(server, b"0"))
    finally:
        allow_without_rights(server, b"inf")
    assert "continuing: 1 of 3 parts were done before" in call(*RUN).output
    assert read_files("big.subsvms") == read_files("local.subsvms")


def test_a_server_that_goes_away_is_reported(folder, monkeypatch):
    process, server = start_server()
    try:
        copy_to(open_bucket(server, monkeypatch), folder)
        assert "NETWORK_CONNECTION" in fail_in_the_middle(monkeypatch, lambda: stop(process))
        said = " ".join(call(*RUN, code=2).output.split())  # and before it starts
        assert "'s3://data/big' cannot be read" in said and "NETWORK_CONNECTION" in said
    finally:
        stop(process)
