import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import kernel_matrix
from scipy import sparse

from subsvms import SubSVMClassifier
from subsvms.correction import _pulls as witnesses
from subsvms.correction._pulls import find_witnesses, kernel_between, pair_weights, weigh_rows
from subsvms.ensemble._rows import Kernel
from subsvms.ensemble._sampling import draw_subsets
from subsvms.ensemble._solver import solve_subsets
from subsvms.ensemble._votes import find_bags

KERNELS = {
    "rbf": Kernel.named("rbf", 0.3),
    "linear": Kernel.named("linear"),
    "poly": Kernel.named("poly", 0.5, coef0=1.0, degree=2),
}


def make_ensemble(seed, n=40, n_classes=2, name="rbf", form="dense", n_subsets=25, C=10.0):
    """Return what a fitted model knows, and the kernel matrix from its definition."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_classes)
    X = (rng.normal(size=(n, 5)) + 0.5 * labels[:, None]) * (rng.random((n, 5)) < 0.7)
    kernel = KERNELS[name]
    K = kernel_matrix(name, X, X, *kernel[1:])
    if form == "csr":
        X = sparse.csr_array(X)
    elif form == "precomputed":
        X, kernel = K, Kernel.named("precomputed")
    subsets = draw_subsets(labels, n_subsets, 8 * n_classes // 2, seed=seed)
    solution = solve_subsets(X, labels, subsets, kernel=kernel, C=C)
    dual_coef = solution.dual_coef(subsets, labels)
    return SimpleNamespace(
        X=X, labels=labels, subsets=subsets, dual_coef=dual_coef, kernel=kernel, K=K, solution=solution
    )


def ask(model, rows, against, proposed, n_witnesses=3):
    return find_witnesses(
        model.X, model.labels, model.subsets, model.dual_coef, rows, against, proposed,
        kernel=model.kernel, n_witnesses=n_witnesses,
    )  # fmt: skip


def contributions(model, row, against, proposed):
    """Add up c_ji k(x_i, x) one SVM and one drawn row at a time, over the SVMs that did not see x."""
    solution, n_pairs = model.solution, len(model.solution.pairs)
    pair = solution.pairs.tolist().index(sorted([against, proposed]))
    sums, n_voters = np.zeros(len(model.labels)), 0
    for j, subset in enumerate(model.subsets):
        if row in subset:
            continue
        n_voters += 1
        problem = j * n_pairs + pair
        for entry in range(solution.start[problem], solution.start[problem + 1]):
            i = solution.row[entry]
            sums[i] += solution.coef[entry] * model.K[i, row]
    sign = 1.0 if proposed > against else -1.0
    return sign * sums / max(n_voters, 1)


def assert_witnesses_are(found, place, expected):
    """Shares to 1e-9: the same sums in another order, and a distance from another formula."""
    total = np.abs(expected).sum()
    for signed, names, shares in (
        (expected, found.supporting[place], found.supporting_share[place]),
        (-expected, found.opposing[place], found.opposing_share[place]),
    ):
        largest = np.sort(signed[signed > 0])[::-1][: len(names)]
        n = len(largest)
        assert_array_equal(names[n:], -1)
        assert_array_equal(shares[n:], 0.0)
        assert len(set(names[:n].tolist())) == n
        assert_allclose(shares[:n], largest / total, rtol=1e-9, atol=1e-12)
        assert_allclose(signed[names[:n]] / total, shares[:n], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", ["dense", "csr", "precomputed"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_witnesses_are_what_adding_up_one_by_one_gives(form, name, n_classes, seed):
    model = make_ensemble(seed, n_classes=n_classes, name=name, form=form)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(model.labels))
    against = model.labels[rows]
    proposed = (against + rng.integers(1, n_classes, len(rows))) % n_classes
    found = ask(model, rows, against, proposed)
    assert_array_equal(found.rows, rows)
    for place, (row, one, other) in enumerate(zip(rows, against, proposed, strict=True)):
        assert_witnesses_are(found, place, contributions(model, row, one, other))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_contributions_and_intercept_make_the_mean_decision_value(n_classes, name, seed):
    model = make_ensemble(seed, n_classes=n_classes, name=name)
    n = len(model.labels)
    pairs, intercept = model.solution.pairs, model.solution.intercept
    decisions = (model.solution.as_matrix(n) @ model.K).reshape(-1, len(pairs), n) + intercept[..., None]
    unseen = np.ones((len(model.subsets), n), dtype=bool)
    unseen[np.arange(len(model.subsets))[:, None], model.subsets] = False
    bags = find_bags(model.subsets, n)
    for number, (first, second) in enumerate(pairs):
        weights = pair_weights(model.subsets, model.dual_coef, model.labels, first, second)
        for block, _, values in weigh_rows(model.X, weights, bags, np.arange(n), model.kernel):
            for row, sum_ in zip(range(n)[block], values.sum(axis=1), strict=True):
                mean = decisions[unseen[:, row], number, row].mean()
                assert_allclose(sum_ + intercept[unseen[:, row], number].mean(), mean, rtol=1e-9, atol=1e-9)


def test_where_nothing_is_clipped_they_make_the_mean_value_of_the_vote(seed):
    """To 1e-4: the vote runs in single precision."""
    rng = np.random.default_rng(seed)
    labels = np.arange(60) % 2
    X = rng.random((60, 4)) + 0.2 * labels[:, None]
    model = SubSVMClassifier(n_estimators=200, C=1e-2, random_state=seed).fit(X, labels)
    rows, bags = np.arange(60), find_bags(model.subsets_, 60)
    weights = pair_weights(model.subsets_, model.dual_coef_, labels, 0, 1)
    [(_, _, values)] = weigh_rows(X, weights, bags, rows, model.voters_.kernel)
    unseen = np.array([[row not in subset for subset in model.subsets_] for row in rows])
    mean_intercept = unseen @ model.intercept_ / unseen.sum(axis=1)
    assert_allclose(values.sum(axis=1) + mean_intercept, model.oob_mean_value_[:, 1], atol=1e-4)


def test_swapping_the_classes_swaps_the_sides(seed):
    model = make_ensemble(seed, n_classes=3)
    rows = np.arange(40)
    one, other = ask(model, rows, 2, 0), ask(model, rows, 0, 2)
    assert_array_equal(one.supporting, other.opposing)
    assert_array_equal(one.opposing_share, other.supporting_share)


@given(seed=st.integers(0, 999), n_classes=st.integers(2, 4), n_witnesses=st.integers(1, 60))
def test_shares_are_shares_and_nobody_is_his_own_witness(seed, n_classes, n_witnesses):
    model = make_ensemble(seed, n_classes=n_classes)
    rows = np.arange(40)
    found = ask(model, rows, model.labels, (model.labels + 1) % n_classes, n_witnesses)
    for names, shares in (
        (found.supporting, found.supporting_share),
        (found.opposing, found.opposing_share),
    ):
        assert names.shape == shares.shape == (40, n_witnesses)
        assert np.all((shares >= 0) & (shares <= 1))
        assert np.all(np.diff(shares, axis=1) <= 0)
        assert_array_equal(names == -1, shares == 0)
        assert not np.any(names == rows[:, None])
    if n_witnesses >= 40:  # everyone was named
        total = found.supporting_share.sum(axis=1) + found.opposing_share.sum(axis=1)
        assert_allclose(total, 1.0)


def test_the_own_weight_is_exactly_zero(seed):
    model = make_ensemble(seed, n_classes=2)
    weights = pair_weights(model.subsets, model.dual_coef, model.labels, 0, 1)
    for _, used, values in weigh_rows(
        model.X, weights, find_bags(model.subsets, 40), np.arange(40), model.kernel
    ):
        assert np.all(values[used, np.arange(len(used))] == 0.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_near_duplicate_is_the_first_witness(n_classes, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(90) % n_classes
    X = rng.random((90, 3)) + 1.0 * labels[:, None]
    X[0], labels[0] = 5.0, 1  # far from all others ...
    X[1], labels[1] = 5.01, 0  # ... but one, which has the class proposed
    model = SubSVMClassifier(n_estimators=500, gamma=1.0, random_state=seed).fit(X, labels)
    found = find_witnesses(
        X, labels, model.subsets_, model.dual_coef_, [0, 1], [1, 0], [0, 1], kernel=model.voters_.kernel
    )
    assert found.supporting[:, 0].tolist() == [1, 0]
    assert found.supporting_share.min(initial=1.0, where=found.supporting == [[1], [0]]) > 0.5


def test_a_row_that_every_svm_saw_has_no_witnesses():
    X, labels = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    subsets = np.array([[0, 1, 3, 4], [0, 2, 4, 5]])
    solution = solve_subsets(X, labels, subsets, kernel=Kernel.named("rbf"))
    coef = solution.dual_coef(subsets, labels)
    found = find_witnesses(X, labels, subsets, coef, [0, 1, 4], 0, 1, kernel=Kernel.named("rbf"))
    for place in (0, 2):
        assert np.all(found.supporting[place] == -1) and np.all(found.opposing[place] == -1)
        assert np.all(found.supporting_share[place] == 0) and np.all(found.opposing_share[place] == 0)
    assert found.supporting[1, 0] >= 0


def test_classes_that_no_subset_holds_together_have_no_witnesses():
    X, labels = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    subsets = np.array([[0, 1, 2, 3], [2, 3, 4, 5]])
    solution = solve_subsets(X, labels, subsets, kernel=Kernel.named("linear"))
    coef = solution.dual_coef(subsets, labels)
    found = find_witnesses(X, labels, subsets, coef, [0, 5], 0, 2, kernel=Kernel.named("linear"))
    assert np.all(found.supporting == -1) and np.all(found.opposing_share == 0)


def test_equal_contributions_are_named_in_the_order_of_the_table():
    X, labels = np.array([[0.5], [1.0], [1.0], [1.0], [0.0]]), np.array([0, 1, 1, 1, 0])
    subsets, coef = np.array([[3, 1, 2, 4]]), np.array([[1.0, 1.0, 1.0, -3.0]])
    found = find_witnesses(X, labels, subsets, coef, [0], 0, 1, kernel=Kernel.named("rbf"), n_witnesses=2)
    assert found.supporting.tolist() == [[1, 2]]
    assert found.opposing.tolist() == [[4, -1]]


@pytest.mark.parametrize("form", ["dense", "csr", "precomputed"])
def test_block_sizes_change_nothing(form, monkeypatch):
    """Shares to rounding: a matrix product may add in another order."""
    model = make_ensemble(0, n_classes=3, form=form)
    rows, proposed = np.arange(40), (model.labels + 1) % 3
    whole = ask(model, rows, model.labels, proposed)
    for n_bytes in (4, 3000, 20_000):
        monkeypatch.setattr(witnesses, "BLOCK_BYTES", n_bytes)
        parts = ask(model, rows, model.labels, proposed)
        assert_array_equal(parts.supporting, whole.supporting)
        assert_array_equal(parts.opposing, whole.opposing)
        assert_allclose(parts.supporting_share, whole.supporting_share, rtol=1e-12)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_memory_is_bounded(form, monkeypatch):
    """All contributions at once would take 5,800 times 800 doubles, 37 MB; here a block may take 4."""
    rng = np.random.default_rng(0)
    n, n_subsets, size = 6000, 200, 100
    labels = np.arange(n) % 2
    X = rng.random((n, 30))
    if form == "csr":
        X = sparse.csr_array(X * (X < 0.2))
    subsets = rng.integers(0, n, (n_subsets, size))
    coef = np.where(labels[subsets] == 1, 1.0, -1.0)
    monkeypatch.setattr(witnesses, "BLOCK_BYTES", 4 * 2**20)
    tracemalloc.start()
    find_witnesses(X, labels, subsets, coef, np.arange(800), 0, 1, kernel=KERNELS["rbf"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7 * 2**20  # 4 MB, and copies of the model's own 20,000 coefficients


def test_single_precision_and_huge_tables_are_weighed_in_double_precision():
    X = np.array([[1e30, 0.0], [0.1, 0.7], [0.2, 0.3]], dtype=np.float32)
    values = kernel_between(X, np.arange(3), np.arange(3), Kernel.named("poly", 1.0, degree=3))
    assert values.dtype == np.float64 and np.all(np.isfinite(values))
    assert_allclose(values[1, 2], (X[1].astype(float) @ X[2].astype(float)) ** 3, rtol=1e-14)


def test_one_may_ask_about_no_row():
    found = ask(make_ensemble(0), [], [], [])
    assert found.rows.shape == (0,) and found.supporting.shape == (0, 3)


@pytest.mark.parametrize(
    "question, message",
    [
        (([40], 0, 1), "rows must lie between 0 and 39"),
        (([-1], 0, 1), "rows must lie between 0 and 39"),
        (([True] * 40, 0, 1), "use np.flatnonzero"),
        (([0.5], 0, 1), "rows must be a list of whole numbers"),
        (([0, 1], [0, 1], [1, 1]), "two different class numbers"),
        (([0], 0, 2), "class numbers from 0 to 1"),
        (([0], -1, 1), "class numbers from 0 to 1"),
        (([0], 0, 1, 0), "n_witnesses must be at least 1"),
    ],
)
def test_questions_without_sense_are_refused(question, message):
    with pytest.raises(ValueError, match=message):
        ask(make_ensemble(0), *question)
