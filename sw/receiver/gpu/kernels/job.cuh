// What a block takes at a time, and how its words come. An item is what one tile has in one frame. A job is a tile in
// some frames, whose limits are read once; with SINGLE some tiles of the one frame, each with its limits.
#pragma once

// Items of a job, 256 at most; with SINGLE 32.
#ifndef JOB_ITEMS
#define JOB_ITEMS 16
#endif

#include "picked.cuh"

static_assert(JOB_ITEMS <= (SINGLE ? 32 : 256), "those of a single frame have a lane each");
static_assert((JOB_ITEMS + TOGETHER - 1) / TOGETHER <= 64, "the number of TOGETHER items has 6 bits");

constexpr u32 GROUPS = AHEAD / TOGETHER;  // of items that are read together

struct Frames {
    const u16* raw;
    i64 stride;
    u32 count;  // pixels
    u32 frames;
    u32 per_job, jobs;  // items of a job, but for the last of a tile or of the image
};

struct Job {
    u32 tile, frame;  // of its first item
    u32 items;        // 0: there is no job
    u32 number;

    __device__ __forceinline__ u32 tile_of(u32 item) const { return SINGLE ? tile + item : tile; }
    __device__ __forceinline__ u32 frame_of(u32 item) const { return SINGLE ? 0 : frame + item; }
    // First pixel of a warp's part of an item.
    __device__ __forceinline__ u32 segment(u32 item, u32 warp) const { return tile_of(item) * TILE + warp * SEGMENT; }
};

// Job `number`, in the order in which the pixels of a frame are.
__device__ __forceinline__ Job job_of(const Frames& of, u32 number) {
    if (number >= of.jobs) return {};
    if (SINGLE) {
        const u32 tile = number * of.per_job;
        return {tile, 0, min(of.per_job, tiles_of(of.count) - tile), number};
    }
    const u32 shares = (of.frames + of.per_job - 1) / of.per_job;
    const u32 tile = number / shares, first = (number - tile * shares) * of.per_job;
    return {tile, first, min(of.per_job, of.frames - first), number};
}

// The items under way, and the limits of what they belong to.
struct Coming {
    Ring words;
    alignas(16) u16 limits[SINGLE ? AHEAD : 1][THREADS][GROUP];
};

// Limits with those of masked pixels such that no word of G0 reaches them.
__device__ __forceinline__ Words usable_limits(Words limits) {
#pragma unroll
    for (u32 i = 0; i < 4; i++) limits.pair[i] = __vminu2(limits.pair[i], NOT_MET * 0x10001u);
    return limits;
}

// The words of a job's items on their way into the ring, TOGETHER at a time.
struct Feed {
    const u16* next;
    u32 at;    // its pixel
    u32 left;  // items that are not under way yet

    __device__ __forceinline__ Feed(const Frames& of, const Job& job, const u16* limits, Coming& coming)
        : at(job.segment(0, threadIdx.x / LANES) + threadIdx.x % LANES * GROUP), left(job.items) {
        next = of.raw + job.frame * of.stride + at;
        if (!SINGLE) read_limits(of, limits, coming, 0);
        for (u32 place = 0; place < AHEAD; place += TOGETHER) read(of, limits, coming, place);
    }

    __device__ __forceinline__ bool whole(const Frames& of) const {
        return ALIGNED && at - threadIdx.x % LANES * GROUP + SEGMENT <= of.count;
    }

    __device__ __forceinline__ void read_limits(const Frames& of, const u16* limits, Coming& coming, u32 to) {
        u16* kept = coming.limits[to][threadIdx.x];
        if (whole(of))
            copy_constants(kept, limits + at);
        else
            keep_words(kept, load_constants(limits, at, of.count, NOT_MET));
    }

    __device__ __forceinline__ void read_item(const Frames& of, const u16* limits, Coming& coming, u32 to) {
        u16* kept = coming.words.words[to][threadIdx.x];
        if (whole(of))
            copy16(kept, next);
        else
            keep_words(kept, load_words<false>(next, pixels_from(at, of.count, GROUP)));
        if (SINGLE) {
            read_limits(of, limits, coming, to);
            at += TILE;
            next += TILE;
        } else {
            next += of.stride;
        }
    }

    // Begin to read the next items, as far as there are.
    __device__ __forceinline__ void read(const Frames& of, const u16* limits, Coming& coming, u32 place) {
        if (left >= TOGETHER && whole(of)) {
#pragma unroll
            for (u32 i = 0; i < TOGETHER; i++) read_item(of, limits, coming, place + i);
            left -= TOGETHER;
        } else {
#pragma unroll 1
            for (u32 i = 0; i < TOGETHER && left; i++, left--) read_item(of, limits, coming, place + i);
        }
        end_copies();
    }
};
