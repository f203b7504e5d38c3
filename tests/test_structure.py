"""What must hold for the package as a whole."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from string import Formatter

import pytest
import typer

import subsvms
from subsvms.app.cli.main import app
from subsvms.app.options import UNNAMED

SOURCE = Path(subsvms.__file__).parent
GROUND = """
    exceptions _callers _columns _numbers _labels _validation _effort _atomic _states metrics
"""
APP_GROUND = "app.quoting app.names app.looks app.declared"  # for all of the application
LIBRARY = "ensemble certificates theory correction annotators audit evaluation displays adversaries datasets"
MAY_USE = {  # each room, and the rooms it may import from, besides the ground and itself
    **dict.fromkeys(f"{GROUND} {APP_GROUND}".split(), ""),
    "ensemble": "",
    "certificates": "ensemble",
    "theory": "ensemble certificates",
    "correction": "ensemble certificates",
    "audit": "correction",
    "evaluation": "audit",
    "annotators": "correction",
    "adversaries": "",
    "datasets": "",
    "displays": "theory correction certificates",
    "app.tables": "",
    "app.options": "app.tables",
    "app.features": "app.tables",
    "app.report": "displays correction",
    "app.runs": f"app.options app.tables app.features app.report {LIBRARY}",
    "app.desk": f"app.options app.tables app.features app.report app.runs {LIBRARY}",
    "app.frames": f"app.options app.tables app.runs app.desk {LIBRARY}",
    "app.cli": f"app.options app.tables app.features app.report app.runs app.desk {LIBRARY}",
    "scale": "app.options app.tables app.runs",
}


def find_room(module):
    """Return the room of a module, `subsvms` left out: its longest prefix that has a line above."""
    parts = module.split(".")
    return next((r for n in (2, 1) if (r := ".".join(parts[:n])) in MAY_USE), None)


def list_imports(source):
    """Return what each module of the package imports from it, anywhere in its code: {module: names}."""
    imports = {}
    for path in source.rglob("*.py"):
        module = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        names = []
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                home = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                names += [home + alias.name for alias in node.names]
        imports[module] = [name.removeprefix("subsvms.") for name in names if name.startswith("subsvms.")]
    return imports


def find_forbidden(source):
    found = []
    for module, names in list_imports(source).items():
        if module in {"__init__", "__main__", "app"}:
            continue
        room = find_room(module)
        allowed = {room, *GROUND.split(), *MAY_USE[room].split()}
        allowed |= set(APP_GROUND.split()) if module.startswith(("app.", "scale")) else set()
        found += [(module, n) for n in names if n != "__version__" and find_room(n) not in allowed]
    return found


def sort_modules(source):
    """Return the modules, each after those that it imports; raise a CycleError if there is no such order."""
    imports = list_imports(source)
    homes = {
        module: {name if name in imports else name.rpartition(".")[0] for name in names} - {module}
        for module, names in imports.items()
    }
    return list(TopologicalSorter(homes).static_order())


def test_imports_point_down():
    assert find_forbidden(SOURCE) == []


def test_no_modules_import_each_other_in_a_circle():
    assert len(sort_modules(SOURCE)) > 80


def test_imports_that_point_up_and_circles_are_found(tmp_path):
    votes = tmp_path / "ensemble" / "_votes.py"
    votes.parent.mkdir()
    for line in (
        "from subsvms.app.quoting import show", "import subsvms.correction",
        "def later():\n    from subsvms import displays", "from subsvms.unknown import thing",
    ):  # fmt: skip
        votes.write_text(f"from subsvms._effort import run_pieces\n{line}\n")
        assert [module for module, _ in find_forbidden(tmp_path)] == ["ensemble._votes"]
    votes.write_text("from subsvms.ensemble._solver import solve\n")
    votes.with_name("_solver.py").write_text("def f():\n    from subsvms.ensemble import _votes\n")
    with pytest.raises(CycleError):
        sort_modules(tmp_path)


def test_only_a_few_modules_touch_compiled_code():
    few = {"_solver", "_votes", "_linear", "_flips", "_noise_pass", "letter_pass"}
    for path in SOURCE.rglob("*.py"):
        if path.parent.name != "_compiled" and path.stem not in few:
            assert not re.search(r"^\s*(from subsvms.*_compiled|(import|from) numba)", path.read_text(), re.M)


PUBLIC = {  # what users may count on: changing it is a change of the interface
    "subsvms": """
        Correction LabelCorrector SubSVMClassifier adversaries annotators audit certificates
        correct_labels correct_table datasets displays evaluation exceptions load metrics save scale theory
    """,
    "subsvms.adversaries": """
        ATTACKS Attack attack boundary_flips class_conditional_flips directed_flips greedy_flips
        knowing_flips region_flips surest_flips uniform_flips
    """,
    "subsvms.annotators": "Consensus Person find_consensus measure_agreement",
    "subsvms.audit": """
        Audit CheckedSet Claim Confirmation ErrorRate PassedRing Progress Ranking SimulatedAnnotator
        Target certify_target confirm draw_rows estimate_error_rate run_audit
    """,
    "subsvms.certificates": """
        CertifiedCurve ExactCertificate LabelFlips Standing certified_curve certify
        count_standing count_withstood find_turning_flips
    """,
    "subsvms.correction": "Correction LabelCorrector NoiseEstimate correct_labels",
    "subsvms.datasets": "make_separable_gaussians",
    "subsvms.displays": "CertifiedCurveDisplay NoiseMatrixDisplay RegularityDisplay VotesDisplay",
    "subsvms.ensemble": "LinearCommittee SubSVMClassifier load save",
    "subsvms.evaluation": "compare_models draw_test_rows score_interval",
    "subsvms.exceptions": "DeviceError InputError LabelNoiseWarning TableError",
    "subsvms.metrics": "skew_insensitive_f_score",
    "subsvms.scale": "BatchCorrector correct_batch correct_batches fit_batches",
    "subsvms.theory": """
        DrawProbabilities Plan Regularity draw_probabilities epsilon epsilon_if_regular
        estimate_regularity eta_exact eta_hoeffding eta_sum eta_worst generalisation_bound phi plan
        regular_size smallest_size smallest_size_lemma_7 smallest_size_local tolerable_error_rate
        uniform_error_rate vote_failure vote_failure_exact votes_needed worst_draw_probabilities
    """,
}


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_the_listed_ones(module):
    assert importlib.import_module(module).__all__ == PUBLIC[module].split()


DEFAULTS = {"n_jobs": None, "random_state": None, "device": "cpu"}


@pytest.mark.parametrize("module", sorted(PUBLIC.keys() - {"subsvms.exceptions"}))
def test_threads_seed_and_device_have_one_default_everywhere(module):
    home = importlib.import_module(module)
    for name in PUBLIC[module].split():
        thing = getattr(home, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            parameters = inspect.signature(thing).parameters
            found = {one: parameters[one].default for one in DEFAULTS.keys() & parameters}
            assert found == {one: DEFAULTS[one] for one in found}, name


@pytest.mark.parametrize(
    "name",
    [m.name for m in pkgutil.walk_packages([str(SOURCE)], "subsvms.") if not m.name.endswith("__main__")],
)
def test_the_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0


def test_the_experiments_use_public_names_or_say_why_not():
    for path in (SOURCE.parent.parent / "experiments").rglob("*.py"):
        for module, names, reason in re.findall(
            r"^from (subsvms[\w.]*) import ([^#\n]+?)(  # private.+)?$", path.read_text(), re.MULTILINE
        ):
            assert reason or set(names.split(", ")) <= set(PUBLIC[module].split()), path


def test_importing_does_not_import_numba():
    """It takes a third of a second, which `subsvms --help` should not wait for."""
    code = "import sys, subsvms; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# Sentences


def list_texts(tree):
    """Return the texts in the code of a module, docstrings (which stand alone) left out."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone)
    return [node.value for node in texts if isinstance(node.value, str)]


