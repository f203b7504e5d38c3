// The vote on a GPU: the operations of ballots.py in the same order, so that a row gets the same bits.
//
// A sum is a chain of fused multiply-adds in the order of the lists (loops.weighted_sum), and 2^y is the polynomial of
// loops.power32 or power64: what the compiled loops do on a processor with fused multiply-adds. Nothing is left to the
// compiler: they are written out here, and its own are switched off (--fmad=false).
//
// A block of threads votes on LANES rows, a lane of each warp for every row. It goes through the training rows in chunks:
// the kernel between a chunk and the rows is computed once, in shared memory, then each warp adds the terms of the chunk
// to the values of its own SVMs, which stay in registers. So every kernel value is computed once and never leaves the
// chip. The lists of the SVMs are stored by chunk, and padded with zero weights, which change no sum.
//
// Defined by the caller: REAL and INPUT (float or double), IS_RBF, CHUNK (training rows, a multiple of 16), WARPS, SLOTS (SVMs
// of a warp), CLASSES, LANES (32).

#ifndef SHARED
#define SHARED(type, name) extern __shared__ type name[]
#endif

struct __align__(4 * sizeof(REAL)) Four { REAL at[4]; };
struct __align__(16) Terms { REAL weight[4]; int place[4]; };  // of an SVM's list; places are those of lines in the chunk

__device__ inline float power(float y) {
    y = fmaxf(y, -126.0f);
    float shifted = y + 12582912.0f, r = y - (shifted - 12582912.0f), square = r * r;
    float low = fmaf(0.24022242f, r, 0.693147f), high = fmaf(0.009671513f, r, 0.055507336f);
    float p = fmaf(fmaf(fmaf(0.0013264727f, square, high), square, low), r, 1.0f);
    return __int_as_float(__float_as_int(p) + (__float_as_int(shifted) << 23));
}

__device__ inline double power(double y) {
    y = fmax(y, -1022.0);
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

// Transpose rows into the table, and write their squared lengths: ballots.load_dense. A line is -1 if it is not needed.
extern "C" __global__ void load(const INPUT *X, const int *line, int n_features, int n_rows, int pitch, double huge,
                                REAL *table, REAL *norms) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    double total = 0.0;
    for (int f = 0; f < n_features; f++) {
        double x = fmin(fmax((double)X[row * n_features + f], -huge), huge);
        total = fma(x, x, total);
        if (line[f] >= 0) table[(long long)line[f] * pitch + row] = (REAL)x;
    }
    norms[row] = (REAL)total;
}

// Fill values[j, row] with the decision value of SVM j. The table has `pitch` columns, a multiple of LANES. `vectors` has a
// line for each feature and n_vectors columns, a multiple of CHUNK. `pointer` has n_padded + 1 entries for each chunk; one
// more of the terms is read than there are.
extern "C" __global__ void __launch_bounds__(LANES *WARPS)
    decide(const REAL *table, const REAL *norms, int pitch, int n_features, const REAL *vectors, const REAL *vector_norms,
           const REAL *rate, int n_vectors, const int *pointer, const Terms *terms, const REAL *intercept, int n_svms, int n_padded, REAL *values) {
    SHARED(REAL, chunk);
    int *ends = (int *)(chunk + CHUNK * LANES);
    int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    int own = warp * SLOTS, block = blockIdx.y * WARPS * SLOTS;  // the first SVM of this warp, and of all warps
    REAL total[SLOTS] = {};
    int column = 4 * (lane % 8), first = blockIdx.x * LANES;
#if IS_RBF
    Four norm = *(const Four *)(norms + first + column);
    REAL slope = rate[0];
#endif
    for (int begin = 0; begin < n_vectors; begin += CHUNK, pointer += n_padded + 1) {
        __syncthreads();
        for (int i = threadIdx.x; i <= WARPS * SLOTS; i += LANES * WARPS) ends[i] = pointer[block + i];
        for (int p = 16 * warp + 4 * (lane / 8); p < CHUNK; p += 16 * WARPS) {
#if IS_RBF
            REAL product[4][4] = {};
#pragma unroll 4
            for (int f = 0; f < n_features; f++) {
                Four z = *(const Four *)(vectors + (long long)f * n_vectors + begin + p);
                Four x = *(const Four *)(table + (long long)f * pitch + first + column);
#pragma unroll
                for (int i = 0; i < 4; i++) {
#pragma unroll
                    for (int k = 0; k < 4; k++) product[i][k] = fused(z.at[i], x.at[k], product[i][k]);
                }
            }
            Four length = *(const Four *)(vector_norms + begin + p);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                Four out;
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    REAL y = slope * ((length.at[i] + norm.at[k]) - (product[i][k] + product[i][k]));
                    out.at[k] = power(y < 0 ? y : (REAL)0);
                }
                *(Four *)(chunk + (p + i) * LANES + column) = out;
            }
#else
            for (int i = 0; i < 4 && begin + p + i < n_features; i++) {
                Four x = *(const Four *)(table + (long long)(begin + p + i) * pitch + first + column);
                *(Four *)(chunk + (p + i) * LANES + column) = x;
            }
#endif
        }
        __syncthreads();
        int t = ends[own];
        Terms next = terms[t];  // read ahead, across the ends of lists
#pragma unroll
        for (int a = 0; a < SLOTS; a++) {
            for (int end = ends[own + a + 1]; t < end;) {
                Terms now = next;
                next = terms[++t];
#pragma unroll
                for (int i = 0; i < 4; i++) total[a] = fused(now.weight[i], chunk[now.place[i] + lane], total[a]);
            }
        }
    }
#pragma unroll
    for (int a = 0; a < SLOTS; a++) {
        int j = block + own + a;
        if (j < n_svms) values[(long long)j * pitch + first + lane] = total[a] + intercept[j];
    }
}

// Add the votes of all SVMs, one after another: ballots.tally_two and tally_many. A vote of subset j on a row counts where
// counted[j, row] is 1, or always if `counted` is null.
extern "C" __global__ void tally(const REAL *values, const signed char *counted, int n_rows, int pitch, int n_subsets,
                                 const int *pairs, int n_pairs, const int *order, int *wins, double *sums, int *voters) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    double total[CLASSES], scores[CLASSES];
    int n_wins[CLASSES], n_voters = voters[row];
    for (int c = 0; c < CLASSES; c++) total[c] = sums[c * n_rows + row], n_wins[c] = wins[c * n_rows + row];
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
    for (int c = 0; c < CLASSES; c++) sums[c * n_rows + row] = total[c], wins[c * n_rows + row] = n_wins[c];
    voters[row] = n_voters;
}
