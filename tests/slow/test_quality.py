"""On the paper's data, corrections do no harm, and certificates say something."""

import numpy as np
import pytest

from experiments.datasets import load
from subsvms import SubSVMClassifier, adversaries, correct_labels

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")]
N_CORRUPTIONS = 1


def load_rows(folder, name):
    data = load(name, folder)
    return data.X_train, data.y_train if name != "mushrooms" else 1 - data.y_train  # classes as in the file


def correct(X, y, seed, **params):
    return correct_labels(X, y, random_state=seed, n_jobs=-1, n_witnesses=0, **params)


@pytest.mark.parametrize("name", ["a1a", "w1a", "splice", "mushrooms", "svmguide1"])
def test_clean_labels_are_kept(data_folder, name):
    X, y = load_rows(data_folder, name)
    changed = correct(X, y, 0).changed.mean()
    print(f"{name}: {changed:.5f} of the clean labels changed")  # pytest -rP shows it
    assert changed <= 0.002


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("name", ["a1a", "w1a", "splice", "svmguide1"])
def test_an_attack_is_never_made_worse(data_folder, name, alpha):
    X, y = load_rows(data_folder, name)
    before, after = [], []
    for seed in range(N_CORRUPTIONS):
        given = adversaries.directed_flips(y, rho=0.75, alpha=alpha, random_state=100 + seed).labels
        before.append(np.mean(given != y))
        after.append(np.mean(correct(X, given, seed).labels != y))
    print(f"{name}, alpha={alpha}: {np.mean(before):.3f} wrong before, {np.mean(after):.3f} after")
    assert np.mean(after) <= np.mean(before) + 0.002
    if name == "svmguide1":
        assert np.mean(after) < np.mean(before) / 3


@pytest.mark.parametrize("name", ["svmguide1", "mushrooms"])
def test_flips_near_the_boundary_are_undone_by_the_capped_majority(data_folder, name):
    X, y = load_rows(data_folder, name)
    given = adversaries.boundary_flips(X, y, error_rate=0.2).labels
    left = np.mean(correct(X, given, 0, rule="majority", max_error_rate=0.2).labels != y)
    print(f"{name}: {left:.3f} left of 0.200")
    assert left <= {"svmguide1": 0.1, "mushrooms": 0.12}[name]
    for estimator in (None, SubSVMClassifier()):  # the default rule at least does no harm
        default = correct(X, given, 0, estimator=estimator)
        assert np.mean(default.labels != y) <= 0.202
    assert any("run against" in note for note in default.notes)  # and says so with SVMs that are small


def test_certificates_on_a1a_say_something(data_folder):
    X, y = load_rows(data_folder, "a1a")
    squared = correct(X, y, 0, estimator=SubSVMClassifier())
    log = correct(X, y, 0, estimator=SubSVMClassifier(subsample_size="log"))
    sure = squared.votes.counts.max(axis=1) == squared.votes.n_voters
    print("unanimous", sure.sum(), "withstand", squared.withstands[sure], "most", log.withstands.max())
    assert sure.any() and squared.withstands[sure].min() >= 5
    assert log.withstands.max() > squared.withstands.max() >= 5
    assert np.mean(log.withstands) > np.mean(squared.withstands)
