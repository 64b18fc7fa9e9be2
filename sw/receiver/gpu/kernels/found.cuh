// The pixels that reach a threshold, in the frames of a tile: found by every warp in its segment, in order, and kept
// until it is known where they go.
#pragma once

// Frames of a job, 64 at most.
#ifndef MOST_FRAMES
#define MOST_FRAMES 64
#endif
// Whether the constants of G1 are kept in shared memory: worth it where most of them are needed.
#ifndef KEEP_G1
#define KEEP_G1 0
#endif
// Pixels that a warp keeps of a job; what it finds in the frames after is found again when it is written.
#ifndef KEPT
#define KEPT 192
#endif

#include "deferred.cuh"

static_assert(MOST_FRAMES == 2 * LANES && ENTRIES >= MOST_FRAMES, "a lane keeps the numbers of two frames");

struct Constants {
    const u16 *limits, *pedestal, *mantissa;
    const u32* switched;
    u32 shift0, shift1, shift2;
    u32 count;
    i32 threshold;
};

// What a block keeps of a job until it is written.
struct Found {
    u32 kept[WARPS][KEPT];           // value, place in the segment, frame of the job
    u32 pixels[WARPS][MOST_FRAMES];  // found by a warp in a frame
    u16 before[WARPS][MOST_FRAMES];  // by the warps before it
    u32 total[MOST_FRAMES];
};

// Candidates of a warp that are to be corrected, as `Found::kept` with words.
struct Candidates {
    u32 of[WARPS][GROUP * LANES + LANES];
};

// What a warp knows of the present job.
struct Progress {
    u32 entries, candidates, kept;
    u32 unkept;  // first frame of which not all pixels were kept
};

struct Shared {
    Deferred list;
    Candidates candidates;
    alignas(16) u32 g1[KEEP_G1 ? TILE : 4];
    Found found[2];
    u32 base[MOST_FRAMES];  // pixels of the tiles before
    u32 next[2];            // job
};

