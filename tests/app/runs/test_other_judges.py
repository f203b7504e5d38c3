"""Whoever judges: report, review, audit, table, export, certificates, and parts where that is possible."""

import json
import pickle
import urllib.request

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from loans import call, refuse
from numpy.testing import assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from subsvms import SubSVMClassifier, correct_table
from subsvms.audit import SimulatedAnnotator, confirm, run_audit
from subsvms.exceptions import InputError
from subsvms.scale import correct_batch, fit_batches

pytestmark = pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")
CLASSES = ["cat", "dog"]


def make_frame(n=300):
    rng = np.random.default_rng(0)
    clean = rng.choice(CLASSES, n)
    X = rng.normal(2.5 * (clean == "dog")[:, None], 1.0, (n, 2))
    given = np.where(rng.random(n) < 0.12, np.where(clean == "dog", "cat", "dog"), clean)
    p = cross_val_predict(LogisticRegression(), X, given, method="predict_proba")
    place = np.where(rng.random(n) < 0.5, "zoo", "home")
    return pd.DataFrame({"size": X[:, 0], "weight": X[:, 1], "place": place, "label": given}), p, clean


FRAME, P, CLEAN = make_frame()
NAMED = FRAME.assign(p_dog=P[:, 1], p_cat=P[:, 0])
PIPELINE = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["place"]), remainder="passthrough"),
    FunctionTransformer(lambda X: X),  # which cannot be pickled
    LogisticRegression(),
)
SVMS = SubSVMClassifier(n_estimators=100, subsample_size=20)
JUDGES = {
    "chosen SVMs": (FRAME, {}),
    "SVMs": (FRAME, {"estimator": SVMS}),
    "classifier": (FRAME, {"estimator": LogisticRegression()}),
    "list": (FRAME, {"estimator": [GaussianNB(), PIPELINE, SVMS]}),
    "pipeline": (FRAME, {"estimator": PIPELINE}),
    "array": (FRAME, {"pred_probs": P}),
    "columns": (NAMED, {"pred_probs": ["p_dog", "p_cat"]}),
    "nothing else": (FRAME[["label"]], {"pred_probs": P}),
}
OTHER = list(JUDGES)[2:]


@pytest.fixture(scope="module", params=JUDGES)
def judged(request, tmp_path_factory):
    """A judge's name, a correction by it, and the folder of its review."""
    frame, how = JUDGES[request.param]
    correction = correct_table(frame, "label", **how)
    place = tmp_path_factory.mktemp("judged") / "t.subsvms"
    return request.param, correction, correction.origin.write_folder(correction, place)


def test_wrong_labels_are_found(judged):
    _, correction, _ = judged
    assert np.sum(correction.labels != CLEAN) < 0.7 * np.sum(FRAME["label"] != CLEAN)


def test_report_and_notebook_speak_of_svms_only_if_they_voted(judged, tmp_path):
    name, correction, place = judged
    page = pickle.loads(pickle.dumps(correction)).report(tmp_path / "report.html").read_text()
    for said in (page, (place / "report.html").read_text()):
        assert ("How the SVMs voted" in said) == (name not in OTHER)
        assert ("What the judge says" in said) == (name in OTHER)
        body = said[said.index("<main>") :].replace("This is proved about votes of SVMs alone.", "")
        assert ("SVM" in body) == (name not in OTHER) or name == "list"
    words = " ".join((correction._repr_html_(), repr(correction), *correction.reason))
    assert name not in OTHER or not {"SVM", "vote"} & set(words.replace("votes", "vote").split())


def test_review_opens_and_decides(judged, capsys):
    _, correction, place = judged
    review = correction.review(place, browser=False, block=False)
    with urllib.request.urlopen(review.address) as answer:
        assert answer.status == 200
    described = review._desk.describe(int(review._desk.rows[0]))
    review.close()
    assert (described["withstands"] is None) == (correction.withstands is None)


def test_audit_is_asked_and_answered_and_its_table_written(judged, tmp_path):
    place, asked = judged[2], tmp_path / "q.csv"
    call("audit", place, "--answers", 20, "--questions", asked)
    questions = pd.read_csv(asked, dtype=str)
    questions["answer"] = [CLEAN[int(row) - 1] for row in questions["row"]]
    questions.to_csv(asked, index=False)
    assert "answers were entered" in call("audit", place, "--import", asked, "--who", "ann").output
    call("apply", place)
    final = pd.read_parquet(place / "final.parquet")
    rows = questions["row"].astype(int) - 1
    assert (final["label"][rows].to_numpy() == CLEAN[rows]).mean() > 0.5


