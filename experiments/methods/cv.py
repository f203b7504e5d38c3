"""CV-SVM: one SVM on all rows, its parameters chosen by cross-validation on the given labels.

Each split of the rows into folds gives its own choice; measures are averaged over splits, as in the paper.
"""

from experiments.judge import METRICS
from experiments.methods import Answer

NAME, SEES_TEST_LABELS = "CV-SVM", False


def run(task):
    """Choose for each measure by the same measure."""
    chosen = {measure: choose(task.candidates, measure) for measure in METRICS}
    return Answer(task.candidates["cv_seconds"].sum(), chosen=chosen)


def choose(candidates, measure):
    """Return, for each split, the candidate that cross-validation rates best."""
    columns = [column for column in candidates if column.startswith(f"cv_{measure}_")]
    return candidates.loc[[candidates[column].idxmax() for column in columns]]
