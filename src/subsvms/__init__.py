"""Classify in spite of wrong labels, and see which labels a vote of many tiny SVMs contradicts."""

from subsvms import adversaries
from subsvms.estimators import SubSVMClassifier
from subsvms.persistence import load, save

__version__ = "0.1.0.dev0"

__all__ = ["SubSVMClassifier", "adversaries", "load", "save"]
