"""The lists of a GPU: every term is read once, in order, while its line is in the ring."""

import numpy as np
import pytest
from scipy import sparse

from subsvms.ensemble._gpu import LINE_BYTES, SVMS, cut_lists, expand_rows, schedule
from subsvms.ensemble._rows import gather_rows


def read_lists(starts, terms, part, n_parts, n_steps, n_warps, n_sets):
    """Return the terms (weight, line) of each list in the order in which vote.cu adds them up."""
    lists = [[] for _ in range(n_warps * n_sets * SVMS)]
    for warp in range(n_warps):
        at = int(starts[warp]) // terms.itemsize
        for step in range(n_steps):
            newest = np.full(n_parts, -1)  # the part in each place of the ring: those that can be read
            for k in range(max(step + 2 - n_parts, 0), step + 1):
                newest[k % n_parts] = k
            for number in range(n_sets):
                is_last = False
                while not is_last:
                    weights, places = terms["weight"][at], terms["place"][at]
                    is_last = bool(places[0, 0] & 1)
                    assert np.all((places[:, 0] & 1) == is_last)
                    for which in range(SVMS):
                        owner = lists[(warp * n_sets + number) * SVMS + which]
                        for weight, place in zip(weights[which], places[which] // LINE_BYTES, strict=True):
                            assert newest[place // part] >= 0
                            if weight:
                                owner.append((weight, newest[place // part] * part + place % part))
                    at += 1
    assert at <= len(terms) - 1
    return lists


@pytest.mark.parametrize(("n_lines", "density"), [(5, 1.0), (70, 0.3), (300, 0.1), (300, 0.9)])
@pytest.mark.parametrize("n_parts", [3, 5])
def test_each_list_is_read_in_order_while_its_lines_are_there(n_lines, density, n_parts, seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(40, n_lines)) * (rng.random((40, n_lines)) < density * rng.random((40, 1)))
    weights[:5, : n_lines // 2] = 0.0  # some lists have all of their terms late
    part, n_warps, n_sets = 16, 2, 2
    lists = gather_rows(sparse.csr_array(weights), np.arange(40))
    starts, terms = cut_lists(lists, part, n_parts, n_warps, n_sets)
    read = read_lists(starts, terms, part, n_parts, -(-lists.n_columns // part), n_warps, n_sets)
    for row, found in zip(weights[:, lists.features], read, strict=False):
        assert found == [(row[i], i) for i in np.flatnonzero(row)]
    assert not any(read[40:])


def test_lists_of_equal_length_are_hardly_padded():
    rng = np.random.default_rng(0)
    lines = np.array([np.sort(rng.choice(20_000, 320, replace=False)) for _ in range(64)])
    counts = np.array([np.bincount(row // 256, minlength=79) for row in lines]).T.reshape(79, 4, 16)
    taken, rounds = schedule(counts, n_parts=7)
    np.testing.assert_array_equal(taken.sum(axis=0), np.full((4, 16), 320))
    assert 2 * 16 * rounds.sum() < 1.15 * lines.size  # part by part it would be 1.6 times as many
    assert rounds.max() <= 6


def test_doubles_of_training_rows_are_in_the_order_of_the_multiplications():
    rows = gather_rows(np.random.default_rng(0).normal(size=(16, 5)), np.arange(16))
    pairs = expand_rows(rows, n_vectors=16)  # (tiles, fours of features, lines, features, halves)
    assert pairs.shape == (1, 2, 8, 4, 2)
    matrix = rows.value.reshape(16, -1)
    for line, half, feature in np.ndindex(8, 2, 5):
        assert pairs[0, feature // 4, line, feature % 4, half] == matrix[8 * half + line, feature]
    assert not pairs[0, 1, :, 1:].any()
