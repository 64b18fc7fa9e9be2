// The pixels that reach a threshold, in the items of a job: found by every warp in its segment, and kept in their order
// until it is known where they go.
#pragma once

#include "job.cuh"
#include "special.cuh"

// Pixels that a warp keeps of a job; items of which it does not keep all it looks through again when they are written.
#ifndef MOST_KEPT
#define MOST_KEPT 256
#endif

constexpr u32 QUEUE = 128;                   // candidates of a warp
constexpr u32 MOST_AT_ONCE = QUEUE - LANES;  // that are put there at once
constexpr u32 PLACE = THREADS * GROUP * 2;   // bytes from one of a thread's places to the next

struct Constants {
    const u16 *limits, *pedestal, *mantissa;
    const u32* switched;
    u32 shift0, shift1, shift2;
    u32 count;
    i32 threshold;
};

// A pixel that is kept, in one number: its value, above it its place in the segment, and its item.
constexpr u32 PLACE_SHIFT = 15, ITEM_SHIFT = 23;

static_assert(MAX_VALUE < 1 << PLACE_SHIFT && SEGMENT <= 1 << (ITEM_SHIFT - PLACE_SHIFT), "they fit");

__device__ __forceinline__ u32 kept_item(u32 kept) { return kept >> ITEM_SHIFT; }
__device__ __forceinline__ u32 kept_place(u32 kept) { return kept >> PLACE_SHIFT & (SEGMENT - 1); }
__device__ __forceinline__ u32 kept_value(u32 kept) { return kept & ((1 << PLACE_SHIFT) - 1); }

// Of a warp in an item: how many pixels it has found; later above that where the first of them is among those that it
// keeps; and whether it does not keep them.
constexpr u32 MOST_PIXELS = 0xFFF, START_SHIFT = 12, MOST_STARTS = 0x7FFFF, NOT_KEPT = 1u << 31;

static_assert(SEGMENT <= MOST_PIXELS && ITEMS * SEGMENT <= MOST_STARTS, "they fit");

__device__ __forceinline__ u32 start_of(u32 state) { return state >> START_SHIFT & MOST_STARTS; }

// What a block has found in a job.
struct Found {
    u32 pixels[WARPS][ITEMS];
    u32 kept[SINGLE ? WARPS * MOST_KEPT : 1];  // by each warp, in their order; of many frames not here
    Unit units[UNITS];
};

// What it needs to find them.
struct Finding {
    alignas(16) u16 words[TOGETHER][THREADS][GROUP];
    u32 queue[WARPS][QUEUE];  // a word, above it its place in the segment, and its item
};

// The value of a candidate, or INVALID where it does not reach the threshold.
__device__ __forceinline__ i32 value_of(const Constants& constants, u32 word, u32 pixel) {
    if (word < NOT_G0) {  // it reaches the threshold, and is not masked
        if (HIGH_GAIN && word == ADC_MASK) return INVALID;
        const u32 pedestal = __ldg(constants.pedestal + pixel), mantissa = __ldg(constants.mantissa + pixel);
        return min(g0_value(word, pedestal, mantissa, constants.shift0), MAX_VALUE);
    }
    const bool first = word < 2 * NOT_G0;
    const u32 both = __ldg(constants.switched + (first ? 0 : constants.count) + pixel);
    const u32 pedestal = both & 0xFFFF, mantissa = both >> 16, shift = first ? constants.shift1 : constants.shift2;
    const i32 value = surely_has_value(word, mantissa) ? switched_value(word, pedestal, mantissa, shift)
                                                       : corrected(word, pedestal, mantissa, shift, NOT_G0);
    return value >= constants.threshold && value <= MAX_VALUE ? value : INVALID;
}

// The sum of one number of every lane below.
__device__ __forceinline__ u32 sum_below(u32 n, u32 lane, u32& total) {
    u32 sum = n;
#pragma unroll
    for (u32 step = 1; step < LANES; step *= 2) {
        const u32 other = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane >= step) sum += other;
    }
    total = __shfl_sync(ALL_LANES, sum, LANES - 1);
    return sum - n;
}

// Bits of `a` where `which` has ones, else those of `b`.
__device__ __forceinline__ u32 chosen(u32 which, u32 a, u32 b) { return (a & which) | (b & ~which); }

// Those of 8 words that may reach the threshold: in G0 from the limit on, and all of G1 and G2. Bit i in each byte of
// the lower half for an even word i, of the upper half for an odd one; the other bits have no meaning.
__device__ __forceinline__ u32 candidates(const Words& words, const Words& limits) {
    u32 reach[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) reach[i] = reached(words.pair[i], limits.pair[i]);
    const u32 low = chosen(0x33333333, reach[0], reach[1]), high = chosen(0x33333333, reach[2], reach[3]);
    return chosen(0x0F0F0F0F, low, high);
}

