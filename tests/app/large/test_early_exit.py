"""Early exits save votes: exact ones change no bit, confident ones are wrong as rarely as they say."""

from dataclasses import replace

import numpy as np
import pytest
from large_tables import OPTIONS, judge_in_parts, learn_in_parts, make_columns, write_files
from numpy.testing import assert_array_equal

from subsvms.app.large.early_exit import Exits
from subsvms.ensemble._votes import Votes


@pytest.mark.parametrize(
    ("kernel", "rule", "wrong"),
    [
        ("linear", "posterior", 0.0),
        ("rbf", "posterior", 0.1),
        ("linear", "majority", 0.1),
        ("rbf", "majority", 0.0),
    ],
)
def test_exact_exits_change_no_bit(tmp_path, kernel, rule, wrong):
    where = write_files(make_columns(2000, wrong=wrong, seed=2), tmp_path / "big")
    options = replace(OPTIONS, kernel=kernel, rule=rule)
    source, engine, learned = learn_in_parts(where, options, pool_size=300, stages=(0.5, 0.75, 1.0))
    assert learned.corrector.exits is not None
    without = replace(learned, corrector=replace(learned.corrector, exits=None))
    results = []
    for i, one in enumerate((learned, without)):
        _, finding, written = judge_in_parts(source, engine, one, tmp_path / str(i))
        results.append((written, finding.run.tally, finding.doubtful.to_pydict(), finding.numbers.tolist()))
    assert results[0] == results[1]
    assert (len(results[0][2]["row"]) > 0) == (wrong == 0.0 and rule == "posterior")


def test_exits_save_votes_and_confident_ones_save_more(tmp_path):
    columns = make_columns(2500, seed=3)
    where = write_files(columns, tmp_path / "big")
    share = {}
    for confidence in (None, 0.999):
        options = replace(OPTIONS, early_exit=confidence, n_estimators=100)
        corrector = learn_in_parts(where, options, pool_size=400, stages=(0.2, 0.5, 1.0))[2].corrector
        given, rows = corrector.labels.read(columns), np.arange(len(columns))
        some = corrector.count_votes(columns, rows, given, early=True)
        every = corrector.count_votes(columns, rows, given)
        asked = some.n_voters > 0
        share[confidence] = asked.mean()
        for name in ("counts", "sums", "n_voters"):
            assert_array_equal(getattr(some, name)[asked], getattr(every, name)[asked])
        judged = corrector.judge_votes(given, every, rows)
        assert not (judged.flagged | judged.held_back)[~asked].any()
    assert share[0.999] < share[None] < 0.9


def test_the_bound_of_a_confident_exit_holds_as_often_as_it_says():
    """The mean of all SVMs is below the bound that the first m give in at most a share delta of cases."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random((4000, 200)) < 0.5, 1.0, -1.0)  # the largest possible spread
    given = np.ones(4000, dtype=int)
    for m, delta in ((10, 0.2), (50, 0.1), (120, 0.3)):
        first, wins = values[:, :m].sum(axis=1), (values[:, :m] > 0).sum(axis=1)
        votes = Votes(np.stack([m - wins, wins], 1), np.stack([-first, first], 1), np.full(4000, m))
        bound = Exits((), 200, -np.inf, delta).bound_votes(votes, given)
        assert np.mean(values.mean(axis=1) < bound.mean_value[:, 1]) <= delta
        assert np.mean((values > 0).mean(axis=1) < bound.share[:, 1]) <= delta
        exact = Exits((), 200, -np.inf, None).bound_votes(votes, given)
        assert np.all(values.mean(axis=1) >= exact.mean_value[:, 1])
        assert np.all((values > 0).mean(axis=1) >= exact.share[:, 1])
