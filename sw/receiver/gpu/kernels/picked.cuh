// Words that are picked from frames without an image: lanes keep their words in the memory of the block, and append
// those that are to be picked to a list of their warp. When it is long enough each lane takes one, so that none works,
// or waits for the memory, alone.
#pragma once

#include "together.cuh"

// The words of the present frames, and of every warp a ring of picked ones, as `picked` has them.
struct Picked {
    Ring ring;
    u32 list[WARPS][2 * LANES];
};

// Picked words that no lane has taken yet: so many, and the half of the ring that they begin at.
struct Pending {
    u32 n, half;
};

// One of them: a word, its place in the segment of its warp, and a number of up to 8 bits.
__device__ __forceinline__ u32 picked(u32 word, u32 place, u32 number) { return word | place << 16 | number << 24; }
__device__ __forceinline__ u32 picked_word(u32 entry) { return entry & 0xFFFF; }
__device__ __forceinline__ u32 picked_place(u32 entry) { return entry >> 16 & 0xFF; }
__device__ __forceinline__ u32 picked_number(u32 entry) { return entry >> 24; }

__device__ __forceinline__ u32 lanes_below() {
    u32 mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

// Those bits (see `together`) that are of the first `frames`.
__device__ __forceinline__ u32 of_first(u32 bits, u32 frames) {
    return frames < 4 ? bits & (0xFF00u >> 2 * frames & 0xFF) * 0x01010101u : bits;
}

// Call `take(entry)` with one entry a lane, as far as there are.
template <class Take>
__device__ __forceinline__ void take_pending(const Picked& from, const Part& part, Pending& pending, Take take) {
    __syncwarp();
    const bool there = part.lane < pending.n;
    const u32 entry = there ? from.list[part.warp][pending.half + part.lane] : 0;
    __syncwarp();
    if (there) take(entry);
    pending.n = pending.n < LANES ? 0 : pending.n - LANES;
    pending.half ^= LANES;
}

// Pick the words of `bits` (see `together`) of frames in the ring from `place` on; `number(f, i)` is that of word i of
// frame f. `take(entry)` is called for 32 at a time.
template <class Number, class Take>
__device__ __forceinline__ void pick(Picked& from, const Part& part, Pending& pending, u32 place, u32 bits,
                                     Number number, Take take) {
#pragma unroll 1
    for (u32 who; (who = __ballot_sync(ALL_LANES, bits != 0)) != 0;) {
        if (bits) {
            const u32 bit = lowest(bits), f = frame_of(bit), i = index_of(bit);
            const u32 at = pending.half + pending.n + __popc(who & lanes_below());
            const u32 word = from.ring.words[place + f][threadIdx.x][i];
            from.list[part.warp][at % (2 * LANES)] = picked(word, part.lane * GROUP + i, number(f, i));
            bits &= bits - 1;
        }
        pending.n += __popc(who);
        if (pending.n >= LANES) take_pending(from, part, pending, take);
    }
}
