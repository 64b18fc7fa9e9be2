// Sparse rows from raw words in one pass: `SparseRows` of sw/receiver/result.py, in its order, for every frame.
//
//   raw      (frames, pixels) u16, `raw_stride` words from frame to frame, rows of `columns` pixels
//   limits   (pixels) u16 of G0: `limit_of` for the threshold
//   pedestal, mantissa   of G0, (pixels) u16
//   switched   (2, pixels) u32: of G1 and G2, the pedestal below the mantissa
//   pointers (frames, rows + 1) i64; they tell all pixels that reach the threshold, also those that do not fit
//   column, value   (frames, capacity) i32 and i16; nothing is written beyond the capacity
//   work     see `Work`; `words` for the sums of a launch
//
// A block takes one job after the other, a tile of THREADS * 8 pixels in `per_job` frames, and publishes how many
// pixels it found. Where they go depends on all tiles before: it adds up what these have published, whole groups of
// tiles at once, after its next job, when most of it is there (a look-back, as of Merrill and Garland, "Single-pass
// Parallel Prefix Scan with Decoupled Look-back", 2016, but over two levels and one job late). Jobs are begun in their
// order, and a job's sums are published before its block waits for any other: so no block waits for ever, however many
// run at a time.

#ifndef HIGH_GAIN
#define HIGH_GAIN 0
#endif

#include "found.cuh"
#include "look_back.cuh"

// Bytes of a block's memory that the launch gives; 0: the compiler takes it, 48 KB at most.
#ifndef DYNAMIC
#define DYNAMIC 0
#endif

struct Shared {
    Picked picked;
    Found found[2];
    u32 base[JOB_FRAMES];  // pixels of the tiles before
    u32 next[2];           // job
};

static_assert(DYNAMIC == 0 || sizeof(Shared) <= DYNAMIC, "the plan has to give more memory");

struct Rows {
    i64* pointers;
    i32* column;
    i16* value;
    u32 rows, columns, capacity;
};

// Which column a pixel is in that lies `place` after one of column `start`.
__device__ __forceinline__ u32 column_of(const Rows& rows, u32 start, u32 place) {
    const u32 column = start + place;
    return column < rows.columns ? column : rows.columns >= SEGMENT ? column - rows.columns : column % rows.columns;
}

__device__ __forceinline__ void put(const Rows& rows, u32 frame, u32 to, u32 column, i32 value) {
    if (to >= rows.capacity) return;
    const u64 at = static_cast<u64>(frame) * rows.capacity + to;
    rows.column[at] = static_cast<i32>(column);
    rows.value[at] = static_cast<i16>(value);
}

// Write the pointers to the rows that begin in the segment of a warp, of the frames of which it has kept all pixels.
__device__ __forceinline__ void write_pointers(const Rows& rows, u32 count, const Part& part, const Found& found,
                                               const u32* bases) {
    const u32 segment = part.segment(), end = min(segment + SEGMENT, count);
    const u32 first = (segment + rows.columns - 1) / rows.columns;
    if (first * rows.columns >= end) return;
    for (u32 frame = part.lane; frame < part.end - part.first; frame += LANES) {
        const u32 n = found.pixels[part.warp][frame], base = bases[frame] + found.before[part.warp][frame];
        if (n > SLOTS) continue;
        i64* to = rows.pointers + static_cast<u64>(part.first + frame) * (rows.rows + 1);
#pragma unroll 1
        for (u32 row = first; row * rows.columns < end; row++) {
            const u32 place = row * rows.columns - segment;
            u32 before = 0;
            for (u32 i = 0; i < n && place; i++) before += found.kept[part.warp][frame][i] < place << 24;
            to[row] = base + before;
        }
    }
}

// Write the pixels that a warp has kept, of the frames of which it has kept all: SLOTS lanes take a frame.
__device__ __forceinline__ void write_kept(const Rows& rows, const Part& part, const Found& found, const u32* bases) {
    const u32 start = part.segment() % rows.columns;
#pragma unroll 1
    for (u32 frame = part.lane / SLOTS; frame < part.end - part.first; frame += LANES / SLOTS) {
        const u32 n = found.pixels[part.warp][frame], slot = part.lane % SLOTS;
        if (slot >= n || n > SLOTS) continue;
        const u32* kept = found.kept[part.warp][frame];
        const u32 mine = kept[slot];
        u32 to = bases[frame] + found.before[part.warp][frame];
#pragma unroll
        for (u32 i = 0; i < SLOTS; i += 4) {
            const uint4 other = kept16(kept + i);
            to += (other.x < mine) + (other.y < mine) + (other.z < mine) + (other.w < mine);
        }
        put(rows, part.first + frame, to, column_of(rows, start, mine >> 24), static_cast<i32>(mine & 0xFFFF));
    }
}

// Find the pixels of one frame again and write them, from `to` on.
__device__ __forceinline__ void write_again(const Rows& rows, const u16* words_of_frame, const Constants& constants,
                                            u32 frame, u32 to, const Part& part) {
    const u32 at = part.segment() + part.lane * GROUP, n = pixels_from(at, constants.count, GROUP);
    const Words words = load_words<false>(words_of_frame + at, n);
    i32 values[GROUP];
    u32 hits = 0, total;
    const u32 bits = in_order(candidates(words, limits_at(constants, at)));
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        values[i] = bits >> i & 1 ? value_of(constants, word_of(words, i), at + i) : INVALID;
        hits |= (values[i] != INVALID ? 1u : 0u) << i;
    }
    to += sum_below(__popc(hits), part.lane, total);
    const u32 start = part.segment() % rows.columns;
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        if (i < n && (at + i) % rows.columns == 0)
            rows.pointers[static_cast<u64>(frame) * (rows.rows + 1) + (at + i) / rows.columns] = to;
        if (hits >> i & 1) put(rows, frame, to++, column_of(rows, start, part.lane * GROUP + i), values[i]);
    }
}

