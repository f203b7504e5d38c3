"""Which rows are suspicious, in the order in which to look at them: they are listed, and no witnesses."""

import numpy as np

from subsvms.correction._result import Correction

LEAST = 50  # with fewer flagged or held back, the most doubtful of the others are suspicious, too


def list_suspicious(correction: Correction) -> np.ndarray:
    """Return the suspicious rows: flagged, held back, the most doubtful of the others, and without a label.

    Each kind has its worst first. Rows that people decided are not among them.
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
