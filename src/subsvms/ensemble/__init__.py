"""The paper's algorithm: draw small class-balanced subsets, train an SVM on each, and let them vote."""

from subsvms._callers import find_moved
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._committee import LinearCommittee
from subsvms.ensemble._persistence import load, save

__all__ = ["LinearCommittee", "SubSVMClassifier", "load", "save"]

__getattr__ = find_moved(
    __name__,
    dict.fromkeys(("class_probabilities", "draw_subsets", "subset_size"), "_sampling")
    | {"solve_subsets": "_solver", "Votes": "_votes"},
    solve_shared="experiments/shared.py of the source",
)