// Publish how many pixels the block has found.
__device__ __forceinline__ void publish(const Sums& sums, const Part& part, Found& found) {
    for (u32 frame = threadIdx.x; frame < part.end - part.first; frame += THREADS) {
        u32 sum = 0;
        for (u32 warp = 0; warp < WARPS; warp++) {
            found.before[warp][frame] = static_cast<u16>(sum);
            sum += found.pixels[warp][frame];
        }
        found.total[frame] = sum;
        sums.publish(part.first + frame, part.tile, sum);
    }
}

// Write the pixels of the frames of which a warp has not kept all.
__device__ __forceinline__ void write_rest(const Rows& rows, const u16* raw, i64 raw_stride, const Constants& constants,
                                           const Part& part, const Found& found, const u32* bases) {
    const u32 frames = part.end - part.first;
#pragma unroll 1
    for (u32 start = 0; start < frames; start += LANES) {
        const u32 n = start + part.lane < frames ? found.pixels[part.warp][start + part.lane] : 0;
#pragma unroll 1
        for (u32 many = __ballot_sync(ALL_LANES, n > SLOTS); many; many &= many - 1) {
            const u32 i = start + lowest(many), frame = part.first + i;
            write_again(rows, raw + frame * raw_stride, constants, frame, bases[i] + found.before[part.warp][i], part);
        }
    }
}

// Write what the block has found in a job, of which it knows the part.
__device__ __forceinline__ void write(const Rows& rows, const u16* raw, i64 raw_stride, const Constants& constants,
                                      const Sums& sums, const Part& part, const Found& found, u32* bases) {
    const u32 frames = part.end - part.first;
    constexpr u32 AT_A_TIME = 4;
#pragma unroll 1
    for (u32 start = part.warp; start < frames; start += AT_A_TIME * WARPS) {
        Look looks[AT_A_TIME];
#pragma unroll
        for (u32 i = 0; i < AT_A_TIME; i++)
            if (start + i * WARPS < frames) looks[i] = sums.look(part.first + start + i * WARPS, part.tile, part.lane);
#pragma unroll
        for (u32 i = 0; i < AT_A_TIME; i++) {
            const u32 frame = start + i * WARPS;
            if (frame >= frames) continue;
            const u32 base = sums.before(looks[i], part.first + frame, part.tile, part.lane);
            if (part.lane == 0) bases[frame] = base;
        }
    }
    __syncthreads();
    if (part.tile == sums.tiles - 1)
        for (u32 frame = threadIdx.x; frame < frames; frame += THREADS)
            rows.pointers[static_cast<u64>(part.first + frame + 1) * (rows.rows + 1) - 1] =
                bases[frame] + found.total[frame];
    write_pointers(rows, constants.count, part, found, bases);
    write_kept(rows, part, found, bases);
    write_rest(rows, raw, raw_stride, constants, part, found, bases);
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sparse(const u16* raw, i64 raw_stride, u32 frames, u32 count, u32, u32 per_job, u32 columns, const u16* limits,
           const u16* pedestal, const u16* mantissa, const u32* switched, u32 shift0, u32 shift1, u32 shift2,
           i32 threshold, i64* pointers, i32* column, i16* value, u32 capacity, u32* work, u32 words) {
#if DYNAMIC
    extern __shared__ uint4 memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
#else
    __shared__ Shared shared;
#endif
    const Constants constants = {limits, pedestal, mantissa, switched, shift0, shift1, shift2, count, threshold};
    const Rows rows = {pointers, column, value, count / columns, columns, capacity};
    const u32 tiles = tiles_of(count), shares = (frames + per_job - 1) / per_job, jobs = tiles * shares;
    const Sums sums = sums_of(work, tiles, words);
    if (threadIdx.x == 0) shared.next[1] = atomicAdd(work + TICKET, 1);
    __syncthreads();

    Part last = {};  // without frames: there is none
    u32 next = shared.next[1];
    for (u32 turn = 0; next < jobs || last.end; turn ^= 1) {
        Part part = {};
        if (next < jobs) {
            const u32 tile = next / shares, first = (next - tile * shares) * per_job;
            part = part_of(tile, first, min(first + per_job, frames));
            sums.clear_next(next, jobs);
            u32 after;
            if (threadIdx.x == 0) after = atomicAdd(work + TICKET, 1);
            if (ALIGNED && part.segment() + SEGMENT <= count)
                find<true>(raw, raw_stride, constants, part, shared.picked, shared.found[turn]);
            else
                find<false>(raw, raw_stride, constants, part, shared.picked, shared.found[turn]);
            if (threadIdx.x == 0) shared.next[turn] = after;
            __syncthreads();
            next = shared.next[turn];
            publish(sums, part, shared.found[turn]);
        } else {
            __syncthreads();  // `base` is still read
        }
        if (last.end) write(rows, raw, raw_stride, constants, sums, last, shared.found[turn ^ 1], shared.base);
        last = part;
    }
    finish(work);
}
