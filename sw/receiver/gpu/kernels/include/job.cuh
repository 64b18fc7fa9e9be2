// What a block takes at a time, and how its words come. An item is what one tile has in one frame; a unit TOGETHER of
// them, which a thread takes together: frames of a tile, or with SINGLE tiles in a row. A job is some units in a row,
// those of a tile before those of the next.
#pragma once

#include "streams.cuh"

// Items of a unit, 4 at most.
#ifndef TOGETHER
#define TOGETHER 4
#endif

// Units of a job, at most.
#ifndef UNITS
#define UNITS 8
#endif

// Percent, see `units_before`.
#ifndef SKEW
#define SKEW 0
#endif

static_assert(SKEW <= 75, "the first job has some units");

constexpr u32 ITEMS = UNITS * TOGETHER;  // of a job
constexpr u32 MOST_FRAMES = 64;          // of a launch

static_assert(TOGETHER <= 4, "the pixels of a thread in a unit have a bit each");
static_assert(ITEMS <= 256, "the number of an item has 8 bits");

constexpr u32 MOST_TILES = SINGLE ? ITEMS : UNITS;  // of a job

struct Frames {
    const u16* raw;
    i64 stride;
    u32 count;  // pixels
    u32 frames;
    u32 tiles, units_a_tile;  // with SINGLE the tiles of a unit count as one
    u32 jobs;
};

__device__ __forceinline__ Frames frames_of(const u16* raw, i64 stride, u32 count, u32 frames, u32 jobs) {
    const u32 tiles = tiles_of(count);
    if (SINGLE) return {raw, stride, count, frames, (tiles + TOGETHER - 1) / TOGETHER, 1, jobs};
    return {raw, stride, count, frames, tiles, (frames + TOGETHER - 1) / TOGETHER, jobs};
}

struct Job {
    u32 number;
    u32 units;  // 0: there is no job
    u32 first;  // its first unit
};

// The units of all jobs before `number`: later jobs have more, SKEW percent more than the mean at the end, and as many
// less at the beginning; but not where they have few. So blocks do not all end their words at one time, but in the
// order of their jobs.
__device__ __forceinline__ u32 units_before(const Frames& of, u32 number) {
    const u32 all = of.tiles * of.units_a_tile, each = all / of.jobs;
    const u32 before = number * each + min(number, all % of.jobs);
    if (SKEW == 0 || each < 8) return before;
    return before - static_cast<u32>(static_cast<u64>(each * SKEW) * number * (of.jobs - number) / (100 * of.jobs));
}

__device__ __forceinline__ Job job_of(const Frames& of, u32 number) {
    if (number >= of.jobs) return {};
    const u32 first = units_before(of, number), units = units_before(of, number + 1) - first;
    if (units == 0 || units > UNITS) __trap();  // the plan is wrong
    return {number, units, first};
}

struct Unit {
    u32 tile, frame;  // of its first item

    __device__ __forceinline__ u32 tile_of(u32 i) const { return SINGLE ? tile + i : tile; }
    __device__ __forceinline__ u32 frame_of(u32 i) const { return SINGLE ? 0 : frame + i; }
    // First pixel of a warp's part of an item.
    __device__ __forceinline__ u32 segment(u32 i, u32 warp) const { return tile_of(i) * TILE + warp * SEGMENT; }
    // Items that there are.
    __device__ __forceinline__ u32 items(const Frames& of) const {
        return min(u32(TOGETHER), SINGLE ? tiles_of(of.count) - tile : of.frames - frame);
    }
};

__device__ __forceinline__ Unit unit_of(const Frames& of, u32 number) {
    if (SINGLE) return {number * TOGETHER, 0};
    const u32 tile = number / of.units_a_tile;
    return {tile, (number - tile * of.units_a_tile) * TOGETHER};
}

// Units of a job before the first that has a tile which is not whole.
__device__ __forceinline__ u32 whole_units(const Frames& of, const Job& job) {
    if (!ALIGNED) return 0;
    const u32 whole = of.count / TILE, end = SINGLE ? whole / TOGETHER : whole * of.units_a_tile;
    return end < job.first ? 0 : min(end - job.first, job.units);
}

// The words of a thread in a unit, and the limits of its pixels.
struct Coming {
    Words words[TOGETHER], limits[SINGLE ? TOGETHER : 1];
};

// Begin to read those of a unit; what there is not stays. `fresh`: whether the limits are others than those of the unit
// before.
template <bool WHOLE>
__device__ __forceinline__ void read(Coming& coming, const Frames& of, const Unit& unit, bool fresh,
                                     const u16* limits) {
    const u32 at = unit.segment(0, threadIdx.x / LANES) + threadIdx.x % LANES * GROUP, items = unit.items(of);
    const u16* next = of.raw + unit.frame * of.stride + at;
#pragma unroll
    for (u32 i = 0; i < TOGETHER; i++) {
        if constexpr (WHOLE) {
            if (SINGLE) fetch_constants(coming.limits[i].pair, limits + at + i * TILE, i < items);
            fetch_words(coming.words[i].pair, next, i < items);
        } else if (i < items) {
            const u32 here = SINGLE ? at + i * TILE : at;
            if (SINGLE) coming.limits[i] = load_constants(limits, here, of.count, NOT_MET);
            coming.words[i] = load_words<false>(next, pixels_from(here, of.count, GROUP));
        }
        next += SINGLE ? TILE : of.stride;
    }
    if (SINGLE) return;
    if constexpr (WHOLE)
        fetch_constants(coming.limits[0].pair, limits + at, fresh);
    else if (fresh)
        coming.limits[0] = load_constants(limits, at, of.count, NOT_MET);
}
