"""The comparison with peers: methods, runs that are continued, and a page that agrees with the lines."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.peers import cells as grid
from benchmarks.peers import child, data, losses, measures, methods, report, run, tables, variants
from benchmarks.peers.cells import BUDGETS, KINDS, PRESETS, Cell

CELLS = [Cell("breast cancer", 60, "clean", "0"), Cell("breast cancer", 60, "uniform", "0.1")]


def make_table(n_classes=2, n=150):
    X, y = make_classification(
        n, 6, n_informative=4, n_classes=n_classes, class_sep=2.0, flip_y=0, random_state=0
    )
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), y


def boast(X, given, seed):
    """Flip the first label."""
    labels = given.copy()
    labels[0] = 1 - labels[0]
    return labels, -np.arange(len(given), dtype=float)


def crash(X, given, seed):
    raise RuntimeError("no\nmore")


def dawdle(X, given, seed):
    time.sleep(60)


def vanish(X, given, seed):
    os._exit(3)


@pytest.mark.parametrize("name", methods.METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_method_returns_labels_and_qualities(name, n_classes, monkeypatch):
    if name not in methods.find_methods():
        pytest.skip(f"{methods.LIBRARIES[name]} is not installed")
    monkeypatch.setattr(methods, "N_BAGS", 10)
    X, y = make_table(n_classes)
    with threadpool_limits(1):
        labels, quality = methods.METHODS[name](X, y, 0)
    assert labels.shape == quality.shape == y.shape
    assert set(labels) <= set(range(n_classes))
    assert np.mean(labels == y) > 0.5
    assert np.isfinite(quality).all()


def test_wrong_labels_get_a_lower_quality():
    X, y = make_table()
    given = y.copy()
    given[:15] = 1 - given[:15]
    for name, method in methods.find_methods().items():
        if name not in ("as given", "balanced bagging", "cleanlab, boosting"):  # no ranking; slow; slow
            _, quality = method(X, given, 0)
            assert roc_auc_score(given != y, -quality) > 0.7, name


@pytest.mark.parametrize("name", ["breast cancer", "digits", "made: rare", "made: five classes"])
def test_tables_have_the_sizes_that_the_cells_assume(name):
    table = data.load_table(name, None)
    assert (len(table.y), np.bincount(table.y).min()) == data.SIZES[name]
    assert len(data.load_table(name, None, most_rows=100).y) == 100


@pytest.mark.parametrize("name", ["a1a", "splice", "mushrooms", "w1a"])
def test_files_have_the_sizes_that_the_cells_assume(data_folder, name):
    table = data.load_table(name, data_folder)
    assert (len(table.y), np.bincount(table.y).min()) == data.SIZES[name]
    assert table.X_test.shape == (min(len(table.y_test), data.MOST_TESTED), table.X.shape[1])
    assert set(table.y_test) == {0, 1}
    assert measures.retrain(table, table.y) > 0.6


@pytest.mark.parametrize("name", ["breast cancer", "digits"])
def test_every_attack_that_is_allowed_spends_its_budget(name):
    part = grid.Part((name,), tuple(kind for kind in KINDS if kind != "greedy"), BUDGETS)
    table = data.load_table(name, None)
    for cell in filter(grid.is_allowed, part.list_all(0)):
        share = np.mean(grid.corrupt(cell, table.X, table.y) != table.y)
        wanted = 0.75 * data.SIZES[name][1] / cell.rows if cell.budget == grid.RHO else float(cell.budget)
        assert abs(share - (0 if cell.kind == "clean" else wanted)) <= 1 / cell.rows


def test_presets_start_with_cheap_cells_and_skip_impossible_ones():
    for preset in PRESETS.values():
        cells = grid.list_cells(preset)
        assert len(set(cells)) == len(cells)
        clean = [(cell.seed, cell.rows) for cell in cells if cell.kind == "clean"]
        assert clean == sorted(clean)
        assert not set(cells) & set(grid.list_skipped(preset))
    skipped = grid.list_skipped(PRESETS["full"])
    assert Cell("w1a", 2477, "boundary", "0.05") in skipped
    assert Cell("w1a", 2477, "uniform", "0.05") not in skipped


def test_measures_agree_with_a_count_by_hand():
    X, y = make_table()
    table = data.Table(X, y, X, y)
    given, labels = y.copy(), y.copy()
    given[:10] = 1 - given[:10]
    labels[:4] = given[:4]  # six of ten are corrected,
    labels[20:22] = 1 - labels[20:22]  # and two become wrong
    found = measures.measure(table, given, labels, np.where(given == y, 1.0, np.r_[0.5, np.zeros(149)]))
    assert found["given"] == 10 / 150 and found["left"] == 6 / 150 and found["changed"] == 8 / 150
    assert found["precision"] == 6 / 8 and found["recall"] == 0.6
    assert found["auc"] == found["ap"] == 1.0
    assert 0.5 < found["bac"] <= 1.0
    untouched = measures.measure(table, y, y, np.full(150, np.nan))
    assert untouched["left"] == 0
    assert np.isnan([untouched[key] for key in ("precision", "recall", "auc")]).all()


def test_finished_runs_are_not_repeated(tmp_path):
    lines = run.Lines(tmp_path / "lines.csv")
    options = dict(lines=lines, folder=None, limit=30, on_progress=lambda line: None)
    assert run.run_cells(CELLS[:1], {"boast": boast}, **options) == 1
    both = {"boast": boast, "as given": methods.keep_labels}
    assert run.run_cells(CELLS, both, **options) == 3
    assert run.run_cells(CELLS, both, **options) == 0
    whole = lines.path.read_text()
    assert len(whole.splitlines()) == 5
    found = tables.read_lines(lines.path).set_index(["kind", "method"])
    assert (found["status"] == "done").all() and (found["peak_mib"] > 10).all()
    assert found.loc[("clean", "boast"), "left"] == pytest.approx(1 / 60, rel=1e-4)
    assert found.loc[("uniform", "as given"), "left"] == 0.1

    lines.path.write_text(whole[:-20])  # killed while it wrote a line
    lines = run.Lines(lines.path)
    assert len(lines.done()) == 3
    assert run.run_cells(CELLS, both, **options) == 1
    repaired = lines.path.read_text()
    before, after = (sorted(line[:40] for line in text.splitlines()) for text in (whole, repaired))
    assert after == before


STOPPED = """
import os, signal, sys
import test_peers
from benchmarks.peers import run
signal.signal(signal.SIGTERM, signal.default_int_handler)
methods = {"boast": test_peers.boast, "dawdle": test_peers.dawdle}
try:
    run.run_cells(test_peers.CELLS, methods, run.Lines(sys.argv[1]), None, limit=30)
