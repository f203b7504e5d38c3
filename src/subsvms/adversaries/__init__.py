"""Change labels the way an adversary would: clean labels in, corrupted labels out.

All attacks share one budget and spend all of it. It is given by at most one of `error_rate`, flips as a share
of all rows, and `rho`, flips as a share of the smallest class, as in the paper; both are at least 0 and less
than 1, and rounded down to whole rows. Where an attack takes it, and there are two classes, `alpha`, from 0
to 1, is the direction: the share of the flips that are taken from the larger class, whose rows get the
smaller class's label; the rest are taken from the smaller class (the first one, if they are equally large).
None leaves the direction to the attack. A budget that a class cannot meet is an error.

All attacks take `y`, clean labels of two classes or more, and `random_state`, a seed or NumPy's generator,
also where nothing is random. Those that look at the features take `X`, an array, sparse matrix or data frame
of finite numbers, each feature with a range of about one: the gamma of SVMs is 1 / n_features.
`knowing_flips` also takes the corrector that it attacks, and is not in `ATTACKS`.

Examples
--------
>>> from subsvms.adversaries import ATTACKS
>>> sorted(ATTACKS)
['boundary', 'class-conditional', 'directed', 'greedy', 'region', 'surest', 'uniform']
>>> ATTACKS["uniform"](["no", "yes"] * 5, error_rate=0.2, random_state=0).flipped.sum()
np.int64(2)
"""

# isort: off
from subsvms.adversaries._attacks import (
    ATTACKS, attack, boundary_flips, class_conditional_flips, directed_flips, region_flips, surest_flips,
    uniform_flips,
)  # fmt: skip
from subsvms.adversaries._budget import Attack
from subsvms.adversaries._greedy import greedy_flips
from subsvms.adversaries._knowing import knowing_flips

__all__ = [
    "ATTACKS", "Attack", "attack", "boundary_flips", "class_conditional_flips", "directed_flips",
    "greedy_flips", "knowing_flips", "region_flips", "surest_flips", "uniform_flips",
]  # fmt: skip
