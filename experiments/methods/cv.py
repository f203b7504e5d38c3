"""CV-SVM: one SVM on all rows, its parameters chosen by cross-validation on the given labels.

Each split of the rows into folds gives its own choice; the measures are averaged over the splits, as in the
paper.
"""

from experiments.methods import Answer

NAME, SEES_TEST_LABELS = "CV-SVM", False


def run(task):
    """Choose the candidate with the best cross-validated balanced accuracy, for each split."""
    splits = [column for column in task.candidates if column.startswith("cv_bac_")]
    chosen = task.candidates.loc[[task.candidates[column].idxmax() for column in splits]]
    return Answer(task.candidates["cv_seconds"].sum(), candidates=chosen)
