// CUDA for a C++ compiler: blocks one after the other, each thread of a block a thread of the host. All threads of a
// warp, WARP_THREADS, have to call what they do together.
#pragma once
#include <pthread.h>

#include <thread>
#include <vector>

#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define __shared__ static
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __syncthreads() pthread_barrier_wait(&barrier)

struct Dim {
    unsigned x;
};
static thread_local Dim threadIdx, blockIdx;
static pthread_barrier_t barrier;

template <class T>
T atomicAdd(T* where, T n) {
    return __atomic_fetch_add(where, n, __ATOMIC_RELAXED);
}
template <class T, class Bits>
T atomicOr(T* where, Bits n) {
    return __atomic_fetch_or(where, static_cast<T>(n), __ATOMIC_RELAXED);
}
template <class T>
T exchanged(T* where, T n, bool (*better)(T, T)) {
    T old = __atomic_load_n(where, __ATOMIC_RELAXED);
    while (better(n, old) && !__atomic_compare_exchange_n(where, &old, n, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}
template <class T>
T atomicMin(T* where, T n) {
    return exchanged<T>(where, n, [](T a, T b) { return a < b; });
}
template <class T>
T atomicMax(T* where, T n) {
    return exchanged<T>(where, n, [](T a, T b) { return a > b; });
}
struct uint4 {
    unsigned x, y, z, w;
};

constexpr unsigned MOST_WARPS = 64;
static pthread_barrier_t warp_barriers[MOST_WARPS];
static unsigned boxes[MOST_WARPS][WARP_THREADS];

// The numbers of all threads of a warp: call `take(numbers, own place)` between two barriers.
template <class Take>
unsigned together(unsigned n, Take take) {
    const unsigned warp = threadIdx.x / WARP_THREADS, lane = threadIdx.x % WARP_THREADS;
    boxes[warp][lane] = n;
    pthread_barrier_wait(&warp_barriers[warp]);
    const unsigned result = take(boxes[warp], lane);
    pthread_barrier_wait(&warp_barriers[warp]);
    return result;
}
inline unsigned __reduce_add_sync(unsigned, unsigned n) {
    return together(n, [](const unsigned* all, unsigned) {
        unsigned sum = 0;
        for (unsigned i = 0; i < WARP_THREADS; i++) sum += all[i];
        return sum;
    });
}
inline unsigned __ballot_sync(unsigned, bool condition) {
    return together(condition, [](const unsigned* all, unsigned) {
        unsigned bits = 0;
        for (unsigned i = 0; i < WARP_THREADS; i++) bits |= all[i] << i;
        return bits;
    });
}
inline unsigned __shfl_sync(unsigned, unsigned n, unsigned from) {
    return together(n, [=](const unsigned* all, unsigned) { return all[from % WARP_THREADS]; });
}
inline unsigned __shfl_up_sync(unsigned, unsigned n, unsigned step) {
    return together(n, [=](const unsigned* all, unsigned lane) { return lane < step ? n : all[lane - step]; });
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (unsigned i = 0; i < 32; i += 8) sum += (a >> i & 0xFF) * (b >> i & 0xFF);
    return sum;
}
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }

// Run a kernel: `call` of all threads of every block.
template <class Call>
void launch(unsigned blocks, unsigned threads, Call call) {
    pthread_barrier_init(&barrier, nullptr, threads);
    for (unsigned warp = 0; warp < threads / WARP_THREADS; warp++)
        pthread_barrier_init(&warp_barriers[warp], nullptr, WARP_THREADS);
    std::vector<std::thread> all;
    for (unsigned thread = 0; thread < threads; thread++)
        all.emplace_back([=] {
            threadIdx.x = thread;
            for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
                call();
                __syncthreads();
            }
        });
    for (auto& each : all) each.join();
    pthread_barrier_destroy(&barrier);
}
