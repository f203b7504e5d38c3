import numpy as np
import pytest
from known_rings import make_suspicious, mark_rows
from scipy.special import expit

from subsvms.audit import _locate
from subsvms.audit._locate import Features, fit_hits


def test_the_first_rows_are_those_about_which_the_model_is_least_sure():
    ranking, _ = make_suspicious(0, n=200)
    features, mode = Features.of(ranking), np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    free = ranking.order
    for turn in range(6):
        row = _locate.pick_uncertain(features, free, mode, turn)
        assert ranking.given[row] == (turn + 1) % 2
        own = free[ranking.given[free] == ranking.given[row]]
        p = expit(features.compute_logit(own, mode))
        assert abs(expit(features.compute_logit(np.array([row]), mode))[0] - 0.55) < 0.05 + np.ptp(p) / 4
    only = free[ranking.given[free] == 0]
    assert ranking.given[_locate.pick_uncertain(features, only, mode, 0)] == 0


def test_locating_ends_early_where_nearly_all_are_hits_in_long_audits():
    assert not _locate.has_located(50, [True] * 5) and _locate.has_located(50, [True] * 6)
    assert not _locate.has_located(50, [True] * 5 + [False]) and _locate.has_located(50, [False] * 8)
    assert not _locate.has_located(100, [False] * 14) and _locate.has_located(10, [False] * 6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_chances_are_those_of_the_whole_design(n_classes):
    """Also for rows that the rule changes, which the model knows."""
    ranking, _ = make_suspicious(0, n=60, n_classes=n_classes, flagged=mark_rows(0, 20, 60))
    features, rows = Features.of(ranking), np.arange(60)
    draws = np.random.default_rng(0).normal(size=(3, features.priors.shape[1]))
    expected = np.cumsum(expit(draws @ features.design(rows).T), axis=1)
    assert np.allclose(features.sum_hits(rows, draws), expected)
    assert np.array_equal(features.design(rows)[:, 3] == 1, ranking.flagged)


def test_the_model_maximises_its_density():
    rng = np.random.default_rng(0)
    design, priors = rng.normal(size=(30, 3)), np.array([[-2.0, 0.6, 0.0], [1.5, 0.5, 1.0]])
    hits = rng.random(30) < 0.4

    def log_density(beta):
        linear = design @ beta
        return (
            np.sum(hits * linear - np.logaddexp(0, linear))
            - np.sum(((beta - priors[0]) / priors[1]) ** 2) / 2
        )

    mode = fit_hits(design, hits, priors).mode
    assert all(log_density(mode) >= log_density(mode + 1e-3 * step) for step in rng.normal(size=(50, 3)))


def make_found(shares, n_draws=40, seed=0):
    """Return summed chances of a table whose rows have these shares of hits, as if they were known well."""
    rng = np.random.default_rng(seed)
    p = np.clip(np.asarray(shares) + 0.03 * rng.normal(size=(n_draws, 1)), 0.001, 0.999)
    return np.cumsum(p, axis=1)


def test_sizes_of_rings_and_their_power():
    assert _locate.list_sizes(7).size == 0 and _locate.list_sizes(2000)[-1] > 1500
    power = _locate.chance_to_pass(100, 20, 0.025, 0.5)
    assert np.all(np.diff(power) >= 0) and power[20] < 0.025 and power[-1] == 1
    assert np.all(_locate.chance_to_pass(100, 20, 0.025, 2 / 3) <= power)


def test_a_ring_is_chosen_where_most_rows_are_wrong_and_ends_there():
    found = make_found([0.85] * 150 + [0.05] * 450)
    for several in (False, True):
        N, believed = _locate.choose_size(found, 40, 0.05, 0.5, several)
        assert 80 <= N <= 200 and believed.shape == (40,) and believed.mean() > 0.6


def test_no_ring_is_chosen_where_worst_first_is_better():
    assert _locate.choose_size(make_found([0.3] * 600), 40, 0.05, 0.5, False) is None


def test_two_thirds_are_not_sought_where_only_half_are_wrong():
    found = make_found([0.65] * 200 + [0.05] * 400)
    assert _locate.choose_size(found, 100, 0.05, 0.5, False) is not None
    assert _locate.choose_size(found, 100, 0.05, 2 / 3, False) is None


def test_the_divergence_is_zero_at_the_threshold_and_below_it():
    assert _locate.diverge(np.array([0.2, 0.5]), 0.5).tolist() == [0, 0]
    assert _locate.diverge(np.array([0.9]), 0.5) > _locate.diverge(np.array([0.9]), 2 / 3) > 0
