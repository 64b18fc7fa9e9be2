// Correction to int16, the bits of models/jungfrau/jf_correct.py, and with COUNTED the counts of every frame in the
// same pass.
//
//   raw     (frames, pixels) u16, `raw_stride` words from frame to frame
//   image   (frames, pixels) i16, `image_stride` values from frame to frame
//   pedestal, mantissa   of G0, (pixels) u16
//   switched   (2, pixels) u32: of G1 and G2, the pedestal below the mantissa
//   counts  (frames, 5) u32: holes, saturated, invalid, masked, peaks of at least `threshold`
//   holes   (frames, sources) u32, or null; a source has `share` pixels in a row
//   work    see `Sums`
//   minimum, report, wanted, ends   of the verdict, see verdict.cuh
//   state   null, or with SINGLE and COUNTED for the verdict, else: the image is made where the frame is handed back
//
// `ordered`: the launch may begin before the end of those before, but touches nothing until then.
// Blocks of THREADS, see `for_parts` for their number; MOST_FRAMES at most where they are counted. With SINGLE
// and COUNTED a block has `per_part` tiles in a row. A thread takes
// TOGETHER frames at a time, as if all its pixels were in G0, and mends those that are not before it stores them.

#ifndef HIGH_GAIN
#define HIGH_GAIN 0
#endif
#ifndef COUNTED
#define COUNTED 0
#endif
// `word_shift` of the shift of G0.
#ifndef WORD_SHIFT
#define WORD_SHIFT 0
#endif
// Whether the constants of G1 are kept in shared memory: worth it where most of them are needed.
#ifndef KEEP_G1
#define KEEP_G1 (!SINGLE)
#endif
#if !COUNTED
#define MOST_FRAMES 1
#endif

#include "counts.cuh"
#include "together.cuh"

struct Constants {
    const u16 *pedestal, *mantissa;
    const u32* switched;
    u32 shift0, shift1, shift2;
    u32 count;  // pixels
    i32 threshold;
};

// The constants of 8 pixels in G0; with SINGLE, where they are used once, as they are.
struct Pixels {
#if SINGLE
    Words pedestal, mantissa;
#else
    G0 pixel[GROUP];
#endif
    u32 most[4];  // the largest value of two pixels, or MASKED
    u32 masked;   // bit i for pixel i
};

// Of every thread, what it picks from by an index.
struct Scratch {
    Ring ring;
    alignas(16) u16 values[TOGETHER][THREADS][GROUP];  // PLACE bytes from one to the next
    alignas(16) u32 g1[KEEP_G1 ? THREADS : 1][GROUP];
};

struct Shared {
    Scratch scratch;
    Counters counters;
};

__device__ __forceinline__ Pixels pixels_of(const Words& pedestal, const Words& mantissa, u32 shift) {
    Pixels all;
    u32 there[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        const u32 m = mantissa.pair[i];
        there[i] = (((m & ~HIGH_BITS) + ~HIGH_BITS) | m) & HIGH_BITS;  // in the halves that are not 0
        const u32 usable = signs_of(there[i]);
        all.most[i] = (0x7FBC7FBCu & usable) | (0x80018001u & ~usable);  // MAX_VALUE
    }
    all.masked = in_order(gathered(there[0], there[1], there[2], there[3])) ^ 0xFF;
#if SINGLE
    all.pedestal = pedestal;
    all.mantissa = mantissa;
#else
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        all.pixel[i] = g0_constants(word_of(pedestal, i), word_of(mantissa, i), shift);
        made_once(all.pixel[i].by);
    }
#endif
    return all;
}

__device__ __forceinline__ i32 value_of(const Words& words, const Pixels& pixels, u32 i, u32 shift) {
#if SINGLE
    return g0_value(word_of(words, i), word_of(pixels.pedestal, i), word_of(pixels.mantissa, i), shift);
#elif WORD_SHIFT
    return g0_value(i % 2 ? words.pair[i / 2] >> 16 << WORD_SHIFT : words.pair[i / 2] << WORD_SHIFT, pixels.pixel[i]);
#else
    return g0_value(word_of(words, i), pixels.pixel[i]);
#endif
}

