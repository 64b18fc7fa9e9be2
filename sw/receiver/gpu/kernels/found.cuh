// The pixels that reach a threshold, in the items of a job: found by every warp in its segment, in order, and kept
// until it is known where they go.
#pragma once

#include "job.cuh"

constexpr u32 SLOTS = 8;  // pixels that a warp keeps of an item; of more it finds all again when they are written

struct Constants {
    const u16 *limits, *pedestal, *mantissa;
    const u32* switched;
    u32 shift0, shift1, shift2;
    u32 count;
    i32 threshold;
};

constexpr u32 PLACE_SHIFT = 23;
constexpr u32 NO_PIXEL = 0x7FFFFFFF;  // behind all others

static_assert(!SINGLE || JOB_ITEMS * TILE <= 65536, "`before` has 16 bits");

// What a block keeps of a job until it is written.
struct Found {
    alignas(16) u32 kept[WARPS][JOB_ITEMS][SLOTS];  // place in the segment above the value, in no order; then NO_PIXEL
    u32 pixels[WARPS][JOB_ITEMS];                   // found by a warp in an item
    u16 before[WARPS][JOB_ITEMS];  // by the warps before it; with SINGLE in the items before it as well
    u32 total[JOB_ITEMS];
    u16 list[WARPS][JOB_ITEMS * SLOTS];  // which of `kept` there are, in no order
    u32 listed[WARPS];
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

// Those of 8 words that may reach the threshold: in G0 from the limit on, and all of G1 and G2. Bits as `gathered`.
__device__ __forceinline__ u32 candidates(const Words& words, const Words& limits) {
    const u32 *w = words.pair, *limit = limits.pair;
    return gathered((w[0] | HIGH_BITS) - limit[0], (w[1] | HIGH_BITS) - limit[1], (w[2] | HIGH_BITS) - limit[2],
                    (w[3] | HIGH_BITS) - limit[3]);
}

// Find the pixels of a job, each warp its own.
__device__ __forceinline__ void find(const Frames& of, const Constants& constants, const Job& job, Coming& coming,
                                     List& list, Found& found) {
    const Part part = part_of(job.tile, 0, 0);  // its lane and warp
    const u32 warp = part.warp;
    Feed feed(of, job, constants.limits, coming);
#pragma unroll 1
    for (u32 i = part.lane; i < job.items; i += LANES) found.pixels[warp][i] = 0;
#pragma unroll 1
    for (u32 i = part.lane * 4; i < job.items * SLOTS; i += LANES * 4)
        keep16(found.kept[warp][0] + i, make_uint4(NO_PIXEL, NO_PIXEL, NO_PIXEL, NO_PIXEL));
    u32 pending = 0, listed = 0;
    auto take = [&](u32 entry, bool there) {
        // A word, above it its bit, its lane, and the number of TOGETHER items.
        const u32 bit = entry >> 16 & 31, item = (entry >> 26) * TOGETHER + frame_of(bit);
        const u32 place = (entry >> 21 & 31) * GROUP + index_of(bit);
        u32 slot = SLOTS;
        if (there) {
            const i32 value = value_of(constants, picked_word(entry), job.segment(item, warp) + place);
            if (value != INVALID) {
                slot = atomicAdd(&found.pixels[warp][item], 1);
                if (slot < SLOTS) found.kept[warp][item][slot] = place << PLACE_SHIFT | static_cast<u32>(value);
            }
        }
        const u32 who = __ballot_sync(ALL_LANES, slot < SLOTS);
        if (slot < SLOTS)
            found.list[warp][listed + __popc(who & lanes_below())] = static_cast<u16>(item * SLOTS + slot);
        listed += __popc(who);
    };
    u32 words = shared_address(coming.words.words[0][threadIdx.x]), place = 0, group = part.lane << 21;
    wait_for_copies<GROUPS - 1>();
    Words limits;
    if (!SINGLE) limits = usable_limits(kept_words(coming.limits[0][threadIdx.x]));
#pragma unroll 1
    for (u32 left = job.items;; left -= TOGETHER) {
        u32 bits = 0;
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++) {
            if (SINGLE) limits = usable_limits(kept_words(coming.limits[place + i][threadIdx.x]));
            bits |= together(candidates(kept_words(words + i * PLACE), limits), i);
        }
        if (left < TOGETHER) bits = of_first(bits, left);
        auto entry = [&](u32 word, u32 bit) { return (word | group) + (bit << 16); };
        pick(list, part, pending, words, bits, entry, take);
        if (left <= TOGETHER) break;
        feed.read(of, constants.limits, coming, place);
        group += 1u << 26;
        place += TOGETHER;
        words += TOGETHER * PLACE;
        if (place == AHEAD) {
            place = 0;
            words -= AHEAD * PLACE;
        }
        wait_for_copies<GROUPS - 1>();
    }
    wait_for_copies<0>();
    if (pending) take_picked(list, part, pending, take);
    if (part.lane == 0) found.listed[warp] = listed;
}
