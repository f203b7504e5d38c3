"""The paper's evaluation: its parts alone, and a run that is stopped and continued."""

import lzma
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, roc_auc_score
from sklearn.svm import SVC

from experiments import claims, datasets, grid, methods, protocol, run, synthetic, tables
from experiments.__main__ import main
from experiments.judge import METRICS, score
from experiments.protocol import BASELINES, CLEAN, COARSE, PRESETS, UNWEIGHTED, Case, Preset, Protocol, Run
from experiments.store import Store, StoreError
from subsvms.datasets import make_separable_gaussians

TINY = Protocol(C=(1.0, 100.0), ratio=(0.1, 1.0), gamma=(1.0, 10.0), splits=2, bags=3, n_svms=50)


def make_data(name="a1a", n=160, seed=0):
    """Return small synthetic data under a name that the paper uses."""
    X, y = make_separable_gaussians(2 * n, 3, beta=0.3, random_state=seed)
    X = X + np.random.default_rng(seed).normal(0, 0.4, X.shape)
    return datasets.Dataset(name, X[:n], y[:n], X[n:], y[n:])


@pytest.fixture(scope="module", autouse=True)
def made():
    """Let runs find synthetic data under the names of the paper's data."""
    found = {name: make_data(name, seed=i) for i, name in enumerate(("a1a", "splice"))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "load", lambda name, folder: found[name])
        patch.setattr(synthetic, "BETAS", (0.05, 0.5))
        yield found


@pytest.fixture(autouse=True)
def forget_kernels():
    yield
    for cached in (grid.training_kernel, grid.test_kernel):
        cached.cache_clear()


def do_tiny(store, dimensions=()):
    """Run a small preset, and return the lines that it reports."""
    lines = []
    run.do_preset(make_tiny(dimensions), store, on_progress=lines.append)
    return lines


def make_tiny(dimensions=()):
    both, noisy = ("a1a", "splice"), ("0.0",)
    return Preset("tiny", "", TINY, both, noisy, 2, both, noisy, 1, dimensions, made=1)


@pytest.fixture(scope="module")
def finished(made, tmp_path_factory):
    """The folder of a preset that was run to its end, and the lines that it reported."""
    folder = tmp_path_factory.mktemp("finished") / "out"
    return folder, do_tiny(Store(folder, TINY), dimensions=(2,))


def test_the_judge_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    clean, values = rng.integers(0, 2, 200), rng.normal(size=200).round(1)
    labels = (values > 0.2).astype(int)
    found = score(clean, labels, values)
    assert found["bac"] == pytest.approx(balanced_accuracy_score(clean, labels))
    assert found["auc"] == pytest.approx(roc_auc_score(clean, values))
    assert found["accuracy"] == accuracy_score(clean, labels)
    weight = np.where(clean == 1, 1 / np.sum(clean == 1), 1 / np.sum(clean == 0))  # as if classes were equal
    assert found["sif"] == pytest.approx(f1_score(clean, labels, sample_weight=weight))


def test_candidates_agree_with_svms_trained_one_by_one(made):
    """Compared with SVC, which has the L1 loss; each C was started from the previous solution."""
    data, small = made["a1a"], Protocol(loss="hinge", C=(1.0, 10.0), ratio=(0.1, 1.0, 10.0), gamma=(1.0,))
    cases = [Case("a1a", CLEAN, 0), Case("a1a", "0.0", 0)]
    givens = np.stack([protocol.corrupt(data.y_train, case) for case in cases])
    found = grid.evaluate(data, cases, givens, 1.0, small)
    assert len(found) == 2 * 2 * 3
    for row in found.itertuples():
        given = givens[0 if row.alpha == CLEAN else 1]
        svm = SVC(C=row.C, gamma=1 / 3, class_weight={0: 1.0, 1: row.ratio}, tol=1e-5)
        svm.fit(data.X_train, given)
        right = score(data.y_test, svm.predict(data.X_test), svm.decision_function(data.X_test))
        for measure in METRICS:
            assert getattr(row, measure) == pytest.approx(right[measure], abs=0.02)  # a row or two


