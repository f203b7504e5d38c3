"""The score of a model on the true labels of a test set: a table with predictions, and no run before."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from answered_audits import answer_all, person_of
from loans import call, refuse
from nasty_texts import assert_refused

from subsvms.app.desk.exchange import import_answers, write_questions
from subsvms.app.desk.media import NotShown
from subsvms.app.desk.score import ScoreDesk
from subsvms.evaluation import compare_models, draw_test_rows, score_interval
from subsvms.exceptions import InputError


def make_predictions(place, seed=0, n=300, names=("y", "prediction", "other"), kinds=("ham", "spam")):
    """Write a table with noisy labels and two models' predictions; return it with the truth."""
    rng = np.random.default_rng(seed)
    clean = rng.integers(len(kinds), size=n)
    columns = [np.where(rng.random(n) < p, rng.integers(len(kinds), size=n), clean) for p in (0.3, 0.2, 0.1)]
    given, one, two = (np.array(kinds)[column] for column in columns)
    path = place / "predictions.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", *names])
        writer.writerows((f"row {i}", *labels) for i, labels in enumerate(zip(given, one, two, strict=True)))
    return SimpleNamespace(path=path, given=given, one=one, two=two, clean=np.array(kinds)[clean])


@pytest.fixture
def made(tmp_path):
    return make_predictions(tmp_path)


def test_a_score_at_the_desk_is_that_of_the_library_and_the_table_stays_as_it_is(made, seed):
    before = made.path.read_bytes()
    desk = ScoreDesk(made.path, hide=["other"], seed=seed)
    assert desk.columns == ["text"] and desk.meta["is_blind"] and desk.classes == ["ham", "spam"]
    person = person_of([None if i % 9 == 0 else label for i, label in enumerate(made.clean.tolist())])
    question = desk.question("Ann")
    assert question["values"] == [f"row {question['row'] - 1}"] and question["columns"] == ["text"]
    told = desk.answer("Ann", question["row"], person(question["row"] - 1), question["id"])
    assert told["given"] is None and told["progress"]["claim"] is None
    assert answer_all(desk, person) == 49
    rows = draw_test_rows(made.given, made.one, 50, random_state=seed)
    wanted = score_interval(made.given, made.one, rows, [person(row) for row in rows])
    assert desk.progress()["claim"] == str(wanted) and desk.progress()["finished"]
    again = ScoreDesk(made.path, create=False)  # names are remembered, and it was killed before
    assert again.progress() == desk.progress() and {answer.who for answer in again.log} == {"Ann"}
    assert made.path.read_bytes() == before
    assert [path.name for path in made.path.parent.glob("*.sqlite")] == ["predictions.answers.sqlite"]


def test_what_is_refused_leaves_no_file_of_answers(tmp_path):
    path = make_predictions(tmp_path, kinds=("ham", "spam", "eggs")).path
    how = ("audit", path, "--test", "--label", "y", "--prediction", "other")
    refuse("for two classes here", *how, "--metric", "f1", "--questions", tmp_path / "q.csv")
    refuse("must end in .csv", *how, "--questions", tmp_path / "q.exe")
    refuse("There is no folder", *how, "--questions", tmp_path / "no" / "q.csv")
    assert [one.name for one in tmp_path.iterdir()] == ["predictions.csv"]
    call(*how, "--questions", tmp_path / "q.csv")
    assert (tmp_path / "predictions.answers.sqlite").exists()


def test_what_was_begun_goes_on_a_misspelt_column_is_named_and_pictures_lie_beside_the_table(made):
    asked = ScoreDesk(made.path, n_answers=20, metric="f1", seed=7).work.rows
    assert ScoreDesk(made.path).work.rows == asked
    with pytest.raises(InputError, match="otehr"):
        ScoreDesk(made.path, hide=["otehr"])
    desk = ScoreDesk(made.path)
    assert desk.media_folder == made.path.parent
    with pytest.raises(NotShown):
        desk.read_media(1, "text")


def test_two_models_are_asked_about_where_they_differ(made):
    desk = ScoreDesk(made.path, prediction=["prediction", "other"], n_answers=200)
    differ = np.flatnonzero(made.one != made.two)
    assert desk.work.most_questions == len(differ) < 200
    answer_all(desk, person_of(made.clean))
    rows = draw_test_rows(made.given, made.one, 200, other=made.two)
    wanted = compare_models(made.given, made.one, made.two, rows, made.clean[rows].tolist())
    assert desk.progress()["claim"] == f"'prediction' minus 'other': {wanted}" and wanted.low == wanted.high
    ScoreDesk(made.path, n_answers=200).close()


