"""The paper's theory: one function per statement, and what is built on them."""

# isort: off
from subsvms.theory._bounds import (
    DrawProbabilities, draw_probabilities, epsilon, epsilon_if_regular, eta_exact, eta_hoeffding, eta_sum,
    eta_worst, generalisation_bound, phi, regular_size, smallest_size, smallest_size_lemma_7,
    smallest_size_local, tolerable_error_rate, uniform_error_rate, vote_failure, vote_failure_exact,
    votes_needed, worst_draw_probabilities,
)  # fmt: skip
from subsvms.theory._planning import Plan, plan
from subsvms.theory._regularity import Regularity, estimate_regularity

__all__ = [
    "DrawProbabilities", "Plan", "Regularity", "draw_probabilities", "epsilon", "epsilon_if_regular",
    "estimate_regularity", "eta_exact", "eta_hoeffding", "eta_sum", "eta_worst", "generalisation_bound",
    "phi", "plan", "regular_size", "smallest_size", "smallest_size_lemma_7", "smallest_size_local",
    "tolerable_error_rate", "uniform_error_rate", "vote_failure", "vote_failure_exact", "votes_needed",
    "worst_draw_probabilities",
]  # fmt: skip
