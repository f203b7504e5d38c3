"""Spark and Ray, as docs/scale.md calls them, give the bits of one process. Both run on this machine."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from large_tables import write_files
from loans import call
from pyarrow import parquet

from subsvms.scale import correct_batches, fit_batches

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
PAGE = (Path(__file__).parent.parent.parent / "docs" / "scale.md").read_text()
ADDED = ["is_label_issue", "label_quality", "suggested_label"]


def run_page(engine, **names):
    """Run the lines that the page has for an engine; return the names they set."""
    code = re.search(rf"{engine}:\n\n```python\n(.*?)```", PAGE, re.DOTALL)[1]
    exec(code, names)
    return names


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table in the working directory, as the folder big."""
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, 3000)
    wrong = rng.random(3000) < 0.1
    label = np.where((x > 0) != wrong, "yes", "no")
    table = pa.table({"number": np.arange(3000), "x": x, "label": label.tolist()})
    write_files(table, tmp_path / "big")
    monkeypatch.chdir(tmp_path)
    return table


def check(found, table):
    """Compare an engine's rows with those of one process, and of the command line."""
    corrector = fit_batches(lambda: [table], "label", exclude=("number",))
    batches = correct_batches(corrector, table.to_batches(max_chunksize=777), "number")
    expected = pa.Table.from_batches(batches).combine_chunks()
    assert expected["label"] != table["label"] and expected.column_names[-3:] == ADDED
    assert found.sort_by("number").combine_chunks().cast(expected.schema).equals(expected)
    call("correct", "big", "--label", "label", "--exclude", "number", "--engine", "local")
    written = parquet.read_table("big.subsvms/corrected")
    assert written.equals(expected.select(written.column_names))


@pytest.fixture
def spark(monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {"spark.ui.enabled": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "500"}
    try:
        session = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    except Exception as error:  # without Java, among others
        pytest.skip(f"Spark does not start: {error}")
    yield session
    session.stop()


def test_spark_gives_the_bits_of_one_process(spark, table):
    frame = spark.read.parquet(os.path.abspath("big")).repartition(5)
    check(run_page("Spark", frame=frame)["corrected"].toArrow(), table)


@pytest.fixture
def ray():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    try:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    except Exception as error:  # without enough memory, among others
        pytest.skip(f"Ray does not start: {error}")
    yield ray
    ray.shutdown()


def test_ray_gives_the_bits_of_one_process(ray, table):
    corrector = fit_batches("big/*.parquet", "label", exclude=("number",))
    dataset = ray.data.read_parquet(os.path.abspath("big")).repartition(5)
    names = run_page("Ray", dataset=dataset, corrector=corrector)
    check(pa.concat_tables(ray.get(names["corrected"].to_arrow_refs())), table)