@pytest.mark.parametrize(
    ("metric", "positive"), [("balanced_accuracy", None), ("f1", "ham"), ("accuracy", None)]
)
def test_other_metrics_draw_and_score_as_the_library(made, metric, positive):
    desk = ScoreDesk(made.path, metric=metric, positive=positive, n_answers=30, confidence=0.9)
    answer_all(desk, person_of(made.clean))
    how = {"metric": metric, "positive": positive}
    rows = draw_test_rows(made.given, made.one, 30, **how)
    wanted = score_interval(made.given, made.one, rows, made.clean[rows].tolist(), level=0.9, **how)
    assert desk.progress()["claim"] == str(wanted)


def test_a_score_in_a_file_and_no_file_shows_a_label_or_a_prediction(made, tmp_path):
    desk, path = ScoreDesk(made.path, n_answers=20, hide=["other"]), tmp_path / "q.csv"
    said = write_questions(desk, path)
    assert f"subsvms audit {made.path} --test --import {path}" in said
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == ["row", "question", "text", "answer"] and len(lines) == 20
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(line | {"answer": made.clean[int(line["row"]) - 1]} for line in lines)
    assert import_answers(desk, path, who="Ann") == "20 answers were entered."
    assert "between" in desk.progress()["claim"]
    answered = len(desk.log)
    assert answered == 20 and desk.progress()["finished"]
    assert_refused("is the input table, which is never", desk.check_output, made.path, force=True)
    assert_refused("is the input table", desk.check_output, desk.decisions.file.path, force=True)


def test_class_numbers_of_several_kinds_are_read_alike(tmp_path):
    made = make_predictions(tmp_path, kinds=("0", "1", "2"))
    text = made.path.read_text().replace(",0,", ",0.0,")
    made.path.write_text(text)
    assert_refused("in several spellings", ScoreDesk, made.path, hide=["other"])
    desk = ScoreDesk(made.path, hide=["other"], merge_labels=True)
    assert len(desk.classes) == 3
    with pytest.raises(InputError, match="are for two classes here"):
        ScoreDesk(made.path, metric="f1", merge_labels=True)


def test_before_the_first_answer_it_may_be_begun_anew_and_afterwards_not(made):
    ScoreDesk(made.path, n_answers=20).close()
    desk = ScoreDesk(made.path, prediction=["other"], n_answers=30)
    assert list(desk.scores.predictions) == ["other"] and desk.work.most_questions == 30
    answer_all(desk, person_of(made.clean), most=1)
    desk.close()
    for how, option in [
        ({"prediction": ["prediction"]}, "prediction="),
        ({"n_answers": 40}, "answers=30"),
    ]:
        said = assert_refused("The score in ", ScoreDesk, made.path, **how)
        assert f"was begun with {option}" in said and "leave the option out" in said and "make a copy" in said
    assert ScoreDesk(made.path).work.most_questions == 30
    made.path.write_text(made.path.read_text() + "new,ham,ham,ham\n")
    assert_refused("has changed since its questions were drawn", ScoreDesk, made.path)


def test_a_forged_file_of_answers_is_refused(made):
    desk = ScoreDesk(made.path)
    answer_all(desk, person_of(made.clean), most=2)
    with desk.decisions.changing() as connection:
        connection.execute("DROP TRIGGER audits_stay")
        connection.execute("UPDATE audits SET begun = replace(begun, 'accuracy', 'f1')")
    desk.close()
    assert_refused("or it is damaged", ScoreDesk, made.path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("text,a,b\n1,x,y\n", "holds the given labels: one of 'text', 'a', 'b', with label."),
        ("text,y,b\n1,x,y\n", "holds the model's predictions: one of 'text', 'b', with prediction."),
        ("y,pred\nx,y\ny,y\n", "has no column that people could see"),
        ("text,y,pred\n1,x,y\n2,,x\n", "predictions.csv' has no label, or no prediction"),
        ("text,y,pred\n1,x,x\n2,x,x\n", "only one class"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence_and_leaves_nothing(tmp_path, text, sentence):
    path = tmp_path / "predictions.csv"
    path.write_text(text)
    assert_refused(sentence, ScoreDesk, path)
    made = make_predictions(tmp_path)
    for how, words in [
        ({"label": "z"}, "has no column 'z'"),
        ({"prediction": ["y"]}, "names one column, or two to compare"),
        ({"prediction": ["other", "other"]}, "names one column, or two"),
        ({"create": False}, "There is no score in "),
    ]:
        assert_refused(words, ScoreDesk, made.path, **how)
    assert not list(tmp_path.glob("*.sqlite")) or not ScoreDesk(made.path).log


def test_models_that_never_differ_leave_nothing_to_ask(tmp_path):
    made = make_predictions(tmp_path)
    made.path.write_text("text,y,a,b\n" + "".join(f"{i},x,{k},{k}\n" for i, k in enumerate("xyxyxyxyxy")))
    said = assert_refused("there is nothing to ask", ScoreDesk, made.path, prediction=["a", "b"])
    assert said.startswith("'a' and 'b' are the same in every row")
