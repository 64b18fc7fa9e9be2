// The counts of frames without their images: `Counts` of sw/receiver/result.py, with the holes of each source.
//
//   raw     (frames, pixels) u16, `raw_stride` words from frame to frame; with REFILLED filled with holes
//   limits  (3, pitch) u16 for G0, G1, G2: `limit_of`, by which a peak is found without correcting it
//   counts  (frames, 5) u32: holes, saturated, invalid, masked, peaks
//   holes   (frames, sources) u32, or null; a source has `share` pixels in a row
//   work    see `Sums`
//
// Blocks of THREADS, see `for_parts` for their number; MOST_FRAMES at most.

#ifndef HIGH_GAIN
#define HIGH_GAIN 0
#endif
#ifndef REFILLED
#define REFILLED 0
#endif

#include "counts.cuh"
#include "picked.cuh"

struct Limits {
    const u16* of;
    u32 pitch;
    u32 count;  // pixels
};

// The limits of 8 pixels in G0.
struct Pixels {
    u32 limit[4];  // in the place of a masked pixel's: NOT_MET
    u32 masked;    // bit i for pixel i
};

struct Shared {
    Picked picked;
    Counters counters;
};

__device__ __forceinline__ Pixels pixels_of(const Words& limits) {
    Pixels all = {};
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        const u32 limit = word_of(limits, i);
        all.limit[i / 2] |= (limit == MASKED_LIMIT ? NOT_MET : limit) << (i % 2 * 16);
        all.masked |= (limit == MASKED_LIMIT ? 1u : 0u) << i;
    }
    return all;
}

// Count 8 words as if all of them were in G0; those that are special (see `together`), which `judge` takes.
__device__ __forceinline__ u32 count_group(const Words& words, const Pixels& pixels, const Part& part, u32 frame, u32 i,
                                           Shared& shared) {
    u32 peaks = 0;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        const u32 w = words.pair[k];
        // The high bit of a half is set where its word of G0 reaches the limit, or where it is in G1.
        peaks = add_high_bits(((w | HIGH_BITS) - pixels.limit[k]) & ~w & HIGH_BITS, peaks);
    }
    keep_peaks(shared.counters, part, peaks, frame);
    return together(special_bits(words), i);
}

constexpr u32 WAS_MASKED = 1u << 7;  // in a picked word's number, beside its frame: in G0

// Count a special word.
__device__ __forceinline__ void judge(u32 entry, const Limits& limits, const Part& part, Shared& shared,
                                      const Sums& sums) {
    const u32 word = picked_word(entry), stage = stage_of(word), pixel = part.segment() + picked_place(entry);
    const u32 frame = picked_number(entry) & ~WAS_MASKED;
    const i32 code = code_of(word, true, HIGH_GAIN ? ADC_MASK : NOT_G0);
    const bool written = code != HOLE && code != INVALID;
    const u32 limit = written ? __ldg(limits.of + stage * limits.pitch + pixel) : MASKED_LIMIT;
    const bool no_mask = limit != MASKED_LIMIT;
    i32* counts = shared.counters.frame[frame];
    // What was counted before: masked pixels, and peaks in G1 always, at the end of HG0 where the limit is not beyond.
    add(counts[MASKEDS], (written && !no_mask) - (entry >> 31));
    add(counts[PEAKS],
        (code == 0 && no_mask && (word & ADC_MASK) < limit) - (stage == 1 || (stage == 0 && limit <= ADC_MASK)));
    add(counts[SATURATEDS], code == SATURATED && no_mask);
    add(counts[INVALIDS], code == INVALID);
    count_holes(shared.counters, part.tile, sums, code == HOLE, pixel, frame);
}

// Count the frames of which all words of a lane are holes; what else is special.
__device__ __forceinline__ u32 count_lost(u32 special, const Pixels& pixels, const Part& part, u32 at, u32 frame,
                                          u32 place, Shared& shared, const Sums& sums) {
    if (__popc(special) < GROUP) return special;
#pragma unroll 1
    for (u32 f = 0; f < TOGETHER; f++) {
        const Words words = kept_words(shared.picked.ring.words[place + f][threadIdx.x]);
        const u32* w = words.pair;
        const u32 all = of_first(0xFFFFFFFF, f + 1) & ~of_first(0xFFFFFFFF, f);
        if ((special & all) != all || w[0] != HIGH_BITS || w[1] != w[0] || w[2] != w[0] || w[3] != w[0]) continue;
        count_holes(shared.counters, part.tile, sums, 0xFF, at, frame + f);
        add(shared.counters.frame[frame + f][MASKEDS], -__popc(pixels.masked));
        special &= ~all;
    }
    return special;
}

