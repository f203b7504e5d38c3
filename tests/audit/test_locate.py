"""The first sample of an audit."""

import numpy as np
import pytest
from known_rings import make_suspicious

from subsvms.audit import _locate


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
