import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_tables import list_flips, make_committee, make_table, retrain, still_stands
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from subsvms import SubSVMClassifier
from subsvms.certificates import certify, find_turning_flips
from subsvms.certificates._exact import take_largest
from subsvms.certificates._flips import count_below
from subsvms.ensemble import LinearCommittee
from subsvms.exceptions import InputError

SEEDS = st.integers(0, 10**6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_verdicts_are_those_of_members_trained_one_by_one(seed, n_classes):
    X, labels = make_table(seed, 30, n_classes)
    committee = make_committee(X, labels, seed)
    certificate = certify(committee)
    scores = retrain(committee, X, labels)
    assert_array_equal(certificate.verdicts, scores.argmax(axis=1))
    best, second = -np.sort(-scores, axis=1)[:, :2].T
    if n_classes == 2:
        assert_allclose(certificate.margins, best - second, atol=1e-12)
    else:  # the rival that is reached with the fewest flips need not be the second
        assert np.all(certificate.margins > best - second - 1e-12)


@pytest.mark.parametrize("n_classes, n, most", [(2, 11, 3), (3, 8, 3), (4, 8, 2)])
def test_no_choice_of_labels_turns_a_certified_verdict_and_one_more_does(seed, n_classes, n, most):
    """Every single flip, pair and triple, with retraining: the certificate is right, and it is tight."""
    X, labels = make_table(seed, n, n_classes)
    committee = make_committee(X, labels, seed, size=4)
    certificate = certify(committee)
    turned_by = np.full(n, most + 1)
    for n_flips in range(most, 0, -1):
        for flipped in list_flips(labels, n_classes, n_flips):
            stands = still_stands(retrain(committee, X, flipped), certificate.verdicts)
            turned_by[~stands] = n_flips
    assert np.all(certificate.withstands < turned_by)
    reached = turned_by <= most
    if n_classes == 2:  # with more, the worst flips may be those that let a class vanish
        assert_array_equal(certificate.withstands[reached], turned_by[reached] - 1)


@given(SEEDS, st.sampled_from([2, 3, 5]), st.booleans())
def test_the_flips_that_are_named_turn_the_verdict_and_fewer_do_not(seed, n_classes, rare):
    X, labels = make_table(seed, 40, n_classes)
    if rare:  # few rows of a class, so that the change of the class sizes matters
        labels[4 * n_classes :] = 0
        labels = np.unique(labels, return_inverse=True)[1]  # none may be left of another class
        n_classes = labels.max() + 1
    committee = make_committee(X, labels, seed, size=8)
    certificate = certify(committee)
    row = seed % 40
    flips = find_turning_flips(committee, row)
    assert len(flips.rows) == certificate.withstands[row] + 1
    for n_flips in range(len(flips.rows) + 1):
        flipped = labels.copy()
        flipped[flips.rows[:n_flips]] = flips.labels[:n_flips]
        stands = still_stands(retrain(committee, X, flipped, [row]), certificate.verdicts[[row]])
        if len(np.unique(flipped)) == n_classes:
            assert stands[0] == (n_flips <= certificate.withstands[row])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_carrier_has_exactly_the_weight_that_is_said(seed, n_classes):
    X, labels = make_table(seed, 30, n_classes)
    committee = make_committee(X, labels, seed)
    certificate = certify(committee, n_carriers=3)
    for row in range(0, 30, 5):
        verdict, rival = certificate.verdicts[row], certificate.rivals[row]
        first = certificate.carriers[row, 0]
        margins = []
        for becomes in range(n_classes):
            flipped = labels.copy()
            flipped[first] = becomes
            scores = retrain(committee, X, flipped, [row])[0]
            if n_classes == 2:  # in the units of the table as given
                sizes = np.bincount(flipped, minlength=2), np.bincount(labels)
                scores = scores * sizes[0].prod() / sizes[1].prod()
            margins.append(scores[verdict] - scores[rival])
        lost = (certificate.margins[row] - min(margins)) / certificate.margins[row]
        assert_allclose(certificate.carried[row, 0], lost, rtol=1e-9)
    assert np.all(np.diff(certificate.carried, axis=1) <= 0)


def test_new_rows_are_certified_by_all_members_and_some_as_they_are_among_all(seed):
    X, labels = make_table(seed, 70)
    committee = make_committee(X, labels, seed)
    certificate = certify(committee, X[:7] + 0.01)
    assert_array_equal(committee.classes_[certificate.verdicts], committee.predict(X[:7] + 0.01))
    assert len(certificate.withstands) == 7
    every, some = certify(committee, n_carriers=99), certify(committee, rows=[65, 3], n_carriers=99)
    for name, values in vars(some).items():
        assert_array_equal(values, getattr(every, name)[[65, 3]])
    alone = [certify(committee, rows=[row]).margins[0] for row in range(70)]
    assert_array_equal(alone, every.margins)
    assert len(certify(committee, rows=[]).withstands) == 0
    assert every.carriers.shape == (70, 70)  # they end where no label carries the verdict
    assert np.all((every.carriers >= 0) == (every.carried > 0))


def test_a_verdict_that_is_none_or_that_rounding_could_turn_withstands_nothing(cancer):
    """Every member saw the rows; two rows are alike but for their labels; a system is nearly singular."""
    committee = make_committee(*make_table(0, 12), 0, size=12)
    certificate = certify(committee, n_carriers=1)
    assert np.all(certificate.verdicts == -1) and not certificate.withstands.any()
    assert find_turning_flips(committee, 3) is None
    X = np.array([[0.0], [0.0], [0.0], [0.0], [5.0], [5.0]])
    labels = np.array([0, 1, 0, 1, 0, 1])
    committee = LinearCommittee(subsample_size=6, n_estimators=3, gamma=1.0, random_state=0).fit(X, labels)
    certificate = certify(committee, X)
    assert np.all(np.abs(certificate.margins) < 1e-14) and not certificate.withstands.any()
    X, y = cancer
    alike = X[:, :2].round(1)
    sure, doubtful = (
        certify(LinearCommittee(n_estimators=50, random_state=0, **options).fit(alike, y))
        for options in ({}, {"ridge": 1e-7})
    )
    assert np.median(sure.withstands) > 20 and not doubtful.withstands.any()


@given(st.lists(st.integers(-100, 100), max_size=40), st.integers(-50, 1000), st.integers(0, 30))
def test_counting_and_taking_the_largest_agree_with_sorting(gains, limit, n):
    gains = np.array(gains) / 100  # with ties
    limit = limit / 100 + 0.001  # no sum of the gains meets it
    sums = np.cumsum(np.sort(gains[gains > 0])[::-1])
    assert count_below(gains, limit, np.empty(len(gains))) == np.sum(sums < limit)
    assert_array_equal(take_largest(gains, n), np.argsort(-gains, kind="stable")[:n])


def test_mistakes_are_answered_with_a_sentence():
    committee = make_committee(*make_table(0, 12), 0)
    with pytest.raises(NotFittedError):
        certify(LinearCommittee())
    for call, message in [
        (lambda: certify(SubSVMClassifier()), "must be a fitted LinearCommittee.*got SubSVMClassifier"),
        (lambda: certify(committee, n_carriers=-1), "n_carriers must be a whole number, at least 0; got -1"),
        (lambda: certify(committee, rows=[12]), "rows must be whole numbers from 0 to 11.*got 12"),
        (lambda: certify(committee, np.zeros((2, 2)), rows=[1]), "give X, or rows, but not both"),
        (lambda: find_turning_flips(committee, 99), "rows must be whole numbers from 0 to 11.*got 99"),
    ]:
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.nightly), 3])
def test_ten_thousand_attacks_with_retraining_turn_no_certified_verdict(n_classes):
    """Attackers choose at random, or the labels that would turn the verdict, one fewer than needed."""
    n_trials = 0
    rng = np.random.default_rng(n_classes)
    while n_trials < 5_000:  # ten thousand in all
        seed = int(rng.integers(2**31))
        X, labels = make_table(seed, int(rng.integers(10, 40)), n_classes)
        committee = make_committee(X, labels, seed, size=6, n_members=8)
        certificate = certify(committee)
        for row in np.flatnonzero(certificate.withstands > 0):
            n_flips = min(certificate.withstands[row], len(labels))
            rows = rng.choice(len(labels), n_flips, replace=False)
            worst = find_turning_flips(committee, row)
            for places, others in (
                (rows, (labels[rows] + rng.integers(1, n_classes, n_flips)) % n_classes),
                (worst.rows[:n_flips], worst.labels[:n_flips]),
            ):
                flipped = labels.copy()
                flipped[places] = others
                if len(np.unique(flipped)) == n_classes:
                    n_trials += 1
                    scores = retrain(committee, X, flipped, [row])
                    assert still_stands(scores, certificate.verdicts[[row]])[0]
