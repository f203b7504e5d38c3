"""Votes on rows of four classes whose noise is known."""

import numpy as np

N_CLASSES = 4
EVENLY = (1.0 - np.eye(N_CLASSES)) / (N_CLASSES - 1)
NEXT = np.roll(np.eye(N_CLASSES), 1, axis=1)  # wrong labels of each class go to the next


def mix(rates, spread):
    rates = np.broadcast_to(rates, len(spread)).astype(float)
    return np.diag(1.0 - rates) + rates[:, None] * spread


def make_votes(seed, rates, spread=EVENLY, n=4000, width=0.2):
    """Return votes, given and true labels; the wider the votes spread, the more the classes overlap."""
    rng = np.random.default_rng(seed)
    true = rng.integers(N_CLASSES, size=n)
    values = np.clip(rng.normal(0.8 * np.eye(N_CLASSES)[true] - 0.6, width), -1, 1)
    matrix = mix(rates, spread)
    given = np.array([rng.choice(N_CLASSES, p=matrix[t]) for t in true])
    return values, given, true