__device__ __forceinline__ void keep_g1(Scratch& scratch, const Constants& constants, u32 at) {
#if KEEP_G1
    u32* to = scratch.g1[threadIdx.x];
    const u32* from = constants.switched + at;
    if (at + GROUP <= constants.count) {
        copy_constants(to, from);
        copy_constants(to + GROUP / 2, from + GROUP / 2);
    } else {
        for (u32 i = 0; i < GROUP && at + i < constants.count; i++) to[i] = __ldg(from + i);
    }
#endif
}

__device__ __forceinline__ u32 shift_of(const Constants& constants, u32 word) {
    return word < 2 * NOT_G0 ? constants.shift1 : constants.shift2;
}

// Of pixel `at` + i in the stage of its word, G1 or G2.
__device__ __forceinline__ u32 switched_constants(const Scratch& scratch, const Constants& constants, u32 word, u32 at,
                                                  u32 i) {
    if (KEEP_G1 && word < 2 * NOT_G0) return scratch.g1[KEEP_G1 ? threadIdx.x : 0][i];
    if (word >> 14 == FORBIDDEN_STAGE) return 0;
    return __ldg(constants.switched + (word < 2 * NOT_G0 ? 0 : constants.count) + at + i);
}

// Look at N frames in the ring from `place` on.
template <u32 N, bool WHOLE>
__device__ __forceinline__ Known<u32> known(u32 place, const Reader<WHOLE>& reader, const Constants& constants,
                                            u32 at) {
    Known<u32> all = {};
#pragma unroll
    for (u32 f = 0; f < N; f++) {
        const Words words = reader.words(place + f);
        const u32 *w = words.pair, bits = special_bits(words);
        all.second |= together(bits & gathered(w[0], w[1], w[2], w[3]), f);
        all.special |= together(bits, f);
    }
    all.first = fetched(constants.switched + constants.count + at + index_of(lowest(all.second)), all.second != 0);
    return all;
}

// Two values, clipped, or the code of a masked pixel.
__device__ __forceinline__ u32 clipped(i32 low, i32 high, u32 most) {
    return smaller_halves(larger_halves(as_halves(low, high), 0x80448044u), most);  // -MAX_VALUE
}

__device__ __forceinline__ Words corrected_as_g0(const Words& words, const Pixels& pixels, u32 shift) {
    Words result;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        const i32 low = value_of(words, pixels, 2 * i, shift), high = value_of(words, pixels, 2 * i + 1, shift);
        result.pair[i] = clipped(low, high, pixels.most[i]);
    }
    return result;
}

// Peaks among 8 values, saturated pixels too, in units of add_high_bits.
__device__ __forceinline__ u32 peaks_of(const Words& values, i32 threshold) {
    const u32 below = (threshold - 1) * 0x10001u, to_high_bit = (0x8000u - threshold) * 0x10001u;
    u32 peaks = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        peaks = add_high_bits((larger_halves(values.pair[i], below) + to_high_bit) & HIGH_BITS, peaks);
    return peaks;
}

// Correct the words of `special` (see `together`), which lie in the ring from `place` on; their frames begin with
// `frame` and their pixels at `at`.
__device__ __forceinline__ void mend(const Known<u32>& known, u32 place, const Pixels& pixels,
                                     const Constants& constants, u32 at, u32 frame, u32 tile, Shared& shared,
                                     const Sums& sums) {
    Scratch& scratch = shared.scratch;
    u32 rare = 0;
#pragma unroll 1
    for (u32 special = known.special; special; special &= special - 1) {
        const u32 bit = lowest(special), f = frame_of(bit), i = index_of(bit);
        const u32 word = scratch.ring.words[place + f][threadIdx.x][i];
        const u32 c = is_lowest(bit, known.second) ? known.first : switched_constants(scratch, constants, word, at, i);
        if (surely_has_value(word, c >> 16))
            scratch.values[f][threadIdx.x][i] =
                static_cast<u16>(switched_value(word, c & 0xFFFF, c >> 16, shift_of(constants, word)));
        else
            rare |= 1u << bit;
        // A masked pixel was counted as if it were in G0.
        if (COUNTED && pixels.masked >> i & 1) atomicSub(&shared.counters.frame[frame + f][MASKEDS], 1);
    }
#pragma unroll 1
    for (; rare; rare &= rare - 1) {
        const u32 bit = lowest(rare), f = frame_of(bit), i = index_of(bit);
        const u32 word = scratch.ring.words[place + f][threadIdx.x][i];
        const u32 c = switched_constants(scratch, constants, word, at, i);
        i32 value = corrected(word, c & 0xFFFF, c >> 16, shift_of(constants, word), NOT_G0);
        if (HIGH_GAIN && word == ADC_MASK) value = pixels.masked >> i & 1 ? MASKED : SATURATED;
        scratch.values[f][threadIdx.x][i] = static_cast<u16>(value);
        if (COUNTED) {
            i32* counts = shared.counters.frame[frame + f];
            if (value == HOLE) count_holes(shared.counters, tile, sums, 1u << i, at, frame + f);
            if (value == INVALID) atomicAdd(&counts[INVALIDS], 1);
            if (value == MASKED) atomicAdd(&counts[MASKEDS], 1);
            if (value == SATURATED) {
                atomicAdd(&counts[SATURATEDS], 1);
                atomicSub(&counts[PEAKS], 1);  // it was counted as one
            }
        }
    }
}

