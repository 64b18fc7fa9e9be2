// Correction to float32, the bits of sw/receiver/pipeline/correction.py; NaN at every pixel that has no value.
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
    alignas(16) Pair g1[KEEP_G1 ? THREADS : 1][GROUP];
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

template <bool WHOLE>
__device__ __forceinline__ void keep_g1(Scratch& scratch, const Constants& constants, u32 segment, u32 lane) {
#if KEEP_G1
    Pair* to = scratch.g1[threadIdx.x];
#pragma unroll
    for (u32 i = 0; i < GROUP; i += WHOLE ? 2 : 1) {
        const u32 at = segment + place(lane, i);
        if constexpr (WHOLE)
            copy_constants(to + i, constants.switched + at);
        else if (at < constants.count)
            to[i] = __ldg(constants.switched + at);
    }
#endif
}

// Look at N frames in the ring from `first` on.
template <u32 N>
__device__ __forceinline__ Known<Pair> known(u32 first, const Constants& constants, const Part& part,
                                             const Scratch& scratch) {
    Known<Pair> all = {};
#pragma unroll
    for (u32 f = 0; f < N; f++) {
        const Words words = group_of(scratch.ring.words[first + f][part.warp * LANES], part.lane);
        const u32 *w = words.pair, bits = special_bits(words);
        all.second |= together(bits & gathered(w[0], w[1], w[2], w[3]), f);
        all.special |= together(bits, f);
    }
    if (SINGLE) return {all.special, 0, {}};  // read when they are needed
    const u32 at = part.segment() + place(part.lane, index_of(lowest(all.second)));
    const Pair* from = constants.switched + constants.count + at;
    all.first.x = fetched(&from->x, all.second != 0);
    all.first.y = fetched(&from->y, all.second != 0);
    return all;
}

// Correct the special words among those in the ring from `first` on.
__device__ __forceinline__ void mend(const Known<Pair>& known, u32 first, const Constants& constants, const Part& part,
                                     Scratch& scratch) {
#pragma unroll 1
    for (u32 special = known.special; special; special &= special - 1) {
        const u32 bit = lowest(special), f = frame_of(bit), i = index_of(bit);
        const u32 word = scratch.ring.words[first + f][part.warp * LANES][place(part.lane, i)];
        float value = no_value();
        if (word >= NOT_G0 && code_of(word, true, NOT_G0) == 0) {
            Pair c;
            if (is_lowest(bit, known.second))
                c = known.first;
            else if (KEEP_G1 && word < 2 * NOT_G0)
                c = scratch.g1[KEEP_G1 ? threadIdx.x : 0][i];
            else
                c = __ldg(constants.switched + (word < 2 * NOT_G0 ? 0 : constants.count) + part.segment() +
                          place(part.lane, i));
            value = switched_float(word, c.x, __dmul_rn(c.y, constants.energy));
        }
        scratch.values[f][i / HALF_GROUP][threadIdx.x][i % HALF_GROUP] = value;
    }
}

// Correct N frames in the ring from `first` on; `store(values, f)` takes the result of one.
template <u32 N, class Store>
__device__ __forceinline__ void correct(const Known<Pair>& known, u32 first, const Pixels& pixels,
                                        const Constants& constants, const Part& part, Scratch& scratch, Store store) {
    float result[N][GROUP];
#pragma unroll
    for (u32 f = 0; f < N; f++) {
        const Words words = group_of(scratch.ring.words[first + f][part.warp * LANES], part.lane);
#pragma unroll
        for (u32 i = 0; i < GROUP; i++) result[f][i] = g0_float(word_of(words, i), pixels.pedestal[i], pixels.scale[i]);
    }
    if (known.special) {
#pragma unroll
        for (u32 f = 0; f < N; f++) {
            keep16(scratch.values[f][0][threadIdx.x], four(result[f]));
            keep16(scratch.values[f][1][threadIdx.x], four(result[f] + HALF_GROUP));
        }
        mend(known, first, constants, part, scratch);
#pragma unroll
        for (u32 f = 0; f < N; f++) {
            to_four(result[f], kept16(scratch.values[f][0][threadIdx.x]));
            to_four(result[f] + HALF_GROUP, kept16(scratch.values[f][1][threadIdx.x]));
        }
    }
#pragma unroll
    for (u32 f = 0; f < N; f++) store(result[f]);
}

// Some frames of a tile.
template <bool WHOLE>
__device__ __forceinline__ void correct_frames(const u16* raw, i64 raw_stride, float* image, i64 image_stride,
                                               const Constants& constants, const Part& part, Scratch& scratch) {
    float* to = image + part.first * image_stride;
    Reader<WHOLE> reader(raw, raw_stride, part, constants.count, scratch.ring);
    keep_g1<WHOLE>(scratch, constants, part.segment(), part.lane);  // there with the first words
    for (u32 i = 0; i < AHEAD; i += TOGETHER) reader.template read<TOGETHER>(i);
    const Pixels pixels = load_pixels<WHOLE>(constants, part.segment(), part.lane);
    auto store = [&](const float* values) {
        store_group<WHOLE>(to, part.segment(), part.lane, constants.count, values);
        to += image_stride;
    };
    u32 first = 0, frame = part.first;
    wait_for_copies<AHEAD / TOGETHER - 1>();
    __syncwarp();  // the words of other lanes are there too
    if (frame + TOGETHER <= part.end) {
        Known<Pair> all = known<TOGETHER>(first, constants, part, scratch);
#pragma unroll 1
        while (true) {
            correct<TOGETHER>(all, first, pixels, constants, part, scratch, store);
            __syncwarp();  // and are not needed any more
            reader.template read<TOGETHER>(first);
            first = first + TOGETHER == AHEAD ? 0 : first + TOGETHER;
            frame += TOGETHER;
            if (frame + TOGETHER > part.end) break;
            wait_for_copies<AHEAD / TOGETHER - 1>();
            __syncwarp();
            all = known<TOGETHER>(first, constants, part, scratch);
        }
    }
    wait_for_copies<0>();
    __syncwarp();
#pragma unroll 1
    for (; frame < part.end; frame++, first++) {
        const Known<Pair> one = known<1>(first, constants, part, scratch);
        correct<1>(one, first, pixels, constants, part, scratch, store);
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
        auto store = [&](const float* values) {
            store_group<WHOLE>(image, part.segment(), part.lane, constants.count, values);
        };
        correct<1>(known<1>(0, constants, part, scratch), 0, item.pixels, constants, part, scratch, store);
    };
    for_tiles<WHOLE ? AHEAD : 1>(first + blockIdx.x, tiles, gridDim.x, load, process);
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    correct_float32(const u16* raw, i64 raw_stride, float* image, i64 image_stride, u32 frames, u32 count, u32 per_part,
                    u32 ordered, const float* pedestal, const float* scale, const Pair* switched, double energy) {
    __shared__ Scratch scratch;
    if (ordered) wait_for_launches();
    let_next_begin();
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
    wait_for_launches();  // this one ends behind them
}
