"""Find wrong labels, correct those that can be corrected, and classify in spite of the rest."""

from subsvms import adversaries
from subsvms.estimators import SubSVMClassifier
from subsvms.persistence import load, save

__version__ = "0.1.0.dev0"

__all__ = ["SubSVMClassifier", "adversaries", "load", "save"]
