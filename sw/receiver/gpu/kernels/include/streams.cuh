// How frames are read and written: by threads of 8 pixels, each of which takes its pixels from all frames of a block's
// share, so that their constants are read once. With SINGLE there is one frame.
#pragma once

#include "ptx.cuh"

// Whether all frames begin at multiples of 16 bytes.
#ifndef ALIGNED
#define ALIGNED 1
#endif

#ifndef THREADS
#define THREADS 128
#endif

#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

// Frames, or with SINGLE tiles, that are read ahead.
#ifndef AHEAD
#define AHEAD 2
#endif

#ifndef SINGLE
#define SINGLE 0
#endif

constexpr u32 ALL_LANES = 0xFFFFFFFF;
constexpr u32 LANES = 32;
constexpr u32 WARPS = THREADS / LANES;
constexpr u32 GROUP = 8;                // pixels of a thread
constexpr u32 SEGMENT = LANES * GROUP;  // pixels of a warp
constexpr u32 TILE = THREADS * GROUP;   // pixels of a block
constexpr u32 HIGH_BITS = 0x80008000;

struct Words {
    u32 pair[4];
};

// What a block takes at a time: some frames of one tile.
struct Part {
    u32 first, end;  // frames
    u32 tile;
    u32 lane, warp;
    // First pixel of this warp.
    __device__ __forceinline__ u32 segment() const { return tile * TILE + warp * SEGMENT; }
};

__device__ __forceinline__ u32 tiles_of(u32 pixels) { return (pixels + TILE - 1) / TILE; }

__device__ __forceinline__ Part part_of(u32 tile, u32 first, u32 end) {
    return {first, end, tile, threadIdx.x % LANES, threadIdx.x / LANES};
}

// Call `take(part)` for what this block has to do. With `per_part` that is so many frames of one tile: there are as
// many blocks as that makes, those of a tile one after the other, so that they find its constants in the L2 cache. With
// 0 there may be any number of blocks, each of which takes one tile after the other, and of the last tiles, too few for
// all blocks, only some frames: then all end together.
template <class Take>
__device__ __forceinline__ void for_parts(u32 frames, u32 pixels, u32 per_part, Take take) {
    const u32 tiles = tiles_of(pixels), whole = tiles / gridDim.x * gridDim.x, rest = frames * (tiles - whole);
    u32 tile = blockIdx.x, at = static_cast<u32>(static_cast<u64>(rest) * blockIdx.x / gridDim.x);
#pragma unroll 1
    do {
        Part part = part_of(tile, 0, frames);
        if (per_part) {
            const u32 shares = (frames + per_part - 1) / per_part;
            part.tile = blockIdx.x / shares;
            part.first = (blockIdx.x - part.tile * shares) * per_part;
            part.end = min(frames, part.first + per_part);
        } else if (tile >= whole) {
            const u32 to = static_cast<u32>(static_cast<u64>(rest) * (blockIdx.x + 1) / gridDim.x), n = at / frames;
            if (at >= to) return;
            part.tile = whole + n;
            part.first = at - n * frames;
            part.end = min(frames, part.first + to - at);
            at += part.end - part.first;
        }
        take(part);
        tile += gridDim.x;
    } while (!per_part);
}

// How many of `most` pixels from `at` on there are.
__device__ __forceinline__ u32 pixels_from(u32 at, u32 pixels, u32 most) {
    return at >= pixels ? 0 : pixels - at < most ? pixels - at : most;
}

// 8 words, of which there are `n`; WHOLE: all, in one piece. In the place of others: 0.
template <bool WHOLE>
__device__ __forceinline__ Words load_words(const u16* from, u32 n) {
    if constexpr (WHOLE) {
        const uint4 v = load16(from);
        return {{v.x, v.y, v.z, v.w}};
    } else {
        Words words = {};
#pragma unroll
        for (u32 i = 0; i < GROUP; i++)
            if (i < n) words.pair[i / 2] |= static_cast<u32>(from[i]) << (i % 2 * 16);
        return words;
    }
}

template <bool WHOLE>
__device__ __forceinline__ void store_words(u16* to, const Words& words, u32 n) {
    if constexpr (WHOLE) {
        store16(to, make_uint4(words.pair[0], words.pair[1], words.pair[2], words.pair[3]));
    } else {
#pragma unroll
        for (u32 i = 0; i < GROUP; i++)
            if (i < n) to[i] = static_cast<u16>(words.pair[i / 2] >> (i % 2 * 16));
    }
}

// 8 constants of u16, for all frames. In the place of those that do not exist: `other`.
__device__ __forceinline__ Words load_constants(const u16* plane, u32 at, u32 pixels, u32 other = 0) {
    if (at + GROUP <= pixels) {  // planes begin at multiples of 16 bytes
        const uint4 v = __ldg(reinterpret_cast<const uint4*>(plane + at));
        return {{v.x, v.y, v.z, v.w}};
    }
    Words words;
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        const u32 word = at + i < pixels ? plane[at + i] : other;
        words.pair[i / 2] = i % 2 ? words.pair[i / 2] | word << 16 : word;
    }
    return words;
}

__device__ __forceinline__ u32 word_of(const Words& words, u32 i) {
    return i % 2 ? words.pair[i / 2] >> 16 : words.pair[i / 2] & 0xFFFF;
}

template <class Where>
__device__ __forceinline__ void keep_words(Where to, const Words& words) {
    keep16(to, make_uint4(words.pair[0], words.pair[1], words.pair[2], words.pair[3]));
}

template <class Where>
__device__ __forceinline__ Words kept_words(Where from) {
    const uint4 v = kept16(from);
    return {{v.x, v.y, v.z, v.w}};
}

// Read and process tiles of a single frame, every `step` from `first` to before `end`, AHEAD_OF of them under way:
// `load(tile)` begins to read one with its constants, `process(item, tile)` takes them.
template <u32 AHEAD_OF, class Load, class Process>
__device__ __forceinline__ void for_tiles(u32 first, u32 end, u32 step, Load load, Process process) {
    decltype(load(0u)) items[AHEAD_OF];
#pragma unroll
    for (u32 i = 0; i < AHEAD_OF; i++)
        if (first + i * step < end) items[i] = load(first + i * step);
#pragma unroll 1
    for (u32 tile = first; tile < end; tile += AHEAD_OF * step) {
#pragma unroll
        for (u32 i = 0; i < AHEAD_OF; i++) {
            if (tile + i * step < end) {
                auto now = items[i];
                if (tile + (i + AHEAD_OF) * step < end) items[i] = load(tile + (i + AHEAD_OF) * step);
                process(now, tile + i * step);
            }
        }
    }
}
