// The holes of every source in every frame; with REFILLED the frames are filled with holes again in the same pass.
//
//   raw    (frames, pixels) u16, `raw_stride` words from frame to frame
//   holes  (frames, sources) u32; a source has `share` pixels in a row
//   work   see `Sums`
//
// Blocks of THREADS, see `for_parts` for their number; MOST_FRAMES at most. With SINGLE a block has `per_part` tiles in
// a row.

#ifndef REFILLED
#define REFILLED 0
#endif

#include "counts.cuh"
#include "ring.cuh"

__device__ __forceinline__ void count_group(const Words& words, u32 at, u32 frame, const Part& part, Counters& counters,
                                            const Sums& sums) {
    u32 found = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++) found |= words.pair[i] & ~(words.pair[i] << 1) & HIGH_BITS;
    if (found == 0 || frame >= part.end) return;  // no word of gain code 10
    u32 holes = 0;
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) holes |= (word_of(words, i) == HOLE_WORD ? 1u : 0u) << i;
    count_holes(counters, part.tile, sums, holes, at, frame);
}

// The frames of one tile.
template <bool WHOLE>
__device__ __forceinline__ void count_frames(u16* raw, i64 raw_stride, u32 count, const Part& part, Ring& ring,
                                             Counters& counters, const Sums& sums) {
    const u32 at = part.segment() + part.lane * GROUP, n = pixels_from(at, count, GROUP);
    u16* here = raw + part.first * raw_stride + at;

    auto process = [&](const Words& words, u32 frame, u32) {
        if (REFILLED && frame < part.end) {
            store_words<WHOLE>(here, Words{{HIGH_BITS, HIGH_BITS, HIGH_BITS, HIGH_BITS}}, n);
            here += raw_stride;
        }
        count_group(words, at, frame, part, counters, sums);
    };
    for_frames<WHOLE, false>(part, raw, raw_stride, count, ring, [] {}, process, [](u32, u32) {});
}

#if SINGLE
// Tiles of one frame, see `for_tiles_together`.
template <bool WHOLE>
__device__ __forceinline__ void count_tiles(u16* raw, u32 end, const Part& part, Counters& counters, const Sums& sums) {
    auto load = [&](u32 at) { return load_words<WHOLE>(raw + at, pixels_from(at, end, GROUP)); };
    auto process = [&](const Words& words, u32 at, u32) {
        if (REFILLED)
            store_words<WHOLE>(raw + at, Words{{HIGH_BITS, HIGH_BITS, HIGH_BITS, HIGH_BITS}},
                               pixels_from(at, end, GROUP));
        count_group(words, at, 0, part, counters, sums);
    };
    for_tiles_together(part, end, load, [&] { clear(counters); }, process, [](u32) {});
    flush(counters, part.tile, 0, 0, sums);
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    count_holes(u16* raw, i64 raw_stride, u32 frames, u32 count, u32 per_part, u32, u32* holes, u32* work,
                u32 n_sources, u32 share) {
    __shared__ Counters counters;
    __shared__ Ring ring;
    wait_for_launches();
    if (SINGLE && !REFILLED) let_next_begin();
    const Sums sums = {nullptr, holes, work, n_sources, share, frames};
#if SINGLE
    const Part part = part_of(blockIdx.x * per_part, 0, 1);
    const u32 end = (part.tile + per_part) * TILE;
    if (ALIGNED && end <= count && per_part % TOGETHER == 0)
        count_tiles<true>(raw, end, part, counters, sums);
    else
        count_tiles<false>(raw, min(end, count), part, counters, sums);
#else
    clear(counters);
    for_parts(frames, count, per_part, [&](const Part& part) {
        if (ALIGNED && part.segment() + SEGMENT <= count)
            count_frames<true>(raw, raw_stride, count, part, ring, counters, sums);
        else
            count_frames<false>(raw, raw_stride, count, part, ring, counters, sums);
        end_tile(counters, part, sums);
    });
    flush(counters, sums);
#endif
}
