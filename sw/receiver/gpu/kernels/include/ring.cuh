// Frames that are copied to shared memory ahead of their processing: without registers for what is under way, and each
// word can be picked by an index. For kernels that write as much as they read; those that only read are faster without.
#pragma once

#include "streams.cuh"

// Frames that a thread takes together, 4 at most.
#ifndef TOGETHER
#define TOGETHER 1
#endif

static_assert(AHEAD % TOGETHER == 0, "frames are taken from the ring by turns");

// Words on their way into shared memory: a thread's own, of AHEAD frames.
struct Ring {
    alignas(16) u16 words[AHEAD][THREADS][GROUP];
};

constexpr u32 PLACE = sizeof(Ring) / AHEAD;  // bytes from one of a thread's places to the next

// The frames of a part on their way into a ring, one after the other.
template <bool WHOLE>
struct Reader {
    const u16* next;
    i64 stride;
    u32 frame, end;
    u32 n;     // words that there are
    u32 ring;  // address of this thread's words

    __device__ __forceinline__ Reader(const u16* raw, i64 raw_stride, const Part& part, u32 pixels, Ring& to)
        : next(raw + part.first * raw_stride + part.segment() + part.lane * GROUP),
          stride(raw_stride),
          frame(part.first),
          end(part.end),
          n(pixels_from(part.segment() + part.lane * GROUP, pixels, GROUP)),
          ring(shared_address(to.words[0][threadIdx.x])) {}

    // Begin to read the next COUNT frames, as far as there are, into their places of the ring, as one copy.
    template <u32 COUNT>
    __device__ __forceinline__ void read(u32 place) {
        const u32 to = ring + place * PLACE;
        if (frame + COUNT <= end) {
#pragma unroll
            for (u32 i = 0; i < COUNT; i++) read_to(to + i * PLACE);
        } else {
#pragma unroll 1
            for (u32 i = 0; frame + i < end; i++) read_to(to + i * PLACE);
        }
        frame += COUNT;
        end_copies();
    }

    __device__ __forceinline__ void read_to(u32 to) {
        if constexpr (WHOLE)
            copy16(to, next);
        else
            keep_words(to, load_words<false>(next, n));
        next += stride;
    }

    // The words in a place.
    __device__ __forceinline__ Words words(u32 place) const { return kept_words(ring + place * PLACE); }
};

// Read and process the frames of a part. `prepare()` is called while the first are read. `process(words, frame, i)`
// takes one, the i-th of TOGETHER; behind the last frame it takes any words. `pause(frame, place)` is called after
// every TOGETHER with the first of them: with KEPT their words lie in the ring, from `place` on.
template <bool WHOLE, bool KEPT = true, class Prepare, class Process, class Pause>
__device__ __forceinline__ void for_frames(const Part& part, const u16* raw, i64 raw_stride, u32 pixels, Ring& ring,
                                           Prepare prepare, Process process, Pause pause) {
    const u32 at = part.segment() + part.lane * GROUP, n = pixels_from(at, pixels, GROUP);
    const u16* next = raw + part.first * raw_stride + at;
    const u32 kept = shared_address(ring.words[0][threadIdx.x]);
    Words words[TOGETHER] = {};
#pragma unroll
    for (u32 i = 0; i < TOGETHER; i++, next += raw_stride)
        if (part.first + i < part.end) words[i] = load_words<WHOLE>(next, n);
    prepare();
#pragma unroll 1
    for (u32 frame = part.first; frame < part.end; frame += TOGETHER) {
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++) {
            process(words[i], frame + i, i);
            if (KEPT) keep_words(kept + i * PLACE, words[i]);
        }
        // Not one by one: the compiler would wait for each.
        if (frame + 2 * TOGETHER <= part.end) {
#pragma unroll
            for (u32 i = 0; i < TOGETHER; i++, next += raw_stride) words[i] = load_words<WHOLE>(next, n);
        } else {
#pragma unroll
            for (u32 i = 0; i < TOGETHER; i++, next += raw_stride)
                if (frame + TOGETHER + i < part.end) words[i] = load_words<WHOLE>(next, n);
        }
        pause(frame, 0);
    }
}

#if SINGLE
// Read and process the tiles of a single frame from that of the part to before pixel `end`, TOGETHER at a time.
// `load(at)` reads what there is at a pixel. `prepare()` is called while the first are read. `process(item, at, i)`
// takes one, the i-th of TOGETHER; behind the last tile it takes what `load` makes of it. `pause(tile)` is called after
// every TOGETHER, while the next are read, with the first of them, counted from the part's.
template <class Load, class Prepare, class Process, class Pause>
__device__ __forceinline__ void for_tiles_together(const Part& part, u32 end, Load load, Prepare prepare,
                                                   Process process, Pause pause) {
    decltype(load(0u)) items[TOGETHER];
    u32 at = part.segment() + part.lane * GROUP;
    auto read = [&] {
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++) items[i] = load(at + i * TILE);
    };
    read();
    prepare();
#pragma unroll 1
    for (u32 tile = 0; (part.tile + tile) * TILE < end; tile += TOGETHER) {
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++) process(items[i], at + i * TILE, i);
        at += TOGETHER * TILE;
        if ((part.tile + tile + TOGETHER) * TILE < end) read();
        pause(tile);
    }
}
#endif
