import numpy as np
import pytest
from known_rings import make_suspicious

from subsvms.audit import _locate
from subsvms.audit._locate import fit_hits


def test_the_first_sample_has_the_stated_probabilities():
    ranking, _ = make_suspicious(0, n=40)
    p = _locate.weigh_ranks(ranking.given[ranking.order])
    assert p.sum() == pytest.approx(1.0) and p.min() > 0.3 / 40
    counts = np.zeros(40)
    for seed in range(3000):
        pilot = _locate.draw_pilot(ranking, 8, np.random.default_rng(seed))
        assert len(set(pilot.tolist())) == 8
        counts[pilot] += 1
    assert np.abs(counts / 3000 - _locate.include(p, 8)).max() < 0.04


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
