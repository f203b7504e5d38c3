"""The paper's theory: one function per statement, and what is built on them.

- `_bounds`: how many clean rows a random subset has, how often an SVM errs, and how often a vote does;
- `_regularity`: how few rows teach an SVM enough, measured on a table (Definition 1);
- `_planning`: how many SVMs to train, on how many rows each.
"""

from subsvms.theory._bounds import (
    DrawProbabilities,
    draw_probabilities,
    epsilon,
    epsilon_if_regular,
    eta_exact,
    eta_hoeffding,
    eta_sum,
    eta_worst,
    generalisation_bound,
    phi,
    regular_size,
    smallest_size,
    smallest_size_lemma_7,
    smallest_size_local,
    tolerable_error_rate,
    uniform_error_rate,
    vote_failure,
    vote_failure_exact,
    votes_needed,
    worst_draw_probabilities,
)
from subsvms.theory._planning import Plan, plan
from subsvms.theory._regularity import Regularity, estimate_regularity

__all__ = [
    "DrawProbabilities", "Plan", "Regularity", "draw_probabilities", "epsilon", "epsilon_if_regular",
    "estimate_regularity", "eta_exact", "eta_hoeffding", "eta_sum", "eta_worst", "generalisation_bound",
    "phi", "plan", "regular_size", "smallest_size", "smallest_size_lemma_7", "smallest_size_local",
    "tolerable_error_rate", "uniform_error_rate", "vote_failure", "vote_failure_exact", "votes_needed",
    "worst_draw_probabilities",
]  # fmt: skip
