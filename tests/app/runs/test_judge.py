"""Each row of a table gets the same bits, alone or in any batch."""

import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from large_tables import OPTIONS, learn_in_parts, make_columns, write_files
from numpy.testing import assert_array_equal

from subsvms.app.runs.judge import BatchCorrector
from subsvms.correction import _choice
from subsvms.exceptions import TableError


@pytest.fixture(scope="module", params=[(2, 40), (4, 40), (2, None)], ids=str)
def judged(request, tmp_path_factory):
    """A corrector, the rows it learned from, and their judgement."""
    n_classes, n_svms = request.param
    columns = make_columns(900, n_classes=n_classes, wrong=0.2)
    where = write_files(columns, tmp_path_factory.mktemp("large") / "big")
    options = replace(OPTIONS, n_estimators=n_svms)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_choice, "LEAST_WEIGHT", 0.0)  # others rank labels as well, if SVMs are chosen
        corrector = BatchCorrector.of(learn_in_parts(where, options, pool_size=200)[2])
    return corrector, columns, corrector.judge(columns, np.arange(900), n_jobs=2)


def test_a_row_gets_the_same_bits_alone(judged):
    """Sums must not be added in an order that depends on the number of rows."""
    corrector, columns, whole = judged
    for row in (0, 899, *corrector.learned.rows[:20], *range(5, 900, 30)):
        alone = corrector.judge(columns.slice(row, 1), np.array([row]))
        for name in ("posterior", "quality", "score"):
            assert_array_equal(getattr(alone.judgement, name)[0], getattr(whole.judgement, name)[row])
        assert_array_equal(alone.votes.sums[0], whole.votes.sums[row])
        assert alone.votes.n_voters[0] == whole.votes.n_voters[row]
        assert alone.withstands[0] == whole.withstands[row]


def test_rows_of_the_pool_are_judged_by_svms_that_were_not_trained_on_them(judged):
    corrector, columns, whole = judged
    in_pool = np.isin(np.arange(900), corrector.learned.rows[corrector.learned.in_pool])
    n_svms = corrector.learned.model.n_estimators
    assert np.mean(whole.votes.n_voters[in_pool] < n_svms) > 0.9
    assert np.all(whole.votes.n_voters[~in_pool] == n_svms)
    assert np.all(corrector.judge(columns).votes.n_voters == n_svms)  # without row numbers


def test_what_was_learned_before_there_were_second_votes_ranks_as_it_did(judged):
    corrector, columns, whole = judged
    old = pickle.loads(pickle.dumps(corrector))
    for one in (old.learned, old.learned.rule, old.learned.votes):
        vars(one).pop("second")
    found = old.judge(columns, np.arange(900))
    assert_array_equal(found.labels, whole.labels)
    same = found.label_quality == whole.label_quality
    assert same.all() if corrector.options.n_estimators else not same.any()


def test_a_label_that_was_never_counted_is_refused(judged):
    corrector, *_ = judged
    with pytest.raises(TableError, match="'perhaps' was not in the table"):
        corrector.judge(pa.table({"label": ["no", "perhaps"]}))
