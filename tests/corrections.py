"""Quick corrections of a real table."""

import warnings

from subsvms import LabelCorrector, SubSVMClassifier, adversaries, correct_labels
from subsvms.exceptions import LabelNoiseWarning


def attacked(y, seed=0, rho=0.5, alpha=0.5):
    return adversaries.directed_flips(y, rho=rho, alpha=alpha, random_state=seed).labels


def make_corrector(estimator=None, n_estimators=200, **params):
    ensemble = (estimator or SubSVMClassifier()).set_params(n_estimators=n_estimators)
    return LabelCorrector(ensemble, **{"random_state": 0} | params)


def quick(X, y, estimator=None, **params):
    ensemble = (estimator or SubSVMClassifier()).set_params(n_estimators=200)
    return correct_labels(X, y, estimator=ensemble, **{"random_state": 0} | params)


def quietly(X, y, **params):
    """Correct without warnings; the notes hold the same sentences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)
        return quick(X, y, **params)
