"""The paper's algorithm: draw small class-balanced subsets, train an SVM on each, and let them vote."""

from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._committee import LinearCommittee
from subsvms.ensemble._persistence import load, save
from subsvms.ensemble._sampling import class_probabilities, draw_subsets, subset_size
from subsvms.ensemble._solver import solve_shared, solve_subsets
from subsvms.ensemble._votes import Votes

__all__ = [
    "LinearCommittee", "SubSVMClassifier", "Votes", "class_probabilities", "draw_subsets", "load", "save",
    "solve_shared", "solve_subsets", "subset_size",
]  # fmt: skip
