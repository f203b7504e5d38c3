"""Answers of several people in tables: with a column for each person, and one line an answer."""

import json
import re
import warnings
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from loans import call

from subsvms import correct_table
from subsvms.app.desk.audit import AuditDesk
from subsvms.audit import Audit
from subsvms.exceptions import LabelNoiseWarning, TableError

PEOPLE = ["anna", "bob", "cem"]


def make_frame(n=300, seed=0):
    """Return a table with answers of three people, of whom the last guesses, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["billing", "bug", "praise"], n)
    frame = pd.DataFrame({"ticket": [f"T{i:03d}" for i in range(n)]})
    for name in ("billing", "bug"):
        frame[f"about {name}"] = rng.normal(2.0 * (truth == name), 1.0)
    for person, rate in zip(PEOPLE, (0.1, 0.3, 1.0), strict=True):
        said = np.where(rng.random(n) < rate, rng.choice(["billing", "bug", "praise"], n), truth)
        frame[person] = pd.Series(said, dtype=object).where(rng.random(n) < 0.9, None)
    return frame, truth


def to_long(frame):
    rest = [name for name in frame if name not in PEOPLE]
    long = frame.melt(rest, PEOPLE, "who", "answer").dropna(subset=["answer"])
    return long.sample(frac=1.0, random_state=0).assign(minute=range(len(long)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a run on a file with a column for each person, and the truth."""
    frame, truth = make_frame()
    folder = tmp_path_factory.mktemp("people")
    frame.to_csv(folder / "tickets.csv", index=False)
    flags = [word for person in PEOPLE for word in ("--annotator", person)]
    call("correct", folder / "tickets.csv", *flags, "--id", "ticket", "--svms", 200, "--quiet")
    return folder / "tickets.subsvms", truth


def test_the_consensus_is_better_than_the_majority_and_the_file_is_whole(run):
    folder, truth = run
    corrected = pd.read_csv(folder / "corrected.csv")
    original = pd.read_csv(folder.parent / "tickets.csv")
    pd.testing.assert_frame_equal(corrected[list(original)], original)
    wrong, by_majority = (
        np.mean(corrected["consensus"] != truth),
        np.mean(corrected["consensus_given"] != truth),
    )
    assert wrong < 0.6 * by_majority


def test_people_are_described_in_a_file_of_their_own_and_in_the_report(run):
    folder, _ = run
    people = pd.read_csv(folder / "people.csv").set_index("name")
    assert people["right"].idxmax() == "anna" and people["right"].idxmin() == "cem"
    assert 0.25 < people.loc["cem", "right"] < 0.45
    report = (folder / "report.html").read_text()
    assert "The people who answered" in report and report.count("what the person says") == 3
    found = json.loads((folder / "run.json").read_text())["found"]
    assert {one["name"] for one in found["people"]} == set(PEOPLE)
    assert "if features and people err independently" in found["words"][0]


def test_rows_to_ask_about_next_are_named_with_somebody_who_has_not_answered(run):
    folder, _ = run
    asked, table = pd.read_csv(folder / "ask-next.csv"), pd.read_csv(folder.parent / "tickets.csv")
    assert (asked["gain"].diff().dropna() <= 1e-12).all()
    for row, ticket, who in asked[["row", "ticket", "ask"]].dropna().itertuples(index=False):
        assert table.loc[row - 1, "ticket"] == ticket
        assert pd.isna(table.loc[row - 1, who])


def test_reasons_name_the_people(run):
    folder, _ = run
    reasons = pd.read_csv(folder / "issues.csv")["reason"]
    assert reasons.str.contains(r"anna \(right in \d+ %\)").any()


def test_a_run_is_repeated_byte_for_byte_and_replaced(run):
    folder, _ = run
    again = folder.parent / "again.subsvms"
    for words in ((), ("--force",)):
        call("correct", "--from", folder, "--output", again, "--quiet", *words)
    for name in ("corrected.csv", "issues.csv", "people.csv", "ask-next.csv", "scores.parquet"):
        assert (again / name).read_bytes() == (folder / name).read_bytes(), name


def test_who_is_asked_does_not_see_the_answers_that_the_labels_are_made_of(run):
    with closing(AuditDesk(run[0], n_answers=20)) as desk:
        assert desk.question("Ann")["columns"] == ["ticket", "about billing", "about bug"]


def test_one_line_an_answer_gives_the_same_labels(run):
    folder, _ = run
    frame, _ = make_frame()
    file = folder.parent / "long.csv"
    to_long(frame).to_csv(file, index=False)
    words = ("--annotator-column", "who", "--label", "answer", "--id", "ticket", "--svms", 200)
    said = call("correct", file, *words).output
    assert "'minute'" in said and "differ between answers about one row" in said.replace("\n", " ")
    long = pd.read_csv(folder.parent / "long.subsvms" / "corrected.csv").set_index("ticket")
    wide = pd.read_csv(folder / "corrected.csv").set_index("ticket").loc[long.index]
    assert np.mean(long["answer"] == wide["consensus"]) > 0.97
    assert long["answers"].map(json.loads).map(len).sum() == frame[PEOPLE].notna().sum().sum()
    assert (long["answer_given"] == wide["consensus_given"]).mean() > 0.97