def test_a_confirmation_is_reported(judged, tmp_path):
    _, correction, _ = judged
    asked = run_audit(confirm(correction), SimulatedAnnotator(CLEAN))
    page = asked.apply(correction).report(tmp_path / "page.html").read_text()
    assert '<h2 id="audit-head">Confirmation</h2>' in page


@pytest.mark.parametrize("format", ["jsonl", "label-studio", "argilla", "spotlight"])
def test_export(judged, tmp_path, format):
    name, _, place = judged
    call("export", place, "--to", format, "--output", tmp_path / "out")
    if format == "jsonl":
        first = json.loads((tmp_path / "out").read_text().splitlines()[0])
        assert (first["withstands"] is None) == (name in OTHER)


def test_certificates(judged):
    name, correction, place = judged
    assert (correction.withstands is None) == (name in OTHER)
    issues = pd.read_parquet(place / "issues.parquet")
    assert issues["withstands"].isna().all() == (name in OTHER)
    if name == "nothing else":
        with pytest.raises(InputError, match="that have features"):
            correction.to_frame(carriers=True)
    else:  # a second judge, whoever was the first
        assert (correction.to_frame(carriers=True)["flips"] >= 1).any()


def test_a_run_is_repeated_unless_its_judge_is_only_in_a_program(judged, tmp_path):
    name, _, place = judged
    words = ("correct", "--from", place, "--output", tmp_path / "again", "--quiet")
    if "estimator" in JUDGES[name][1]:
        refuse("came from a program and is not stored: repeat it there with correct_table", *words)
        return
    call(*words)
    one, two = (json.loads((folder / "run.json").read_text()) for folder in (place, tmp_path / "again"))
    assert one["files"].items() >= two["files"].items()


def test_parts_take_probabilities_in_columns(tmp_path):
    path, columns = tmp_path / "t.parquet", ("--pred-probs", "p_cat", "--pred-probs", "p_dog")
    NAMED.to_parquet(path, index=False)
    correct = ("correct", path, "--label", "label", "--quiet")
    call(*correct, *columns, "--engine", "local", "--output", tmp_path / "parts")
    found = pd.concat(map(pd.read_parquet, sorted((tmp_path / "parts" / "corrected").iterdir())))
    whole = correct_table(NAMED, "label", pred_probs=["p_cat", "p_dog"])
    assert_array_equal(found["label"], whole.labels)
    assert "What the judge says" in (tmp_path / "parts" / "report.html").read_text()
    call(*correct, *columns, "--engine", "local", "--max-error-rate", 0.02, "--output", tmp_path / "few")
    batches = fit_batches(lambda: [pa.Table.from_pandas(NAMED)], "label", pred_probs=("p_cat", "p_dog"))
    one = correct_batch(batches, pa.Table.from_pandas(NAMED[100:200]))
    assert_array_equal(one["label"].to_pylist(), whole.labels[100:200])
    np.save(tmp_path / "p.npy", P)
    words = "--pred-probs cannot be read in parts: put the numbers into columns of the table."
    refuse(words, *correct, "--pred-probs", tmp_path / "p.npy", "--engine", "local")


