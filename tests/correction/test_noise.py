from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import mannwhitneyu, norm

from subsvms.correction import _noise
from subsvms.correction._noise import estimate_noise, evidence_needed, is_solvable, moderate, narrow
from subsvms.correction._noise_curve import Answers


def make_votes(seed, n=4000, share=0.4, gap=1.2, rates=(0.0, 0.0)):
    """Return u, given labels and true labels of two classes whose u overlap little."""
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < share).astype(int)
    u = np.clip(rng.normal(gap * (true - 0.5), 0.25), -1, 1)
    flipped = rng.random(n) < np.where(true == 1, rates[1], rates[0])
    return u, np.where(flipped, 1 - true, true), true


def estimate(u, given):
    return estimate_noise(np.stack([-u, u], axis=1), given, np.array(["no", "yes"]))


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.2, 0.0), (0.0, 0.5), (0.1, 0.3), (0.3, 0.3)])
def test_rates_are_found_and_seldom_too_large(seed, rates):
    u, given, _ = make_votes(seed, rates=rates)
    noise = estimate(u, given)
    assert np.all(noise.rates <= np.array(rates) + 0.03)
    assert np.all(noise.rates >= 0.5 * np.array(rates))  # on the safe side, but not useless


def test_the_interval_covers_the_rate_in_most_tables(seed):
    rates = np.array([0.1, 0.3])
    covered = []
    for number in range(15):
        u, given, _ = make_votes([seed, number], n=2000, rates=rates)
        low, high = estimate(u, given).rate_interval.T
        covered.append((low <= rates) & (rates <= high))
    assert np.all(np.mean(covered, axis=0) >= 0.6)  # 0.9 on average; 15 tables scatter


def test_the_papers_numbers_follow_from_rates_and_shares():
    u, given, true = make_votes(0, share=0.25, rates=(0.0, 0.4))
    noise = estimate(u, given)
    assert noise.beta == pytest.approx(0.25, abs=0.03)
    assert 0.28 < noise.rho < 0.44
    assert noise.error_rate == pytest.approx(noise.rho * noise.beta)
    assert noise.alpha == pytest.approx(0.0, abs=0.05)  # all wrong labels strip the smaller class
    assert 0.7 * np.mean(given != true) < noise.error_rate < 1.1 * np.mean(given != true)
    assert estimate(u, true).error_rate < 0.01
    assert np.isnan(replace(noise, matrix=np.eye(2)).alpha)


def test_labels_that_nothing_explains_have_no_known_rate(seed):
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1, 1, 1000)
    noise = estimate(u, (rng.random(1000) < 0.3).astype(int))
    assert not noise.explained and noise.evidence.max() < evidence_needed(2)
    assert np.all(noise.rates == 0) and np.all(noise.rate_interval == [0, 1])


def test_the_order_of_rows_does_not_matter(seed):
    u, given, _ = make_votes(seed, n=1000, rates=(0.1, 0.3))
    order = np.random.default_rng(seed).permutation(len(u))
    assert_allclose(estimate(u, given).matrix, estimate(u[order], given[order]).matrix, atol=1e-6)


def test_evidence_is_the_statistic_of_mann_and_whitney(seed):
    rng = np.random.default_rng(seed)
    u, is_given = rng.integers(20, size=300) / 20, rng.random(300) < 0.3
    p = mannwhitneyu(u[is_given], u[~is_given], alternative="greater", use_continuity=False).pvalue
    assert norm.sf(_noise.rank_evidence(u, is_given)) == pytest.approx(p, rel=1e-6)


def test_labels_that_hardly_say_anything_are_left_as_they_are():
    assert is_solvable(np.eye(3))
    assert not is_solvable(np.full((2, 2), 0.5))
    assert not is_solvable(np.array([[0.4, 0.6], [0.6, 0.4]]))
    rng = np.random.default_rng(0)
    true = rng.integers(3, size=3000)
    values = np.clip(rng.normal(1.2 * np.eye(3)[true] - 0.6, 0.2), -1, 1)
    given = np.where(rng.random(3000) < 0.62, (true + rng.integers(1, 3, 3000)) % 3, true)
    noise = estimate_noise(values, given, np.arange(3))
    assert not is_solvable(noise.matrix)
    assert_allclose(noise.judge(values, given), np.eye(3)[given])