// The `candidates` of 4 items: a byte for each, with a bit for each word.
__device__ __forceinline__ u32 in_bytes(const u32 (&of)[4]) {
    const u32 first = chosen(0x00FF00FF, of[0], of[1]), last = chosen(0x00FF00FF, of[2], of[3]);
    return chosen(0x55555555, __byte_perm(first, last, 0x5410), __byte_perm(first, last, 0x7632));
}

// How many bits are set in each byte.
__device__ __forceinline__ u32 in_each_byte(u32 bits) {
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return (bits + (bits >> 4)) & 0x0F0F0F0F;
}

// A warp that finds the pixels of a job in its segments. Candidates go into a queue, in the order of items and pixels;
// when there are enough each lane takes one, so that none works, or waits for the memory, alone.
struct Finder {
    const Frames& of;
    const Constants& constants;
    Finding& finding;
    Found& found;
    u32* kept;  // MOST_KEPT
    u32 lane, warp;
    u32 head, tail;  // candidates that were ever taken from the queue, and put there
    u32 n_kept;      // or would be, if there were room

    // Take the first `n` candidates from the queue, one a lane.
    __device__ __forceinline__ void take(u32 n) {
        __syncwarp();
        u32 item = 0, place = 0;
        i32 value = INVALID;
        if (lane < n) {
            const u32 entry = finding.queue[warp][(head + lane) % QUEUE];
            item = entry >> 24;
            place = entry >> 16 & 0xFF;
            const u32 segment = found.units[item / TOGETHER].segment(item % TOGETHER, warp);
            value = value_of(constants, entry & 0xFFFF, segment + place);
        }
        head += n;
        const u32 who = __ballot_sync(ALL_LANES, value != INVALID);
        if (value != INVALID) {
            const u32 at = n_kept + __popc(who & lanes_below());
            atomicAdd(&found.pixels[warp][item], 1);
            if (at < MOST_KEPT) kept[at] = static_cast<u32>(value) | place << PLACE_SHIFT | item << ITEM_SHIFT;
        }
        n_kept += __popc(who);
    }

    // Put the words of `bits` (see `in_bytes`), a thread's own in a unit, which lie in shared memory from `words` on,
    // into the queue.
    __device__ __forceinline__ void put(u32 words, u32 bits, u32 unit) {
        const u32 all = __reduce_add_sync(ALL_LANES, __popc(bits));
        if (all == 0) return;
        if (all > MOST_AT_ONCE) {
            count(words, bits, unit);
            return;
        }
        u32 each;  // of every item, a byte each; so are the places behind the tail where those of this lane go
        u32 to = sum_below(in_each_byte(bits), lane, each);
        to += each * 0x01010100;
        const u32 entry = lane * GROUP << 16 | unit * TOGETHER << 24;
        for (; bits; bits &= bits - 1) {
            const u32 bit = lowest(bits), shift = bit & 24, i = bit % 8, item = bit / 8;
            const u32 at = (tail + (to >> shift & 0xFF)) % QUEUE;
            finding.queue[warp][at] = kept_word(words + item * PLACE + i * 2) | (entry + (i << 16) + (item << 24));
            to += 1u << shift;
        }
        tail += all;
        while (tail - head >= LANES) take(LANES);
    }

    // Count the pixels of a unit that has too many for the queue; they are not kept.
    __device__ __forceinline__ void count(u32 words, u32 bits, u32 unit) {
#pragma unroll 1
        for (u32 i = 0; i < TOGETHER; i++, words += PLACE) {
            const u32 at = found.units[unit].segment(i, warp) + lane * GROUP;
            u32 n = 0;
#pragma unroll 1
            for (u32 k = 0; k < GROUP; k++, bits >>= 1)
                if (bits & 1) n += value_of(constants, kept_word(words + k * 2), at + k) != INVALID;
            n = __reduce_add_sync(ALL_LANES, n);
            if (lane == 0 && n) found.pixels[warp][unit * TOGETHER + i] = n | NOT_KEPT;
        }
    }

    // Find those of the units from `first` to before `end`; some candidates may be left in the queue.
    template <bool WHOLE>
    __device__ __forceinline__ void find(u32 first, u32 end) {
        if (first >= end) return;
        const u32 words = shared_address(finding.words[0][threadIdx.x]);
        Coming coming = {};
        Unit unit = found.units[first];
        read<WHOLE>(coming, of, unit, true, constants.limits);
#pragma unroll 1
        for (u32 number = first; number < end; number++) {
            u32 each[4] = {};
#pragma unroll
            for (u32 i = 0; i < TOGETHER; i++) {
                each[i] = candidates(coming.words[i], coming.limits[SINGLE ? i : 0]);
                keep_words(words + i * PLACE, coming.words[i]);
            }
            const u32 items = unit.items(of), bits = in_bytes(each);
            if (number + 1 < end) {
                const u32 tile = unit.tile;
                unit = found.units[number + 1];
                read<WHOLE>(coming, of, unit, unit.tile != tile, constants.limits);
            }
            put(words, items < 4 ? bits & ((1u << 8 * items) - 1) : bits, number);
        }
    }
};
