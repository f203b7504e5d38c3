"""What a model's score is worth if the labels of the test set are noisy.

- `_draw`: which rows to ask people about;
- `_score`: intervals of a score, and of the difference of two models, on the true labels;
- `_limits`: exact limits of a number that follows from two counts, with the proof.
"""

from subsvms.evaluation._draw import draw_test_rows
from subsvms.evaluation._score import compare_models, score_interval

__all__ = ["compare_models", "draw_test_rows", "score_interval"]