def test_rows_without_a_label_are_judged_by_their_votes_if_a_class_has_few_rows():
    u, given, _ = make_votes(0)
    few = np.where(np.cumsum(given) > 4, 0, given)
    noise = estimate(np.where(few == 1, 0.9, -0.5), few)
    assert noise.rates.tolist() == [0, 0]
    values = np.array([[-0.9, 0.9], [0.5, -0.5]])
    assert noise.judge(values, np.array([-1, -1])).argmax(axis=1).tolist() == [1, 0]


def test_a_rate_with_a_wide_interval_is_not_named():
    u, given, _ = make_votes(0, rates=(0.0, 0.3))
    noise = replace(estimate(u, given), rate_interval=np.array([[0.0, 0.5], [0.28, 0.33]]))
    whole, first, second, others = str(replace(noise, contradicted=0.14)).splitlines()
    assert whole.startswith("Errors that depend on the class alone: ")
    assert second.startswith("  of true 'yes': ") and others == (
        "The votes contradict 14 % of the labels: at least up to that share, errors of other kinds (near "
        "the border, in a region, by one person) cannot be excluded; only people's answers can tell."
    )
    assert str(noise).splitlines()[-1].startswith("Errors of other kinds (near the border, ")
    assert first.endswith(": not known (0 to 50 %)") and second.endswith(" % (28 to 33 %)")
    assert "not known" not in second
    unknown = estimate(np.random.default_rng(0).uniform(-1, 1, len(given)), given)
    assert [line.partition(": ")[2] for line in str(unknown).splitlines()[:3]] == ["not known"] * 3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_answers_make_an_estimate_careful_in_full_and_bold_by_half(n_classes):
    rng = np.random.default_rng(0)
    true = rng.integers(n_classes, size=900)
    values = np.clip(rng.normal(0.8 * np.eye(n_classes)[true] - 0.4, 0.35), -1, 1)
    if n_classes == 2:
        values[:, 0] = -values[:, 1]
    wrong, rows = rng.random(900) < 0.1, np.arange(900)
    given = np.where(wrong, (true + rng.integers(1, n_classes, 900)) % n_classes, true)
    asked = np.argsort(values[rows, given])[:60]
    for says in (given, true, (given + 1) % n_classes):
        verified = np.full(900, -1)
        verified[asked] = says[asked]
        noise = estimate_noise(values, given, np.arange(n_classes), verified)
        own, after, before = (
            judge(values, given)[rows, given] for judge in (noise.judge, noise._judge, noise.before.judge)
        )
        bolder = after < before
        assert np.allclose(own[~bolder], after[~bolder])
        mean = np.where(noise.heard[given], (after + before) / 2, before)
        assert np.allclose(own[bolder], mean[bolder])
        if says is given:
            assert np.all(own > 0.5)
    # a label that nobody looked at becomes no more doubtful
    after, before = np.tile([0.2, 0.8], (2, 1)), np.tile([0.6, 0.4], (2, 1))
    found = moderate(after, before, np.array([0, -1]), np.array([False, True]))
    assert_allclose(found, [[0.6, 0.4], [0.2, 0.8]])


def test_answers_about_classes_of_few_rows_are_left_out():
    values = np.arange(20.0).reshape(5, 4)
    answers = Answers(values, np.array([0, 1, -1, 3, 2]), np.array([3, 0, 3, 1, 2]))
    found = narrow(answers, np.array([0, 2, 3]))
    assert_allclose(found.values, values[[0, 2, 4]][:, [0, 2, 3]])
    assert found.given.tolist() == [0, -1, 1] and found.verified.tolist() == [2, 2, 1]
    assert narrow(None, np.array([0])) is None and narrow(answers, np.array([1])) is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_without_a_label_tells_about_its_place(n_classes):
    """People find only class 0 where the votes are for the last class: then votes say less."""
    rng = np.random.default_rng(0)
    true = rng.integers(n_classes, size=300)
    values = np.clip(rng.normal(0.8 * np.eye(n_classes)[true] - 0.4, 0.3), -1, 1)
    place = 2.0 * np.eye(n_classes)[[-1]] - 1.0
    more = np.vstack([values, np.tile(place, (40, 1))])
    given, verified = np.append(true, np.full(40, -1)), np.repeat([-1, 0], [300, 40])
    noise = estimate_noise(more, given, np.arange(n_classes), verified)
    assert noise.expect(place)[0, 0] > noise.before.expect(place)[0, 0] + 0.05
