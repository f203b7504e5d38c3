"""A data frame is corrected as a file with the same columns is, and shows, reports and reviews itself."""

import html
import pickle
import urllib.request
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from loans import call, refuse
from scipy import sparse

from subsvms import correct_labels, correct_table
from subsvms.app.frames import FrameRun
from subsvms.app.options import Options
from subsvms.app.runs.answer_store import Act
from subsvms.app.runs.issues import find_issues
from subsvms.app.runs.job import describe_run
from subsvms.app.runs.record import read_record
from subsvms.app.runs.run import recount, run_in_memory
from subsvms.app.tables.table import read_frame, read_table
from subsvms.audit import Audit, SimulatedAnnotator, confirm, run_audit
from subsvms.correction._html import collect
from subsvms.exceptions import InputError, LabelNoiseWarning, TableError

pytestmark = pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")


def make_frame(n=400, seed=0):
    """Return columns of every kind, some with missing values, and labels of which a tenth is wrong."""
    rng = np.random.default_rng(seed)
    late = rng.random(n) < 0.45
    words = np.array("good bad slow quick cheap dear loud quiet".split())
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 700, n) + 200 * late, unit="D")
    frame = pd.DataFrame({
        "id": np.arange(n) + 7000,
        "size": rng.normal(50, 10, n) + 15 * late,
        "rooms": rng.integers(1, 9, n),
        "colour": np.where(rng.random(n) < 0.2, None, np.where(late, "red", "blue")).astype(object),
        "flag": rng.random(n) < 0.5,
        "opened": days.where(rng.random(n) < 0.95),
        "review": [" ".join(rng.choice(words[4 * one :][:5], 6)) for one in late.astype(int)],
    })  # fmt: skip
    frame.loc[::17, "size"] = np.nan
    frame["default"] = np.where(late ^ (rng.random(n) < 0.1), "yes", "no")
    return frame


FRAME = make_frame()
FILES = {  # by suffix; each must give the result of the frame, to the bit
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "feather": lambda frame, path: frame.to_feather(path),
    "xlsx": lambda frame, path: frame.to_excel(path, index=False),
}
SAME = ("labels", "action", "label_quality", "confidence", "vote_share", "withstands", "notes", "reason")


def assert_same(found, wanted):
    for name in SAME:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)


@pytest.fixture(scope="module")
def correction():
    return correct_table(FRAME, label="default")


@pytest.mark.parametrize("suffix", FILES)
def test_a_frame_gets_the_result_of_its_file_to_the_bit(tmp_path, correction, suffix):
    path = tmp_path / f"loans.{suffix}"
    FILES[suffix](FRAME, path)
    run = run_in_memory(read_table(path, "default"), Options("default"), n_jobs=1)
    assert_same(replace(correction, origin=None), run.correction)
    assert run.tally == correction.origin.run.tally and correction.flagged.sum() > 10


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_every_library_gets_the_same_result(correction, library):
    found = correct_table(library(FRAME), "default", n_jobs=2)
    assert_same(found, correction)
    frame = found.to_frame()
    assert isinstance(frame, pl.DataFrame if library is pl.from_pandas else pd.DataFrame)
    assert list(frame["corrected_label"]) == list(correction.labels)


def test_labels_are_an_array_and_the_frame_has_the_index_even_if_it_repeats(correction):
    frame = FRAME.set_axis(["twice", "twice", *range(2, len(FRAME))], axis=0)
    before = frame.copy(deep=True)
    found = correct_table(frame, "default")
    assert_same(found, correction)
    assert isinstance(found.labels, np.ndarray) and found.labels.shape == (len(frame),)
    assert list(found.to_frame().index) == list(frame.index)
    assert found.to_frame(witnesses=True)["supporting"].map(len).sum() > 0
    pd.testing.assert_frame_equal(frame, before)


def test_witnesses_of_the_frame_are_those_of_the_report_and_not_suspicious():
    found = correct_table(FRAME, "default", max_error_rate=0.04, n_estimators=100, n_jobs=1)
    issues = find_issues(found, found.origin.run.features.X)
    frame, n = found.to_frame(witnesses=True), int(found.flagged.sum())
    assert n > 5 and found.held_back.sum() > 5 and found.flagged[issues.rows[:n]].all()
    for side in ("supporting", "opposing"):
        listed = list(frame[side].iloc[issues.rows[:n]])
        assert listed == getattr(issues.witnesses, side)[:n]
        assert not np.isin(np.concatenate(listed), issues.rows).any()


