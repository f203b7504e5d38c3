"""Find wrong labels in a table, fix those that can be fixed, and classify in spite of the others."""

from subsvms import adversaries, certificates, displays, metrics, theory
from subsvms.corrector import LabelCorrector, LabelNoiseWarning, correct_labels
from subsvms.datasets import make_separable_gaussians
from subsvms.estimators import SubSVMClassifier
from subsvms.persistence import load, save
from subsvms.planning import plan
from subsvms.regularity import estimate_regularity

__version__ = "0.1.0.dev0"

__all__ = [
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
