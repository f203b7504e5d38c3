"""Every benchmark still runs: each with constants that make it small, and with results in another folder."""

import json
import lzma
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
START = """
import importlib, sys
from pathlib import Path
name, results, smaller, *words = sys.argv[1:]
here = importlib.import_module(f"benchmarks.{name}")
here.RESULTS = Path(results)
exec(smaller, vars(here))
sys.argv = [name, *words]
here.main()
"""
BLOBS = "lambda *_: load('made: blobs', None)"  # 600 rows
SETTINGS = [  # module, words of its command line ({} is the folder), what it writes, what makes it small
    ("annotators", "--seeds 0 --only digits cost --results {}", "annotators_reliability.png",
     "ROWS, all_digits = 300, load_digits;"
     "load_digits = lambda **_: [one[:300] for one in all_digits(return_X_y=True)]"),
    ("annotators_made", "--seeds 0 --only wine --results {} --workers 1", "annotators_made.md",
     "KINDS, PEOPLE, ANSWERS, FEW = ('independent', 'opposite'), (2, 5), (1, 3), ((2, 2),)"),
    ("audit", "--seeds 0 --only wine 'breast cancer' --results {} --workers 1", "audit.md",
     "KINDS, ANSWERS, ERROR_RATES, N_AUDITS = ('uniform', 'region'), (10, 20), (0.1,), 2"),
    ("billion", "", "billion.md", "N_ROWS, N_VOTED, POOL, N_SVMS, SUBSET = 3000, 100, 300, 20, 30"),
    ("calibration", "reliability --seeds 0 --only wine iris --results {} --workers 1",
     "calibration_reliability.png",
     "ordinary.KINDS, several.CASES = ('clean', 'uniform'), (('uniform', 0.1),)"),
    ("calibration", "intervals --seeds 0 --results {} --workers 1", "calibration.md",
     "GAUSSIANS = {'two': (200, 4, 5.0, (0.5, 0.5)), 'three': (200, 4, 5.0, (0.4, 0.3, 0.3))}"),
    ("calibration", "smoothness --seeds 0 --results {} --workers 1", "calibration_smoothness.png",
     "RATES, TABLES = (0.0, 0.1), {'breast cancer': TABLES['breast cancer']}"),
    ("certificates", "tables report --only 'breast cancer' --results {}", "certificates.png",
     "N_SMOOTHED = 50"),
    ("certificates_attacks", "attacks svms --only 'breast cancer' --results {}", "certificates_svms.csv",
     "N_ATTACKS, N_TIGHT, N_VOTED = 100, 5, 2"),
    ("certificates_cost", "--only 'breast cancer' --runs 1 --results {}", "certificates_cost.csv", ""),
    ("check", "--seeds 0 --only wine --results {} --workers 1", "check.md", "N_DRAWS = 5"),
    ("copies", "--seeds 0", "copies.md",
     "MOST, MOST_COPIED = 200, 100; TRIALS = {name: ('breast cancer',) for name in TRIALS}"),
    ("directed", "--seeds 0 --only splice --results {} --workers 1", "directed.md",
     "from sklearn.datasets import load_breast_cancer as load;"
     "read = lambda *_: (*load(return_X_y=True), None, None);"
     "MOST, RHOS, ALPHAS, MODELS = 200, (0.5,), (1.0,), {'forest': MODELS['forest']};"
     "COLUMNS = (*COLUMNS[:7], 'forest')"),
    ("frames", "--rows 300 --runs 1", "frames.json", ""),
    ("gpu", "--rows 3000 --compare 500 --pool 300 --svms 20 --subset 30 --device cpu", "gpu.md",
     "BLOCK = 2000"),
    ("gpu_job", "--rows 3000 --engines local --device cpu --svms 20 --pool 300 --folder {}/t --results {}",
     "gpu_job.md", ""),
    ("leaks", "", "leaks.md",
     "load_tables, LEAKS = lambda: [('iris', *load_iris(return_X_y=True))], LEAKS[:1]"),
    ("ordinary", "--seeds 0 --only wine --methods subsvms --results {} --workers 1", "ordinary.md",
     "KINDS = ('clean', 'uniform')"),
    ("peak", "", None, "J, N_ROWS, N_BLOCKS, N_ROUNDS = 20, 300, 1, 10"),
    ("quality", "--corruptions 1 --out {}/quality.csv --only 'made: blobs'", "quality.md", ""),
    ("review", "--clients 2 --seconds 0.5 --issues 200", "review.json", ""),
    ("review_parts", "--rows 3000 --issues 300", "review_parts.json", "BLOCK = 1000"),
    ("review_keys", "--issues 30 --keys 10 --pause 20", "review_keys.json", ""),
    ("same_bits", "--only 'other classifier' --write {}/before.json", None, ""),
    ("same_probabilities",
     "--seeds 0 --only iris 'breast cancer' --judges 'logistic regression' --cache {}/cache --results {}",
     "same_probabilities.md",
     "KINDS, ONE_CLASS, MOST = ('clean', 'uniform'), ONE_CLASS[:1], 150"),
    ("scale", "rows", "scale.json", "ROWS, BLOCK = (3000,), 3000; EVERYWHERE = CASES = ('--svms 20',)"),
    ("scale", "pool", "scale_pool.csv",
     f"POOLS, LARGE, load_any, list_cases = (200,), {{}}, {BLOBS}, lambda _: [('clean', 'clean', '', 0)]"),
    ("scale", "cost", "scale_cost.json", "BLOCK, SHAPES = 600, [(5, 200, 20, 'rbf')]"),
    ("attacks", "", "attacks.md", "OTHERS, ATTACKS, NOISE = ['breast cancer'], ['surest'], ['uniform']"),
    ("several", "", "several.md", "list_tables, CASES = lambda _: ['iris'], [('uniform', 0.1)]"),
    ("small_table", "{}/small.csv --label y --runs 1", "small_table.json", ""),
    ("speed", "--svms 50 --times 1 --out {}/speed.json", "speed.json",
     "J, GROWTH = 60, (100, 300); SHAPES = dict.fromkeys(SHAPES, (200, 100, 20, 4, 0.25));"
     "MEMORY = MEMORY.replace('1_000_000', '3_000').replace('=1000', '=20')"),
    ("speed_rows", "--times 1 --limit 60 --out {}/speed_rows.json --only Rows", "speed_rows.json",
     "ROWS, find_methods = (300,), dict"),
    ("targets", "score --only splice --results {}", "targets.md",
     "from sklearn.datasets import load_wine; ordinary.load = lambda *_: load_wine(return_X_y=True);"
     "N_DRAWS, ANSWERS, METRICS, KINDS = 4, (20,), ('accuracy',), ('uniform',)"),
    ("targets_any_stop", "--only splice", "targets_any_stop.md",
     "import shutil; from benchmarks import ordinary; from sklearn.datasets import load_wine;"
     "ordinary.load = lambda *_: load_wine(return_X_y=True);"
     "shutil.copy(LINES.with_name('targets.csv'), RESULTS); LINES = RESULTS / LINES.name;"
     "N_RUNS, N_OWN, RATES, list_cells = 3, 1, (0.05,), lambda _: [('splice', 'uniform')]"),
    ("text", "--seeds 0 --only 'names of characters, by category' --results {} --workers 1", "text.md",
     "MOST, KINDS = 300, KINDS[:1]"),
    ("tool", "--data-dir {} --seeds 1", "tool.md", "ATTACKS = {'clean': None}"),
    ("trained", "--seeds 0 --only 'breast cancer' --results {} --workers 1", "trained.md",
     "KINDS, N_ANSWERS = ('uniform',), 10"),
    ("verified", "--seeds 0 --only 'breast cancer' --results {} --workers 1", "verified.md",
     "KINDS = ('clean', 'uniform')"),
]  # fmt: skip


