// Sums of tiles, or of jobs of a single frame, published by the blocks and added up over two levels: tiles, and groups
// of 32 of them.
#pragma once

#include "streams.cuh"

constexpr u32 TILES_A_GROUP = 32;
constexpr u32 READY = 1u << 31;     // a tile's sum is there
constexpr u32 ONE_TILE = 1u << 24;  // in the sum of a group, above the pixels of its tiles
constexpr u32 PIXELS_MASK = ONE_TILE - 1;
constexpr u32 WHOLE_GROUP = TILES_A_GROUP * ONE_TILE;  // without pixels
constexpr u32 PATIENCE = 1u << 24;                     // polls of a sum: many seconds

// The first words of the memory that launches share, all zero at first. EPOCH: launches so far. TICKET: the next job.
// DONE: blocks that have ended. Then two times the sums of all frames; launches use one and clear the other by turns.
enum Work : u32 { EPOCH, TICKET, DONE, SUMS = 4 };

// Sums that a lane has read, of a tile and of two groups.
struct Look {
    u32 tile, group, next_group;
};

struct Sums {
    u32 *these, *next;  // of this launch, and of the next one: for every frame those of the tiles, then of the groups
    u32 tiles, pitch;
    u32 words;

    __device__ __forceinline__ void publish(u32 frame, u32 tile, u32 sum) const {
        u32* of_frame = these + static_cast<u64>(frame) * pitch;
        atomicExch(of_frame + tile, READY | sum);
        atomicAdd(of_frame + tiles + tile / TILES_A_GROUP, ONE_TILE + sum);
    }

    // Begin to read the sums of all tiles before `tile`; all lanes of a warp together.
    __device__ __forceinline__ Look look(u32 frame, u32 tile, u32 lane) const {
        const u32* of_frame = these + static_cast<u64>(frame) * pitch;
        const u32 group = tile / TILES_A_GROUP, other = group * TILES_A_GROUP + lane;
        Look look;
        look.tile = other < tile ? now(of_frame + other) : READY;
        look.group = lane < group ? now(of_frame + tiles + lane) : WHOLE_GROUP;
        look.next_group = lane + LANES < group ? now(of_frame + tiles + lane + LANES) : WHOLE_GROUP;
        return look;
    }

    // Their sum, as soon as all are published.
    __device__ __forceinline__ u32 before(Look look, u32 frame, u32 tile, u32 lane) const {
        const u32 *of_frame = these + static_cast<u64>(frame) * pitch, *groups = of_frame + tiles;
        const u32 group = tile / TILES_A_GROUP, other = group * TILES_A_GROUP + lane;
        for (u32 polls = 0; !(look.tile & READY); look.tile = now(of_frame + other)) wait(polls++);
        u32 sum = (look.tile & ~READY) + whole(look.group, groups + lane);
        sum += whole(look.next_group, groups + lane + LANES);
        for (u32 i = lane + 2 * LANES; i < group; i += LANES) sum += whole(now(groups + i), groups + i);
        return __reduce_add_sync(ALL_LANES, sum);
    }

    // The pixels of a group of tiles, as soon as all of them are published.
    static __device__ __forceinline__ u32 whole(u32 sum, const u32* where) {
        for (u32 polls = 0; sum / ONE_TILE != TILES_A_GROUP; sum = now(where)) wait(polls++);
        return sum & PIXELS_MASK;
    }

    // Clear the `each` sums of the next launch that are job `job`'s.
    __device__ __forceinline__ void clear_next(u32 job, u32 each) const {
        const u32 from = job * each, to = min(from + each, words);
#pragma unroll 1
        for (u32 i = from + threadIdx.x; i < to; i += THREADS) next[i] = 0;
    }

    // A launch that waits for ever would stop the GPU: it fails instead.
    static __device__ __forceinline__ void wait(u32 polls) {
        if (polls == PATIENCE) __trap();
        __nanosleep(40);
    }
};

__device__ __forceinline__ Sums sums_of(u32* work, u32 tiles, u32 words) {
    const u32 pitch = tiles + (tiles + TILES_A_GROUP - 1) / TILES_A_GROUP;
    const u32 turn = now(work + EPOCH) & 1;
    return {work + SUMS + turn * words, work + SUMS + (turn ^ 1) * words, tiles, pitch, words};
}

// The end of a block; the last one makes ready for the next launch.
__device__ __forceinline__ void finish(u32* work) {
    __syncthreads();
    if (threadIdx.x != 0 || atomicAdd(work + DONE, 1) != gridDim.x - 1) return;
    work[DONE] = work[TICKET] = 0;
    work[EPOCH]++;
}