except KeyboardInterrupt:
    os._exit(130)
"""


@pytest.mark.slow
def test_a_run_that_is_stopped_leaves_complete_lines_only(tmp_path):
    path, (tests, root) = tmp_path / "lines.csv", Path(__file__).parents[:2]
    places = os.pathsep.join([str(root), str(tests), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": places}
    process = subprocess.Popen([sys.executable, "-c", STOPPED, str(path)], env=environment)
    while process.poll() is None and (not path.exists() or len(path.read_text().splitlines()) < 3):
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 130
    assert list(tables.read_lines(path)["method"]) == ["boast", "boast"]


def test_a_file_of_another_version_is_refused(tmp_path):
    (tmp_path / "lines.csv").write_text("data,rows\n")
    with pytest.raises(ValueError, match="other columns"):
        run.Lines(tmp_path / "lines.csv")


def test_a_method_that_fails_gets_one_line(tmp_path):
    lines = run.Lines(tmp_path / "lines.csv")
    broken = {"crash": crash, "vanish": vanish, "boast": boast}
    for tried, limit in ((broken, 60), ({"dawdle": dawdle}, 1)):
        run.run_cells(CELLS[:1], tried, lines, None, limit=limit, on_progress=lambda line: None)
    found = tables.read_lines(lines.path).set_index("method")
    assert found["status"].to_dict() == {
        "crash": child.FAILED, "vanish": child.FAILED, "dawdle": child.TOO_SLOW, "boast": child.DONE
    }  # fmt: skip
    assert found.loc["crash", "note"] == "RuntimeError: no"
    assert "3" in found.loc["vanish", "note"] and found.loc["dawdle", "note"] == "more than 1 s"
    assert len(tables.count_unfinished(tables.read_lines(lines.path))) == 3


def test_if_an_attack_fails_each_method_gets_one_line(tmp_path):
    lines = run.Lines(tmp_path / "lines.csv")
    impossible = Cell("digits", 300, "directed, alpha=1", "0.1")
    run.run_cells([impossible], {"boast": boast}, lines, None, limit=30, on_progress=lambda line: None)
    found = tables.read_lines(lines.path)
    assert list(found["status"]) == [child.FAILED] and "two classes" in found["note"][0]


@pytest.fixture
def made_lines(tmp_path):
    """Return the path of invented lines: four methods, six cells, two seeds, one run that did not finish."""
    rng = np.random.default_rng(0)
    lines = run.Lines(tmp_path / "peers_smoke.csv")
    kinds = [("clean", "0"), ("uniform", "0.1"), ("boundary", "0.1")]
    names = ["as given", methods.OURS, "SubSVMs majority", "neighbours"]
    for name, rows in (("breast cancer", 379), ("a1a", 1605)):
        for kind, budget in kinds:
            for seed in (0, 1):
                given = 0.0 if kind == "clean" else 0.1
                for method in names:
                    values = dict(zip(measures.MEASURES, rng.random(8), strict=True)) | {"given": given}
                    if method == "as given":
                        values |= {"left": given, "changed": 0.0, "precision": np.nan}
                    if kind == "clean":
                        values |= {"auc": np.nan, "ap": np.nan, "recall": np.nan}
                    line = dict(zip(run.KEYS, (name, rows, kind, budget, seed, method), strict=True))
                    line |= {"status": child.DONE, "peak_mib": 9.0}
                    line |= {"seconds": rng.random(), "cpu_seconds": rng.random()}
                    if (name, kind, seed, method) == ("a1a", "boundary", 1, "neighbours"):
                        line |= {"status": child.TOO_SLOW, "note": "more than 9 s"}
                        values = {}
                    lines.append(line | values)
    return lines.path


def plain_cells(path):
    """Return {cell: {method: mean numbers}}, in another way."""
    frame = pd.read_csv(path, dtype={"budget": str})
    cells = {}
    for key, group in frame.groupby(["data", "rows", "kind", "budget"]):
        for method, own in group.groupby("method"):
            if set(own["status"]) == {"done"}:
                numbers = own[[*measures.MEASURES, "seconds", "peak_mib"]]
                cells.setdefault(key, {})[method] = numbers.mean().to_dict()
    return cells


def test_tables_agree_with_a_plain_count(made_lines):
    plain = plain_cells(made_lines)
    whole = [cell for cell in plain.values() if len(cell) == 4]
    assert len(whole) == 5 and len(plain) == 6
    common = tables.take_common(tables.average_seeds(tables.read_lines(made_lines)))
    table = tables.summarise(common)
    assert list(table.index) == ["as given", "SubSVMs majority", methods.OURS, "neighbours"]
    for method, row in table.iterrows():
        own = [cell[method] for cell in whole]
        harm = np.array([cell["left"] - cell["given"] for cell in own])
        assert row["left"] == pytest.approx(np.mean([cell["left"] for cell in own]))
        assert row["harmed"] == np.sum(harm > 0.002)
        assert row["worst"] == pytest.approx(harm.max())
        assert row["auc"] == pytest.approx(np.nanmean([cell["auc"] for cell in own]))
        assert row["seconds"] == pytest.approx(np.mean([cell["seconds"] for cell in own]))
        corrected = np.mean([np.nan_to_num(cell["precision"]) * cell["changed"] for cell in own])
        assert row["recall"] == pytest.approx(corrected / np.mean([cell["given"] for cell in own]))
    by_kind = tables.average_by(common, "kind", "left")
    assert list(by_kind.index) == ["clean", "uniform", "boundary"] and list(by_kind["cells"]) == [2, 2, 1]
    uniform = [cell[methods.OURS]["left"] for key, cell in plain.items() if key[2] == "uniform"]
    assert by_kind.loc["uniform", methods.OURS] == pytest.approx(np.mean(uniform))


def test_every_loss_is_listed(made_lines):
    plain = plain_cells(made_lines)
    cells = tables.average_seeds(tables.read_lines(made_lines))
    peers = ("as given", "neighbours")
    expected = {}
    for key, cell in plain.items():
        best = min(cell[peer]["left"] for peer in peers if peer in cell)
        if best < cell[methods.OURS]["left"] - 0.002:
            expected[key] = cell[methods.OURS]["left"] - best
    lost = losses.lost_cells(cells)
    found = dict(zip(lost[tables.CELL].itertuples(index=False, name=None), lost["difference"], strict=True))
    assert found == pytest.approx(expected) and len(found) >= 3
    assert list(lost["difference"]) == sorted(lost["difference"], reverse=True)

    unfinished = cells[(cells["method"] != methods.OURS) | (cells["kind"] != "uniform")]
    lost = losses.lost_cells(unfinished)
    assert np.isinf(lost.loc[lost["kind"] == "uniform", "difference"]).sum() == 2

    for measure, columns in report.AVERAGES.items():
        for column in columns:
            values = cells.pivot_table(index=tables.CELL, columns="method", values=measure)
            pairs = set()
            for peer in peers if measure not in losses.COSTS else peers[1:]:
                means = values[[methods.OURS, peer]].dropna().groupby(column).mean()
                better = losses.BETTER[measure] * (means[peer] - means[methods.OURS]) > 0
                pairs |= {(name, peer) for name in means.index[better]}
            table = losses.lost_groups(cells, column, measure)
            assert set(zip(table[column], table["peer"], strict=True)) == pairs
    pairs = losses.compare_pairs(cells).set_index("peer")
    assert list(pairs["cells"]) == [6, 5]
    assert pairs.loc["neighbours", "worse"] + pairs.loc["neighbours", "better"] <= 5


def test_a_slower_time_and_a_steeper_slope_are_losses():
    ours = {"method": methods.OURS, "1,000": 1.0, "3,000": "", "slope b": 0.5, "stopped at": "3,000"}
    peer = {"method": "neighbours", "1,000": 2.0, "3,000": 9.0, "slope b": 0.4, "stopped at": ""}
    second = {"method": "cleanlab, SVC", "1,000": 0.5, "3,000": "", "slope b": 2.0, "stopped at": "3,000"}
    third = peer | {"method": methods.MAJORITY, "1,000": 0.1}
    lost = losses.lost_speed([ours, peer, second, third], methods.OURS)
    assert set(zip(lost["what"], lost["peer"], strict=True)) == {
        ("1,000", "cleanlab, SVC"), ("3,000", "neighbours"), ("slope b", "neighbours")
    }  # fmt: skip


def test_a_faster_fit_is_a_loss_for_its_number_of_rows():
    names = ("classifier", "rows", "fit", "predict", "fit, times ours")
    lines = [("ours", 10, 2.0, 1.0, 1.0), ("other", 10, 1.0, 3.0, 0.5), ("ours", 20, 1.0, 1.0, 1.0),
             ("other", 20, 1.5, 0.5, 1.5)]  # fmt: skip
    lost = losses.lost_speed([dict(zip(names, line, strict=True)) for line in lines], "ours")
    assert list(lost["what"]) == ["fit, 10 rows", "predict, 20 rows"]


def test_the_spread_over_seeds_agrees_with_a_plain_count(made_lines):
    frame = tables.read_lines(made_lines)
    table = tables.spread_by_seed(frame, ["left"])
    cells = [key for key, group in frame.groupby(tables.CELL) if (group["status"] == child.DONE).all()]
    whole = frame.set_index(tables.CELL).loc[cells]
    for method, words in table["left"].items():
        own = whole[whole["method"] == method]
        means = [own.loc[own["seed"] == seed, "left"].mean() for seed in (0, 1)]
        assert words == f"{np.mean(means):.4f} ({min(means):.4f} to {max(means):.4f})"


def test_the_page_on_variants_has_their_numbers(made_lines, tmp_path):
    path = tmp_path / "variants_smoke.csv"
    path.write_text(made_lines.read_text().replace("neighbours", "before"))
    variants.write_page("smoke", path)
    page = path.with_suffix(".md").read_text()
    table = tables.summarise(tables.average_seeds(tables.read_lines(path)))
    assert "| before | " in page and f"{table.loc['before', 'auc']:.4f}" in page


def test_an_unknown_quality_counts_as_no_doubt():
    table = data.load_table("breast cancer", None)
    given = table.y.copy()
    given[:3] = 1 - given[:3]
    quality = np.where(np.arange(len(given)) < 3, 0.5, np.nan)
    assert measures.measure(table, given, given, quality)["auc"] == 1.0


def test_lines_of_two_versions_of_our_code_are_not_mixed(tmp_path, monkeypatch):
    lines = run.Lines(tmp_path / "peers_smoke.csv")
    run.note_run(lines, methods.METHODS)
    key = dict(zip(run.KEYS, ("a", 1, "clean", "0", 0, methods.OURS), strict=True))
    lines.append(key | {"status": child.DONE})
    run.note_run(lines, methods.METHODS)
    before = json.loads((tmp_path / "peers_smoke.json").read_text())[run.SOURCE]
    monkeypatch.setattr(run, "hash_source", lambda: "another")
    with pytest.raises(ValueError, match="--fresh"):
        run.note_run(lines, methods.METHODS)
    run.note_run(lines, ["neighbours"])  # a peer, whose code is not ours
    assert json.loads((tmp_path / "peers_smoke.json").read_text())[run.SOURCE] == before
    lines.drop([methods.OURS])
    run.note_run(lines, methods.METHODS)
    assert json.loads((tmp_path / "peers_smoke.json").read_text())[run.SOURCE] == "another"


def test_the_page_holds_every_loss_and_every_number(made_lines, tmp_path, capsys):
    part = {"note": "seconds", "picture": "speed_rows.png", "lines": [{"method": methods.OURS, "1": 2.5}]}
    (tmp_path / "speed_rows.json").write_text(json.dumps({"Rows": part}))
    report.write_report("smoke", made_lines, tmp_path / "RESULTS.md")
    page = (tmp_path / "RESULTS.md").read_text()
    cells = tables.average_seeds(tables.read_lines(made_lines))
    table = tables.summarise(tables.take_common(cells))
    for value in table[["left", "bac"]].to_numpy().ravel():
        assert f"{value:.4f}" in page
    section = page[page.index("### By cell: ") : page.index("\n## Speed\n")]
    assert f"| {methods.OURS} | 2.5 |" in page and "![Rows](speed_rows.png)" in page
    lost = losses.lost_cells(cells)
    assert section.count("\n| ") == len(lost) + 1
    assert "more than 9 s" in page and "nan" not in page
    assert "Of the 36 runs of this preset, 24 were not started." in page
    assert (tmp_path / "peers_smoke_left.png").stat().st_size < 100_000
    assert f"{table.loc[methods.OURS, 'left']:.4f}" in capsys.readouterr().out
