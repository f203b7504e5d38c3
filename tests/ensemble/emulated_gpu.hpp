// What vote.cu needs of CUDA, for a C++ compiler: the threads of a block are threads, one block runs after another.
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#define __global__
#define __device__ static
#define __launch_bounds__(n)
#define __align__(n) alignas(n)
#define SHARED(type, name) type *name = (type *)on_chip

struct Index { unsigned x, y; };
thread_local Index threadIdx, blockIdx, blockDim;
alignas(64) static char on_chip[1 << 18];
static std::barrier<> *gate;
static std::vector<std::unique_ptr<std::barrier<>>> warp_gates;
static double exchanged[1024];

struct double2 { double x, y; };
inline double2 make_double2(double x, double y) { return {x, y}; }

inline void __syncwarp() { warp_gates[threadIdx.x / 32]->arrive_and_wait(); }

template <class T> T __shfl_sync(unsigned, T x, int lane) {
    memcpy(exchanged + threadIdx.x, &x, sizeof x);
    __syncwarp();
    memcpy(&x, exchanged + threadIdx.x / 32 * 32 + lane, sizeof x);
    __syncwarp();
    return x;
}

inline void __syncthreads() { gate->arrive_and_wait(); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

template <class... Args, std::size_t... I>
void call(void (*kernel)(Args...), void **args, std::index_sequence<I...>) { kernel(*(Args *)args[I]...); }

template <class... Args>
void launch(void (*kernel)(Args...), Index grid, unsigned n_threads, void **args) {
    for (unsigned y = 0; y < grid.y; y++) {
        for (unsigned x = 0; x < grid.x; x++) {
            memset(on_chip, 0xff, sizeof on_chip);  // not numbers
            std::barrier<> all(n_threads);
            gate = &all;
            warp_gates.clear();
            for (unsigned w = 0; w < n_threads; w += 32) warp_gates.push_back(std::make_unique<std::barrier<>>(32));
            std::vector<std::jthread> threads;
            for (unsigned t = 0; t < n_threads; t++) {
                threads.emplace_back([=] {
                    threadIdx = {t, 0}, blockIdx = {x, y}, blockDim = {n_threads, 1};
                    call(kernel, args, std::index_sequence_for<Args...>{});
                });
            }
        }
    }
}
