"""Every argument of every public function, with values of the wrong type, shape or size.

Each call works, or is refused by a sentence of ours: the error is raised in this package, or by a check of
scikit-learn, and not somewhere inside another library.
"""

import inspect
import math
import traceback
from pathlib import Path
from pprint import pformat

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import subsvms
from subsvms import (
    adversaries,
    annotators,
    audit,
    certificates,
    datasets,
    displays,
    evaluation,
    metrics,
    scale,
    theory,
)
from subsvms.correction import _other_judges
from subsvms.ensemble._committee import LinearCommittee

SOURCE = str(Path(subsvms.__file__).parent)
SKLEARN_CHECKS = ("_param_validation.py", "validation.py")  # which say what they expected and got
ENDLESS = {"n_samples", "n_features", "n_trials", "n_rounds"}  # of which any number is right
N_PARTS = 4
BAD = {
    "None": None, "a bool": True, "negative": -1, "zero": 0, "a fraction": 1.5, "NaN": math.nan,
    "infinite": math.inf, "huge": 10**30, "complex": 1j, "a word": "a", "empty": "", "bytes": b"\xff",
    "no list": [], "words": ["a"], "numbers": [1, 2], "NaNs": [math.nan], "ragged": [[1, 2], [3]],
    "a dict": {},
    "an object": object(), "a cube": np.zeros((2, 2, 2)), "a frame": pd.DataFrame({"q": [1]}),
    "dates": np.array(["2026-01-01"], dtype="datetime64[D]"),
}  # fmt: skip
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)
GIVEN = np.where(rng.random(60) < 0.1, 1 - Y, Y)
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(y=GIVEN, who="x")
SMALL = {"n_estimators": 20, "random_state": 0}


def fit(kind, **settled):
    return lambda **parameters: kind(**{**parameters, **settled}).fit(X, GIVEN)


