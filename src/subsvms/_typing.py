"""Type names for which SciPy and the standard library have no type of their own."""

from collections.abc import Callable
from typing import Any

Table = Any  # an ndarray, or a CSR matrix or array
OnProgress = Callable[[int, int], None]  # called as on_progress(done, total)