@pytest.fixture(scope="module")
def audited():
    """Return a correction after an audit that changed labels unseen and did not confirm others."""
    rng = np.random.default_rng(0)
    high = rng.random(600) < 0.5
    X, given = rng.normal(high[:, None], 0.6, (600, 3)), high ^ (rng.random(600) < 0.25)
    frame = pd.DataFrame(X, columns=list("abc")).assign(size=np.where(given, "high", "low"))
    found = correct_table(frame, "size", n_estimators=200, n_jobs=1)
    audit = run_audit(Audit(found, 40, random_state=2), SimulatedAnnotator(np.where(high, "high", "low")))
    return audit, audit.apply(found)


def test_the_report_after_an_audit_says_what_the_audit_did(tmp_path, audited):
    audit, found = audited
    page = html.unescape(found.report(tmp_path / "page.html").read_text())
    n, unseen = int(found.changed.sum()), int(found.audited.sum())
    assert 0 < unseen < n
    assert '<h2 id="audit-head">Audit</h2>' in page and str(audit.claim) in page
    assert f"{n} of 600 labels were changed after people had answered." in page
    words = f"{n} were changed: {n - unseen} after answers about them; {unseen} unseen, as answers about"
    assert f"{words} others confirm." in page
    assert "expected to be" not in page and "Suggestions right" not in page
    assert "rightly" not in repr(found)
    assert f"{unseen} were changed" not in page.replace(f"{unseen} were changed without", "")
    assert "This estimate is from before the answers" in page and " % before the answers)" in repr(found)
    _, summary = describe_run(recount(found.origin.run, found), tmp_path)
    assert sum(line["changed"] for line in summary.listed.classes) == summary.counted.changed == n
    assert words in found._repr_html_()
    assert "subsvms.audit.confirm" not in found._repr_html_() + page


@pytest.mark.parametrize("action", ["fix", "drop"])
def test_the_report_after_a_confirmation_says_what_became_of_the_changes(tmp_path, audited, action):
    audit, found = audited
    found = correct_table(found.origin.run.table.columns, "size", n_estimators=200, n_jobs=1, action=action)
    for truth, verdict in ((audit.ranking.suggested, "confirmed"), (found.given, "as given")):
        asked = run_audit(confirm(found), lambda row, truth=truth: found.classes[truth[row]])
        after = asked.apply(found)
        page = html.unescape(after.report(tmp_path / "page.html").read_text())
        assert '<h2 id="audit-head">Confirmation</h2>' in page and str(asked.claim) in page
        assert f"<td>{verdict}</td>" in page
        if verdict == "as given":
            assert "answers that did not confirm a change kept the given one" in page
            assert "a safety check" not in page + " ".join(after.notes)
            assert "the answers confirmed no change" in page
        elif action == "drop":
            assert f"{after.flagged.sum()} rows were left out" in page


def test_the_report_says_that_changes_stand_without_a_claim_if_they_are_kept(tmp_path, audited):
    _, found = audited
    found = correct_table(found.origin.run.table.columns, "size", n_estimators=200, n_jobs=1)
    confirmation, truth = confirm(found, held_back=False), found.judgement.suggested
    while (row := confirmation.next_row) is not None:  # every fourth answer is against the change
        label = found.given[row] if len(confirmation.decided) % 4 == 3 else truth[row]
        confirmation.answer(row, found.classes[label])
    assert [one.verdict for one in confirmation.claim.sets] == ["kept"]
    after = confirmation.apply(found)
    n, standing = int(after.changed.sum()), len(confirmation.claim.standing)
    words = f"{n - standing} after answers about them; {standing} by the rule, without a claim."
    page = html.unescape(after.report(tmp_path / "page.html").read_text())
    assert f"{n} were changed: {words}" in page and words in after._repr_html_()
    assert "as answers about others confirm" not in page
    assert not after.audited.any() and 0 < n - standing < 15