// Correct N frames in the ring from `place` on; `store(words, f)` takes the result of one.
template <u32 N, bool WHOLE, class Store>
__device__ __forceinline__ void correct(const Known<u32>& known, u32 place, const Reader<WHOLE>& reader,
                                        const Pixels& pixels, const Constants& constants, const Part& part, u32 at,
                                        u32 frame, Shared& shared, const Sums& sums, Store store) {
    const u32 values = shared_address(shared.scratch.values[0][threadIdx.x]);
    Words result[N];
#pragma unroll
    for (u32 f = 0; f < N; f++) result[f] = corrected_as_g0(reader.words(place + f), pixels, constants.shift0);
    if (known.special) {
#pragma unroll
        for (u32 f = 0; f < N; f++) keep_words(values + f * PLACE, result[f]);
        mend(known, place, pixels, constants, at, frame, part.tile, shared, sums);
#pragma unroll
        for (u32 f = 0; f < N; f++) result[f] = kept_words(values + f * PLACE);
    }
#pragma unroll
    for (u32 f = 0; f < N; f++) store(result[f], f);
}

#if !SINGLE
// Some frames of a tile.
template <bool WHOLE>
__device__ __forceinline__ void correct_frames(const u16* raw, i64 raw_stride, i16* image, i64 image_stride,
                                               const Constants& constants, const Part& part, Shared& shared,
                                               const Sums& sums) {
    const u32 at = part.segment() + part.lane * GROUP, n = pixels_from(at, constants.count, GROUP);
    i16* to = image + part.first * image_stride + at;
    Reader<WHOLE> reader(raw, raw_stride, part, constants.count, shared.scratch.ring);
    keep_g1(shared.scratch, constants, at);  // there with the first words
    for (u32 i = 0; i < AHEAD; i += TOGETHER) reader.template read<TOGETHER>(i);
    const Pixels pixels = pixels_of(load_constants(constants.pedestal, at, constants.count),
                                    load_constants(constants.mantissa, at, constants.count, 1), constants.shift0);
    if (COUNTED) count_masked(shared.counters, part, pixels.masked);
    u32 place = 0, frame = part.first;
    auto store = [&](const Words& result, u32 f) {
        store_words<WHOLE>(reinterpret_cast<u16*>(to), result, n);
        to += image_stride;
        if (COUNTED) keep_peaks(shared.counters, part, peaks_of(result, constants.threshold), frame + f);
    };
    wait_for_copies<AHEAD / TOGETHER - 1>();
    if (frame + TOGETHER <= part.end) {
        Known<u32> all = known<TOGETHER>(place, reader, constants, at);
#pragma unroll 1
        while (true) {
            correct<TOGETHER>(all, place, reader, pixels, constants, part, at, frame, shared, sums, store);
            reader.template read<TOGETHER>(place);
            place = place + TOGETHER == AHEAD ? 0 : place + TOGETHER;
            frame += TOGETHER;
            if (frame + TOGETHER > part.end) break;
            wait_for_copies<AHEAD / TOGETHER - 1>();
            all = known<TOGETHER>(place, reader, constants, at);
        }
    }
    wait_for_copies<0>();
#pragma unroll 1
    for (; frame < part.end; frame++, place++) {
        const Known<u32> one = known<1>(place, reader, constants, at);
        correct<1>(one, place, reader, pixels, constants, part, at, frame, shared, sums, store);
    }
}
#else
struct Item {
    Words words, pedestal, mantissa;
};

