"""Which rows are suspicious, in the order in which to look at them: they are listed, and no witnesses."""

import numpy as np

from subsvms.correction._result import Correction

LEAST = 50  # with fewer flagged or held back, the most doubtful of the others are suspicious, too


def list_suspicious(correction: Correction) -> np.ndarray:
    """Return the suspicious rows: flagged, held back, the most doubtful of the others, and without a label.

    Each kind has its worst first. Rows that people decided are not among them.

    Examples
    --------
    >>> from subsvms import correct_labels
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat([0, 1], 200)
    >>> X = rng.normal(clean[:, None], 0.25, (400, 4))
    >>> given = np.where(np.arange(400) % 7 == 0, 1 - clean, clean)
    >>> rows = list_suspicious(correct_labels(X, given, random_state=0))
    >>> int(rows[0]) % 7, len(rows) > 40
    (0, True)
    """
    held_back, decided = correction.held_back, correction.decided
    plain = (
        ~correction.missing & ~correction.flagged & ~held_back & ~decided & (correction.votes.n_voters > 0)
    )
    kinds = (correction.flagged, held_back, plain, correction.missing & ~decided)
    parts = [np.flatnonzero(which) for which in kinds]
    parts = [part[np.argsort(correction.label_quality[part], kind="stable")] for part in parts]
    n_more = max(0, LEAST - len(parts[0]) - len(parts[1])) if correction.noise.explained else 0
    parts[2] = parts[2][:n_more]
    return np.concatenate(parts)
