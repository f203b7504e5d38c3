from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from subsvms.certificates import certified_curve, count_withstood
from subsvms.certificates._vote import CERTIFICATE_LEVEL, changed_draw
from subsvms.ensemble._rows import Kernel
from subsvms.ensemble._sampling import class_probabilities
from subsvms.ensemble._solver import solve_subsets
from subsvms.ensemble._votes import Votes, count_training_votes, gather_voters

CLOSE = 1e-12  # the same few fractions, added in another order
BIASES = [0.5, 0.3, 0.8]


def make_votes(counts):
    counts = np.atleast_2d(counts)
    return Votes(counts, np.zeros(counts.shape), counts.sum(axis=1))


def plain_overlap(sizes, out, into, p, own=None, becomes=None):
    """Return the largest probability that two draws agree; both avoid a row of class `own`, if given.

    `becomes` is that row's class afterwards; its change is included in `out` and `into`.
    """
    sizes, out, into = np.array(sizes), np.array(out), np.array(into)
    after = sizes - out + into
    before_r, after_r = (class_probabilities(n, p) / n for n in (sizes, after))
    staying = sizes - out
    if own is None:
        return float(staying @ np.minimum(before_r, after_r))
    staying = staying - (np.arange(len(sizes)) == own) * (own == becomes)
    return float(staying @ np.minimum(before_r / (1 - before_r[own]), after_r / (1 - after_r[becomes])))


def splits(m, n_classes):
    """Return all ways to write m as an ordered sum."""
    return [parts for parts in product(range(m + 1), repeat=n_classes) if sum(parts) == m]


def label_moves(m, n_classes):
    """Return (out, into) of all ways to change m labels."""
    pairs = list(permutations(range(n_classes), 2))
    for numbers in splits(m, len(pairs)):
        out, into = np.zeros(n_classes, int), np.zeros(n_classes, int)
        for (c, d), number in zip(pairs, numbers, strict=True):
            out[c] += number
            into[d] += number
        yield out, into


def row_moves(m, n_classes):
    return product(splits(m, n_classes), repeat=2)


