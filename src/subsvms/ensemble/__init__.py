"""The paper's algorithm: draw small class-balanced subsets, train an SVM on each, and let them vote."""

from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._persistence import load, save
from subsvms.ensemble._votes import Votes

__all__ = ["SubSVMClassifier", "Votes", "load", "save"]