def test_kernels_computed_in_blocks_give_the_same_values(made, monkeypatch):
    data = made["a1a"]
    coef = np.random.default_rng(0).normal(size=(2, len(data.y_train)))
    whole = grid.values_on_test(data, 1.0, coef, [0.0, 1.0])
    grid.test_kernel.cache_clear()
    monkeypatch.setattr(grid, "MOST_BYTES", 0)
    monkeypatch.setattr(grid, "BLOCK", 7)
    np.testing.assert_allclose(grid.values_on_test(data, 1.0, coef, [0.0, 1.0]), whole, rtol=1e-4, atol=1e-4)


def test_cross_validation_leaves_rows_out(made):
    data, case = made["a1a"], Case("a1a", "0.0", 0)
    given = protocol.corrupt(data.y_train, case)
    small = Protocol(loss="hinge", C=(10.0,), ratio=(1.0,), gamma=(1.0,), splits=2)
    found = grid.cross_validate(data, [case], given[None], 1.0, small)
    assert len(found) == 2
    for row in found.itertuples():
        fold = grid.make_folds(given, case, row.split, 4)
        held_out = np.empty(len(given), dtype=int)
        for k in range(4):
            svm = SVC(C=10.0, gamma=1 / 3, tol=1e-5).fit(data.X_train[fold != k], given[fold != k])
            held_out[fold == k] = svm.predict(data.X_train[fold == k])
        assert row.cv_bac == pytest.approx(balanced_accuracy_score(given, held_out), abs=0.03)
        assert row.cv_accuracy == pytest.approx(accuracy_score(given, held_out), abs=0.03)
    assert not np.array_equal(*(grid.make_folds(given, case, split, 4) for split in (0, 1)))


def test_test_scores_are_hidden_from_all_methods_that_do_not_choose_by_them_in_the_paper(made):
    found = methods.load_methods()
    assert set(found) == {*BASELINES, "SubSVMs", tables.RULE}
    sees = {name for name, method in found.items() if method.SEES_TEST_LABELS}
    assert {name.removesuffix(UNWEIGHTED) for name in sees} == {"Oracle-SVM", "Blind-SVM", "Bag-SVM"}
    frame = pd.DataFrame({"bac": [0.5], "sif": [0.5], "auc": [0.5], "accuracy": [0.5], "C": [1.0]})
    assert list(methods.hide(frame, found["CV-SVM"])) == ["C"]
    assert list(methods.hide(frame, found["Oracle-SVM"])) == list(frame)
    assert run.blindfold(made["a1a"]).y_test.size == 0
    assert run.blindfold(made["a1a"]) == made["a1a"]  # so that kernels are shared


def test_each_method_chooses_as_the_paper_says(finished):
    folder, lines = finished
    store, n_runs = Store(folder), len(run.list_runs(make_tiny(), methods.load_methods()))
    rows, candidates = store.read("runs"), store.read("candidates")
    assert lines[-1] == f"{n_runs} runs done, 0 were done before."
    assert len(rows) == n_runs == 2 * (2 * 2) + 2 * 2 * 8 + 2 * 2
    for suffix, allowed in (("", candidates), (UNWEIGHTED, candidates[candidates["ratio"] == 1.0])):
        by_case = allowed.groupby(["data", "alpha", "corruption"])[list(METRICS)].max()
        for row in rows[rows["method"] == "Oracle-SVM" + suffix].itertuples():
            for measure in METRICS:  # each table's own choice
                assert getattr(row, measure) == by_case.loc[(row.data, row.alpha, row.corruption), measure]
        blind = rows[rows["method"] == "Blind-SVM" + suffix]
        for alpha, group in blind.groupby("alpha"):
            means = allowed[allowed["alpha"] == alpha].groupby(["gamma", "C", "ratio"])["bac"].mean()
            chosen = group[["gamma", "C", "ratio"]].drop_duplicates()
            assert len(chosen) == 1 and tuple(chosen.iloc[0]) == means.idxmax()
        assert set(rows[rows["method"] == "Bag-SVM" + suffix]["ratio"]) <= set(allowed["ratio"])
    folds = store.read("folds").groupby(["data", "alpha", "gamma", "C", "ratio", "split"])
    for suffix, column in (("", "cv_bac"), (UNWEIGHTED, "cv_accuracy")):
        for row in rows[rows["method"] == "CV-SVM" + suffix].itertuples():
            first = folds[column].mean()[row.data, row.alpha].xs(0, level="split").reset_index()
            allowed = first if suffix == "" else first[first["ratio"] == 1.0]
            assert (row.gamma, row.C, row.ratio) == tuple(allowed.loc[allowed[column].idxmax()][:3])
    assert rows[list(METRICS)].notna().all().all() and (rows["train_seconds"] > 0).all()


