"""The paper's theory, computable: one function per statement, and what is built on them.

`subsvms.theory._subset_bounds` has Appendix B and Lemma 7, `subsvms.theory._vote_bounds` Theorems 3 and 6,
`subsvms.theory._regularity` measures Definition 1, and `subsvms.theory._planning` recommends an ensemble.
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