def test_every_benchmark_has_a_smallest_setting():
    """Peers and experiments have tests of their own, and these are no benchmarks."""
    named = {module for module, *_ in SETTINGS}
    assert named | {"tickets", "made", "pages", "ages"} == {path.stem for path in BENCHMARKS.glob("*.py")}


@pytest.mark.nightly
@pytest.mark.parametrize("module, words, written, smaller", SETTINGS, ids=[row[0] for row in SETTINGS])
def test_a_benchmark_runs_with_its_smallest_setting(tmp_path, module, words, written, smaller):
    if module == "tool":
        write_income(tmp_path)
    (tmp_path / "small.csv").write_text(
        "a,y\n" + "".join(f"{i % 10},{'no' if i % 10 < 5 else 'yes'}\n" for i in range(60))
    )
    if module == "review_keys" and shutil.which("chromium") is None:
        pytest.skip("chromium is not installed")
    environment = {key: value for key, value in os.environ.items() if key != "SUBSVMS_DATA"}
    environment["PYTHONPATH"] = str(BENCHMARKS.parent)
    words = shlex.split(words.replace("{}", str(tmp_path)))
    command = [sys.executable, "-W", "ignore", "-c", START, module, str(tmp_path), smaller, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    if written is not None:
        assert (tmp_path / written).stat().st_size > 0
        assert written in json.loads((tmp_path / "made.json").read_text())


def write_income(folder):
    """Write tiny files that look like LIBSVM's a1a: one feature of each of 14 groups."""
    line = "1:1 6:1 14:1 {}:1 35:1 40:1 47:1 61:1 67:1 72:1 74:1 76:1 78:1 83:1"
    rows = [f"{'+1' if i % 2 else '-1'} {line.format(19 + i % 10)}\n" for i in range(60)]
    for name in ("a1a.xz", "a1a.t.xz"):
        with lzma.open(folder / name, "wt") as file:
            file.writelines(rows)