def test_the_method_on_the_page_about_adding_one_is_run_and_shown(finished, tmp_path, monkeypatch):
    """What was done before is not run again."""
    page = (Path(__file__).parent.parent / "docs/adding_a_method.md").read_text()
    assert page.count("\n") <= 40
    (tmp_path / "forest.py").write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1])
    store = Store(shutil.copytree(finished[0], tmp_path / "out"), TINY)
    before = store.read("runs")
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(tmp_path)])
    monkeypatch.setattr(methods, "MODULES", (*methods.MODULES, "forest"))
    assert do_tiny(store)[-1] == f"4 runs done, {len(before)} were done before."
    rows = store.read("runs")
    clean = rows[(rows["method"] == "Forest") & (rows["alpha"] == CLEAN)]
    assert len(clean) == 2 and clean["bac"].min() > 0.9
    lines = tables.make_table(rows, "table2")[2]
    assert [line[1] for line in lines[:11]] == [*BASELINES, "SubSVMs", "Forest", tables.RULE]
    assert "(" not in lines[9][2]
    assert [line[1] for line in tables.make_table(rows, "table3")[2][-2:]] == ["Forest", tables.RULE]


class Stop(Exception):
    pass


def test_a_run_that_was_stopped_continues_and_does_nothing_twice(finished, tmp_path, monkeypatch):
    expected = Store(finished[0]).read("runs").set_index(list(Run._fields)).sort_index()
    done, budget = [], 0

    def stoppable(name, work):
        def stop_or_work(*words):
            nonlocal budget
            if budget == 0:
                raise Stop
            budget -= 1
            result = work(*words)
            done.append((name, words[0] if name == "do_run" else (words[0].name, tuple(words[1]), words[3])))
            return result

        return stop_or_work

    for name in ("do_run", "evaluate", "cross_validate"):
        monkeypatch.setattr(run, name, stoppable(name, getattr(run, name)))
    for budget in (1, 4, 5, 7, 100, 100):  # the last time nothing is left to do
        with suppress(Stop) if budget < 100 else nullcontext():
            do_tiny(Store(tmp_path / "out", TINY))
    assert len(done) == len(set(done))
    found = Store(tmp_path / "out").read("runs").set_index(list(Run._fields)).sort_index()
    pd.testing.assert_frame_equal(found[list(METRICS)], expected[list(METRICS)])


def test_incomplete_files_are_not_read_and_merging_loses_nothing(tmp_path):
    store = Store(tmp_path / "out", TINY)
    for i in range(5):
        store.append("runs", [{"a": i}])
    (tmp_path / "out/runs/.half.parquet.part").write_bytes(b"PAR1")
    store.gather("runs", least=3)
    assert len(store.parts("runs")) == 1
    assert sorted(store.read("runs")["a"]) == list(range(5))
    copy = store.parts("runs")[0]
    shutil.copy(copy, copy.with_name("again.parquet"))  # killed while merging
    assert len(store.read("runs")) == 5


def test_folders_that_cannot_be_used_are_refused(tmp_path, capsys):
    assert main(["show", "table2", "--out", str(tmp_path / "none")]) == 2
    assert "experiments: There are no results in" in capsys.readouterr().err
    Store(tmp_path / "out", TINY)
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/letter.txt").write_text("Hello")
    for name, given, message in (
        ("out", COARSE, "another version or protocol"),
        ("file/out", TINY, "cannot be written to"),
        ("full", TINY, "is not empty"),
        ("nothing", None, "no results"),
    ):
        with pytest.raises(StoreError, match=message):
            Store(tmp_path / name, given)
    Store(tmp_path / "out", TINY)  # the same again