def test_files_of_probabilities_are_read_by_name_recorded_and_checked(tmp_path):
    path, labels = tmp_path / "t.csv", ("--label", "label")
    FRAME.to_csv(path, index=False)
    np.save(tmp_path / "p.npy", P)
    frame = pd.DataFrame(P, columns=CLASSES)
    frame[["dog", "cat"]].to_csv(tmp_path / "p.csv")  # with an index, and in another order
    frame.add_prefix("p_").to_parquet(tmp_path / "p.parquet")
    files = {}
    for name in ("p.npy", "p.csv", "p.parquet"):
        folder = tmp_path / f"{name}.subsvms"
        call("correct", path, *labels, "--pred-probs", tmp_path / name, "--output", folder, "--quiet")
        record = json.loads((folder / "run.json").read_text())
        assert record["input"]["pred_probs"] == f"../{name}" and record["options"]["pred_probs"] == []
        files[name] = record["files"]["corrected.csv"]
    assert len(set(files.values())) == 1
    found = correct_table(FRAME, "label", pred_probs=str(tmp_path / "p.csv"))
    assert_array_equal(found.labels, pd.read_csv(tmp_path / "p.csv.subsvms" / "corrected.csv")["label"])
    again = ("correct", "--from", tmp_path / "p.csv.subsvms", "--output", tmp_path / "again")
    call(*again, "--quiet")
    frame[["cat", "dog"]].to_csv(tmp_path / "p.csv")
    refuse("The file of probabilities has changed since that run", *again)
    for asked, words in (
        (["no.npy"], "There is no file 'no.npy' with probabilities, and --pred-probs takes a file or"),
        (["p_cat", "p_dog"], "--pred-probs names 'p_cat', which is not a column of"),
        ([path], "but its columns are size, weight, place and label: name them by the classes"),
        ([tmp_path / "p.npy", "--save-model", "m"], "--save-model saves SVMs, but probabilities judge"),
        ([tmp_path / "p.npy", "--svms", 9], "--svms is about SVMs, and --pred-probs judges in their place"),
    ):  # fmt: skip
        more = [one for word in asked[:2] for one in ("--pred-probs", word)] if asked[0] == "p_cat" else None
        refuse(words, "correct", path, *labels, *(more or ["--pred-probs", *asked]))


@pytest.mark.parametrize(
    "kind", [pl.from_pandas, lambda frame: pl.from_pandas(frame).lazy(), pa.Table.from_pandas]
)
def test_a_pipeline_takes_the_frame_of_the_user(kind):
    found = correct_table(kind(FRAME), "label", estimator=PIPELINE)
    assert_array_equal(found.labels, correct_table(FRAME, "label", estimator=PIPELINE).labels)


def test_a_pipeline_sees_neither_label_nor_columns_that_are_left_out():
    seen = []

    class Spy(LogisticRegression):
        def fit(self, X, y):
            seen.append(list(X.columns))
            return super().fit(X[["size", "weight"]], y)

        def predict_proba(self, X):
            return super().predict_proba(X[["size", "weight"]])

    frame = FRAME.assign(who="ann", copy=FRAME["label"] + "!")  # which gives the label away
    frame.loc[:150, "who"] = "bob"
    found = correct_table(frame, "label", estimator=make_pipeline(Spy()), by="who")
    assert {tuple(columns) for columns in seen} == {("size", "weight", "place")}
    assert found.judge == "Spy" and found.origin.run.tally.groups["who"]


def test_judges_that_exclude_each_other_are_refused():
    for how, words in (
        ({"estimator": SVMS, "pred_probs": P}, "estimator and pred_probs are both judges: give one of them"),
        ({"estimator": SVMS, "kernel": "rbf"}, "kernel is about SVMs, and estimator judges in their place"),
        ({"pred_probs": P[:9]}, "so of shape"),
    ):
        with pytest.raises(InputError, match=words):
            correct_table(FRAME, "label", **how)


def test_people_and_a_model_judge_together():
    rng = np.random.default_rng(1)
    people = {f"ann{i}": np.where(rng.random(len(FRAME)) < 0.2, "dog", CLEAN) for i in range(3)}
    answers = pd.DataFrame(people)
    for frame in (answers, FRAME.drop(columns="label").assign(**people)):
        found = correct_table(frame, annotators=list(people), pred_probs=P)
        assert found.judge == "the model" and np.mean(found.labels == CLEAN) > 0.9
        assert "the model alone gives" in " ".join(found.reason)
    found = correct_table(frame, annotators=list(people), estimator=GaussianNB())
    assert found.judge == "GaussianNB" and np.mean(found.labels == CLEAN) > 0.9
    lines = frame.assign(row=np.arange(len(frame))).melt(
        ["row", "size", "weight", "place"], list(people), "who", "kind"
    )
    by_lines = {"label": "kind", "annotator_column": "who", "id_column": "row"}
    with pytest.raises(InputError, match="A pipeline takes the frame as it is, which has one line an answer"):
        correct_table(lines, **by_lines, estimator=PIPELINE)
    assert np.mean(correct_table(lines, **by_lines, pred_probs=P).labels == CLEAN) > 0.9