def test_later_answers_do_not_change_what_a_correction_says_about_its_audit(audited):
    audit, _ = audited
    early = Audit(audit.ranking, 40, random_state=2)
    for row, number in audit.state["answers"][:20]:
        early.answer(row, audit.ranking.classes[number])
    outcome = early.outcome
    said = str(outcome.claim)
    for row, number in audit.state["answers"][20:]:
        early.answer(row, audit.ranking.classes[number])
    assert str(outcome.claim) == said != str(early.outcome.claim) == str(audit.claim)


def test_options_are_those_of_the_command_line(tmp_path):
    FRAME.to_csv(tmp_path / "loans.csv", index=False)
    words = ("--rule", "majority", "--action", "drop", "--max-error-rate", 0.1, "--min-confidence", 0.6)
    words += ("--svms", 60, "--subset-size", 30, "--kernel", "linear", "--seed", 5, "--exclude", "review")
    words += ("--by", "colour", "--missing-label", "yes?", "--keep", "rooms", "--id", "id", "--fill-missing")
    words += ("--no-merge-labels", "--numeric-classes")
    call("correct", tmp_path / "loans.csv", "--label", "default", "--quiet", *words)
    found = correct_table(
        FRAME, "default", rule="majority", action="drop", max_error_rate=np.float64(0.1), min_confidence=0.6,
        n_estimators=np.int64(60), subsample_size=30, kernel="linear", random_state=np.int64(5),
        exclude="review", by=["colour"], missing_label=("yes?",), keep=["rooms"], id_column="id",
        fill_missing=True, merge_labels=False, numeric_classes=True,
    )  # fmt: skip
    assert found.origin.run.options == read_record(tmp_path / "loans.subsvms").options
    kept = pd.read_csv(tmp_path / "loans.subsvms" / "corrected.csv")["id"]
    assert list(kept) == list(FRAME["id"][found.kept]) and len(kept) < len(FRAME)
    assert found.origin.run.tally.groups["colour"]
    assert "Not used: the column 'colour' groups the rows." in found.origin.run.remarks


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_an_array_of_features_is_what_the_file_of_features_is(tmp_path, kind):
    late = (FRAME["default"] == "yes").to_numpy()
    X = np.random.default_rng(0).normal(late[:, None], 1.2, (len(FRAME), 6)).astype(np.float32)
    X[np.abs(X) < 0.1] = 0
    path = tmp_path / ("e.npy" if kind is np.asarray else "e.npz")
    np.save(path, X) if kind is np.asarray else sparse.save_npz(path, sparse.csr_matrix(X))
    table = read_frame(FRAME, "default")
    run = run_in_memory(table, Options("default"), features=path, n_jobs=1)
    found = correct_table(FRAME, "default", features=kind(X))
    assert_same(found, run.correction)
    place = found.origin.write_folder(found, tmp_path / "kept.subsvms")
    call("correct", "--from", place, "--output", tmp_path / "again.subsvms", "--quiet")
    for name in ("corrected.parquet", "issues.csv"):
        assert (place / name).read_bytes() == (tmp_path / "again.subsvms" / name).read_bytes()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_the_frame_has_the_carriers_of_the_report(tmp_path, library):
    table = FRAME.set_axis([f"loan {i}" for i in range(len(FRAME))], axis=0)
    found = correct_table(library(table), "default")
    frame = found.to_frame(carriers=True)
    folder = found.origin.write_folder(found, tmp_path / "loans.subsvms")
    issues = pd.read_parquet(folder / "issues.parquet").set_index("row")
    names = list(table.index) if library is pd.DataFrame else list(range(len(table)))
    assert str(frame["flips"].dtype) == "Int64"  # a whole number that may be missing, in both libraries
    flips, carriers, carried = (list(frame[name]) for name in ("flips", "carriers", "carried"))
    for row in range(len(table)):
        agreed = row + 1 in issues.index and not np.isnan(issues.loc[row + 1, "flips"])
        if not agreed:
            assert pd.isna(flips[row]) and len(carriers[row]) == len(carried[row]) == 0
            continue
        listed = issues.loc[row + 1]
        assert flips[row] == listed["flips"]
        assert list(carriers[row]) == [names[number - 1] for number in listed["carriers"]]
        np.testing.assert_allclose(list(carried[row]), listed["carried"], atol=1e-4)
    assert np.sum(~pd.isna(flips)) > 10 and "carriers" not in found.to_frame()
    none = replace(found.judgement, flagged=np.zeros(len(FRAME), dtype=bool))
    frame = replace(found, judgement=none).to_frame(carriers=True)
    assert str(frame["flips"].dtype) == "Int64" and all(pd.isna(one) for one in frame["flips"])
    assert not any(len(one) for one in frame["carriers"])