def test_frames_work_as_files_do_and_audits_go_on_from_there(tmp_path):
    frame, truth = make_frame()
    correction = correct_table(frame, annotators=PEOPLE, id_column="ticket", n_estimators=200)
    assert np.mean(correction.labels != truth) < np.mean(correction.consensus.majority != truth)
    assert len(correction.to_frame()) == len(frame)
    assert correction.report(tmp_path / "r.html").exists()
    assert Audit(correction, 20).next_row is not None
    how = {"annotator_column": "who", "id_column": "ticket", "n_estimators": 200}
    long = correct_table(to_long(frame), label="answer", **how)
    assert len(long) == frame[PEOPLE].notna().any(axis=1).sum()


def test_a_label_column_of_its_own_is_what_is_judged():
    frame, truth = make_frame()
    given = np.where(np.arange(len(frame)) % 7 == 0, "praise", truth)
    correction = correct_table(frame.assign(label=given), "label", annotators=PEOPLE, n_estimators=200)
    assert list(correction.given) == [correction.classes.tolist().index(one) for one in given]
    assert np.mean(correction.labels != truth) < np.mean(given != truth)


def test_people_alone_decide_where_there_is_nothing_else():
    frame, truth = make_frame()
    with pytest.warns(LabelNoiseWarning, match="Fewer than three people"):
        correction = correct_table(
            frame[["ticket", *PEOPLE]], annotators=PEOPLE, id_column="ticket", n_estimators=200
        )
    assert correction.consensus.log_q is None
    assert np.mean(correction.labels == truth) > 0.8


def test_further_answers_are_not_features_unless_they_are_kept():
    frame, _ = make_frame()
    frame = frame.assign(label=frame["anna"].fillna("bug"))
    (note,) = [note for note in note_table(frame, exclude=["anna"]) if note.kind == "answers"]
    assert "annotators=['label', 'bob', 'cem'] in place of label" in note  # also who guesses
    assert not [
        note for note in note_table(frame, exclude=["anna"], keep=["bob", "cem"]) if note.kind == "answers"
    ]


def test_the_labels_as_given_of_a_corrected_table_are_no_feature():
    """Else whoever writes what `subsvms apply` wrote over the table gives all labels away."""
    rng = np.random.default_rng(0)
    clean = np.where(rng.random(300) < 0.5, "yes", "no")
    given = np.where(rng.random(300) < 0.1, np.where(clean == "yes", "no", "yes"), clean)
    frame = pd.DataFrame({"loan_given": given, "age": rng.normal(clean == "yes"), "loan": clean})
    (note,) = [note for note in note_table(frame, label="loan") if note.kind == "answers"]
    assert "'loan_given'" in note


def note_table(frame, label="label", **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)
        notes = correct_table(frame, label, n_estimators=200, **how).notes
        return [note for note in notes if hasattr(note, "kind")]


def test_columns_of_yes_and_no_are_features_although_labels_are_yes_and_no():
    rng = np.random.default_rng(0)
    label = np.where(rng.random(300) < 0.5, "yes", "no")
    loan = np.where(rng.random(300) < 0.2, np.where(label == "yes", "no", "yes"), label)
    frame = pd.DataFrame({"loan": loan, "age": rng.normal(size=300), "label": label})
    assert not [note for note in note_table(frame) if note.kind == "answers"]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, "label is missing"),
        ({"annotators": ["anna"]}, "at least two people"),
        ({"annotators": ["anna", "ann"]}, "did you mean 'anna'"),
        ({"annotators": ["anna", "anna"]}, "there twice"),
        ({"annotators": ["anna", "bob"], "label": "bob"}, "the label column"),
        ({"annotators": ["anna", "about bug"]}, "one type"),
        ({"annotators": ["anna", "ticket"]}, "at most 200 are possible"),
        ({"annotators": ["anna", "bob"], "rule": "majority"}, "knows no people"),
        ({"annotators": ["anna", "bob"], "annotator_column": "cem"}, "give one"),
        ({"annotator_column": "bob", "label": "anna"}, "needs id_column"),
        ({"annotator_column": "bob", "id_column": "ticket"}, "label is missing"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(how, words):
    frame, _ = make_frame()
    with pytest.raises(TableError, match=re.escape(words)):
        correct_table(frame, **how)


def test_answers_in_several_spellings_are_an_error_until_they_are_merged():
    frame, _ = make_frame()
    frame["bob"] = frame["bob"].str.upper()
    with pytest.raises(TableError, match="several spellings"):
        correct_table(frame, annotators=PEOPLE)
    with pytest.warns(LabelNoiseWarning, match="another spelling"):
        correction = correct_table(frame, annotators=PEOPLE, merge_labels=True, n_estimators=200)
    assert len(correction.classes) == 3


def test_in_parts_people_are_refused(run):
    folder, _ = run
    said = call("correct", folder.parent / "tickets.csv", "--annotator", "anna", "--annotator", "bob",
                "--engine", "local", code=2)  # fmt: skip
    assert "in memory only" in said.output


@pytest.mark.parametrize("kind", ["Int64", "float64", "category"])
def test_types_of_columns_of_people_may_differ_as_pandas_has_them(kind):
    frame, truth = make_frame()
    numbers = {"billing": 0, "bug": 1, "praise": 2}
    for person in PEOPLE:
        frame[person] = frame[person].map(numbers).astype("Int64" if kind == "category" else kind)
    frame["anna"] = frame["anna"].fillna(0).astype("int32")
    if kind == "category":
        frame["bob"] = frame["bob"].astype("category")
    correction = correct_table(frame, annotators=PEOPLE, n_estimators=200)
    assert correction.classes.tolist() == [0, 1, 2]
    assert np.mean(correction.labels == pd.Series(truth).map(numbers)) > 0.8
