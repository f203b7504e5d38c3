import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from several_votes import N_CLASSES, NEXT, make_votes

from subsvms.correction import _noise_softmax
from subsvms.correction._noise_curve import FEW, Answers
from subsvms.correction._noise_kinds import Blur, Kind
from subsvms.correction._noise_mixture import find_way
from subsvms.correction._noise_softmax import Rows, Softmax, compute_posterior, explain, find_floor


def test_votes_lift_a_class_by_what_is_allowed_and_without_bounds_as_a_softmax(seed, monkeypatch):
    values = np.array([[1.0, -1.0, -1.0]])
    q = Softmax(np.full(3, 1e3), np.array([0.2, 0.3, 0.5]), find_floor(3)).shares(values)[0]
    assert q[0] / (1 - q[0]) == pytest.approx(_noise_softmax.LIFT * 2 * 0.2 / 0.8)
    monkeypatch.setattr("subsvms.correction._noise_softmax.LIFT", 1e12)
    rng = np.random.default_rng(seed)
    values, weights = rng.uniform(-1, 1, (50, 3)), rng.dirichlet(np.ones(3))
    expected = softmax(5.0 * values + np.log(weights), axis=1)
    assert_allclose(Softmax(np.full(3, 5.0), weights, find_floor(3)).shares(values), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [Kind(np.arange(3)), Blur(1.0, np.array([0.5, 0.3, 0.2]))])
def test_a_pass_over_the_rows_gives_likelihood_counts_and_derivatives(seed, kind):
    """Of log P(given | votes) by log slopes and log weights, beside responsibilities row by row."""
    rng = np.random.default_rng(seed)
    values, given = rng.uniform(-1, 1, (30, 3)), rng.integers(-1, 3, 30)
    point, noise = np.log(rng.uniform(0.5, 5, (2, 3))), kind.begin(rng.integers(1, 30, (3, 3)))
    behind = values - values.max(axis=1, keepdims=True)
    blurred = noise.blurred * kind.look(behind)

    def weigh(point):
        q = Softmax(*np.exp(point), find_floor(3)).shares(values)
        allowed = [
            np.ones(3) if g < 0 else noise.expected[:, g] + s[g] for g, s in zip(given, blurred, strict=True)
        ]
        return q, np.array(allowed)

    q, allowed = weigh(point)
    sums = Rows.of(kind, values, given, np.full(30, -1)).add_up(point, noise)
    r = q * allowed / (q * allowed).sum(axis=1, keepdims=True)
    assert sums.fit == pytest.approx(np.log((q * allowed).sum(axis=1)).sum())
    assert_allclose(sums.counts, [[r[given == g, c].sum() for g in range(3)] for c in range(3)])
    assert_allclose(sums.curvature[1], (q * (1 - q)).sum(axis=0))
    sharp = [r[i, g] * noise.expected[g, g] / allowed[i, g] for i, g in enumerate(given) if g >= 0]
    assert sums.sharp == pytest.approx(sum(sharp))
    for place in np.ndindex(2, 3):
        step = np.zeros((2, 3))
        step[place] = 1e-6
        before, after = (
            np.log(np.multiply(*weigh(point + sign * step)).sum(axis=1)).sum() for sign in (-1, 1)
        )
        assert sums.rise[place] == pytest.approx((after - before) / 2e-6, abs=1e-4)


def test_the_way_of_most_gain_is_looked_at(seed):
    values, given, _ = make_votes(seed, [0.0, 0.0, 0.3, 0.0], NEXT)
    none = explain(values, given, 8.0, Kind(np.full(N_CLASSES, -1)))
    q = none.softmax.shares(values)
    possible = ~np.eye(N_CLASSES, dtype=bool)
    assert find_way(q, none.matrix, given, possible) == (2, 3)
    possible[2, 3] = False
    assert find_way(q, none.matrix, given, possible) != (2, 3)


def test_what_answers_add_is_the_derivative_of_their_log_probability(seed):
    """Of log P(answer | votes, label), by log slopes, log weights and the logs of T; -1: no label."""
    rng = np.random.default_rng(seed)
    values, matrix = rng.uniform(-1, 1, (30, 3)), rng.dirichlet(np.ones(3), 3)
    answers = Answers(values, rng.integers(-1, 3, 30), rng.integers(3, size=30))
    point, floor = np.log(rng.uniform(0.5, 5, (2, 3))), find_floor(3)

    def log_probability(logs):
        q = Softmax(*np.exp(logs[:2]), floor).shares(values)
        total = 0.0
        for row, label, verified in zip(q, answers.given, answers.verified, strict=True):
            joint = row if label < 0 else row * np.exp(logs[2:, label])
            total += np.log(0.98 * joint[verified] / joint.sum() + 0.02 / 3)
        return total

    logs = np.vstack([point, np.log(matrix)])
    kind = Kind(np.arange(3))
    noise = kind.begin(np.eye(3))._replace(expected=matrix)
    found = _noise_softmax.add_answers(answers, point, kind, noise)
    assert found.fit == pytest.approx(log_probability(logs))
    for place in np.ndindex(5, 3):
        step = np.zeros((5, 3))
        step[place] = 1e-6
        slope = (log_probability(logs + step) - log_probability(logs - step)) / 2e-6
        assert np.vstack([found.rise, found.counts])[place] == pytest.approx(slope, abs=1e-4)


def test_with_an_answer_about_every_row_rates_are_counted(seed, monkeypatch):
    monkeypatch.setattr("subsvms.correction._noise_softmax.SLIP", 1e-9)
    values, given, true = make_votes(seed, [0.4, 0.0, 0.1, 0.2], n=300, width=0.5)
    kind = Kind(np.arange(N_CLASSES))
    matrix = explain(values, given, 8.0, kind, Answers(values, given, true)).matrix
    wrong, n_rows = (np.bincount(true[part], minlength=N_CLASSES) for part in (given != true, slice(None)))
    assert_allclose(1.0 - np.diag(matrix), (1.0 + wrong) / (1.0 + FEW + n_rows), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4, 40])
def test_a_posterior_follows_bayes_and_does_not_depend_on_other_rows(seed, n_classes):
    """Rows without a label (-1) are judged by their votes, and without noise no label is in doubt."""
    rng = np.random.default_rng(seed)
    noisy = 0.5 * np.eye(n_classes) + 0.5 * rng.dirichlet(np.ones(n_classes), n_classes)
    q, labels = rng.dirichlet(np.ones(n_classes), 300), rng.integers(-1, n_classes, 300)
    for matrix in (noisy, np.eye(n_classes)):
        whole = compute_posterior(q, matrix, labels)
        for row in range(20):
            joint = q[row] if labels[row] < 0 else q[row] * matrix[:, labels[row]]
            assert_allclose(whole[row], joint / joint.sum(), atol=1e-9)
        for n in (1, 2, 7, 64):
            parts = [compute_posterior(q[i : i + n], matrix, labels[i : i + n]) for i in range(0, 300, n)]
            assert_array_equal(np.concatenate(parts), whole)