def test_what_there_is_no_table_for_is_refused(correction, monkeypatch):
    plain = correct_labels(FRAME[["rooms"]], FRAME["default"], random_state=0)
    keeps = "correct_table keeps the table that it reads, correct_labels does not."
    for what, call_it in (
        ("look for carriers in", lambda: plain.to_frame(carriers=True)),
        ("report on", lambda: plain.report("x")), ("review", lambda: plain.review("x")),
    ):  # fmt: skip
        with pytest.raises(InputError) as error:
            call_it()
        assert str(error.value) == f"There is no table to {what}: {keeps}"
    monkeypatch.setattr("subsvms.app.runs.causes.MOST_LABELS", 399)
    with pytest.raises(InputError, match=r"^Carriers are looked for in tables of up to 20,000 labels"):
        correction.to_frame(carriers=True)


def test_missing_and_verified_labels():
    frame = FRAME.copy()
    frame["default"] = (frame["default"] == "yes").astype("Int64")
    frame.loc[:9, "default"] = pd.NA
    verified = np.full(len(frame), np.nan)
    verified[20:30] = [0, 1] * 5
    found = correct_table(frame, "default", verified=verified)
    assert found.missing[:10].all() and found.missing.sum() == 10 and set(found.labels[:10]) == {None}
    filled = correct_table(frame, "default", verified=pd.Series(verified), fill_missing=True)
    assert set(filled.labels[:10]) <= {0, 1} and filled.filled.sum() == 10
    assert list(found.labels[20:30]) == [0, 1] * 5 and found.decided.sum() == 10
    assert found.origin.run.options.verified[0] == (21, 0)