def make_calls():
    """Return every public callable with arguments that it takes."""
    small = subsvms.SubSVMClassifier(**SMALL)
    correction = subsvms.correct_labels(X, GIVEN, estimator=small, random_state=0)
    committee = LinearCommittee().fit(X, GIVEN)
    answers = rng.integers(0, 2, (60, 3))
    table = pa.Table.from_pandas(FRAME)
    corrector = scale.fit_batches(lambda: iter([table]), "y", **SMALL)
    withstood, matrix = correction.withstands, np.array([[0.9, 0.1], [0.2, 0.8]])
    rows = evaluation.draw_test_rows(GIVEN, Y, 10, random_state=0)
    other = 1 - Y
    unlike = evaluation.draw_test_rows(GIVEN, Y, 10, other=other, random_state=0)
    draws = {"s": 40, "r": 5}
    gamma = {"R": 1.0, "margin": 0.5, "c": 1.0}
    calls = [
        (subsvms.correct_labels, {"X": X, "y": GIVEN, "estimator": small}),
        (subsvms.correct_table, {"frame": FRAME, "label": "y", **SMALL}),
        (fit(subsvms.LabelCorrector, estimator=small), subsvms.LabelCorrector().get_params()),
        (fit(subsvms.SubSVMClassifier), subsvms.SubSVMClassifier(**SMALL).get_params()),
        (lambda **p: small.fit(**{"X": X, "y": GIVEN, **p}), {"X": X, "y": GIVEN}),
        (small.fit(X, GIVEN).predict, {"X": X}),
        (subsvms.load, {"path": "nowhere"}),
        (correction.explain, {"rows": 1}),
        (adversaries.attack, {"name": "uniform", "X": X, "y": Y, "error_rate": 0.1}),
        *(
            (flip, {"y": Y, "error_rate": 0.1})
            for flip in (
                adversaries.uniform_flips,
                adversaries.directed_flips,
                adversaries.class_conditional_flips,
            )
        ),
        *(
            (flip, {"X": X, "y": Y, "error_rate": 0.1})
            for flip in (
                adversaries.boundary_flips,
                adversaries.surest_flips,
                adversaries.region_flips,
                adversaries.greedy_flips,
            )
        ),
        (adversaries.knowing_flips, {"X": X, "y": Y, "correct": np.copy, "error_rate": 0.1}),
        (annotators.find_consensus, {"X": X, "answers": answers}),
        (annotators.measure_agreement, {"answers": answers}),
        (audit.Audit, {"source": correction}),
        (audit.Confirmation, {"source": correction}),
        (audit.Target, {"source": correction}),
        (audit.certify_target, {"correction": correction}),
        (audit.confirm, {"correction": correction}),
        (audit.draw_rows, {"source": correction}),
        (
            audit.estimate_error_rate,
            {"source": correction, "answers": dict.fromkeys(audit.draw_rows(correction), 1)},
        ),
        (audit.SimulatedAnnotator, {"truth": Y}),
        (audit.run_audit, {"audit": audit.Audit(correction), "ask": audit.SimulatedAnnotator(Y)}),
        (audit.Ranking.make, {"given": GIVEN, "suggested": Y, "quality": np.arange(60.0)}),
        (certificates.certify, {"committee": committee}),
        (certificates.certified_curve, {"withstood": withstood}),
        (certificates.count_standing, {"committee": committee, "n_flips": 2}),
        (
            certificates.count_withstood,
            {"votes": correction.votes, "sizes": [30, 30], "given": GIVEN, "size": 5},
        ),
        (certificates.find_turning_flips, {"committee": committee, "row": 1}),
        (datasets.make_separable_gaussians, {}),
        (displays.CertifiedCurveDisplay, {"n_changes": [0, 1], "share": [1.0, 0.5]}),
        (displays.NoiseMatrixDisplay, {"matrix": matrix, "classes": [0, 1]}),
        (displays.VotesDisplay, {"values": X, "given": GIVEN, "classes": [0, 1]}),
        (evaluation.draw_test_rows, {"y_noisy": GIVEN, "y_pred": Y}),
        (evaluation.score_interval, {"y_noisy": GIVEN, "y_pred": Y, "rows": rows, "answers": Y[rows]}),
        (
            evaluation.compare_models,
            {"y_noisy": GIVEN, "y_pred": Y, "other": other, "rows": unlike, "answers": Y[unlike]},
        ),
        (metrics.skew_insensitive_f_score, {"y_true": Y, "y_pred": GIVEN}),
        (scale.fit_batches, {"batches": lambda: iter([table]), "label": "y", **SMALL}),
        (scale.correct_batch, {"corrector": corrector, "batch": table}),
        (lambda **p: list(scale.correct_batches(**p)), {"corrector": corrector, "batches": [table]}),
        (theory.draw_probabilities, {"rho": 0.2, "alpha": 0.5, "beta": 0.5}),
        (theory.epsilon, {**draws, **gamma, "delta": 0.1}),
        (theory.epsilon_if_regular, {**draws, **gamma, "theta": 0.2}),
        (theory.estimate_regularity, {"X": X, "y": Y, "sizes": [8], "n_trials": 3}),
        (theory.eta_exact, {**draws, "rho": 0.2, "alpha": 0.5, "beta": 0.5}),
        (theory.eta_hoeffding, {**draws, "rho": 0.2}),
        (theory.eta_sum, {**draws, "rho": 0.2, "alpha": 0.5, "beta": 0.5}),
        (theory.eta_worst, {**draws, "rho": 0.2}),
        (theory.generalisation_bound, {"n": 100, **gamma, "delta": 0.1}),
        (theory.phi, {"epsilon": 0.1, "eta": 0.1, "delta": 0.1, "error_rate": 0.1}),
        (theory.regular_size, {"theta": 0.2, **gamma, "delta": 0.1}),
        (theory.smallest_size, {"r": 5, "rho": 0.2}),
        (theory.smallest_size_lemma_7, {"r": 5}),
        (theory.smallest_size_local, {"r": 5, "rho": 0.2}),
        (theory.tolerable_error_rate, {"epsilon": 0.1, "eta": 0.1, "delta": 0.1}),
        (theory.uniform_error_rate, {"error_rate": 0.1}),
        (theory.vote_failure, {"J": 50, "phi": 0.7}),
        (theory.vote_failure_exact, {"J": 50, "phi": 0.7}),
        (theory.votes_needed, {"phi": 0.3, "failure": 0.01}),
        (theory.worst_draw_probabilities, {"rho": 0.2}),
    ]
    return calls


def is_ours(error):
    """Return whether an error was raised on purpose: by this package, or by a check of scikit-learn."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if last.filename.startswith(SOURCE):
        return "raise" in last.line
    return last.filename.endswith(SKLEARN_CHECKS)


def find_faults(function, parameters):
    for name in parameters:
        for kind, value in BAD.items():
            if kind == "huge" and name in ENDLESS:
                continue
            try:
                function(**{**parameters, name: value})
            except Exception as error:
                if not is_ours(error):
                    yield name, kind, repr(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(N_PARTS))
def test_bad_arguments_are_refused_in_a_sentence_of_ours(part, monkeypatch):
    monkeypatch.setattr(_other_judges, "N_TREES", 2)  # most of the time, else
    faults = {}
    for function, parameters in make_calls()[part::N_PARTS]:
        known = inspect.signature(function).parameters.values()
        defaults = {one.name: one.default for one in known if one.default is not one.empty}
        if found := list(find_faults(function, {**defaults, **parameters})):
            faults[getattr(function, "__qualname__", function)] = found
    assert not faults, pformat(faults)
