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
// Whether the limits of G1 are kept in shared memory: worth it where most of them are needed.
#ifndef KEEP_G1
#define KEEP_G1 0
#endif

#include "counts.cuh"
#include "deferred.cuh"

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
    Deferred list;
    Counters counters;
    alignas(16) u16 g1[KEEP_G1 ? TILE : 8];
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

// Count 8 words; those that are special are left to `judge`.
__device__ __forceinline__ u32 count_group(const Words& words, const Pixels& pixels, const Part& part, u32 entries,
                                           u32 frame, u32 step, Shared& shared) {
    u32 peaks = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        const u32 w = words.pair[i];
        // The high bit of a half is set where its word of G0 reaches the limit, or where it is in G1.
        peaks = add_high_bits(((w | HIGH_BITS) - pixels.limit[i]) & ~w & HIGH_BITS, peaks);
    }
    keep_peaks(shared.counters, part, peaks, frame);
    return defer(shared.list, part, entries, any_special(words), words, step, pixels.masked);
}

// Count the special words among 8 of `frame`, whose first is pixel `at`.
__device__ __forceinline__ void judge(const u16* words, u32 masked, u32 at, u32 frame, const Limits& limits, u32 tile,
                                      Shared& shared, const Sums& sums) {
    i32 saturated = 0, invalid = 0, peaks = 0, masks = 0;
    u32 holes = 0;
#pragma unroll 1
    for (u32 bits = special_bits(kept_words(words)); bits; bits &= bits - 1) {
        const u32 i = index_of(lowest(bits)), word = words[i], stage = stage_of(word);
        const i32 code = code_of(word, true, HIGH_GAIN ? ADC_MASK : NOT_G0);
        const bool written = code != HOLE && code != INVALID;
        u32 limit = MASKED_LIMIT;
        if (KEEP_G1 && stage == 1)
            limit = shared.g1[KEEP_G1 ? at + i - tile * TILE : 0];
        else if (written)
            limit = __ldg(limits.of + stage * limits.pitch + at + i);
        const bool no_mask = limit != MASKED_LIMIT;
        holes |= (code == HOLE ? 1u : 0u) << i;
        invalid += code == INVALID;
        masks += (written && !no_mask) - static_cast<i32>(masked >> i & 1);
        saturated += code == SATURATED && no_mask;
        peaks += code == 0 && no_mask && (word & ADC_MASK) < limit;
        // What was counted before: in G1 always, at the end of HG0 where the limit is not beyond it.
        peaks -= stage == 1 || (stage == 0 && limit <= ADC_MASK);
    }
    i32* counts = shared.counters.frame[frame];
    count_holes(shared.counters, tile, sums, holes, at, frame);
    add(counts[SATURATEDS], saturated);
    add(counts[INVALIDS], invalid);
    add(counts[MASKEDS], masks);
    add(counts[PEAKS], peaks);
}

// The frames of one tile.
template <bool WHOLE>
__device__ __forceinline__ void count_frames(u16* raw, i64 raw_stride, const Limits& limits, const Part& part,
                                             Shared& shared, const Sums& sums) {
    const u32 at = part.segment() + part.lane * GROUP, n = pixels_from(at, limits.count, GROUP);
    u16 *next = raw + part.first * raw_stride + at, *here = next;
    Pixels pixels;
    u32 entries = 0;

    auto load = [&] {
        const Words words = load_words<WHOLE>(next, n);
        next += raw_stride;
        return words;
    };
    auto prepare = [&] {
#if KEEP_G1
        keep_words(shared.g1 + part.warp * SEGMENT + part.lane * GROUP,
                   load_constants(limits.of + limits.pitch, at, limits.count));
#endif
        pixels = pixels_of(load_constants(limits.of, at, limits.count, NOT_MET));
        count_masked(shared.counters, part, pixels.masked);
    };
    auto process = [&](const Words& words, u32 frame) {
        if (REFILLED) {
            store_words<WHOLE>(here, Words{{HIGH_BITS, HIGH_BITS, HIGH_BITS, HIGH_BITS}}, n);
            here += raw_stride;
        }
        entries = count_group(words, pixels, part, entries, frame, frame, shared);
    };
    auto pause = [&](bool last) {
        entries =
            drain(shared.list, part, entries, last ? 1 : FULL, [&](const u16* words, u32 lane, u32 masked, u32 frame) {
                judge(words, masked, part.segment() + lane * GROUP, frame, limits, part.tile, shared, sums);
            });
    };
    for_frames<WHOLE ? AHEAD : 1>(part, load, prepare, process, pause);
}

#if SINGLE
struct Item {
    Words words, limits;
};

// Tiles of one frame.
template <bool WHOLE>
__device__ __forceinline__ void count_tiles(u16* raw, const Limits& limits, u32 first, u32 tiles, Shared& shared,
                                            const Sums& sums) {
    u32 entries = 0;
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
        entries = count_group(item.words, pixels, part, entries, 0, tile, shared);
        entries = drain(shared.list, part, entries, 1, [&](const u16* words, u32 lane, u32 masked, u32) {
            judge(words, masked, part.segment() + lane * GROUP, 0, limits, tile, shared, sums);
        });
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
