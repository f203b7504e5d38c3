"""What a model's score is worth if the labels of the test set are noisy."""

from subsvms.evaluation._draw import draw_test_rows
from subsvms.evaluation._score import compare_models, score_interval

__all__ = ["compare_models", "draw_test_rows", "score_interval"]
