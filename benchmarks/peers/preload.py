"""Load what processes share in memory when they start: libraries, and the compiled code of subsvms."""

from contextlib import suppress

import numpy as np
from scipy import sparse

from benchmarks.peers import methods  # noqa: F401

with suppress(ImportError):
    import cleanlab.classification  # noqa: F401
with suppress(ImportError):
    import imblearn.ensemble  # noqa: F401

X = np.random.default_rng(0).random((60, 40))
for table in (X, X + 100.0, sparse.csr_matrix(X * (X > 0.9))):  # single and double precision, sparse
    methods.correct_by_posterior(table, (X[:, 0] > 0.5).astype(int), 0)
