"""What people would use: each method takes (X, given, seed) and returns (labels, quality).

`given` are class numbers starting at 0, `labels` the corrected ones, and `quality` says how far each given
label can be trusted; lower is worse, and only its order matters. Features are scaled. Every method runs on
one thread with its default parameters, or those that its authors recommend:

- cleanlab: probabilities from 5-fold cross-validation, its default filter; flagged labels are flipped if
  there are two classes, and replaced by the suggested label if there are more;
- neighbours: the label that most of the 10 nearest rows have; a tie that includes the given label keeps it;
- cross-validated SVC: the prediction of an SVC for each fifth of the rows, trained on the others;
- balanced bagging: a vote of 1000 SVCs on balanced subsets as large as those of SubSVMs. imbalanced-learn
  balances its draws by leaving rows out, so more rows are drawn.

SVC is scikit-learn's default, with the rbf kernel, C = 1 and gamma="scale".
"""

import warnings
from importlib.util import find_spec

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC

from subsvms import SubSVMClassifier, correct_labels
from subsvms.ensemble._sampling import subset_size  # private: sizes of subsets as the paper draws them
from subsvms.exceptions import LabelNoiseWarning

N_FOLDS = 5
N_NEIGHBOURS = 10
N_BAGS = 1000  # as many as SubSVMs trains


def keep_labels(X, given, seed):
    """Leave the labels as they are: what every method must beat."""
    return given, np.ones(len(given))


def correct_by_majority(X, given, seed):
    return correct(X, given, seed, rule="majority")


def correct_by_posterior(X, given, seed):
    return correct(X, given, seed)


def correct(X, given, seed, rule="posterior", **parameters):
    """Correct with a rule, and with these parameters of the SVMs; without any, they are chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)
        svms = SubSVMClassifier(**parameters) if parameters else None
        correction = correct_labels(X, given, estimator=svms, rule=rule, random_state=seed, n_jobs=1)
    return correction.labels, correction.label_quality


def cleanlab_logistic(X, given, seed):
    return clean(LogisticRegression(max_iter=1000), X, given, seed)


def cleanlab_svc(X, given, seed):
    return clean(SVC(probability=True, random_state=seed), X, given, seed)


def cleanlab_boosting(X, given, seed):
    X = X.toarray() if sparse.issparse(X) else X
    return clean(HistGradientBoostingClassifier(random_state=seed), X, given, seed)


def clean(model, X, given, seed):
    from cleanlab.classification import CleanLearning

    cleaner = CleanLearning(
        model, seed=seed, cv_n_folds=N_FOLDS, find_label_issues_kwargs={"n_jobs": 1}, verbose=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn deprecates SVC(probability=True)
        issues = cleaner.find_label_issues(X, given)
    suggested = 1 - given if given.max() == 1 else issues["predicted_label"].to_numpy()
    return np.where(issues["is_label_issue"], suggested, given), issues["label_quality"].to_numpy()


def ask_neighbours(X, given, seed):
    nearest = NearestNeighbors(n_neighbors=N_NEIGHBOURS, n_jobs=1).fit(X).kneighbors(return_distance=False)
    votes = np.stack([np.mean(given[nearest] == c, axis=1) for c in range(given.max() + 1)], axis=1)
    own = take_own(votes, given)
    return np.where(own < votes.max(axis=1), votes.argmax(axis=1), given), own


def cross_validate_svc(X, given, seed):
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    values = cross_val_predict(SVC(), X, given, cv=folds, method="decision_function")
    if values.ndim == 1:
        values = np.stack([-values, values], axis=1)
    return values.argmax(axis=1), take_margins(values, given)


def take_own(values, given):
    """Return the value of the given class of each row."""
    return values[np.arange(len(given)), given]


def take_margins(values, given):
    """Return by how much the value of the given class exceeds the largest other one.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes), or with one value for two classes
        As decision functions return them.
    given : ndarray of int of shape (n_rows,)
    """
    if values.size == len(given):
        return (2 * given - 1) * values.ravel()
    others = values.copy()
    others[np.arange(len(given)), given] = -np.inf
    return take_own(values, given) - others.max(axis=1)


def bag_balanced(X, given, seed):
    from imblearn.ensemble import BalancedBaggingClassifier

    model = BalancedBaggingClassifier(
        SVC(), n_estimators=N_BAGS, max_samples=count_drawn(given), bootstrap=False, n_jobs=1,
        random_state=seed,
    )  # fmt: skip
    votes = model.fit(X, given).predict_proba(X)
    return votes.argmax(axis=1), take_own(votes, given)


def count_drawn(given):
    """Return how many rows to draw so that, after balancing, about as many are left as in our subsets."""
    sizes = np.bincount(given)
    size = subset_size("log_squared", len(given), len(sizes))
    return min(round(size / len(sizes) * len(given) / sizes.min()), len(given))


OURS, MAJORITY = "SubSVMs posterior", "SubSVMs majority"
METHODS = {
    "as given": keep_labels,
    MAJORITY: correct_by_majority,
    OURS: correct_by_posterior,
    "cleanlab, logistic": cleanlab_logistic,
    "cleanlab, SVC": cleanlab_svc,
    "cleanlab, boosting": cleanlab_boosting,
    "neighbours": ask_neighbours,
    "cross-validated SVC": cross_validate_svc,
    "balanced bagging": bag_balanced,
}
LIBRARIES = {
    **{name: "cleanlab" for name in METHODS if name.startswith("cleanlab")},
    "balanced bagging": "imblearn",
}


def find_methods():
    """Return the methods whose libraries are installed."""
    return {
        name: method
        for name, method in METHODS.items()
        if name not in LIBRARIES or find_spec(LIBRARIES[name])
    }
