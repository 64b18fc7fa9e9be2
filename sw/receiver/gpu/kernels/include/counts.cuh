// Counts of a block's frames, kept in shared memory until the block is done: as `Counts` of
// sw/receiver/pipeline/result.py.
#pragma once

#include "finish.cuh"
#include "verdict.cuh"

// Frames of a launch at most.
#ifndef MOST_FRAMES
#define MOST_FRAMES (SINGLE ? 1 : 64)
#endif

// As the counts of a frame lie in memory. HOLES_HERE: those of the source in whose share the tile begins,
// with SINGLE the block's first.
enum Count : u32 { HOLES, SATURATEDS, INVALIDS, MASKEDS, PEAKS, COUNTS, HOLES_HERE = COUNTS };

static_assert(COUNTS == REPORTED && HOLES == 0 && PEAKS == REPORTED - 1, "as verdict.cuh takes them");

struct Counters {
    i32 frame[MOST_FRAMES][COUNTS + 1];
#if !SINGLE
    u32 peaks[MOST_FRAMES + AHEAD][WARPS];  // 128 times those that each warp found in the present tile
    u32 masked[WARPS];                      // its pixels there that are masked in G0
#endif
};

// Where the sums go. Blocks add to `work`, zero before and after: (frames, 5) counts, (frames, sources) holes, and how
// many blocks are done; the last of these writes the results. With SINGLE it has 64 bits for each count, and for the
// holes of each source: the sum, and above it how many blocks have added theirs. The last of them writes the result. So
// no block has to wait until its sums are there before it can say so.
struct Sums {
    u32 *counts, *holes;  // results; null where they are not wanted
    u32* work;
    u32 sources, pixels;  // sources, and pixels of each
    u32 frames;
#if SINGLE
    __device__ __forceinline__ u64* sum_of(u32 count) const { return reinterpret_cast<u64*>(work) + count; }
    __device__ __forceinline__ void add_hole(u32, u32 source) const {
        wait_for_launches();
        atomicAdd(sum_of(COUNTS + source), 1ULL);
    }
#else
    __device__ __forceinline__ u32* holes_of(u32 frame) const { return work + frames * COUNTS + frame * sources; }
    __device__ __forceinline__ u32* done() const { return work + frames * (COUNTS + sources); }
    __device__ __forceinline__ void add_hole(u32 frame, u32 source) const { atomicAdd(holes_of(frame) + source, 1); }
#endif
};

__device__ __forceinline__ void clear(Counters& counters) {
    for (u32 i = threadIdx.x; i < sizeof(Counters) / sizeof(i32); i += THREADS)
        reinterpret_cast<i32*>(&counters)[i] = 0;
    __syncthreads();
}

__device__ __forceinline__ void add(i32& counter, i32 n) {
    if (n != 0) atomicAdd(&counter, n);
}

__device__ __forceinline__ void add(u32* counter, i32 n) {
    if (n != 0) atomicAdd(counter, static_cast<u32>(n));
}

// Count the holes of 8 words of `frame`, whose first is `at`; `holes` has bit i for word i.
__device__ __forceinline__ void count_holes(Counters& counters, u32 tile, const Sums& sums, u32 holes, u32 at,
                                            u32 frame) {
    if (holes == 0) return;
    i32* counts = counters.frame[frame];
    atomicAdd(&counts[HOLES], __popc(holes));
    if (sums.holes == nullptr) return;
    const u32 end = (tile * TILE / sums.pixels + 1) * sums.pixels;  // of the share in which the tile begins
    const u32 below = end > at ? end - at < GROUP ? end - at : GROUP : 0;
    add(counts[HOLES_HERE], __popc(holes & ((1u << below) - 1)));
    for (u32 i = below; i < GROUP; i++)
        if (holes >> i & 1) sums.add_hole(frame, (at + i) / sums.pixels);
}

#if SINGLE
constexpr u64 ONE_BLOCK = 1ULL << 40;  // above every sum

