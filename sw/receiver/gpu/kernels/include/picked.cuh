// Words that are picked from frames without an image: lanes keep their words in the memory of the block, and append
// those that are to be picked to a list of their warp. When it is long enough each lane takes one, so that none works,
// or waits for the memory, alone.
#pragma once

#include "together.cuh"

// Of every warp the words that it has picked, as entries of the kernel's own: the word, and above it what else it
// needs.
struct List {
    u32 entries[WARPS][2 * LANES];
};

__device__ __forceinline__ u32 picked_word(u32 entry) { return entry & 0xFFFF; }

// Those bits (see `together`) that are of the first `frames`.
__device__ __forceinline__ u32 of_first(u32 bits, u32 frames) {
    return frames < 4 ? bits & ((1u << 2 * frames) - 1) * 0x01010101u : bits;
}

// The address of the word that a bit stands for (see `together`); `words` is that of a thread's own in the first frame.
__device__ __forceinline__ u32 address_of(u32 words, u32 bit) {
    const u32 f = bit / 2 % 4, i = (bit >> 2 & 6) | (bit & 1) << 3;
    return words + f * PLACE + i;
}

// Call `take(entry, there)` with the newest entries, one a lane as far as there are; the others have there = false.
template <class Take>
__device__ __forceinline__ void take_picked(const List& list, const Part& part, u32& pending, Take take) {
    const u32 n = min(pending, LANES);
    pending -= n;
    __syncwarp();
    const bool there = part.lane < n;
    const u32 entry = list.entries[part.warp][there ? pending + part.lane : 0];
    __syncwarp();
    take(entry, there);
}

// Pick the words of `bits` (see `together`), a thread's own, which lie in shared memory from `words` on (`address_of`).
// `entry(word, bit)` makes the entry. `take` (see `take_picked`) is called for 32 at a time; `pending` are left.
template <class Entry, class Take>
__device__ __forceinline__ void pick(List& list, const Part& part, u32& pending, u32 words, u32 bits, Entry entry,
                                     Take take) {
#pragma unroll 1
    for (u32 who; (who = __ballot_sync(ALL_LANES, bits != 0)) != 0;) {
        const u32 bit = highest(bits | 1);  // of a lane without any: not used
        const u32 picked = entry(kept_word(address_of(words, bit)), bit);
        if (bits) list.entries[part.warp][pending + __popc(who & lanes_below())] = picked;
        bits &= ~(1u << bit);
        pending += __popc(who);
        if (pending >= LANES) take_picked(list, part, pending, take);
    }
}
