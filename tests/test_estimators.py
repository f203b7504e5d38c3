"""scikit-learn's checks of every estimator: one setting of each, and more of them every night."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from subsvms import LabelCorrector, SubSVMClassifier
from subsvms.ensemble import LinearCommittee

NOT_A_KERNEL = (
    "the check passes a table of 80 rows and 2 columns to an estimator that takes a kernel matrix; "
    "scikit-learn's own SVC(kernel='precomputed') is exempt because it has no predict_proba"
)
# Some checks set max_iter=1000, which unscaled features with C=1e5 reach; some pass unscaled features.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning"),
    pytest.mark.filterwarnings("ignore:The rbf kernel between two rows:UserWarning"),
]


def expected_failures(estimator):
    if getattr(estimator, "kernel", None) == "precomputed":
        return {"check_decision_proba_consistency": NOT_A_KERNEL}
    return {}


@parametrize_with_checks([
    SubSVMClassifier(n_estimators=20), LinearCommittee(n_estimators=20),
    LabelCorrector(SubSVMClassifier(n_estimators=50)),
])  # fmt: skip
def test_it_passes_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.nightly
@parametrize_with_checks([
    SubSVMClassifier(n_estimators=20, kernel="linear", loss="hinge", C=1.0),
    SubSVMClassifier(n_estimators=20, kernel="poly", gamma="scale", coef0=1.0, C=1.0),
    SubSVMClassifier(n_estimators=20, kernel="precomputed"),
    LinearCommittee(n_estimators=20, kernel="linear", subsample_size="log"),
    LinearCommittee(n_estimators=20, kernel="poly", gamma="scale", coef0=1.0),
    LabelCorrector(SubSVMClassifier(n_estimators=50, kernel="linear", C=1.0), rule="majority", action="drop"),
    LabelCorrector(LogisticRegression()),
], expected_failed_checks=expected_failures)  # fmt: skip
def test_other_settings_pass_them_as_well(estimator, check):
    check(estimator)
