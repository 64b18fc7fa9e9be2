// Correction to float32, the bits of sw/receiver/correction.py; NaN at every pixel that has no value.
//
//   raw     (frames, pixels) u16, `raw_stride` words from frame to frame
//   image   (frames, pixels) f32, `image_stride` values from frame to frame
//   pedestal, scale   of G0, (pixels) f32: ADU, photons or keV per ADU; the scale is NaN where it cannot be used
//   switched   (2, pixels) of G1 and G2, two numbers each: the pedestal, and ADU per unit of energy; this is NaN where
//   it
//              cannot be used. With COMPACT they are f32, else f64
//   energy     of a photon, by which the latter is multiplied; 1 for keV
//
// Blocks of THREADS, see `for_parts` for their number. A thread takes 4 pixels and 4 that lie 128 further on: then
// every store of a warp covers whole sectors. It takes TOGETHER frames at a time, as if all its pixels were in G0, and
// mends those that are not before it stores them.

#ifndef HIGH_GAIN
#define HIGH_GAIN 0
#endif
#ifndef COMPACT
#define COMPACT 1
#endif
#ifndef TOGETHER
#define TOGETHER (SINGLE ? 1 : 2)
#endif
// Whether the constants of G1 are kept in shared memory: worth it where most of them are needed.
#ifndef KEEP_G1
#define KEEP_G1 (COMPACT && !SINGLE)
#endif

#include "together.cuh"

constexpr u32 HALF_GROUP = GROUP / 2;
constexpr u32 HALF_SEGMENT = SEGMENT / 2;

#if COMPACT
using Pair = float2;
#else
using Pair = double2;
#endif

struct Constants {
    const float *pedestal, *scale;
    const Pair* switched;
    double energy;
    u32 count;  // pixels
};

struct Pixels {
    float pedestal[GROUP];
    float scale[GROUP];
};

// Of every thread, what it picks from by an index.
struct Scratch {
    Ring ring;
    alignas(16) float values[TOGETHER][2][THREADS][HALF_GROUP];
    Pair g1[KEEP_G1 ? THREADS : 1][GROUP];
};

__device__ __forceinline__ float no_value() { return __uint_as_float(0x7FC00000u); }

// Where pixel i of a lane lies in the segment of its warp.
__device__ __forceinline__ u32 place(u32 lane, u32 i) {
    return i / HALF_GROUP * HALF_SEGMENT + lane * HALF_GROUP + i % HALF_GROUP;
}

__device__ __forceinline__ uint4 four(const float* values) {
    return make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                      __float_as_uint(values[3]));
}

__device__ __forceinline__ void to_four(float* values, uint4 v) {
    values[0] = __uint_as_float(v.x);
    values[1] = __uint_as_float(v.y);
    values[2] = __uint_as_float(v.z);
    values[3] = __uint_as_float(v.w);
}

// The words of a lane in a segment of shared memory, of 256 words.
__device__ __forceinline__ Words group_of(const u16* segment, u32 lane) {
    const uint2 a = *reinterpret_cast<const uint2*>(segment + place(lane, 0));
    const uint2 b = *reinterpret_cast<const uint2*>(segment + place(lane, HALF_GROUP));
    return Words{{a.x, a.y, b.x, b.y}};
}

template <bool WHOLE>
__device__ __forceinline__ void store_group(float* frame, u32 segment, u32 lane, u32 count, const float* values) {
    if constexpr (WHOLE) {
        store16(frame + segment + place(lane, 0), four(values));
        store16(frame + segment + place(lane, HALF_GROUP), four(values + HALF_GROUP));
    } else {
#pragma unroll
        for (u32 i = 0; i < GROUP; i++)
            if (segment + place(lane, i) < count) frame[segment + place(lane, i)] = values[i];
    }
}

