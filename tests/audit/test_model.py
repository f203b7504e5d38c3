"""The model of which rows are hits."""

import numpy as np

from subsvms.audit._model import fit_hits


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
