"""What type checkers see of the public names: mypy checks this file, and a hook has pyright check it too.

It is not run. Each line fails to type-check once a public function returns `Any`, or something else.
"""

from typing import Any, assert_type

import numpy as np

import subsvms
from subsvms import Correction, LabelCorrector, SubSVMClassifier, correct_labels, correct_table
from subsvms.annotators import Consensus, find_consensus
from subsvms.audit import (
    Audit,
    Claim,
    Confirmation,
    ErrorRate,
    SimulatedAnnotator,
    Target,
    certify_target,
    confirm,
    draw_rows,
    estimate_error_rate,
    run_audit,
)
from subsvms.certificates import certify
from subsvms.correction import NoiseEstimate
from subsvms.ensemble import LinearCommittee


def correct(X: Any, y: Any, frame: Any) -> None:
    """Check the types of corrections and what they hold."""
    correction = assert_type(correct_labels(X, y, random_state=0), Correction)
    labels: np.ndarray = correction.labels
    assert labels.shape
    assert_type(correction.noise, NoiseEstimate)
    assert_type(correction.notes, tuple[str, ...])
    assert_type(LabelCorrector(random_state=0).fit(X, y), LabelCorrector)
    assert_type(LabelCorrector().fit(X, y).correction_, Correction)
    correct_table(frame, label="y")
    subsvms.save(assert_type(SubSVMClassifier().fit(X, y), SubSVMClassifier), "model.safetensors")
    assert_type(subsvms.load("model.safetensors"), SubSVMClassifier)
    assert_type(correction.explain(0), str)
    certify(LinearCommittee().fit(X, y), X)


def ask(correction: Correction, truth: Any, answers: Any) -> None:
    """Check the types of what asks people, and of what they may say."""
    assert_type(confirm(correction), Confirmation)
    audit = assert_type(Audit(correction), Audit)
    run_audit(audit, SimulatedAnnotator(truth))
    assert_type(audit.claim, Claim)
    assert_type(certify_target(correction, 0.02), Target)
    assert_type(draw_rows(correction, 10), list[int])
    assert_type(estimate_error_rate(correction, answers), ErrorRate)
    assert_type(find_consensus(None, answers), Consensus)
