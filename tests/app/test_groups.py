"""Groups in frames, files and parts: the same column, the same bits, and named in the report."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from loans import call, refuse

from subsvms import correct_table
from subsvms.scale import correct_batch, fit_batches

pytestmark = pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")


def make_patients(seed=0, n=120, each=3):
    """Return rows of patients, those of one nearly the same; a tenth of the patients have a wrong label."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n), each)
    X = rng.normal(size=(n, 5))[patient] + 0.01 * rng.normal(size=(n * each, 5))
    ill = X[:, 0] + X[:, 1] > 0
    wrong = patient % 10 == 0
    frame = pd.DataFrame(X).add_prefix("x").assign(patient=[f"P{i}" for i in patient])
    return frame.assign(ill=np.where(ill ^ wrong, "yes", "no")), wrong


def test_a_column_of_groups_is_no_feature_and_patients_do_not_vouch_for_themselves():
    frame, wrong = make_patients()
    before = correct_table(frame.drop(columns="patient"), label="ill")
    after = correct_table(frame, label="ill", groups="patient")
    assert before.label_quality[wrong].mean() > after.label_quality[wrong].mean() + 0.2
    assert any("'patient' says which rows belong together" in note for note in after.notes)
    alone = correct_table(frame.assign(patient=range(len(frame))), label="ill", groups="patient")
    np.testing.assert_array_equal(before.label_quality, alone.label_quality)


def test_files_parts_frames_and_the_record_give_the_same_result(tmp_path):
    frame, _ = make_patients()
    frame.to_csv(tmp_path / "t.csv", index=False)
    for name, more in (("memory", []), ("parts", ["--engine", "local"])):
        call(
            "correct",
            tmp_path / "t.csv",
            "--label",
            "ill",
            "--groups",
            "patient",
            "--output",
            tmp_path / name,
            *more,
        )
    call("correct", "--from", tmp_path / "memory", "--output", tmp_path / "again")
    issues = {name: (tmp_path / name / "issues.csv").read_text() for name in ("memory", "parts", "again")}
    assert issues["memory"] == issues["again"]
    listed, parts = (pd.read_csv(tmp_path / name / "issues.csv") for name in ("memory", "parts"))
    pd.testing.assert_frame_equal(listed.drop(columns="line"), parts)
    assert json.loads((tmp_path / "memory/run.json").read_text())["options"]["groups"] == "patient"
    found = correct_table(frame, label="ill", groups="patient")
    quality = found.label_quality[listed["row"] - 1]
    np.testing.assert_allclose(listed["label_quality"], quality, atol=1e-4)


def test_a_column_that_is_not_there_is_refused(tmp_path):
    frame, _ = make_patients()
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = refuse("--groups", "correct", tmp_path / "t.csv", "--label", "ill", "--groups", "person")
    assert "person" in said


def test_rows_outside_of_the_pool_are_not_judged_by_svms_that_saw_their_group():
    frame, _ = make_patients(n=600)
    table = pa.Table.from_pandas(frame)
    corrector = fit_batches(lambda: [table], "ill", groups="patient", pool_size=100, n_estimators=200)
    rows = np.arange(len(frame))
    votes = corrector.vote(table, rows)
    seen = np.zeros((200, 600), dtype=bool)
    pool = corrector.learned.rows[corrector.learned.in_pool]
    seen[np.arange(200)[:, None], pool[corrector.learned.model.subsets_] // 3] = True
    assert (votes.n_voters == (~seen)[:, rows // 3].sum(axis=0)).all()
    other = table.set_column(5, "patient", pa.array([f"Q{i}" for i in rows]))
    assert (corrector.vote(other, None).n_voters == 200).all()
    assert correct_batch(corrector, table.slice(0, 10)).num_rows == 10


def test_copies_outside_of_the_sample_are_recognised_in_parts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    X[1000:1400] = X[:400]
    X[1200:1400] += 1e-4 * rng.normal(size=(200, 5))
    table = pa.table({f"x{i}": X[:, i] for i in range(5)} | {"y": np.where(X[:, 0] > 0, "a", "b")})
    corrector = fit_batches(lambda: [table], "y", pool_size=200, n_estimators=200)
    learned = corrector.learned
    pool = learned.rows[learned.in_pool]
    twins = pool[pool < 400] + 1000
    assert (corrector.vote(table, np.arange(2000)).n_voters[np.setdiff1d(twins, pool)] < 200).mean() > 0.95


def test_the_report_names_equal_rows_with_different_labels_and_copies(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = np.where(X[:, 0] > 0, "ash", "elm").astype(object)
    frame = pd.DataFrame(np.vstack([X, X[:3], X[10:13]])).add_prefix("x")
    frame["tree"] = np.append(y, [*np.where(y[:3] == "ash", "elm", "ash"), *y[10:13]])
    correction = correct_table(frame, label="tree")
    page = correction.report(tmp_path / "report.html").read_text()
    assert "Equal rows with different labels" in page and "<td>1, 401</td>" in page
    assert "11, 404; 12, 405; 13, 406" in page and "stand first in the list" in page
    assert (
        'id="copies"' not in correct_table(frame[:400], label="tree").report(tmp_path / "r.html").read_text()
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    call("correct", tmp_path / "t.csv", "--label", "tree", "--output", tmp_path / "run")
    call(
        "correct", tmp_path / "t.csv", "--label", "tree", "--output", tmp_path / "parts", "--engine", "local"
    )
    listed, parts = (pd.read_csv(tmp_path / name / "issues.csv") for name in ("run", "parts"))
    assert sorted(listed["row"][:6]) == [1, 2, 3, 401, 402, 403]
    pd.testing.assert_frame_equal(listed.drop(columns="line"), parts)
