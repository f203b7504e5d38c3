// The vote on a GPU: the operations of ballots.py in the same order, so that a row gets the same bits.
//
// A sum is a chain of fused multiply-adds in the order of the lists (loops.weighted_sum), and 2^y is the polynomial of
// loops.power32 or power64: what the compiled loops do on a processor with fused multiply-adds. Nothing is left to the
// compiler: they are written out here, and its own are switched off (--fmad=false).
//
// A block of threads votes on ROWS rows. It goes through the training rows in order, PART of them at a time: the kernel
// between these and its rows is computed once, in shared memory, and each warp adds their terms to the values of its own SVMs,
// which stay in registers. So every kernel value is computed once and never leaves the chip.
//
// Shared memory holds the newest PARTS parts, in a ring. In step k some warps compute part k + 1, in place of the oldest,
// while others add terms of the parts k + 2 - PARTS to k; then they change places. The caller has decided which terms are
// added in which step (_gpu.schedule).
//
// What limits it is reading shared memory, so it is read 16 bytes at a time, and each number of a list serves many rows:
// 32 / SVMS lanes of a warp hold ROWS rows, and its groups of lanes add up SVMS different SVMs side by side. Their lists are
// stored together, and padded with zero weights, which change no sum.
//
// Defined by the caller: REAL and INPUT (float or double), IS_RBF, PART (training rows, a multiple of 16), PARTS, WARPS, SVMS
// (8, 16 or 32: a set), SETS (of a warp), CLASSES.

#define PER_PIECE (16 / (int)sizeof(REAL))  // rows in 16 bytes
#define ROWS (8 * PER_PIECE)
#define PIECES (SVMS / 4)  // pieces of 16 bytes that a lane holds of the 8 of a line
#define IN_FRAGMENTS (IS_RBF && sizeof(REAL) == 8)  // doubles are stored in the order of a tensor core's operands

#ifndef SHARED
#define SHARED(type, name) extern __shared__ __align__(16) type name[]
#endif

struct __align__(16) Four { float at[4]; };
struct __align__(16) Piece { REAL at[PER_PIECE]; };
struct __align__(2 * sizeof(REAL)) Weights { REAL at[2]; };
struct __align__(8) Places { unsigned at[2]; };  // of lines in the ring, in bytes; bit 0 of the first: last of a set in a step

// Two terms of each of SVMS SVMs, in the order in which a warp reads them.
struct Terms {
    Weights weight[SVMS];
    Places place[SVMS];
};

__device__ inline float power(float y) {
    y = fmaxf(y < 0 ? y : 0.0f, -126.0f);
    float shifted = y + 12582912.0f, r = y - (shifted - 12582912.0f), square = r * r;
    float low = fmaf(0.24022242f, r, 0.693147f), high = fmaf(0.009671513f, r, 0.055507336f);
    float p = fmaf(fmaf(fmaf(0.0013264727f, square, high), square, low), r, 1.0f);
    return __int_as_float(__float_as_int(p) + (__float_as_int(shifted) << 23));
}

__device__ inline double power(double y) {
    // y is cut to [-1022, 0] by its sign and its upper half, which needs no arithmetic of doubles
    int upper = (int)(__double_as_longlong(y) >> 32);
    y = upper >= 0 ? 0.0 : (unsigned)upper >= 0xC08FF000u ? -1022.0 : y;
    double shifted = y + 6755399441055744.0, r = (y - (shifted - 6755399441055744.0)) * 0.6931471805599453;
    double square = r * r, fourth = square * square;
    double low = fma(fma(r, 1.0 / 24.0, 1.0 / 6.0), square, fma(r, 1.0 / 2.0, 1.0));
    double middle = fma(fma(r, 1.0 / 40320.0, 1.0 / 5040.0), square, fma(r, 1.0 / 720.0, 1.0 / 120.0));
    double high = fma(fma(r, 1.0 / 479001600.0, 1.0 / 39916800.0), square, fma(r, 1.0 / 3628800.0, 1.0 / 362880.0));
    double p = fma(fma(fma(high, fourth, middle), fourth, low), r, 1.0);
    return __longlong_as_double(__double_as_longlong(p) + (__double_as_longlong(shifted) << 52));
}

__device__ inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return fma(a, b, c); }

// Where a number of a row stands in the table: in a line for each feature, or in the order in which `compute` reads doubles.
__device__ inline long long table_index(int line, int row, int pitch, int n_lines) {
    if (!IN_FRAGMENTS) return (long long)line * pitch + row;
    return (((long long)row / 16 * n_lines + line / 4 * 4) * 8 + row % 8 * 4 + line % 4) * 2 + row % 16 / 8;
}

// Transpose rows into the table, and write their squared lengths: ballots.load_dense. A line is -1 if it is not needed.
extern "C" __global__ void load(const INPUT *X, const int *line, int n_features, int n_rows, int pitch, int n_lines, double huge,
                                REAL *table, REAL *norms) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    double total = 0.0;
    for (int f = 0; f < n_features; f++) {
        double x = fmin(fmax((double)X[(long long)row * n_features + f], -huge), huge);
        total = fma(x, x, total);
        if (line[f] >= 0) table[table_index(line[f], row, pitch, n_lines)] = (REAL)x;
    }
    norms[row] = (REAL)total;
}

