// The counts of frames without their images: `Counts` of sw/receiver/pipeline/result.py, with the holes of each source.
//
//   raw     (frames, pixels) u16, `raw_stride` words from frame to frame; with REFILLED filled with holes
//   limits  (3, pitch) u16 for G0, G1, G2: `limit_of`, by which a peak is found without correcting it
//   counts  (frames, 5) u32: holes, saturated, invalid, masked, peaks
//   holes   (frames, sources) u32, or null; a source has `share` pixels in a row
//   work    see `Sums`
//
// Blocks of THREADS, see `for_parts` for their number; MOST_FRAMES at most. With SINGLE a block has `per_part` tiles in
// a row, MOST_ITEMS at most, and the last block judges the frame where `state` is not null: see verdict.cuh. `ordered`:
// see correct_int16.cu.

#ifndef HIGH_GAIN
#define HIGH_GAIN 0
#endif
#ifndef REFILLED
#define REFILLED 0
#endif

// Frames, or with SINGLE tiles, that a thread takes together: 2 or 4.
#ifndef TOGETHER
#define TOGETHER 2
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
    u32 masked;    // one bit each, as `gathered`
};

struct Shared {
    Ring ring;
    List list;
    Counters counters;
};

__device__ __forceinline__ Pixels pixels_of(const Words& limits) {
    const u32* w = limits.pair;
    Pixels all;
#pragma unroll
    for (u32 k = 0; k < 4; k++) all.limit[k] = __vminu2(w[k], NOT_MET * 0x10001u);
    all.masked = gathered(w[0], w[1], w[2], w[3]);  // no other limit has a high bit
    return all;
}

// Add 128 times the peaks among 8 words as if all of them were in G0; those that are special `judge` takes.
__device__ __forceinline__ u32 add_peaks(const Words& words, const Pixels& pixels, u32 sum) {
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        const u32 w = words.pair[k];
        // The high bit of a half is set where its word of G0 reaches the limit, or where it is in G1.
        sum = add_high_bits(((w | HIGH_BITS) - pixels.limit[k]) & ~w & HIGH_BITS, sum);
    }
    return sum;
}

// A block takes items one after the other: frames of a tile, or with SINGLE tiles of the frame, counted from its first.
__device__ __forceinline__ u32 frame_of_item(const Part& part, u32 item) { return SINGLE ? 0 : part.first + item; }
__device__ __forceinline__ u32 segment_of_item(const Part& part, u32 item) {
    return part.segment() + (SINGLE ? item * TILE : 0);
}

// What a picked word has above it: which bit it is beside others (see `together`), its lane, which TOGETHER of the
// items it is in, and whether it was counted as masked in G0.
constexpr u32 BIT = 16, LANE = 21, ITEMS = 26, WAS_MASKED = 31;
constexpr u32 MOST_ITEMS = 32 * TOGETHER;

static_assert(MOST_FRAMES <= MOST_ITEMS, "five bits tell the frames");

// Count a special word; `change(frame, masked, peaks)` adds to what was counted as if it were in G0.
template <class Change>
__device__ __forceinline__ void judge(u32 entry, const Limits& limits, const Part& part, Shared& shared,
                                      const Sums& sums, Change change) {
    const u32 word = picked_word(entry), stage = stage_of(word), bit = entry >> BIT & 31;
    const u32 item = (entry >> ITEMS & 31) * TOGETHER + frame_of(bit), frame = frame_of_item(part, item);
    const u32 pixel = segment_of_item(part, item) + (entry >> LANE & 31) * GROUP + index_of(bit);
    const i32 code = code_of(word, true, HIGH_GAIN ? ADC_MASK : NOT_G0);
    const bool written = code != HOLE && code != INVALID;
    const u32 limit = written ? __ldg(limits.of + stage * limits.pitch + pixel) : MASKED_LIMIT;
    const bool no_mask = limit != MASKED_LIMIT;
    i32* counts = shared.counters.frame[frame];
    add(counts[SATURATEDS], code == SATURATED && no_mask);
    add(counts[INVALIDS], code == INVALID);
    count_holes(shared.counters, part.tile, sums, code == HOLE, pixel, frame);
    const i32 was_masked = static_cast<i32>(entry >> WAS_MASKED);
    // Counted as peaks were all in G1, and at the end of HG0 where the limit is not beyond.
    const bool was_peak = stage == 1 || (stage == 0 && limit <= ADC_MASK);
    change(frame, (written && !no_mask) - was_masked, (code == 0 && no_mask && (word & ADC_MASK) < limit) - was_peak);
}