// The value of a pixel that is a candidate, or INVALID where it does not reach the threshold.
__device__ __forceinline__ i32 value_of(const Constants& constants, u32 word, u32 pixel, const u32* g1) {
    i32 value = INVALID;
    if (word < NOT_G0) {  // it reaches the threshold, and is not masked
        if (HIGH_GAIN && word == ADC_MASK) return INVALID;
        const u32 pedestal = __ldg(constants.pedestal + pixel), mantissa = __ldg(constants.mantissa + pixel);
        return min(g0_value(word, pedestal, mantissa, constants.shift0), MAX_VALUE);
    }
    if (word >> 14 != FORBIDDEN_STAGE) {
        const bool first = word < 2 * NOT_G0;
        const u32 both = g1 && first ? *g1 : __ldg(constants.switched + (first ? 0 : constants.count) + pixel);
        const u32 pedestal = both & 0xFFFF, mantissa = both >> 16, shift = first ? constants.shift1 : constants.shift2;
        value = surely_has_value(word, mantissa) ? switched_value(word, pedestal, mantissa, shift)
                                                 : corrected(word, pedestal, mantissa, shift, NOT_G0);
    }
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

// Correct candidates, 32 at a time, while there are `least` or more: count those that reach the threshold, and keep as
// many as there is room for.
__device__ __forceinline__ void correct_candidates(const Constants& constants, const Part& part, u32* candidates,
                                                   const u32* g1, Found& found, Progress& now, u32 least) {
    u32 done = 0;
#pragma unroll 1
    for (; now.candidates >= done + least; done += LANES) {
        const bool there = done + part.lane < now.candidates;
        const u32 candidate = there ? candidates[done + part.lane] : 0;
        const u32 place = candidate >> 8 & 0xFF, frame = candidate & 0xFF;
        const i32 value = there ? value_of(constants, candidate >> 16, part.segment() + place,
                                           KEEP_G1 ? g1 + part.warp * SEGMENT + place : nullptr)
                                : INVALID;
        const u32 hits = __ballot_sync(ALL_LANES, value != INVALID), to = now.kept + __popc(hits & lanes_below());
        now.kept += __popc(hits);
        if (value != INVALID) {
            atomicAdd(&found.pixels[part.warp][frame], 1);
            if (to < KEPT) found.kept[part.warp][to] = static_cast<u32>(value) << 16 | (candidate & 0xFFFF);
        }
        if (now.kept > KEPT) {
            const bool lost = value != INVALID && to >= KEPT;
            now.unkept = min(now.unkept, __reduce_min_sync(ALL_LANES, lost ? frame : MOST_FRAMES));
        }
    }
    __syncwarp();
    if (done == 0) return;
    const u32 left = now.candidates > done ? now.candidates - done : 0;  // fewer than 32
    const u32 moved = part.lane < left ? candidates[done + part.lane] : 0;
    __syncwarp();
    if (part.lane < left) candidates[part.lane] = moved;
    __syncwarp();
    now.candidates = left;
}

// Make candidates of the list's entries, 32 at a time, while there are `least` or more.
__device__ __forceinline__ void take_candidates(const Constants& constants, const Part& part, Shared& shared,
                                                Found& found, Progress& now, u32 least) {
    if (now.entries < least) return;
    Deferred& list = shared.list;
    u32* candidates = shared.candidates.of[part.warp];
    u32 done = 0;
    __syncwarp();
#pragma unroll 1
    for (; now.entries >= done + least; done += LANES) {
        const u32 entry = done + part.lane;
        const bool there = entry < now.entries;
        const u32 bits = there ? list.extra[part.warp][entry] : 0, origin = there ? list.origin[part.warp][entry] : 0;
        u32 total, to = now.candidates + sum_below(__popc(bits), part.lane, total);
        const u16* words = list.words[part.warp][entry];
        for (u32 rest = in_order(bits); rest; rest &= rest - 1) {
            const u32 i = lowest(rest);
            candidates[to++] = static_cast<u32>(words[i]) << 16 | ((origin & 31) * GROUP + i) << 8 | origin >> 5;
        }
        now.candidates += total;
        __syncwarp();
        correct_candidates(constants, part, candidates, shared.g1, found, now, LANES);
    }
    now.entries = keep_rest(list, part, now.entries, done);
}

// Find the pixels of this warp in all frames of a job; the first frame of which not all were kept.
template <bool WHOLE>
__device__ __forceinline__ u32 find(const u16* raw, i64 raw_stride, const Constants& constants, const Part& part,
                                    Shared& shared, Found& found) {
    const u32 at = part.segment() + part.lane * GROUP, n = pixels_from(at, constants.count, GROUP);
    const u16* next = raw + part.first * raw_stride + at;
    Progress now = {0, 0, 0, part.end - part.first};
    Words limits;

    auto load = [&] {
        const Words words = load_words<WHOLE>(next, n);
        next += raw_stride;
        return words;
    };
    auto prepare = [&] {
#if KEEP_G1
        u32* to = shared.g1 + part.warp * SEGMENT + part.lane * GROUP;
        for (u32 i = 0; i < GROUP; i += 4) {
            if (WHOLE)
                keep16(to + i, __ldg(reinterpret_cast<const uint4*>(constants.switched + at + i)));
            else
                for (u32 k = i; k < i + 4 && at + k < constants.count; k++) to[k] = __ldg(constants.switched + at + k);
        }
#endif
        limits = limits_at(constants, at);
        found.pixels[part.warp][part.lane] = found.pixels[part.warp][part.lane + LANES] = 0;
    };
    auto process = [&](const Words& words, u32 frame) {
        const u32 bits = candidates(words, limits);
        now.entries = defer(shared.list, part, now.entries, bits != 0, words, frame - part.first, bits);
    };
    auto pause = [&](bool last) {
        take_candidates(constants, part, shared, found, now, last ? 1 : FULL);
        if (last) correct_candidates(constants, part, shared.candidates.of[part.warp], shared.g1, found, now, 1);
    };
    for_frames<WHOLE ? AHEAD : 1>(part, load, prepare, process, pause);
    return now.unkept;
}
