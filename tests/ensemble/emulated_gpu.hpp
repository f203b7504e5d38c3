// What vote.cu needs of CUDA, for a C++ compiler: the threads of a block are threads, one block runs after another.
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
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
            std::barrier<> all(n_threads);
            gate = &all;
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
