"""Which columns tell the rows that speak for a suggestion from those that speak against it.

For each column a number from 0 to 1:

- numbers: half the distance between the means of both sides, in standard deviations of the column, and at
  most 1;
- categories, and all else: the total variation distance, the share of values that one side would have to
  change to have the values of the other;
- text: half the distance between how much the words of both sides lean to either class (`words`).

A column that the run did not use says nothing about the verdict, whatever its values: it comes last.
"""

import math
from collections import Counter
from collections.abc import Sequence

WIDE = 2.0  # standard deviations between the sides of a column that separates fully


def separate_numbers(supporting: Sequence, opposing: Sequence, scale: float) -> float:
    """Return how far apart the numbers of both sides are."""
    sides = [[number for number in side if math.isfinite(number)] for side in (supporting, opposing)]
    if not all(sides) or not scale > 0:
        return 0.0
    means = [sum(side) / len(side) for side in sides]
    return min(1.0, abs(means[0] - means[1]) / (WIDE * scale))


def separate_categories(supporting: Sequence, opposing: Sequence) -> float:
    """Return how far apart the values of both sides are."""
    if not supporting or not opposing:
        return 0.0
    first, second = Counter(supporting), Counter(opposing)
    shares = (abs(first[v] / len(supporting) - second[v] / len(opposing)) for v in first | second)
    return sum(shares) / 2
