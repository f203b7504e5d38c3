"""From votes to judged labels: how noisy the classes are, which labels are wrong, and why."""

from subsvms.correction._corrector import LabelCorrector, correct_labels
from subsvms.correction._noise import NoiseEstimate
from subsvms.correction._result import Correction

__all__ = ["Correction", "LabelCorrector", "NoiseEstimate", "correct_labels"]
