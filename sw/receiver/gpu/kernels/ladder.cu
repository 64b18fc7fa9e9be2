// How many pixels of an image reach each of some thresholds: `ladder.count` of sw/receiver/pipeline/ladder.py.
//
//   image       (pixels) i16, from a multiple of 16 bytes on
//   thresholds  (RUNGS) u32: each 1 to MAX_VALUE, rising, in both halves; then 0x7FFF, which no value reaches
//   work        (RUNGS + 2) u32, zero before and after
//   counts      (n) i64, memory of the host

#ifndef THREADS
#define THREADS 256
#endif

#include "finish.cuh"

constexpr u32 RUNGS = 16;  // of a launch
constexpr u32 BOTH = 0x00010001;
constexpr u32 SATURATEDS = RUNGS;  // their place behind the rungs
constexpr u32 ABOVE_ALL = (MAX_VALUE + 1) * BOTH;

// Two values, with 0 for a negative one. Then the high bit of (value | 0x8000) - threshold tells whether it reaches it.
__device__ __forceinline__ u32 positive(u32 pair) { return pair & ~((pair >> 15 & BOTH) * 0xFFFF); }

// 128 times how many of 8 values reach a threshold, added to `sum`.
__device__ __forceinline__ u32 reached(const u32 (&pairs)[4], u32 threshold, u32 sum) {
#pragma unroll
    for (u32 i = 0; i < 4; i++) sum = __dp4a(((pairs[i] | HIGH_BITS) - threshold) & HIGH_BITS, 0x01000100u, sum);
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    ladder(const u16* image, u32 pixels, const u32* thresholds, u32 n, u32* work, i64* counts) {
    __shared__ u32 sums[RUNGS + 1];
    u32 least[RUNGS], found[RUNGS + 1] = {};
#pragma unroll
    for (u32 rung = 0; rung < RUNGS; rung++) least[rung] = thresholds[rung];
    if (threadIdx.x <= RUNGS) sums[threadIdx.x] = 0;
    const u32 groups = (pixels + GROUP - 1) / GROUP;
    for (u32 first = blockIdx.x * THREADS; first < groups; first += gridDim.x * THREADS) {
        const u32 at = (first + threadIdx.x) * GROUP;
        u32 pairs[4] = {};
        if (at + GROUP <= pixels) {
            const uint4 v = *reinterpret_cast<const uint4*>(image + at);
            pairs[0] = v.x, pairs[1] = v.y, pairs[2] = v.z, pairs[3] = v.w;
        } else {
            for (u32 i = 0; i < GROUP; i++)
                if (at + i < pixels) pairs[i / 2] |= static_cast<u32>(image[at + i]) << (i % 2 * 16);
        }
        u32 any = 0;
#pragma unroll
        for (u32 i = 0; i < 4; i++) any |= pairs[i] = positive(pairs[i]);
        any = __reduce_or_sync(ALL_LANES, any | any >> 16) & 0x7FFF;  // no value of the warp is larger
#pragma unroll
        for (u32 rung = 0; rung < RUNGS; rung++) {
            if ((least[rung] & 0xFFFF) > any) break;
            found[rung] = reached(pairs, least[rung], found[rung]);
        }
        if (any > MAX_VALUE) found[SATURATEDS] = reached(pairs, ABOVE_ALL, found[SATURATEDS]);
    }
    __syncthreads();
#pragma unroll
    for (u32 rung = 0; rung <= RUNGS; rung++) {
        const u32 sum = __reduce_add_sync(ALL_LANES, found[rung] >> 7);
        if (threadIdx.x % LANES == 0 && sum) atomicAdd(sums + rung, sum);
    }
    __syncthreads();
    if (threadIdx.x <= RUNGS && sums[threadIdx.x]) atomicAdd(work + threadIdx.x, sums[threadIdx.x]);
    if (!last_block(work + RUNGS + 1)) return;
    if (threadIdx.x <= RUNGS) sums[threadIdx.x] = atomicExch(work + threadIdx.x, 0);
    __syncthreads();
    if (threadIdx.x < n) counts[threadIdx.x] = static_cast<i64>(sums[threadIdx.x]) - sums[SATURATEDS];
    __threadfence_system();
}
