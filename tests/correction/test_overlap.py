import numpy as np
import pytest
from corrections import quick
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from subsvms import SubSVMClassifier, adversaries
from subsvms.correction._overlap import EVEN, LARGEST_SIDE, Sides, SVMLook, compare_sides, find_overlap
from subsvms.correction._rule import Judgement
from subsvms.ensemble._votes import Votes
from subsvms.exceptions import LabelNoiseWarning


def look_at(X, seed, **params):
    return SVMLook(SubSVMClassifier(n_estimators=100, random_state=seed, **params), X)


def make_sides(seed, gap, n=300, largest=0.5):
    rng = np.random.default_rng(seed)
    X = rng.random((2 * n, 5))
    X[:n, 0] += gap
    return X, Sides(np.arange(n), np.arange(n, 2 * n), largest)


@pytest.mark.parametrize("kind", ["dense", "csr", "precomputed", "large"])
def test_rows_of_two_distributions_are_separated(seed, kind):
    X, sides = make_sides(seed, gap=0.5, n=2 * LARGEST_SIDE if kind == "large" else 300)
    kernel = "precomputed" if kind == "precomputed" else "rbf"
    form = {"csr": sparse.csr_array, "precomputed": lambda X: rbf_kernel(X, gamma=0.2)}.get(kind, np.asarray)
    assert compare_sides(look_at(form(X), seed, kernel=kernel), sides) < 1e-6


def test_chances_of_rows_of_one_distribution_are_not_too_small():
    chances = []
    for seed in range(30):
        X, sides = make_sides(seed, gap=0.0, n=100)
        chances.append(compare_sides(look_at(X, seed), sides))
    assert np.mean(np.array(chances) < 0.2) <= 0.3  # a fifth, and three standard deviations
    assert min(chances) > 0.001


def test_what_noise_explains_does_not_count(seed):
    """A third of the rows on one side are of another kind, as a posterior of two thirds says."""
    X, sides = make_sides(seed, gap=0.0)
    X[:100, 0] += 1.0
    look = look_at(X, seed)
    assert compare_sides(look, sides) < 1e-4 < 0.1 < compare_sides(look, sides._replace(largest=0.5 + 1 / 6))


def judge(flagged, suggested, n):
    nothing = np.zeros(n)
    certain = np.eye(2)[suggested]
    return Judgement(certain, suggested, flagged, suggested, nothing, nothing, np.zeros(n, dtype=np.int8))


def undecided(n):
    return Votes(np.zeros((n, 2)), np.zeros((n, 2)), np.ones(n, dtype=int))


def test_overlap_is_found_where_rows_differ_and_only_there(seed):
    """Rows 0 to 299 look unlike those labelled 1; rows 300 to 599 look like them."""
    rng = np.random.default_rng(seed)
    X = rng.random((900, 5))
    X[:300, 0] += 0.7
    given = np.repeat([0, 1], [600, 300])
    for rows, differ in ((np.arange(300), True), (np.arange(300, 600), False)):
        flagged = np.zeros(900, dtype=bool)
        flagged[rows] = True
        judgement = judge(flagged, np.where(flagged, 1, given), 900)
        weight = find_overlap(look_at(X, seed), given, undecided(900), judgement).weight
        assert weight[0] == 0
        assert weight[1] > 0.99 if differ else EVEN / (1 + EVEN) <= weight[1] < 0.3


@pytest.mark.parametrize("n, sampled, weight", [(4, False, 0), (30, False, 1), (4, True, 1)])
def test_a_few_changes_pass_but_not_in_a_sample_or_many_to_a_class_without_other_rows(n, sampled, weight):
    look, flagged = look_at(np.random.default_rng(0).random((60, 3)), 0), np.arange(60) < n
    judgement = judge(flagged, flagged.astype(int), 60)
    found = find_overlap(look, np.zeros(60, int), undecided(60), judgement, sampled=sampled)
    assert found.weight.tolist() == [sampled, weight] and found.untested[0] == sampled


def test_a_vote_that_cannot_see_a_chessboard_changes_nothing(seed):
    """Two features decide, square by square, and two do not: tiny, wide SVMs cannot learn it."""
    X = np.random.default_rng(seed + 3).random((600, 4))
    clean = (np.floor(4 * X[:, :2]).sum(axis=1) % 2).astype(int)
    for given in (clean, adversaries.uniform_flips(clean, error_rate=0.1, random_state=seed).labels):
        with pytest.warns(LabelNoiseWarning):
            correction = quick(X, given, random_state=seed)
        assert not correction.changed.any()


@pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")
def test_heavy_noise_is_not_mistaken_for_overlap(seed):
    """Labels that no SVM can learn well, because they are wrong, are still corrected."""
    rng = np.random.default_rng(seed)
    clean = np.arange(600) % 2
    X = rng.normal(0.4 * clean[:, None], 0.25, (600, 6))
    given = adversaries.uniform_flips(clean, error_rate=0.36, random_state=seed).labels
    correction = quick(X, given, random_state=seed)
    assert np.sum(correction.labels != clean) < 0.7 * np.sum(given != clean)