def test_missing_and_wrong_data_files_are_refused(tmp_path, capsys, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(synthetic, "BETAS", ())
        patched.setattr(run, "load", datasets.load)
        words = ["--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]
        assert main(["run", "--preset", "smoke", *words]) == 2
    assert "experiments: The data file splice is missing" in capsys.readouterr().err
    for name, folder, content, message in (
        ("a0a", ".", None, "must be one of a1a"),
        ("a1a", "no", None, "does not exist"),
        ("a1a", ".", None, "a1a is missing in"),
        ("a1a", ".", lzma.compress(b"+1 1:1"), f"SHA-256 .{{64}}, but should have {datasets.HASHES['a1a']}"),
        ("a1a", ".", b"broken", "cannot be decompressed"),
    ):
        if content:
            (tmp_path / "a1a.xz").write_bytes(content)
        with pytest.raises(datasets.DataError, match=message):
            datasets.load(name, tmp_path / folder)


def make_rows(lead=0.1):
    """Return rows in which every method has the paper's numbers, and SubSVMs `lead` more."""
    rows = [
        (data, alpha, method, measure, value + lead * (method == "SubSVMs"))
        for name, measure in tables.MEASURE.items()
        for (alpha, method, data), value in tables.expected(name).items()
    ]
    keys = ["data", "alpha", "method"]
    frame = pd.DataFrame(rows, columns=[*keys, "measure", "value"])
    frame = frame.pivot_table(index=keys, columns="measure", values="value").reset_index()
    return frame.assign(corruption=0, train_seconds=np.where(frame["method"] == "SubSVMs", 0.5, 5.0))


def test_tables_show_our_numbers_beside_the_papers_and_mark_large_differences():
    rows = make_rows(lead=0.04)
    shown = {name: tables.make_table(rows, name) for name in tables.TITLES}
    for title, heads, lines in shown.values():
        assert all(len(line) == len(heads) for line in lines)
        assert tables.as_markdown(title, heads, lines).count("\n") == len(lines) + 4
        assert lines[0][0] in tables.as_text(title, heads, lines)
    title, heads, lines = shown["table2"]
    cells = {line[1]: line for line in lines[:9]}
    assert cells["SubSVMs"][2] == ".850 (0.81)!" and cells["Oracle-SVM"][2] == ".760 (0.76)"
    times = shown["table3"][2]
    assert times[0][2] == "5; 10 (72.7)" and times[-1][2] == "0.50"


def test_the_papers_claims_are_checked_against_its_own_numbers():
    """With the paper's Table 2 as rows, the answers are about the paper itself."""
    found = {(words, kind): rest for words, kind, *rest in claims.answer(make_rows(lead=0.0))}
    for kind in ("W=1", "W tuned"):  # the same numbers stand for both here
        worse = found["SubSVMs is never significantly worse", kind]
        assert worse == ["no", "worse by 0.05 in 1 of 52 cells"]  # splice, clean
        assert found["Oracle-SVM is at least as good as Blind-SVM", kind][0] == "yes"
    assert len(found) == 14
    far = claims.closeness(make_rows(lead=0.1), "table2")
    ours, oracle = far.loc["SubSVMs"], far.loc["Oracle-SVM"]
    assert ours["cells"] == 52 and ours["mean"] == pytest.approx(0.1) and ours["far"] == 52
    assert oracle["cells"] == 52 and oracle["worst"] == 0 and oracle["far"] == 0
    rows = make_rows()
    assert claims.answer(rows[rows["method"] == "SubSVMs"]) == []  # without baselines


def test_claims_about_the_figure_are_checked_on_synthetic_data(finished):
    rows = Store(finished[0]).read("synthetic")
    assert set(rows["J"]) == set(synthetic.VOTES) and len(rows) == 2 * 5 * 2 * len(synthetic.VOTES)
    found = claims.figure_claims(rows)
    assert [answer for _, answer, _ in found][0] == "yes"
    _, heads, lines = synthetic.make_table(rows)
    worst = dict(zip(heads, lines[0], strict=True))
    assert worst[""] == "worst case, p = 1/2" and float(worst["J=256"]) > float(worst["J=1"])


def test_the_report_has_all_tables_the_figure_and_the_claims(finished, tmp_path):
    out = shutil.copytree(finished[0], tmp_path / "out")
    assert main(["report", "--out", str(out)]) == 0
    page = (out / "report.md").read_text()
    for title in tables.TITLES.values():
        assert title in page
    assert "never significantly worse" in page and "How close we come" in page
    line = re.search(r".*balanced accuracy \| alpha=0.0 \| .* of 2 .*", page)[0]
    rows = Store(out).read("runs").query("alpha == '0.0' and corruption == 0")
    for method, cell in zip(("SubSVMs", tables.RULE), line.split(" | ")[2:4], strict=True):
        assert float(cell) == pytest.approx(rows[rows["method"] == method]["bac"].mean(), abs=1e-4)
    assert (out / "figure2.png").exists()
    for thing, form in (("claims", "text"), ("figure2", "png"), ("table2", "png"), ("table7", "markdown")):
        target = tmp_path / f"{thing}.{form}"
        assert main(["show", thing, "--out", str(out), "--format", form, "--to", str(target)]) == 0
        assert target.stat().st_size > 100 and (target.read_bytes()[:4] == b"\x89PNG") == (form == "png")


def test_presets_have_the_runs_that_they_describe():
    runs = PRESETS["paper"].runs()
    assert len(runs) == len(set(runs))
    cells = {(run.data, run.alpha) for run in runs if run.method == "SubSVMs"}
    assert len(cells) == 13 * 6
    assert sum(run.method == "SubSVMs" for run in runs) == 13 * 6 * 10
    assert {run.method for run in PRESETS["quick"].runs() if run.data == "w5a"} == {"SubSVMs"}


@pytest.mark.nightly
def test_the_smoke_preset_stopped_and_killed_continues_and_gives_the_expected_table(
    data_folder, tmp_path, capsys, monkeypatch
):
    """Ctrl-C during the synthetic data, kill -9 while SVMs are trained, then to the end."""
    out = str(tmp_path / "out")
    words = ["run", "--preset", "smoke", "--data-dir", str(data_folder), "--out", out]
    for sign, kind in ((signal.SIGINT, "synthetic"), (signal.SIGKILL, "runs")):
        command = [sys.executable, "-m", "experiments", *words]
        process = subprocess.Popen(command, cwd=Path(__file__).parent.parent, stderr=subprocess.PIPE)
        while not list((tmp_path / "out" / kind).glob("*.parquet")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(sign)
        sent = time.monotonic()
        message = process.communicate()[1].decode()
        assert time.monotonic() - sent < 10
        assert process.returncode == (130 if sign == signal.SIGINT else -signal.SIGKILL)
        assert sign == signal.SIGKILL or "Finished runs are kept" in message
    monkeypatch.setattr(run, "load", datasets.load)
    for _ in range(2):  # the second time nothing is left to do
        assert main(words) == 0
    assert "0 runs done, 20 were done before" in capsys.readouterr().out
    expected = pd.DataFrame(datasets.read_expected("smoke")).set_index(["alpha", "method"])
    rows = Store(out).read("runs").set_index(["alpha", "method"])
    assert rows.index.is_unique
    for key, line in expected.iterrows():
        for measure in METRICS:
            assert rows.loc[key, measure] == pytest.approx(float(line[measure]), abs=0.03)
    assert main(["show", "table2", "--out", out, "--format", "markdown"]) == 0
    assert "splice" in capsys.readouterr().out


@pytest.mark.slow
def test_the_papers_data_have_the_papers_counts(data_folder):
    for name in datasets.NAMES:
        datasets.load(name, str(data_folder))