// Add the products of an 8 x 4 and a 4 x 8 matrix to an 8 x 8 matrix. A lane holds a = A[lane / 4, lane % 4],
// b = B[lane % 4, lane / 4] and two neighbours in row lane / 4 of the sum. A tensor core adds up doubles as a chain of
// fused multiply-adds does, in the order of the terms: measured on an H200, and checked wherever it votes (check_bits).
__device__ inline void multiply(double (&sum)[2], double a, double b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[0]), "+d"(sum[1]) : "d"(a), "d"(b));
#else
    int lane = threadIdx.x % 32;
    for (int k = 0; k < 4; k++) {
        double left = __shfl_sync(~0u, a, lane / 4 * 4 + k);
        for (int i = 0; i < 2; i++) sum[i] = fma(left, __shfl_sync(~0u, b, (lane % 4 * 2 + i) * 4 + k), sum[i]);
    }
#endif
}

// Compute a part: its line p is the kernel of training row p with the rows of the block; each warp computes 16 of them. `vectors`
// and `table` have a line for each feature, padded with lines of zeros to n_lines, a multiple of four; those of doubles are stored
// as two operands of each lane, one multiplication after another.
__device__ inline void compute(double *part, const double *vectors, const double *lengths, int, const double *table,
                               const double *norms, int, int n_lines, double slope, int warp, int lane) {
    int line = 16 * warp + lane / 4, column = lane % 4 * 2;
    double product[2][2][2] = {};
    const double2 *z = (const double2 *)vectors + warp * n_lines * 8 + lane, *x = (const double2 *)table + lane;
#pragma unroll 3  // more needs too many registers
    for (int f = 0; f < n_lines; f += 4, z += 32, x += 32) {
        double2 a = *z, b = *x;
        multiply(product[0][0], a.x, b.x);
        multiply(product[0][1], a.x, b.y);
        multiply(product[1][0], a.y, b.x);
        multiply(product[1][1], a.y, b.y);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int p = line + i / 2 * 8, row = i % 2 * 8 + column;
        double2 norm = *(const double2 *)(norms + row);
        double *sum = product[i / 2][i % 2], length = lengths[p];
        double first = slope * fma(-2.0, sum[0], length + norm.x), second = slope * fma(-2.0, sum[1], length + norm.y);
        *(double2 *)(part + p * 16 + row) = make_double2(power(first), power(second));
    }
}

__device__ inline void compute(float *part, const float *vectors, const float *lengths, int n_vectors, const float *table,
                               const float *norms, int pitch, int n_lines, float slope, int warp, int lane) {
    int p = 16 * warp + 4 * (lane / 8), row = 4 * (lane % 8);
    float product[4][4] = {};
#pragma unroll 4
    for (int f = 0; f < n_lines; f++) {
        Four z = *(const Four *)(vectors + (long long)f * n_vectors + p);
        Four x = *(const Four *)(table + (long long)f * pitch + row);
#pragma unroll
        for (int i = 0; i < 16; i++) product[i / 4][i % 4] = fmaf(z.at[i / 4], x.at[i % 4], product[i / 4][i % 4]);
    }
    Four length = *(const Four *)(lengths + p), norm = *(const Four *)(norms + row);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        Four out;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float y = slope * fmaf(-2.0f, product[i][k], length.at[i] + norm.at[k]);
            out.at[k] = power(y);
        }
        *(Four *)(part + (p + i) * 32 + row) = out;
    }
}

// Copy a part of the table: the lines of a linear kernel are its features.
__device__ inline void copy(REAL *part, const REAL *table, int pitch, int n_lines, int warp, int lane) {
    for (int i = 16 * 8 * warp + lane; i < 16 * 8 * (warp + 1) && i / 8 < n_lines; i += 32)
        ((Piece *)part)[i] = ((const Piece *)(table + (long long)(i / 8) * pitch))[i % 8];
}

