"""The paper's theory: one function per statement, and what is built on them.

- `_subset_bounds`: how many clean rows a random subset has (Appendix B and Lemma 7);
- `_vote_bounds`: how often one SVM errs, and how often a vote does (Theorems 3 and 6);
- `_regularity`: how few rows teach an SVM enough, measured on a table (Definition 1);
- `_planning`: how many SVMs to train, on how many rows each.
"""

from subsvms.theory._planning import Plan, plan
from subsvms.theory._regularity import Regularity, estimate_regularity
from subsvms.theory._subset_bounds import (
    DrawProbabilities,
    draw_probabilities,
    eta_exact,
    eta_hoeffding,
    eta_sum,
    eta_worst,
    smallest_size,
    smallest_size_lemma_7,
    smallest_size_local,
    worst_draw_probabilities,
)
from subsvms.theory._vote_bounds import (
    epsilon,
    epsilon_if_regular,
    generalisation_bound,
    phi,
    regular_size,
    tolerable_error_rate,
    uniform_error_rate,
    vote_failure,
    vote_failure_exact,
    votes_needed,
)

__all__ = [
    "DrawProbabilities",
    "Plan",
    "Regularity",
    "draw_probabilities",
    "epsilon",
    "epsilon_if_regular",
    "estimate_regularity",
    "eta_exact",
    "eta_hoeffding",
    "eta_sum",
    "eta_worst",
    "generalisation_bound",
    "phi",
    "plan",
    "regular_size",
    "smallest_size",
    "smallest_size_lemma_7",
    "smallest_size_local",
    "tolerable_error_rate",
    "uniform_error_rate",
    "vote_failure",
    "vote_failure_exact",
    "votes_needed",
    "worst_draw_probabilities",
]
