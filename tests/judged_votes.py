"""Made-up votes and noise, for tests of the rule without any SVM."""

import numpy as np

from subsvms.correction._noise import NoiseEstimate
from subsvms.correction._noise_curve import integrate_curve
from subsvms.correction._rule import Rule, Settings
from subsvms.ensemble._votes import Votes


def make_rule(votes, labels, matrix, settings=None, evidence=50.0):
    """The rule for two classes if the noise were known."""
    matrix = np.asarray(matrix, dtype=float)
    asked = votes.n_voters > 0
    curve = integrate_curve(votes.mean_value[asked, 1], labels[asked] == 1, rates=1.0 - np.diag(matrix))
    noise = NoiseEstimate(
        np.arange(2), matrix, curve.rate_interval, np.full(2, 0.5), np.zeros(2), np.full(2, evidence),
        curve=curve,
    )  # fmt: skip
    sizes = np.bincount(labels, minlength=2)
    return Rule(noise, sizes, sizes, settings or Settings())


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
