"""What must hold of the package as a whole."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import subsvms
from subsvms import displays, theory

SOURCE = Path(subsvms.__file__).parent
LAYERS = """
    metrics ranges kernel rows threads limits frames drawing writing
    budget sampling files states noise_curve
    softmax free_names greedy_attack subset_bounds vote_bounds datasets checks progress
    arrowfiles delimited jsonlines labels svmlight
    _kernels table columns coders embeddings adversaries
    _smo _ballots recipes
    solver encoder
    votes certificates training features
    noise witnesses
    judgement
    correction verification verdicts
    noise_display votes_display curve_display estimators
    regularity separation
    planning regularity_display appraisal
    corrector
    theory displays
    persistence demo commands decisions pool
    groups neighbours run_folder selection sources label_codes
    tally engines staging
    runs issues
    outputs summary exits
    batches
    parts survey
    scale
    models terminal
    report review
    job applying exchange cli_shared
    job_in_parts
    cli_review
    cli
""".strip().splitlines()
OWN_IMPORT = r"^\s*from subsvms(?:\.| import )(\w+)"


def test_imports_point_down():
    depth = {part: i for i, layer in enumerate(LAYERS) for part in layer.split()}
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part in {"__init__", "__main__"}:
            continue
        for used in re.findall(OWN_IMPORT, path.read_text(), re.MULTILINE):
            if used != "__version__":
                assert used == part or depth[used] < depth[part], f"{part} imports {used}"


def test_only_solver_and_votes_touch_compiled_code():
    for path in SOURCE.glob("[!_]*.py"):
        if path.stem not in {"solver", "votes"}:
            assert not re.search(r"^\s*(from subsvms\._|import numba|from numba)", path.read_text(), re.M)


def test_the_public_names_are_these():
    assert subsvms.__all__ == [
        "LabelCorrector",
        "LabelNoiseWarning",
        "SubSVMClassifier",
        "adversaries",
        "certificates",
        "correct_labels",
        "displays",
        "estimate_regularity",
        "load",
        "make_separable_gaussians",
        "metrics",
        "plan",
        "save",
        "theory",
    ]
    for name in subsvms.__all__:
        assert hasattr(subsvms, name)


@pytest.mark.parametrize(
    "name", [m.name for m in pkgutil.iter_modules([str(SOURCE)]) if m.name != "__main__"]
)
def test_the_examples_in_docstrings_run(name):
    module = importlib.import_module(f"subsvms.{name}")
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


PUBLIC = {
    "adversaries": [
        "attack",
        "directed_flips",
        "uniform_flips",
        "class_conditional_flips",
        "boundary_flips",
        "surest_flips",
        "region_flips",
        "greedy_flips",
    ],
    "certificates": ["changed_draw", "count_withstood", "certified_curve"],
    "corrector": ["LabelCorrector", "correct_labels"],
    "datasets": ["make_separable_gaussians"],
    "displays": displays.__all__,
    "estimators": ["SubSVMClassifier"],
    "features": ["make_features"],
    "metrics": ["skew_insensitive_f_score"],
    "models": ["load_model", "predict_file", "save_model"],
    "persistence": ["save"],  # its example shows load, too
    "sampling": ["subset_size", "class_probabilities", "draw_subsets"],
    "solver": ["solve_subsets", "solve_shared"],
    "table": ["read_table", "write_table"],
    "theory": [name for name in theory.__all__ if name[0].islower()],
}


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_has_an_example(name):
    module = importlib.import_module(f"subsvms.{name}")
    for thing in PUBLIC[name]:
        assert ">>>" in getattr(module, thing).__doc__, thing


def test_the_experiments_use_public_names_only():
    for path in (SOURCE.parent.parent / "experiments").rglob("*.py"):
        for module, names in re.findall(
            r"^from subsvms(?:\.(\w+))? import (.+)$", path.read_text(), re.MULTILINE
        ):
            public = PUBLIC[module] if module else subsvms.__all__
            assert set(names.split(", ")) <= set(public), path


def test_importing_does_not_import_numba():
    """It takes a third of a second, and who only loads labels or asks for help should not wait."""
    code = "import sys, subsvms; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