def test_notes_on_the_table_are_warnings_and_name_parameters():
    frame = FRAME.assign(leak=FRAME["default"].str.upper(), annotator=["ann", "bob"] * (len(FRAME) // 2))
    with pytest.warns(LabelNoiseWarning) as caught:
        found = correct_table(frame, "default")
    warned, said = [str(one.message) for one in caught], found.notes
    assert warned == list(said[: len(warned)])
    assert any("'leak' was left out" in one and "keep=['leak']" in one for one in warned)
    assert any("'annotator'" in one and "by='annotator'" in one for one in found.notes)
    assert not any("--" in one for one in said)


def test_notes_name_columns_that_are_not_used_and_changes_that_were_held_back(tmp_path):
    frame = FRAME.assign(constant=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = correct_table(frame, "default", max_error_rate=0.01)
    unused = [note for note in found.notes if note.startswith("Not used: ")]
    n = int(found.held_back.sum())
    kept = next(note for note in found.notes if f"For {n} more, another label is more probable, but " in note)
    assert n and "the limit on changes" in kept
    assert unused == [
        "Not used: the column 'id' never repeats a value, as identifiers do (to use one: keep).",
        "Not used: the column 'constant' holds only one value or none.",
    ]
    page = found.report(tmp_path / "report.html").read_text()
    assert page.count(str(kept)) == 1  # in its words, and not again as a note


@pytest.mark.parametrize("options, sentence", [
    ({"id_column": "idd"}, "id_column names 'idd', which is not a column of 'frame'; did you mean 'id'?"),
    ({"id_column": "flag"},
     "id_column names 'flag', which has "
     f"{FRAME['flag'].nunique(dropna=False)} different values in {len(FRAME)} rows"
     ": choose a column that names each row, or give it to by or groups."),
    ({"rule": "vote"}, "rule must be one of posterior, majority; got 'vote'."),
    ({"exclude": ["sise"]}, "exclude names 'sise', which is not a column of 'frame'; did you mean 'size'?"),
    ({"verified": ["no"]}, f"verified must have one entry for each of the {len(FRAME)} rows; got 1."),
    ({"features": np.zeros((3, 2))}, f"The features in 'features' have 3 rows, but the table has {len(FRAME)}"
     ": give one row for each row of the table, in the same order."),
    ({"features": np.zeros((len(FRAME), 2)), "only": ["size"]},
     "The features in 'features' replace all columns: leave out exclude, only and keep."),
])  # fmt: skip
def test_mistakes_are_sentences_that_name_parameters(options, sentence):
    with pytest.raises(InputError) as error:
        correct_table(FRAME, "default", **options)
    assert str(error.value) == sentence


def test_a_notebook_shows_the_values_of_the_worst_rows(correction):
    found = collect(correction)
    first = int(found["table"]["index"][0])
    assert found["table"]["review"][0] == FRAME["review"][first]
    assert found["table"]["size"][0] in ("", f"{FRAME['size'][first]:.6g}")
    assert found["remarks"] == [
        "Not used: the column 'id' never repeats a value, as identifiers do (to use one: keep)."
    ]
    assert [code for code, _ in found["steps"]][2:4] == ["report('report.html')", "review()"]


def test_the_report_is_a_page_of_its_own(tmp_path, correction):
    path = pickle.loads(pickle.dumps(correction)).report(tmp_path / "page.html")  # in another process
    page = path.read_text()
    assert path == tmp_path / "page.html" and [one.name for one in tmp_path.iterdir()] == ["page.html"]
    n = correction.flagged.sum()
    assert f"{n} of {len(FRAME)} labels look wrong and were corrected." in page
    assert "<title>the data frame: wrong labels</title>" in page and "would be" not in page
    assert "correction.review()" in page and str(tmp_path) not in page
    correction.report(path)  # again: a notebook is run from the top
    with pytest.raises(InputError, match="is a folder"):
        correction.report(tmp_path)


def test_a_review_is_kept_in_its_folder_and_goes_on(tmp_path, correction, capsys):
    place = tmp_path / "loans.subsvms"
    review = correction.review(place, browser=False, block=False)
    row = int(review._desk.rows[0])
    label = str(review._desk.labels[review._desk.suggested[0]])
    with urllib.request.urlopen(review.address) as answer:
        assert answer.status == 200
    review._desk.decide_many([Act([review._desk.settle(row, "accept", None)], "ann")])
    assert [(i, one) for i, one in enumerate(review.decided) if one is not None] == [(row - 1, label)]
    review.close()
    review.close()
    assert repr(review) == f"Review(closed, decisions in {str(place)!r})"
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith(f"to review, at {review.address}")
    assert said[1] == f"review.close() stops it; decisions are kept in {place}"
    again = correct_table(FRAME, "default").review(place, browser=False, block=False)  # in another session
    again.close()
    assert list(again.decided) == list(review.decided)
    found = correct_table(FRAME, "default", verified=again.decided)
    assert found.decided[row - 1] and found.decided.sum() == 1
    with pytest.raises(TableError) as error:
        found.review(place)
    assert str(error.value) == (
        f"{str(place)!r} holds the result of another run: choose another folder for this review, or go on "
        f"with that one: subsvms review {place}"
    )
    call("apply", place)
    assert pd.read_parquet(place / "final.parquet")["default"][row - 1] == label
    refuse("holds decisions or answers of people", "correct", "--from", place, "--output", place, "--force")


def test_the_only_copy_of_a_frame_is_never_replaced(tmp_path, correction):
    place = correction.origin.write_folder(correction, tmp_path / "loans.subsvms")
    assert read_table(place / "table.parquet", "default").columns.equals(correction.origin.run.table.columns)
    words = ("correct", "--from", place, "--output", place, "--force")
    refuse(f"{str(place)!r} holds the table that it is about", *words)
    assert (place / "table.parquet").is_file()


def test_without_a_folder_a_temporary_one_is_kept_and_used_again(tmp_path, correction, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fresh = replace(correction, origin=FrameRun(correction.origin.run))
    place = fresh.origin.write_folder(fresh)
    assert place.is_relative_to(tmp_path) and fresh.origin.write_folder(fresh) == place
    other = replace(fresh, audited=~fresh.flagged & (np.arange(len(fresh)) < 50))
    assert fresh.origin.write_folder(other) != place
