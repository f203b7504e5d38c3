"""The vote on a GPU: the operations of `ballots` in the same order, so that a row gets the same bits.

A sum is a chain of fused multiply-adds in the order of the lists (`loops.weighted_sum`), and 2^y is the
polynomial of `loops.power32` or `power64`: what the compiled loops do on a processor with fused
multiply-adds. Nothing is left to the GPU's compiler: they are written out here, and its own are switched
off (`STRICT`).

A program computes the values of a tile of SVMs on a block of rows, one term of all of them at a time. A
kernel value is computed again for every SVM that uses the training row: that is faster than writing it to
memory.
"""

import triton
import triton.language as tl

TILE, LANES, WARPS = 16, 256, 2  # SVMs, rows and warps of a program: the fastest of 38 tried on an H200
STRICT = {"enable_fp_fusion": False}


@triton.jit
def constant(value: tl.constexpr, like):
    """Return a number in the shape and type of a block: the compiler would take it as single precision."""
    return tl.full(like.shape, value, like.dtype)


@triton.jit
def line(slope: tl.constexpr, x, offset: tl.constexpr):
    """Return slope x + offset, rounded once."""
    return tl.fma(constant(slope, x), x, constant(offset, x))


@triton.jit
def power32(y):
    """Return 2^y for y <= 0 as `loops.power32` does."""
    y = tl.maximum(y, constant(-126.0, y))
    shift = constant(12582912.0, y)
    shifted = y + shift
    r = y - (shifted - shift)
    square = r * r
    low, high = line(0.24022242, r, 0.693147), line(0.009671513, r, 0.055507336)
    p = tl.fma(tl.fma(tl.fma(constant(0.0013264727, r), square, high), square, low), r, constant(1.0, r))
    n = shifted.to(tl.int32, bitcast=True) << 23
    return (p.to(tl.int32, bitcast=True) + n).to(tl.float32, bitcast=True)


@triton.jit
def power64(y):
    """Return 2^y for y <= 0 as `loops.power64` does."""
    y = tl.maximum(y, constant(-1022.0, y))
    shift = constant(6755399441055744.0, y)
    shifted = y + shift
    r = (y - (shifted - shift)) * constant(0.6931471805599453, y)
    square = r * r
    fourth = square * square
    low = tl.fma(line(1.0 / 24.0, r, 1.0 / 6.0), square, line(1.0 / 2.0, r, 1.0))
    middle = tl.fma(line(1.0 / 40320.0, r, 1.0 / 5040.0), square, line(1.0 / 720.0, r, 1.0 / 120.0))
    high = tl.fma(
        line(1.0 / 479001600.0, r, 1.0 / 39916800.0), square, line(1.0 / 3628800.0, r, 1.0 / 362880.0)
    )
    p = tl.fma(tl.fma(tl.fma(high, fourth, middle), fourth, low), r, constant(1.0, r))
    n = shifted.to(tl.int64, bitcast=True) << 52
    return (p.to(tl.int64, bitcast=True) + n).to(tl.float64, bitcast=True)


@triton.jit
def load(X, place, n_features, n_rows, table, norms, HUGE: tl.constexpr, LANES: tl.constexpr):
    """Transpose rows into the table, and write their squared lengths, as `ballots.load_dense` does."""
    row = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = row < n_rows
    total = tl.zeros([LANES], tl.float64)
    for f in range(n_features):
        x = tl.load(X + row * n_features + f, mask=inside, other=0.0).to(tl.float64)
        x = tl.minimum(tl.maximum(x, constant(-HUGE, x)), constant(HUGE, x))
        total = tl.fma(x, x, total)
        to = tl.load(place + f)
        if to >= 0:
            tl.store(table + to * n_rows + row, x.to(table.dtype.element_ty), mask=inside)
    tl.store(norms + row, total.to(norms.dtype.element_ty), mask=inside)