def largest_m(sizes, p):
    if p == 0.5:
        return min(sizes) - 1
    return min(min(sizes) - 1, (max(sizes) - min(sizes) - 1) // 2) if len(sizes) == 2 else 0


@pytest.mark.parametrize("p", BIASES)
@pytest.mark.parametrize("sizes", [(5, 5), (4, 9), (13, 4), (3, 20), (6, 7)])
@pytest.mark.parametrize("moves", [label_moves, row_moves])
def test_between_two_classes_tau_is_the_worst_of_all_changes_of_labels_and_of_rows(sizes, p, moves):
    for m in range(largest_m(sizes, p) + 1):
        worst = max(1 - plain_overlap(sizes, *move, p) for move in moves(m, 2))
        assert abs(changed_draw(m, sizes, p) - worst) < CLOSE


@pytest.mark.parametrize("sizes", [(4, 4, 4), (3, 5, 9), (4, 4, 12), (3, 3, 4, 5)])
def test_among_several_classes_tau_is_sufficient_and_nearly_necessary(sizes):
    for m in range(1, min(3, min(sizes) - 1) + 1):
        tau = changed_draw(m, sizes)
        assert tau > max(1 - plain_overlap(sizes, *move, 0.5) for move in label_moves(m, len(sizes))) - CLOSE
        worst = max(1 - plain_overlap(sizes, *move, 0.5) for move in row_moves(m, len(sizes)))
        assert worst - CLOSE < tau < 1.5 * worst


@pytest.mark.parametrize(
    "sizes, p",
    [((5, 5), 0.5), ((4, 9), 0.5), ((3, 20), 0.5), ((6, 40), 0.5), ((4, 13), 0.3), ((13, 4), 0.8),
     ((3, 5, 9), 0.5)],
)  # fmt: skip
def test_draws_that_avoid_a_row_differ_by_at_most_tau_over_the_probability_of_avoiding_it(sizes, p):
    """Whether the row keeps its label or is itself changed."""
    n_classes = len(sizes)
    for own, m in product(range(n_classes), range(1, min(2, largest_m(sizes, p)) + 1)):
        limit = changed_draw(m, sizes, p) / (1 - class_probabilities(sizes, p)[own] / sizes[own])
        worst = 0
        for out, into in label_moves(m, n_classes):
            fates = [own] if out[own] < sizes[own] else []
            fates += [c for c in range(n_classes) if c != own and out[own] and into[c]]
            for becomes in fates:
                worst = max(worst, 1 - plain_overlap(sizes, out, into, p, own, becomes))
        assert 0.6 * limit < worst < limit + CLOSE


@given(a=st.integers(2, 300), more=st.integers(0, 300), p=st.sampled_from([0.5, 0.2, 0.7]))
def test_tau_increases_with_every_change_up_to_one(a, more, p):
    tau = changed_draw(np.arange(a + 1), [a, a + more], p)
    assert tau[0] == 0 and tau[-1] == 1
    certified = tau < 1
    assert (np.diff(tau[certified]) > 0).all() and (np.diff(certified.astype(int)) <= 0).all()
    assert certified.sum() - 1 == max(largest_m((a, a + more), p), 0)
    if p != 0.5:  # the probabilities of several classes change with their sizes
        assert changed_draw([0, 1], [a, a + more, a + 9], p=0.3).tolist() == [0, 1]


@pytest.mark.parametrize("most", [3, 4, 6])
def test_tau_of_a_pool_covers_every_change_of_labels(most):
    """Draws from the rows of smallest hash, before and after every change of up to two labels."""
    rng = np.random.default_rng(most)
    labels = np.array([0] * 7 + [1] * 6)
    hashes = rng.permutation(len(labels))

    def draw_chances(labels):
        chances = {}
        for c in (0, 1):
            pool = sorted(np.flatnonzero(labels == c), key=lambda row: hashes[row])[:most]
            chances |= {(row, c): 0.5 / len(pool) for row in pool}
        return chances

    before = draw_chances(labels)
    for m in (1, 2):
        tau = changed_draw([m], [min(most, 7), min(most, 6)], pooled=True)[0]
        largest = 0.0
        for rows in combinations(range(len(labels)), m):
            changed = labels.copy()
            changed[list(rows)] ^= 1
            after = draw_chances(changed)
            largest = max(largest, 1.0 - sum(min(p, after.get(key, 0.0)) for key, p in before.items()))
        assert largest <= tau + 1e-12
        assert largest > 0.6 * tau or m >= most - 1


def plain_withstood(counts, sizes, own, size, p, level):
    """Try m = 1, 2, ... until the verdict could turn."""
    counts, n, n_classes = np.sort(counts), sum(counts), len(counts)
    if n == 0:
        return 0
    first, second = counts[-1], counts[-2]
    if level is None:
        v1, v2 = first / n, second / n
    else:
        error = (1 - level) / (2 if n_classes == 2 else 2 * n_classes)
        v1, least = (beta.ppf(error, k, n - k + 1) for k in (first, n - second))  # Clopper and Pearson
        v2 = 1 - v1 if n_classes == 2 else min(1 - v1, 1 - least)
    avoid = 1.0 if own < 0 else 1 - class_probabilities(sizes, p)[own] / sizes[own]
    m = 0
    while True:
        tau = min(changed_draw(m + 1, sizes, p) / avoid, 1.0)
        delta = 1 - (1 - tau) ** size
        if not v1 - delta > v2 + delta:
            return m
        m += 1


@pytest.mark.parametrize("level", [None, 0.9, CERTIFICATE_LEVEL])
@pytest.mark.parametrize(
    "sizes, p, size",
    [((50, 50), 0.5, 5), ((300, 900), 0.5, 7), ((200, 900), 0.3, 7), ((900, 200), 0.8, 3),
     ((60, 200, 90), 0.5, 4), ((500, 300, 400, 600), 0.5, 9), ((80, 90, 100), 0.4, 3),
     ((1, 40), 0.5, 3)],
)  # fmt: skip
def test_the_fast_count_agrees_with_a_plain_loop(sizes, p, size, level):
    rng = np.random.default_rng(0)
    n_rows, n_classes = 40, len(sizes)
    leaning = rng.dirichlet(np.full(n_classes, 0.3), n_rows)
    counts = np.array([rng.multinomial(rng.integers(900), share) for share in leaning])
    counts[0], counts[1] = 0, 10  # no votes; a tie
    counts[2] = [800] + [0] * (n_classes - 1)
    own = rng.integers(-1, n_classes, n_rows)
    fast = count_withstood(make_votes(counts), sizes, own, size, p=p, level=level)
    rows = zip(counts, own, strict=True)
    assert fast.tolist() == [plain_withstood(row, sizes, c, size, p, level) for row, c in rows]
    assert fast[0] == fast[1] == 0


@pytest.mark.parametrize("n_voters", [40, 333])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_a_certificate_is_wrong_no_more_often_than_its_level_allows(n_voters, level):
    """Counted exactly, also for true shares near one half, where either class can win by chance."""
    sizes, size = [10_000, 10_000], 5  # many rows: for one change a share just above one half is enough
    k = np.arange(n_voters + 1)
    promised = count_withstood(
        make_votes(np.stack([k, n_voters - k], axis=1)), sizes, np.full(len(k), -1), size,
        level=level,
    )  # fmt: skip
    worst = 0.0
    for v in np.linspace(0.5, 0.999, 120):
        exact = make_votes([v, 1 - v])
        truth = count_withstood(exact, sizes, [-1], size, level=None)[0]
        false = np.where(k > n_voters - k, promised > truth, promised > 0)
        worst = max(worst, binom.pmf(k[false], n_voters, v).sum())
    assert (1 - level) / 4 < worst <= 1 - level


@pytest.mark.parametrize(
    "change, message",
    [(dict(sizes=[5, 5, 5]), "sizes must"), (dict(given=[2]), "given must"),
     (dict(given=[0, 0]), "given must"), (dict(size=0), "size must"),
     (dict(level=1.0), "level must"), (dict(p=1.0), "p must")],
)  # fmt: skip
def test_impossible_inputs_are_refused(change, message):
    options = dict(sizes=[5, 5], given=[0], size=2) | change
    with pytest.raises(ValueError, match=message):
        count_withstood(make_votes([3, 1]), **options)
    with pytest.raises(ValueError, match="n_changed must"):
        changed_draw([-1], [5, 5])
    with pytest.raises(ValueError, match="at least one row"):
        certified_curve([])


@given(withstood=st.lists(st.integers(0, 20), min_size=1), end=st.none() | st.integers(0, 30))
def test_the_curve_is_the_share_of_rows_that_withstand_this_many_changes(withstood, end):
    curve = certified_curve(withstood, end)
    last = max(withstood) if end is None else end
    np.testing.assert_array_equal(curve.n_changes, np.arange(last + 1))
    expected = [np.mean(np.array(withstood) >= m) for m in range(last + 1)]
    np.testing.assert_allclose(curve.share, expected)


# An adversary on tables so small that every subset and every change can be tried.


def make_clouds(sizes, seed):
    """Return rows around points far from each other, and their classes."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    corners = np.array([[1.0, 0.0], [-0.5, 0.87], [-0.5, -0.87]])
    return corners[labels] + 0.4 * rng.normal(size=(len(labels), 2)), labels


def exact_oob_votes(X, labels, p):
    """Return the out-of-bag votes of infinitely many SVMs on two draws: every subset, by its probability.

    Subsets with the same classes are equally likely, so their votes are counted together.
    """
    n_classes = labels.max() + 1
    sizes = np.bincount(labels)
    r = class_probabilities(sizes, p) / sizes
    subsets = np.array(list(combinations_with_replacement(range(len(labels)), 2)))
    subsets = np.concatenate([subsets, subsets[subsets[:, 0] < subsets[:, 1]]])  # drawn in either order
    drawn = np.sort(labels[subsets], axis=1)
    kernel = Kernel.named("linear")
    counts, n_voters = np.zeros((len(labels), n_classes)), np.zeros(len(labels))
    for c, d in combinations_with_replacement(range(n_classes), 2):
        some = subsets[(drawn == (c, d)).all(axis=1)]
        voters = gather_voters(X, solve_subsets(X, labels, some, kernel=kernel), sizes, kernel)
        _, votes = count_training_votes(voters, X, some)
        counts += r[c] * r[d] * votes.counts
        n_voters += r[c] * r[d] * votes.n_voters
    return Votes(counts, np.zeros_like(counts), n_voters)


def attack(labels, m):
    """Return every table of labels that differs in m places."""
    n_classes = labels.max() + 1
    for places in combinations(range(len(labels)), m):
        places = np.array(places)
        for steps in product(range(1, n_classes), repeat=m):
            changed = labels.copy()
            changed[places] = (labels[places] + steps) % n_classes
            yield changed


def check_against_every_attack(X, labels, p, m):
    """Assert that no verdict certified for m turns; return how many are, and the largest share of delta."""
    sizes = np.bincount(labels)
    votes = exact_oob_votes(X, labels, p)
    np.testing.assert_allclose(votes.n_voters, (1 - (class_probabilities(sizes, p) / sizes)[labels]) ** 2)
    withstood = count_withstood(votes, sizes, labels, 2, p=p, level=None)
    every, winner = np.arange(len(labels)), votes.counts.argmax(axis=1)
    avoid = 1 - (class_probabilities(sizes, p) / sizes)[labels]
    delta = 1 - (1 - changed_draw(m, sizes, p) / avoid) ** 2
    reached = 0.0
    for changed in attack(labels, m):
        share = exact_oob_votes(X, changed, p).share
        best_other = np.where(np.arange(share.shape[1]) == winner[:, None], -1, share).max(axis=1)
        stands = share[every, winner] > best_other + CLOSE
        assert stands[withstood >= m].all()
        moved = np.abs(share - votes.share).max(axis=1) / delta
        assert moved.max() < 1 + CLOSE
        reached = max(reached, moved.max())
    return np.mean(withstood >= m), reached


@pytest.mark.parametrize(
    "sizes, p, m",
    [((10, 10), 0.5, 1), ((10, 20), 0.5, 1), ((12, 24), 0.4, 1), ((12, 12, 12), 0.5, 1),
     pytest.param((17, 17), 0.5, 2, marks=pytest.mark.slow)],
)  # fmt: skip
def test_neither_one_change_nor_two_turn_a_certified_verdict(sizes, p, m, seed):
    X, labels = make_clouds(sizes, seed)
    certified, reached = check_against_every_attack(X, labels, p, m)
    assert certified > 0.3  # the certificate covers many rows
    assert reached > 0.2  # and is not far beyond what this adversary can do


def test_an_adversary_can_reach_more_than_half_of_the_bound(seed):
    """On the best of a few small tables of pure noise, where nothing is certified."""
    labels = np.repeat([0, 1], [3, 6])
    tables = np.random.default_rng(seed).normal(size=(8, len(labels), 2))
    assert max(check_against_every_attack(X, labels, 0.5, m=1)[1] for X in tables) > 0.5