// Fill values[j, row] with the decision value of SVM j. The table has `pitch` columns, a multiple of ROWS, and `vectors`
// n_vectors, a multiple of PART. `starts` is where the terms of each warp begin, in bytes: those of its sets in step 0, in step 1,
// and so on, the last of each set and step with a mark. One more is read.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    decide(const REAL *table, const REAL *norms, int pitch, int n_lines, const REAL *vectors, const REAL *lengths,
           const REAL *rate, int n_vectors, const unsigned *starts, const char *terms, const REAL *intercept, int n_svms,
           REAL *values) {
    SHARED(REAL, ring);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane * SVMS / 32;
    // Eight lanes read at a time: they read different pieces, of different lines
    unsigned piece = (lane % (32 / SVMS) * PIECES + group % PIECES) * 16;
    REAL total[SETS][PIECES][PER_PIECE] = {};
    unsigned at_weight = starts[blockIdx.y * WARPS + warp] + group * sizeof(Weights);
    unsigned at_place = starts[blockIdx.y * WARPS + warp] + SVMS * sizeof(Weights) + group * sizeof(Places);
    Weights weight = *(const Weights *)(terms + at_weight);
    Places place = *(const Places *)(terms + at_place);
    for (int step = -1; step < n_vectors / PART; step++) {  // step -1 only computes part 0
        __syncthreads();
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            if ((warp / 4 + half) % 2) {  // of the warps that share a scheduler, w and w + 4, one computes and one adds
                int begin = (step + 1) * PART;
                if (begin == n_vectors || 16 * warp >= PART) continue;
                REAL *part = ring + (step + 1) % PARTS * PART * ROWS;
#if IS_RBF
                long long first = IN_FRAGMENTS ? (long long)blockIdx.x * ROWS * n_lines : blockIdx.x * ROWS;
                compute(part, vectors + (long long)begin * (IN_FRAGMENTS ? n_lines : 1), lengths + begin, n_vectors,
                        table + first, norms + blockIdx.x * ROWS, pitch, n_lines, rate[0], warp, lane);
#else
                copy(part, table + (long long)begin * pitch + blockIdx.x * ROWS, pitch, n_lines - begin, warp, lane);
#endif
                continue;
            }
            if (step < 0) continue;
#pragma unroll
            for (int a = 0; a < SETS; a++) {
                bool is_last;
#pragma unroll 1
                do {
                    Weights w = weight;
                    Places p = place;
                    at_weight += sizeof(Terms), at_place += sizeof(Terms);
                    weight = *(const Weights *)(terms + at_weight);  // read ahead, across the ends of lists
                    place = *(const Places *)(terms + at_place);
                    is_last = p.at[0] & 1;
#pragma unroll
                    for (int i = 0; i < 2; i++) {
                        unsigned first = p.at[i] & ~127u | piece;
#pragma unroll
                        for (int h = 0; h < PIECES; h++) {
                            Piece k = *(const Piece *)((const char *)ring + (first ^ h * 16));
#pragma unroll
                            for (int r = 0; r < PER_PIECE; r++) total[a][h][r] = fused(w.at[i], k.at[r], total[a][h][r]);
                        }
                    }
                } while (!is_last);
            }
        }
    }
#pragma unroll
    for (int a = 0; a < SETS; a++) {
        int j = ((blockIdx.y * WARPS + warp) * SETS + a) * SVMS + group;
        if (j >= n_svms) continue;
        char *rows = (char *)(values + (long long)j * pitch + blockIdx.x * ROWS);
#pragma unroll
        for (int h = 0; h < PIECES; h++) {
            Piece out;
#pragma unroll
            for (int r = 0; r < PER_PIECE; r++) out.at[r] = total[a][h][r] + intercept[j];
            *(Piece *)(rows + (piece ^ h * 16)) = out;
        }
    }
}

// Add the votes of all SVMs, one after another: ballots.tally_two and tally_many. A vote of subset j on a row counts where
// counted[j, row] is 1, or always if `counted` is null.
extern "C" __global__ void tally(const REAL *values, const signed char *counted, int n_rows, int pitch, int n_subsets,
                                 const int *pairs, int n_pairs, const int *order, int *wins, double *sums, int *voters) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    double total[CLASSES];
    int n_wins[CLASSES], n_voters = voters[row];
    for (int c = 0; c < CLASSES; c++) total[c] = sums[c * n_rows + row], n_wins[c] = wins[c * n_rows + row];
#if CLASSES == 2
#pragma unroll 8
    for (int j = 0; j < n_subsets; j++) {
        double f = fmin(fmax((double)values[(long long)j * pitch + row], -1.0), 1.0);
        int counts = counted ? counted[(long long)j * n_rows + row] : 1;
        n_wins[1] += (f > 0 || f == 0 && order[0] == 1) ? counts : 0;
        total[1] += counts ? f : 0.0;
        n_voters += counts;
    }
    n_wins[0] = n_voters - n_wins[1], total[0] = -total[1];
#else
    double scores[CLASSES];
    for (int j = 0; j < n_subsets; j++) {
        for (int c = 0; c < CLASSES; c++) scores[c] = 0.0;
        for (int p = 0; p < n_pairs; p++, values += pitch) {
            double f = fmin(fmax((double)values[row], -1.0), 1.0);
            scores[pairs[2 * p + 1]] += f;
            scores[pairs[2 * p]] -= f;
        }
        if (counted && !counted[(long long)j * n_rows + row]) continue;
        int winner = order[0];  // the largest class: it wins a tie
        for (int o = 1; o < CLASSES; o++) winner = scores[order[o]] > scores[winner] ? order[o] : winner;
        n_wins[winner]++;
        for (int c = 0; c < CLASSES; c++) total[c] += scores[c] / (CLASSES - 1);
        n_voters++;
    }
#endif
    for (int c = 0; c < CLASSES; c++) sums[c * n_rows + row] = total[c], wins[c * n_rows + row] = n_wins[c];
    voters[row] = n_voters;
}