// Count the items, from `first` on, of which all words of a lane are holes; what else is special.
__device__ __forceinline__ u32 count_lost(u32 special, u32 masked, const Part& part, u32 first, u32 place,
                                          Shared& shared, const Sums& sums) {
    if (__popc(special) < GROUP) return special;
#pragma unroll 1
    for (u32 i = 0; i < TOGETHER; i++) {
        const Words words = kept_words(shared.ring.words[place + i][threadIdx.x]);
        const u32* w = words.pair;
        const u32 all = of_first(0xFFFFFFFF, i + 1) & ~of_first(0xFFFFFFFF, i);
        if ((special & all) != all || w[0] != HIGH_BITS || w[1] != w[0] || w[2] != w[0] || w[3] != w[0]) continue;
        const u32 at = segment_of_item(part, first + i) + part.lane * GROUP, frame = frame_of_item(part, first + i);
        count_holes(shared.counters, part.tile, sums, 0xFF, at, frame);
        add(shared.counters.frame[frame][MASKEDS], -__popc(masked & all));
        special &= ~all;
    }
    return special;
}

// Pick the special words of TOGETHER items, from `first` on. `masked` has the same bits for pixels that are so in G0.
template <class Take>
__device__ __forceinline__ void pick_special(u32 special, u32 masked, const Part& part, u32 first, u32 place,
                                             Shared& shared, const Sums& sums, u32& pending, Take take) {
    special = count_lost(special, masked, part, first, place, shared, sums);
    const u32 group = part.lane << LANE | first / TOGETHER << ITEMS;
    auto entry = [&](u32 word, u32 bit) { return (word | group) + (bit << BIT) + (masked >> bit << WAS_MASKED); };
    pick(shared.list, part, pending, shared_address(shared.ring.words[place][threadIdx.x]), special, entry, take);
}

template <bool WHOLE>
__device__ __forceinline__ void refill(u16* to, u32 n) {
    store_words<WHOLE>(to, Words{{HIGH_BITS, HIGH_BITS, HIGH_BITS, HIGH_BITS}}, n);
}

#if SINGLE
struct Item {
    Words words, limits;
};