@triton.jit
def compute_values(
    table, norms, n_rows, vectors, vector_norms, n_features, slope, column, weight, length, intercept, width,
    n_svms, values, RBF: tl.constexpr, TILE: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Fill values[j, b] with the decision value of SVM j on row b.

    SVM j has the terms column[j, k] and weight[j, k] for k < length[j], of `width`: training rows
    (`vectors`), or lines of the table if the kernel is linear. Beyond `length` the weights are zero.
    """
    row = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    svm = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside, exists = row < n_rows, svm < n_svms
    shape: tl.constexpr = [TILE, LANES]
    total = tl.zeros(shape, table.dtype.element_ty)
    n_terms = tl.max(tl.load(length + svm, mask=exists, other=0), axis=0)
    if RBF:
        own = tl.load(norms + row, mask=inside, other=0.0)
        rate = tl.load(slope)
    for k in range(n_terms):
        term = svm * width + k
        index = tl.load(column + term, mask=exists, other=0)
        w = tl.load(weight + term, mask=exists, other=0.0)
        if RBF:
            product = tl.zeros(shape, table.dtype.element_ty)
            for f in range(n_features):
                z = tl.load(vectors + index * n_features + f)
                x = tl.load(table + f * n_rows + row, mask=inside, other=0.0)
                product = tl.fma(
                    tl.broadcast_to(z[:, None], shape), tl.broadcast_to(x[None, :], shape), product
                )
            norm = tl.load(vector_norms + index)
            y = rate * ((norm[:, None] + own[None, :]) - (product + product))
            y = tl.minimum(y, constant(0.0, y))
            factor = power64(y) if y.dtype == tl.float64 else power32(y)
        else:
            factor = tl.load(table + index[:, None] * n_rows + row[None, :], mask=inside[None, :], other=0.0)
        total = tl.fma(tl.broadcast_to(w[:, None], shape), factor, total)
    total += tl.load(intercept + svm, mask=exists, other=0.0)[:, None]
    out = values + svm[:, None].to(tl.int64) * n_rows + row[None, :]
    tl.store(out, total, mask=exists[:, None] & inside[None, :])


@triton.jit
def tally(
    values, counted, n_rows, n_subsets, pairs, n_pairs, order, wins, sums, voters,
    N_CLASSES: tl.constexpr, IS_MASKED: tl.constexpr, CLASSES: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Add the votes of all SVMs, one after another, as `ballots.tally_two` and `tally_many` do.

    If IS_MASKED, the vote of subset j on row b counts where counted[j, b] is 1. CLASSES is the next power of
    two of N_CLASSES.
    """
    row = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = row < n_rows
    own = tl.arange(0, CLASSES)
    shape: tl.constexpr = [CLASSES, LANES]
    place = own[:, None] * n_rows + row[None, :]
    mask = (own < N_CLASSES)[:, None] & inside[None, :]
    n_wins = tl.load(wins + place, mask=mask, other=0)
    total = tl.load(sums + place, mask=mask, other=0.0)
    n_voters = tl.load(voters + row, mask=inside, other=0)
    value_at, mask_at = values + row, counted + row
    for _ in range(n_subsets):
        count = tl.full([LANES], 1, tl.int32)
        if IS_MASKED:
            count = tl.load(mask_at, mask=inside, other=0).to(tl.int32)
            mask_at += n_rows
        scores = tl.zeros(shape, tl.float64)
        for p in range(n_pairs):
            f = tl.load(value_at, mask=inside, other=0.0).to(tl.float64)
            value_at += n_rows  # a product of the numbers of SVM and rows may be too large for 32 bits
            f = tl.minimum(tl.maximum(f, constant(-1.0, f)), constant(1.0, f))
            lower, upper = tl.load(pairs + 2 * p), tl.load(pairs + 2 * p + 1)
            zero = tl.zeros(shape, tl.float64)
            scores = scores + tl.where((own == upper)[:, None], f[None, :], zero)
            scores = scores - tl.where((own == lower)[:, None], f[None, :], zero)
        best = tl.full([LANES], float("-inf"), tl.float64)
        winner = tl.zeros([LANES], tl.int32)
        for o in range(N_CLASSES):  # the largest class first, so that it wins a tie
            c = tl.load(order + o)
            score = tl.sum(tl.where((own == c)[:, None], scores, tl.zeros(shape, tl.float64)), axis=0)
            winner = tl.where(score > best, c, winner)
            best = tl.maximum(score, best)
        n_wins += tl.where(own[:, None] == winner[None, :], count[None, :], 0)
        total += scores * count[None, :].to(tl.float64) / constant(N_CLASSES - 1.0, scores)
        n_voters += count
    tl.store(wins + place, n_wins, mask=mask)
    tl.store(sums + place, total, mask=mask)
    tl.store(voters + row, n_voters, mask=inside)