template <bool WHOLE>
__device__ __forceinline__ Pixels load_pixels(const Constants& constants, u32 segment, u32 lane) {
    Pixels pixels;
    if constexpr (WHOLE) {
#pragma unroll
        for (u32 i = 0; i < GROUP; i += HALF_GROUP) {
            const u32 at = segment + place(lane, i);
            to_four(pixels.pedestal + i, __ldg(reinterpret_cast<const uint4*>(constants.pedestal + at)));
            to_four(pixels.scale + i, __ldg(reinterpret_cast<const uint4*>(constants.scale + at)));
        }
    } else {
#pragma unroll
        for (u32 i = 0; i < GROUP; i++) {
            const u32 at = segment + place(lane, i);
            pixels.pedestal[i] = at < constants.count ? constants.pedestal[at] : 0;
            pixels.scale[i] = at < constants.count ? constants.scale[at] : 0;
        }
    }
    return pixels;
}

__device__ __forceinline__ void keep_g1(Scratch& scratch, const Constants& constants, u32 segment, u32 lane) {
#if KEEP_G1
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        const u32 at = segment + place(lane, i);
        if (at < constants.count) scratch.g1[threadIdx.x][i] = __ldg(constants.switched + at);
    }
#endif
}

// Correct the words of `special` (see `together`), which lie in the ring from `first` on.
__device__ __forceinline__ void mend(u32 special, u32 first, const Constants& constants, const Part& part,
                                     Scratch& scratch) {
#pragma unroll 1
    for (; special; special &= special - 1) {
        const u32 bit = lowest(special), f = frame_of(bit), i = index_of(bit);
        const u32 word = scratch.ring.words[first + f][part.warp * LANES][place(part.lane, i)];
        float value = no_value();
        if (word >= NOT_G0 && code_of(word, true, NOT_G0) == 0) {
            Pair c;
            if (KEEP_G1 && word < 2 * NOT_G0)
                c = scratch.g1[KEEP_G1 ? threadIdx.x : 0][i];
            else
                c = __ldg(constants.switched + (word < 2 * NOT_G0 ? 0 : constants.count) + part.segment() +
                          place(part.lane, i));
            value = switched_float(word, c.x, __dmul_rn(c.y, constants.energy));
        }
        scratch.values[f][i / HALF_GROUP][threadIdx.x][i % HALF_GROUP] = value;
    }
}

// Begin to read the constants of G2 for the first word in it, so that they are there when the word is mended.
__device__ __forceinline__ void fetch_g2(const Words& words, u32 special, const Constants& constants,
                                         const Part& part) {
    const u32 *w = words.pair, second = special & gathered(w[0], w[1], w[2], w[3]);
    if (second == 0) return;
    const u32 i = index_of(lowest(second));
    const Pair* from = constants.switched + constants.count + part.segment() + place(part.lane, i);
    asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
}

// Correct TOGETHER frames in the ring, of which there are `frames`; `store(values, f)` takes the result of one.
template <class Store>
__device__ __forceinline__ void correct(u32 first, const Pixels& pixels, const Constants& constants, const Part& part,
                                        u32 frames, Scratch& scratch, Store store) {
    float result[TOGETHER][GROUP];
    u32 special = 0;
#pragma unroll
    for (u32 f = 0; f < TOGETHER; f++) {
        const Words words = group_of(scratch.ring.words[first + f][part.warp * LANES], part.lane);
        const u32 bits = f < frames ? special_bits(words) : 0;
        fetch_g2(words, bits, constants, part);
        special |= together(bits, f);
#pragma unroll
        for (u32 i = 0; i < GROUP; i++) result[f][i] = g0_float(word_of(words, i), pixels.pedestal[i], pixels.scale[i]);
    }
    if (special) {
#pragma unroll
        for (u32 f = 0; f < TOGETHER; f++) {
            keep16(scratch.values[f][0][threadIdx.x], four(result[f]));
            keep16(scratch.values[f][1][threadIdx.x], four(result[f] + HALF_GROUP));
        }
        mend(special, first, constants, part, scratch);
#pragma unroll
        for (u32 f = 0; f < TOGETHER; f++) {
            to_four(result[f], kept16(scratch.values[f][0][threadIdx.x]));
            to_four(result[f] + HALF_GROUP, kept16(scratch.values[f][1][threadIdx.x]));
        }
    }
#pragma unroll
    for (u32 f = 0; f < TOGETHER; f++)
        if (f < frames) store(result[f], f);
}