// What a thread has found in its tiles: 128 times the peaks, and pixels that are masked in G0.
struct Found {
    u32 peaks, masked;
};

// Every `step` of the tiles of one frame, from `first` to before `end`; `start` is the block's first.
template <bool WHOLE>
__device__ __forceinline__ void correct_tiles(const u16* raw, i16* image, const Constants& constants, u32 first,
                                              u32 end, u32 step, u32 start, Found& found, Shared& shared,
                                              const Sums& sums) {
    auto load = [&](u32 tile) {
        const u32 at = tile * TILE + threadIdx.x * GROUP;
        return Item{load_words<WHOLE>(raw + at, pixels_from(at, constants.count, GROUP)),
                    load_constants(constants.pedestal, at, constants.count),
                    load_constants(constants.mantissa, at, constants.count, 1)};
    };
    auto process = [&](Item& item, u32 tile) {
        const u32 at = tile * TILE + threadIdx.x * GROUP;
        const Pixels pixels = pixels_of(item.pedestal, item.mantissa, constants.shift0);
        Words result = corrected_as_g0(item.words, pixels, constants.shift0);
        const u32 special = together(special_bits(item.words), 0);
        if (special) {
            keep_words(shared.scratch.ring.words[0][threadIdx.x], item.words);
            keep_words(shared.scratch.values[0][threadIdx.x], result);
            mend({special, 0, 0}, 0, pixels, constants, at, 0, start, shared, sums);
            result = kept_words(shared.scratch.values[0][threadIdx.x]);
        }
        store_words<WHOLE>(reinterpret_cast<u16*>(image + at), result, pixels_from(at, constants.count, GROUP));
        if (COUNTED) found.peaks += peaks_of(result, constants.threshold);
        if (COUNTED) found.masked += __popc(pixels.masked);
    };
    for_tiles<WHOLE ? AHEAD : 1>(first, end, step, load, process);
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    correct_int16(const u16* raw, i64 raw_stride, i16* image, i64 image_stride, u32 frames, u32 count, u32 per_part,
                  u32 ordered, const u16* pedestal, const u16* mantissa, const u32* switched, u32 shift0, u32 shift1,
                  u32 shift2, i32 threshold, u32* counts, u32* holes, u32* work, u32 n_sources, u32 share, u32 minimum,
                  u32* state, volatile u32* report, const u32* wanted, u32 ends) {
    __shared__ Shared shared;
    if (COUNTED || ordered) wait_for_launches();
    if (!COUNTED) let_next_begin();
    if (!COUNTED && state != nullptr && now(state + GIVEN) == 0) return;
    const Constants constants = {pedestal, mantissa, switched, shift0, shift1, shift2, count, threshold};
    const Sums sums = {counts, holes, work, n_sources, share, frames};
    if (COUNTED) clear(shared.counters);
#if SINGLE
    const Verdict verdict = verdict_of(minimum, COUNTED ? state : nullptr, report, wanted, ends);
    // Where they are counted `per_part` in a row, mostly of one source; else every so many.
    const u32 whole = ALIGNED ? count / TILE : 0, step = COUNTED ? 1 : gridDim.x;
    const u32 start = COUNTED ? blockIdx.x * per_part : blockIdx.x, rest = COUNTED ? max(start, whole) : whole + start;
    auto end = [&](u32 tiles) { return COUNTED ? min(start + per_part, tiles) : tiles; };
    Found found = {};
    correct_tiles<true>(raw, image, constants, start, end(whole), step, start, found, shared, sums);
    correct_tiles<false>(raw, image, constants, rest, end(tiles_of(count)), step, start, found, shared, sums);
    if (COUNTED) {
        let_next_begin();
        flush(shared.counters, start, found.peaks, found.masked, sums, verdict);
    }
#else
    for_parts(frames, count, per_part, [&](const Part& part) {
        if (ALIGNED && part.segment() + SEGMENT <= count)
            correct_frames<true>(raw, raw_stride, image, image_stride, constants, part, shared, sums);
        else
            correct_frames<false>(raw, raw_stride, image, image_stride, constants, part, shared, sums);
        if (COUNTED) end_tile(shared.counters, part, sums);
    });
    if (COUNTED) flush(shared.counters, sums);
#endif
    wait_for_launches();  // this one ends behind them
}