// Tiles of one frame, see `for_tiles_together`.
template <bool WHOLE>
__device__ __forceinline__ void count_tiles(u16* raw, const Limits& limits, u32 end, const Part& part, Shared& shared,
                                            const Sums& sums, const Verdict& verdict) {
    const u32 kept = shared_address(shared.ring.words[0][threadIdx.x]);
    u32 peaks = 0, masked = 0, pending = 0, special = 0, special_masked = 0;

    auto load = [&](u32 at) {
        return Item{load_words<WHOLE>(raw + at, pixels_from(at, end, GROUP)),
                    load_constants(limits.of, at, WHOLE ? at + GROUP : end, NOT_MET)};
    };
    auto process = [&](const Item& item, u32 at, u32 i) {
        const Pixels pixels = pixels_of(item.limits);
        if (REFILLED) refill<WHOLE>(raw + at, pixels_from(at, end, GROUP));
        peaks = add_peaks(item.words, pixels, peaks);
        special |= together(special_bits(item.words), i);
        special_masked |= together(pixels.masked, i);
        keep_words(kept + i * PLACE, item.words);
    };
    auto change = [&](u32, i32 more_masked, i32 more_peaks) {
        masked += more_masked;
        peaks += more_peaks * 128;
    };
    auto take = [&](u32 entry, bool there) {
        if (there) judge(entry, limits, part, shared, sums, change);
    };
    auto pause = [&](u32 tile) {
        masked += __popc(special_masked);
        pick_special(special, special_masked, part, tile, 0, shared, sums, pending, take);
        special = special_masked = 0;
    };
    for_tiles_together(part, end, load, [&] { clear(shared.counters); }, process, pause);
    if (pending) take_picked(shared.list, part, pending, take);
    flush(shared.counters, part.tile, peaks, masked, sums, verdict);
}
#else
// The frames of one tile.
template <bool WHOLE>
__device__ __forceinline__ void count_frames(u16* raw, i64 raw_stride, const Limits& limits, const Part& part,
                                             Shared& shared, const Sums& sums) {
    const u32 at = part.segment() + part.lane * GROUP, n = pixels_from(at, limits.count, GROUP);
    u16* here = raw + part.first * raw_stride + at;
    Pixels pixels;
    u32 pending = 0, special = 0, masked = 0;

    auto prepare = [&] {
        pixels = pixels_of(load_constants(limits.of, at, limits.count, NOT_MET));
        count_masked(shared.counters, part, pixels.masked);
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++) masked |= together(pixels.masked, i);
    };
    auto process = [&](const Words& words, u32 frame, u32 i) {
        if (REFILLED && frame < part.end) {
            refill<WHOLE>(here, n);
            here += raw_stride;
        }
        keep_peaks(shared.counters, part, add_peaks(words, pixels, 0), frame);
        special |= together(special_bits(words), i);
    };
    auto change = [&](u32 frame, i32 more_masked, i32 more_peaks) {
        add(shared.counters.frame[frame][MASKEDS], more_masked);
        add(shared.counters.frame[frame][PEAKS], more_peaks);
    };
    auto take = [&](u32 entry, bool there) {
        if (there) judge(entry, limits, part, shared, sums, change);
    };
    auto pause = [&](u32 frame, u32 place) {
        special = of_first(special, part.end - frame);
        pick_special(special, masked, part, frame - part.first, place, shared, sums, pending, take);
        special = 0;
    };
    for_frames<WHOLE>(part, raw, raw_stride, limits.count, shared.ring, prepare, process, pause);
    if (pending) take_picked(shared.list, part, pending, take);
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    count(u16* raw, i64 raw_stride, u32 frames, u32 count, u32 per_part, u32 ordered, const u16* limits, u32 pitch,
          u32* counts, u32* holes, u32* work, u32 n_sources, u32 share, u32 minimum, u32* state, volatile u32* report,
          const u32* wanted, u32 ends) {
    __shared__ Shared shared;
#if SINGLE && !REFILLED
    if (ordered) wait_for_launches();
    let_next_begin();  // nothing is written before the sums
#else
    wait_for_launches();
#endif
    const Sums sums = {counts, holes, work, n_sources, share, frames};
    const Limits all = {limits, pitch, count};
#if SINGLE
    const Verdict verdict = verdict_of(minimum, state, report, wanted, ends);
    const Part part = part_of(blockIdx.x * per_part, 0, 1);
    const u32 end = (part.tile + per_part) * TILE;
    if (ALIGNED && end <= count && per_part % TOGETHER == 0)
        count_tiles<true>(raw, all, end, part, shared, sums, verdict);
    else
        count_tiles<false>(raw, all, min(end, count), part, shared, sums, verdict);
#else
    clear(shared.counters);
    for_parts(frames, count, per_part, [&](const Part& part) {
        if (ALIGNED && part.segment() + SEGMENT <= count)
            count_frames<true>(raw, raw_stride, all, part, shared, sums);
        else
            count_frames<false>(raw, raw_stride, all, part, shared, sums);
        end_tile(shared.counters, part, sums);
    });
    flush(shared.counters, sums);
#endif
}