// Add what the block has counted to the sums; `tile` is its first. Of a thread: 128 times the peaks that it has found,
// and how many of its pixels are masked in G0, beside those that are in the counters. The last block judges. All
// threads of the block together.
__device__ __forceinline__ void flush(Counters& counters, u32 tile, u32 peaks, u32 masked, const Sums& sums,
                                      const Verdict& verdict = {}) {
    i32* counts = counters.frame[0];
    const u32 all_peaks = __reduce_add_sync(ALL_LANES, peaks), all_masked = __reduce_add_sync(ALL_LANES, masked);
    if (threadIdx.x % LANES == 0) {
        atomicAdd(&counts[PEAKS], static_cast<i32>(all_peaks) / 128);
        atomicAdd(&counts[MASKEDS], static_cast<i32>(all_masked));
    }
    wait_for_launches();
    const bool judges = verdict.state != nullptr && threadIdx.x < LANES;
    const u32 sequence = judges ? now(verdict.state + SEQUENCE) + 1 : 0;
    if (verdict.brings_kept()) {
        verdict.state[KEPT] = verdict.kept;
        __threadfence();  // there before the block's sums are
    }
    __syncthreads();
    const u32 here = COUNTS + tile * TILE / sums.pixels;
    u32 result = 0;
    bool complete = false;
    for (u32 i = (sums.counts ? 0 : COUNTS) + threadIdx.x; i < COUNTS + sums.sources; i += THREADS) {
        const u32 n = i < COUNTS ? counts[i] : i == here ? counts[HOLES_HERE] : 0;
        const u64 sum = atomicAdd(sums.sum_of(i), ONE_BLOCK + n) + n;
        if (sum / ONE_BLOCK != gridDim.x - 1) continue;
        *sums.sum_of(i) = 0;
        (i < COUNTS ? sums.counts[i] : sums.holes[i - COUNTS]) = static_cast<u32>(sum);
        if (i < COUNTS) {
            result = static_cast<u32>(sum);
            complete = true;
        }
    }
    if (judges) judge_when_complete(verdict, sums.counts, result, complete, sequence);
}
#else
// Count the pixels of a thread that are masked in G0; all lanes of the warp together, once a tile.
__device__ __forceinline__ void count_masked(Counters& counters, const Part& part, u32 masked) {
    counters.masked[part.warp] = __reduce_add_sync(ALL_LANES, __popc(masked));
}

// The end of a tile's frames, all threads of the block together.
__device__ __forceinline__ void end_tile(Counters& counters, const Part& part, const Sums& sums) {
    __syncthreads();
    for (u32 frame = part.first + threadIdx.x; frame < part.end; frame += THREADS) {
        i32* counts = counters.frame[frame];
        for (u32 warp = 0; warp < WARPS; warp++) {
            counts[PEAKS] += static_cast<i32>(counters.peaks[frame][warp] / 128);
            counts[MASKEDS] += static_cast<i32>(counters.masked[warp]);
        }
        if (sums.holes != nullptr) add(sums.holes_of(frame) + part.tile * TILE / sums.pixels, counts[HOLES_HERE]);
        counts[HOLES_HERE] = 0;
    }
    __syncthreads();
}

// Add what the block has counted to the sums; the last block writes the results.
__device__ __forceinline__ void flush(Counters& counters, const Sums& sums) {
    __syncthreads();
    const i32* mine = &counters.frame[0][0];
    for (u32 i = threadIdx.x; sums.counts && i < sums.frames * COUNTS; i += THREADS)
        add(sums.work + i, mine[i / COUNTS * (COUNTS + 1) + i % COUNTS]);
    if (!last_block(sums.done())) return;
    for (u32 i = threadIdx.x; sums.counts && i < sums.frames * COUNTS; i += THREADS)
        sums.counts[i] = atomicExch(sums.work + i, 0);
    for (u32 i = threadIdx.x; sums.holes && i < sums.frames * sums.sources; i += THREADS)
        sums.holes[i] = atomicExch(sums.holes_of(0) + i, 0);
}

// Keep the peaks of the warp, whose threads found `sum` by `add_high_bits`; all lanes together, once a frame and tile.
__device__ __forceinline__ void keep_peaks(Counters& counters, const Part& part, u32 sum, u32 frame) {
    counters.peaks[frame][part.warp] = __reduce_add_sync(ALL_LANES, sum);
}
#endif

// 128 times the number of high bits of halves that are set in `bits`, which has no others, added to `sum`.
__device__ __forceinline__ u32 add_high_bits(u32 bits, u32 sum) { return __dp4a(bits, 0x01000100u, sum); }
