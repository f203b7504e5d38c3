"""Made-up votes and noise, for tests of the rule without any SVM."""

import numpy as np

from subsvms.correction._noise import NoiseEstimate
from subsvms.ensemble import Votes


def make_noise(matrix, evidence=50.0):
    matrix = np.asarray(matrix, dtype=float)
    k = len(matrix)
    return NoiseEstimate(
        np.arange(k), matrix, np.zeros((k, 2)), np.full(k, 1 / k), np.zeros(2), np.full(k, evidence)
    )


def make_votes(u, n_voters=1000):
    """Votes of two classes with mean value u for the second; as many vote for it as u says."""
    u = np.asarray(u, dtype=float)
    seconds = np.round((1 + u) / 2 * n_voters).astype(int)
    counts = np.stack([n_voters - seconds, seconds], axis=1)
    return Votes(counts, np.stack([-u, u], axis=1) * n_voters, np.full(len(u), n_voters))


def make_table(seed, n=2000, rates=(0.1, 0.3)):
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.4).astype(int)
    u = np.clip(rng.normal(1.0 * (true - 0.5), 0.3), -1, 1)
    labels = np.where(rng.random(n) < np.where(true == 1, rates[1], rates[0]), 1 - true, true)
    return make_votes(u), labels, true, u
