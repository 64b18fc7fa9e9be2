// Special words that need no image: threads that have some put all their words into a list of their warp; when it is
// long enough each of the warp's threads takes one entry, so that none waits for the memory alone.
#pragma once

#include "special.cuh"

// Entries of a warp from which on they are processed, 32 at most.
#ifndef FULL
#define FULL 32
#endif

constexpr u32 ENTRIES = (AHEAD + 1) * LANES;

struct Deferred {
    alignas(16) u16 words[WARPS][ENTRIES][GROUP];
    u32 origin[WARPS][ENTRIES];  // lane, and the step (frame or tile) from bit 5 on
    u32 extra[WARPS][ENTRIES];
};

__device__ __forceinline__ u32 lanes_below() {
    u32 mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

// Append the words of every lane where `any`, all lanes of the warp together; how many entries there are then.
__device__ __forceinline__ u32 defer(Deferred& list, const Part& part, u32 n, bool any, const Words& words, u32 step,
                                     u32 extra) {
    const u32 who = __ballot_sync(ALL_LANES, any);
    if (any) {
        const u32 at = n + __popc(who & lanes_below());
        keep_words(list.words[part.warp][at], words);
        list.origin[part.warp][at] = part.lane | step << 5;
        list.extra[part.warp][at] = extra;
    }
    return n + __popc(who);
}

// Move the entries from `done` on, fewer than 32, to the list's beginning; how many they are.
__device__ __forceinline__ u32 keep_rest(Deferred& list, const Part& part, u32 n, u32 done) {
    __syncwarp();
    if (n <= done) return 0;
    if (part.lane < n - done) {  // they lie behind their new places, if they are to move
        keep_words(list.words[part.warp][part.lane], kept_words(list.words[part.warp][done + part.lane]));
        list.origin[part.warp][part.lane] = list.origin[part.warp][done + part.lane];
        list.extra[part.warp][part.lane] = list.extra[part.warp][done + part.lane];
    }
    __syncwarp();
    return n - done;
}

// Process the entries, 32 at a time, while there are `least` or more: `process(words, lane, extra, step)` is called for
// each by a thread of its own. How many entries are left.
template <class Process>
__device__ __forceinline__ u32 drain(Deferred& list, const Part& part, u32 n, u32 least, Process process) {
    if (n < least) return n;
    const u32* origin = list.origin[part.warp];
    u32 done = 0;
    __syncwarp();
#pragma unroll 1
    for (; n >= done + least; done += LANES) {
        const u32 at = done + part.lane;
        if (at < n) process(list.words[part.warp][at], origin[at] & 31, list.extra[part.warp][at], origin[at] >> 5);
    }
    return keep_rest(list, part, n, done);
}
