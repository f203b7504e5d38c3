"""Find wrong labels in a table, fix those that can be fixed, and classify in spite of the others."""

from subsvms import adversaries, certificates, displays
from subsvms.corrector import LabelCorrector, LabelNoiseWarning, correct_labels
from subsvms.estimators import SubSVMClassifier
from subsvms.persistence import load, save

__version__ = "0.1.0.dev0"

__all__ = [
    "LabelCorrector",
    "LabelNoiseWarning",
    "SubSVMClassifier",
    "adversaries",
    "certificates",
    "correct_labels",
    "displays",
    "load",
    "save",
]