def test_only_the_command_line_names_its_options():
    compiler = SOURCE / "ensemble" / "_gpu.py"  # which has options of its own
    for path in sorted(SOURCE.rglob("*.py")):
        if path != compiler and path.parent.name != "cli" and path.name != "options.py":
            found = [text for text in list_texts(ast.parse(path.read_text())) if re.search(r"--[a-z]", text)]
            assert found == [], path


@pytest.mark.parametrize(
    "pattern", [r"\bnotes?\.(startswith|endswith|replace)", r"(error\)|message|said)\.(starts|ends)with"]
)
def test_no_code_reads_a_sentence(pattern):
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name not in ("_gpu.py", "_validation.py"):  # which read those of other packages
            assert re.findall(pattern, path.read_text()) == [], path


def list_parameters(tree):
    """Return the parameters that the templates of sentences in a module name as fields."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    makers = {"Sentence", "Note", "InputError", "TableError", "DeviceError"}
    for call in calls:
        if getattr(call.func, "id", "") not in makers or None in {one.arg for one in call.keywords}:
            continue
        values = {one.arg for one in call.keywords}
        for text in (one for one in call.args if isinstance(getattr(one, "value", None), str)):
            if values or call.func.id in ("Sentence", "Note"):
                names = {name for _, name, _, _ in Formatter().parse(text.value) if name}
                yield from (name.partition("=")[0] for name in names - values)


def test_every_parameter_in_a_sentence_is_one_that_users_can_set():
    commands = typer.main.get_command(app).commands.values()
    known = {one.name for command in commands for one in command.params} | {"X", "y", *UNNAMED}
    found = {}
    for path in SOURCE.rglob("*.py"):
        for name in list_parameters(ast.parse(path.read_text())):
            found.setdefault(name, path)
    assert {name: path for name, path in found.items() if name not in known} == {}
    assert {"by", "keep", "output", "query", "device"} <= found.keys()


def test_a_percent_sign_follows_a_space_in_all_sentences():
    found = []
    for path in sorted(SOURCE.rglob("*.*")):
        if path.suffix in (".py", ".js", ".html", ".svg"):
            text = re.sub(r"\\u00a0|\\xa0|&nbsp;|&#160;", " ", path.read_text("utf-8"))
            text = re.sub(r'(width|height|y|x)="[^"]*"|style\.width = .*|"0%"|:\.2f\}%"', "", text)
            found += [f"{path.name}: {line}" for line in re.findall(r".*[0-9}]%(?![\w({]).*", text)]
    assert found == []  # 95 %, and not 95%; CSS and SVG have their own ways
