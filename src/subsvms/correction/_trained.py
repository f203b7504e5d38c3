"""Train SVMs on the pool of a table, and let them vote on all rows."""

from functools import partial
from typing import NamedTuple

import numpy as np

from subsvms._effort import Effort
from subsvms._progress import announce
from subsvms._typing import Table
from subsvms.correction._choice import Choice, choose_ensemble
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._pool import Drawing
from subsvms.ensemble._rows import take_rows
from subsvms.ensemble._sampling import subset_size
from subsvms.ensemble._training import fit_numbered
from subsvms.ensemble._votes import Votes, count_votes


class Trained(NamedTuple):
    """SVMs that vote on a table."""

    model: SubSVMClassifier
    choice: Choice | None = None  # if the model was chosen from the data


def train_model(
    prepared: SubSVMClassifier | dict,
    table: Table,
    in_pool: np.ndarray,
    given: np.ndarray,
    classes: np.ndarray,
    drawing: Drawing,
) -> Trained:
    """Train an ensemble on the pool: the one that is given, or the best that is found.

    Shapes: table (n_rows, n_features); in_pool (n_rows,); given (n_rows,); classes (n_classes,).
    """
    pool = np.flatnonzero(in_pool)
    whole = len(pool) == len(given)
    if not isinstance(prepared, dict):
        size = subset_size(prepared.subsample_size, drawing.n_rows, len(classes))
        prepared.set_params(subsample_size=min(size, len(pool)))
        rows = table if whole else take_rows(table, pool, prepared.kernel)
        return Trained(fit_numbered(prepared, rows, classes, given[pool]))
    rows = table if whole else table[pool]
    choice = choose_ensemble(rows, given[pool], drawing.sizes, drawing.n_rows, n_jobs=prepared.get("n_jobs"))
    return Trained(fit_numbered(choice.make_model(**prepared), rows, classes, given[pool]), choice)


def collect_votes(model: SubSVMClassifier, table: Table, given: np.ndarray) -> Votes:
    """Return the out-of-bag votes on the training rows, and all votes on the others, whose `given` is -1."""
    rows, others = np.flatnonzero(given >= 0), np.flatnonzero(given < 0)
    if len(others) == 0:
        return model.oob_votes_
    asked = table[others]
    if model.kernel == "precomputed":
        asked = np.ascontiguousarray(asked[:, rows])
    effort = Effort.of(model, partial(announce, "voting on the other rows"))
    votes = count_votes(model.voters_, asked, effort)
    return model.oob_votes_.join(votes).take(np.argsort(np.concatenate([rows, others])))
