// CUDA for a C++ compiler: what the kernels use of its language and its functions, on `fibers.hpp`. All threads of a
// warp have to call what they do together.
#pragma once

#include "fibers.hpp"

#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define threadIdx (host::here->thread)
#define blockIdx (host::worker->block)
#define blockDim (host::launched.threads)
#define gridDim (host::launched.grid)

inline void __syncthreads() { host::barrier(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __threadfence(); }
inline void __nanosleep(unsigned) { host::pause(); }
inline void __trap() { host::fail("trapped"); }

struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) double2 {
    double x, y;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

template <class T, class N>
T atomicAdd(T* where, N n) {
    return __atomic_fetch_add(where, static_cast<T>(n), __ATOMIC_RELAXED);
}
template <class T, class N>
T atomicSub(T* where, N n) {
    return __atomic_fetch_sub(where, static_cast<T>(n), __ATOMIC_RELAXED);
}
template <class T, class N>
T atomicExch(T* where, N n) {
    return __atomic_exchange_n(where, static_cast<T>(n), __ATOMIC_RELAXED);
}
template <class T, class N>
T atomicOr(T* where, N n) {
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

inline void __syncwarp() {
    host::of_warp("__syncwarp", 0, [](const unsigned*, unsigned) { return 0u; });
}
inline unsigned __reduce_add_sync(unsigned, unsigned n) {
    return host::of_warp("__reduce_add_sync", n, [](const unsigned* all, unsigned) {
        unsigned sum = 0;
        for (unsigned i = 0; i < host::LANES; i++) sum += all[i];
        return sum;
    });
}
inline unsigned __reduce_min_sync(unsigned, unsigned n) {
    return host::of_warp("__reduce_min_sync", n, [](const unsigned* all, unsigned) {
        unsigned least = all[0];
        for (unsigned i = 1; i < host::LANES; i++) least = all[i] < least ? all[i] : least;
        return least;
    });
}
inline unsigned __ballot_sync(unsigned, bool condition) {
    return host::of_warp("__ballot_sync", condition, [](const unsigned* all, unsigned) {
        unsigned bits = 0;
        for (unsigned i = 0; i < host::LANES; i++) bits |= all[i] << i;
        return bits;
    });
}
inline unsigned __shfl_sync(unsigned, unsigned n, unsigned from) {
    return host::of_warp("__shfl_sync", n, [=](const unsigned* all, unsigned) { return all[from % host::LANES]; });
}
inline unsigned __shfl_up_sync(unsigned, unsigned n, unsigned step) {
    return host::of_warp("__shfl_up_sync", n,
                         [=](const unsigned* all, unsigned lane) { return lane < step ? n : all[lane - step]; });
}

inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (unsigned i = 0; i < 32; i += 8) sum += (a >> i & 0xFF) * (b >> i & 0xFF);
    return sum;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned how) {
    const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) result |= static_cast<unsigned>(both >> 8 * (how >> 4 * i & 7) & 0xFF) << 8 * i;
    return result;
}
inline unsigned __vminu2(unsigned a, unsigned b) {
    const unsigned low = (a & 0xFFFF) < (b & 0xFFFF) ? a & 0xFFFF : b & 0xFFFF;
    return (a >> 16 < b >> 16 ? a >> 16 : b >> 16) << 16 | low;
}
inline int __ffs(unsigned bits) { return __builtin_ffs(static_cast<int>(bits)); }
inline int __clz(unsigned bits) { return bits ? __builtin_clz(bits) : 32; }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline unsigned __float_as_uint(float number) { return __builtin_bit_cast(unsigned, number); }
inline double __dmul_rn(double a, double b) { return a * b; }

// Through the cache for what does not change: in whole pieces.
template <class T>
T __ldg(const T* from) {
    return *static_cast<const T*>(host::aligned(from, alignof(T)));
}
template <class T>
T min(T a, T b) {
    return a < b ? a : b;
}
template <class T>
T max(T a, T b) {
    return a > b ? a : b;
}

// Run a kernel of these arguments, each of so many bytes. Null, or what was wrong.
struct Run {
    unsigned blocks[2], threads, at_a_time, seed, seconds, n;
    void* const* arguments;
    const size_t* sizes;
};

template <size_t...>
struct Indices {};

template <class... Types, size_t... I>
const char* run(void (*kernel)(Types...), const Run& how, Indices<I...>) {
    const size_t sizes[] = {sizeof(Types)...};
    if (how.n != sizeof...(Types)) return "another number of arguments";
    for (unsigned i = 0; i < how.n; i++)
        if (how.sizes[i] != sizes[i]) return "an argument of another size";
    const Dim grid = {how.blocks[0], how.blocks[1], 1};
    return host::launch(grid, how.threads, how.at_a_time, how.seed, how.seconds,
                        [&] { kernel(*static_cast<Types*>(how.arguments[I])...); });
}

template <class... Types>
const char* run(void (*kernel)(Types...), const Run& how) {
    return run(kernel, how, Indices<__integer_pack(sizeof...(Types))...>());
}