// The frames of one tile.
template <bool WHOLE>
__device__ __forceinline__ void count_frames(u16* raw, i64 raw_stride, const Limits& limits, const Part& part,
                                             Shared& shared, const Sums& sums) {
    const u32 at = part.segment() + part.lane * GROUP, n = pixels_from(at, limits.count, GROUP);
    u16* here = raw + part.first * raw_stride + at;
    Pixels pixels;
    Pending pending = {};
    u32 special = 0;

    auto prepare = [&] {
        pixels = pixels_of(load_constants(limits.of, at, limits.count, NOT_MET));
        count_masked(shared.counters, part, pixels.masked);
    };
    auto process = [&](const Words& words, u32 frame, u32 i) {
        if (REFILLED && frame < part.end) {
            store_words<WHOLE>(here, Words{{HIGH_BITS, HIGH_BITS, HIGH_BITS, HIGH_BITS}}, n);
            here += raw_stride;
        }
        special |= count_group(words, pixels, part, frame, i, shared);
    };
    auto take = [&](u32 entry) { judge(entry, limits, part, shared, sums); };
    auto pause = [&](u32 frame, u32 place) {
        special = count_lost(of_first(special, part.end - frame), pixels, part, at, frame, place, shared, sums);
        auto number = [&](u32 f, u32 i) { return frame + f + (pixels.masked >> i & 1) * WAS_MASKED; };
        pick(shared.picked, part, pending, place, special, number, take);
        special = 0;
    };
    for_frames<WHOLE>(part, raw, raw_stride, limits.count, shared.picked.ring, prepare, process, pause);
    if (pending.n) take_pending(shared.picked, part, pending, take);
}

#if SINGLE
struct Item {
    Words words, limits;
};

// Tiles of one frame.
template <bool WHOLE>
__device__ __forceinline__ void count_tiles(u16* raw, const Limits& limits, u32 first, u32 tiles, Shared& shared,
                                            const Sums& sums) {
    auto load = [&](u32 tile) {
        const u32 at = tile * TILE + threadIdx.x * GROUP;
        return Item{load_words<WHOLE>(raw + at, pixels_from(at, limits.count, GROUP)),
                    load_constants(limits.of, at, limits.count, NOT_MET)};
    };
    auto process = [&](const Item& item, u32 tile) {
        const u32 at = tile * TILE + threadIdx.x * GROUP;
        const Part part = part_of(tile, 0, 1);
        if (REFILLED)
            store_words<WHOLE>(raw + at, Words{{HIGH_BITS, HIGH_BITS, HIGH_BITS, HIGH_BITS}},
                               pixels_from(at, limits.count, GROUP));
        const Pixels pixels = pixels_of(item.limits);
        count_masked(shared.counters, part, pixels.masked);
        u32 special = count_group(item.words, pixels, part, 0, 0, shared);
        keep_words(shared.picked.ring.words[0][threadIdx.x], item.words);
        special = count_lost(special, pixels, part, at, 0, 0, shared, sums);
        auto number = [&](u32, u32 i) { return (pixels.masked >> i & 1) * WAS_MASKED; };
        auto take = [&](u32 entry) { judge(entry, limits, part, shared, sums); };
        Pending pending = {};
        pick(shared.picked, part, pending, 0, special, number, take);
        if (pending.n) take_pending(shared.picked, part, pending, take);
        end_tile(shared.counters, part, sums);
    };
    for_tiles<WHOLE ? AHEAD : 1>(first, tiles, load, process, [](bool) {});
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    count(u16* raw, i64 raw_stride, u32 frames, u32 count, u32 per_part, const u16* limits, u32 pitch, u32* counts,
          u32* holes, u32* work, u32 n_sources, u32 share) {
    __shared__ Shared shared;
    clear(shared.counters);
    const Sums sums = {counts, holes, work, n_sources, share, frames};
    const Limits all = {limits, pitch, count};
#if SINGLE
    const u32 whole = ALIGNED ? count / TILE : 0;
    count_tiles<true>(raw, all, 0, whole, shared, sums);
    count_tiles<false>(raw, all, whole, tiles_of(count), shared, sums);
#else
    for_parts(frames, count, per_part, [&](const Part& part) {
        if (ALIGNED && part.segment() + SEGMENT <= count)
            count_frames<true>(raw, raw_stride, all, part, shared, sums);
        else
            count_frames<false>(raw, raw_stride, all, part, shared, sums);
        end_tile(shared.counters, part, sums);
    });
#endif
    flush(shared.counters, sums);
}