// Some frames of a tile.
template <bool WHOLE>
__device__ __forceinline__ void correct_frames(const u16* raw, i64 raw_stride, float* image, i64 image_stride,
                                               const Constants& constants, const Part& part, Scratch& scratch) {
    float* to = image + part.first * image_stride;
    Reader<WHOLE> reader(raw, raw_stride, part, constants.count, scratch.ring);
    for (u32 i = 0; i < AHEAD; i++) reader.read(i);
    keep_g1(scratch, constants, part.segment(), part.lane);
    const Pixels pixels = load_pixels<WHOLE>(constants, part.segment(), part.lane);
    u32 first = 0;
#pragma unroll 1
    for (u32 frame = part.first; frame < part.end; frame += TOGETHER) {
        auto store = [&](const float* values, u32) {
            store_group<WHOLE>(to, part.segment(), part.lane, constants.count, values);
            to += image_stride;
        };
        wait_for_copies<AHEAD - TOGETHER>();
        __syncwarp();  // the words of other lanes are there too
        correct(first, pixels, constants, part, part.end - frame, scratch, store);
        __syncwarp();  // and are not needed any more
        for (u32 f = 0; f < TOGETHER; f++) reader.read(first + f);
        first = first + TOGETHER == AHEAD ? 0 : first + TOGETHER;
    }
    __syncwarp();
}

#if SINGLE
struct Item {
    uint4 words;
    Pixels pixels;
};

// Tiles of one frame.
template <bool WHOLE>
__device__ __forceinline__ void correct_tiles(const u16* raw, float* image, const Constants& constants, u32 first,
                                              u32 tiles, Scratch& scratch) {
    auto load = [&](u32 tile) {
        const Part part = part_of(tile, 0, 1);
        const u32 at = part.segment() + part.lane * GROUP;
        const Words words = load_words<WHOLE>(raw + at, pixels_from(at, constants.count, GROUP));
        return Item{make_uint4(words.pair[0], words.pair[1], words.pair[2], words.pair[3]),
                    load_pixels<WHOLE>(constants, part.segment(), part.lane)};
    };
    auto process = [&](Item& item, u32 tile) {
        const Part part = part_of(tile, 0, 1);
        __syncwarp();
        keep16(scratch.ring.words[0][threadIdx.x], item.words);
        __syncwarp();
        auto store = [&](const float* values, u32) {
            store_group<WHOLE>(image, part.segment(), part.lane, constants.count, values);
        };
        correct(0, item.pixels, constants, part, 1, scratch, store);
    };
    for_tiles<WHOLE ? AHEAD : 1>(first, tiles, load, process, [](bool) {});
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    correct_float32(const u16* raw, i64 raw_stride, float* image, i64 image_stride, u32 frames, u32 count, u32 per_part,
                    const float* pedestal, const float* scale, const Pair* switched, double energy) {
    __shared__ Scratch scratch;
    const Constants constants = {pedestal, scale, switched, energy, count};
#if SINGLE
    const u32 whole = ALIGNED ? count / TILE : 0;
    correct_tiles<true>(raw, image, constants, 0, whole, scratch);
    correct_tiles<false>(raw, image, constants, whole, tiles_of(count), scratch);
#else
    for_parts(frames, count, per_part, [&](const Part& part) {
        if (ALIGNED && part.segment() + SEGMENT <= count)
            correct_frames<true>(raw, raw_stride, image, image_stride, constants, part, scratch);
        else
            correct_frames<false>(raw, raw_stride, image, image_stride, constants, part, scratch);
    });
#endif
}
