"""CV-SVM: one SVM on all rows, its parameters chosen by cross-validation on the given labels.

Each split of the rows into folds gives its own choice; measures are averaged over splits, as in the paper.
"""

from experiments.judge import METRICS
from experiments.methods import Answer

NAME, SEES_TEST_LABELS, CHOOSES = "CV-SVM", False, True


def run(task):
    """Choose, for each measure and split, the candidate that cross-validation rates best."""
    found = task.candidates
    chosen = {}
    for measure in METRICS:
        columns = [column for column in found if column.startswith(f"cv_{measure}_")]
        chosen[measure] = found.loc[[found[column].idxmax() for column in columns]]
    return Answer(found["cv_seconds"].sum(), chosen=chosen)
