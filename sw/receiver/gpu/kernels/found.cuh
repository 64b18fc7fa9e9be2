// The pixels that reach a threshold, in the frames of a tile: found by every warp in its segment, in order, and kept
// until it is known where they go.
#pragma once

// Frames of a job, 256 at most.
#ifndef JOB_FRAMES
#define JOB_FRAMES 16
#endif

#include "picked.cuh"

constexpr u32 SLOTS = 8;  // pixels that a warp keeps of a frame; of more it finds all again when they are written

struct Constants {
    const u16 *limits, *pedestal, *mantissa;
    const u32* switched;
    u32 shift0, shift1, shift2;
    u32 count;
    i32 threshold;
};

constexpr u32 NO_PIXEL = 0xFFFFFFFF;

// What a block keeps of a job until it is written.
struct Found {
    alignas(16) u32 kept[WARPS][JOB_FRAMES][SLOTS];  // place in the segment, zeros, value: in no order; then NO_PIXEL
    u32 pixels[WARPS][JOB_FRAMES];                   // found by a warp in a frame
    u16 before[WARPS][JOB_FRAMES];                   // by the warps before it
    u32 total[JOB_FRAMES];
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

__device__ __forceinline__ Words limits_at(const Constants& constants, u32 at) {
    Words limits = load_constants(constants.limits, at, constants.count, NOT_MET);
#pragma unroll
    for (u32 i = 0; i < 4; i++) limits.pair[i] = __vminu2(limits.pair[i], NOT_MET * 0x10001u);  // of masked pixels
    return limits;
}

// Find the pixels in the frames of a tile, each warp its own.
template <bool WHOLE>
__device__ __forceinline__ void find(const u16* raw, i64 raw_stride, const Constants& constants, const Part& part,
                                     Picked& picked, Found& found) {
    const u32 at = part.segment() + part.lane * GROUP, warp = part.warp;
    Pending pending = {};
    Words limits;
    u32 bits = 0;

    auto prepare = [&] {
        limits = limits_at(constants, at);
        for (u32 i = part.lane; i < JOB_FRAMES; i += LANES) found.pixels[warp][i] = 0;
        for (u32 i = part.lane * 4; i < JOB_FRAMES * SLOTS; i += LANES * 4)
            keep16(found.kept[warp][0] + i, make_uint4(NO_PIXEL, NO_PIXEL, NO_PIXEL, NO_PIXEL));
    };
    auto process = [&](const Words& words, u32, u32 i) { bits |= together(candidates(words, limits), i); };
    auto take = [&](u32 entry) {
        const u32 place = picked_place(entry), frame = picked_number(entry);
        const i32 value = value_of(constants, picked_word(entry), part.segment() + place);
        if (value == INVALID) return;
        const u32 slot = atomicAdd(&found.pixels[warp][frame], 1);
        if (slot < SLOTS) found.kept[warp][frame][slot] = place << 24 | static_cast<u32>(value);
    };
    auto pause = [&](u32 frame, u32 place) {
        auto number = [&](u32 f, u32) { return frame - part.first + f; };
        pick(picked, part, pending, place, of_first(bits, part.end - frame), number, take);
        bits = 0;
    };
    for_frames<WHOLE>(part, raw, raw_stride, constants.count, picked.ring, prepare, process, pause);
    if (pending.n) take_pending(picked, part, pending, take);
}
