// What vote.cu needs of CUDA, for a C++ compiler. One block runs after another, and the threads of a block take turns: each
// goes on until it waits for others, so the first of them runs ahead as far as it can.
#include <bit>
#include <cmath>
#include <csetjmp>
#include <cstring>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __global__
#define __device__ static
#define __launch_bounds__(n)
#define __align__(n) alignas(n)
#define SHARED(type, name) type *name = (type *)on_chip

struct Index { unsigned x, y; };
static Index threadIdx, blockIdx, blockDim;
alignas(64) static char on_chip[1 << 18];
static double exchanged[1024];

// Threads that take turns. After its start a thread is resumed by longjmp, which needs no system call.
constexpr unsigned STACK = 1 << 16;
enum State { NEW, WAITING, DONE };
struct Thread { State state = NEW; jmp_buf place; ucontext_t start; std::unique_ptr<char[]> stack{new char[STACK]}; };
static std::vector<Thread> threads;
static std::function<void()> work;
static jmp_buf home;

static void go_on() {
    for (unsigned i = 1; i <= threads.size(); i++) {
        unsigned next = (threadIdx.x + i) % threads.size();
        State state = threads[next].state;
        if (state == DONE) continue;
        threadIdx.x = next;
        threads[next].state = WAITING;
        if (state == NEW) setcontext(&threads[next].start);
        _longjmp(threads[next].place, 1);
    }
    _longjmp(home, 1);
}

static void live() {
    work();
    threads[threadIdx.x].state = DONE;
    go_on();
}

struct Gate {
    unsigned size, arrived = 0, opened = 0;
    void wait() {
        if (++arrived == size) { arrived = 0, opened++; return; }
        for (unsigned now = opened; now == opened;) if (!_setjmp(threads[threadIdx.x].place)) go_on();
    }
};
static Gate gate;
static std::vector<Gate> warp_gates;

struct double2 { double x, y; };
inline double2 make_double2(double x, double y) { return {x, y}; }

inline void __syncwarp() { warp_gates[threadIdx.x / 32].wait(); }

template <class T> T __shfl_sync(unsigned, T x, int lane) {
    memcpy(exchanged + threadIdx.x, &x, sizeof x);
    __syncwarp();
    memcpy(&x, exchanged + threadIdx.x / 32 * 32 + lane, sizeof x);
    __syncwarp();
    return x;
}

inline void __syncthreads() { gate.wait(); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

template <class... Args, std::size_t... I>
void call(void (*kernel)(Args...), void **args, std::index_sequence<I...>) { kernel(*(Args *)args[I]...); }

template <class... Args>
void launch(void (*kernel)(Args...), Index grid, unsigned n_threads, void **args) {
    work = [=] { call(kernel, args, std::index_sequence_for<Args...>{}); };
    blockDim = {n_threads, 1};
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++) {
        for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++) {
            memset(on_chip, 0xff, sizeof on_chip);  // not numbers
            gate = {n_threads};
            warp_gates.assign((n_threads + 31) / 32, {32});
            threads = std::vector<Thread>(n_threads);
            for (Thread &thread : threads) {
                getcontext(&thread.start);
                thread.start.uc_stack.ss_sp = thread.stack.get(), thread.start.uc_stack.ss_size = STACK;
                makecontext(&thread.start, live, 0);
            }
            threadIdx = {n_threads - 1, 0};
            if (!_setjmp(home)) go_on();
        }
    }
}
