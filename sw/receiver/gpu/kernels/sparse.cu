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

struct Rows {
    i64* pointers;
    i32* column;
    i16* value;
    u32 rows, columns, capacity;
};

// A job and what is known of it without shared memory.
struct Job {
    Part part;
    u32 unkept;  // see `Progress`
    bool there;
};

__device__ __forceinline__ void put(const Rows& rows, u32 frame, u32 to, u32 pixel, i32 value) {
    if (to >= rows.capacity) return;
    const u64 at = static_cast<u64>(frame) * rows.capacity + to;
    rows.column[at] = static_cast<i32>(pixel % rows.columns);
    rows.value[at] = static_cast<i16>(value);
}

// Write what a warp has kept of the frames before `unkept`; `offsets` is scratch, a word a frame.
__device__ __forceinline__ void write_kept(const Rows& rows, u32 count, const Job& job, const Found& found,
                                           const u32* bases, u32* offsets) {
    const u32 lane = job.part.lane, segment = job.part.segment(), end = min(segment + SEGMENT, count);
    const u32 *pixels = found.pixels[job.part.warp], *kept = found.kept[job.part.warp];
    u32 total = 0;
#pragma unroll 1
    for (u32 frame = lane; frame < MOST_FRAMES; frame += LANES) {
        const u32 n = frame < job.unkept ? pixels[frame] : 0;
        u32 sum;
        const u32 start = total + sum_below(n, lane, sum);
        const u32 base = frame < job.unkept ? bases[frame] + found.before[job.part.warp][frame] : 0;
        offsets[frame] = base - start;
        total += sum;
        for (u32 row = (segment + rows.columns - 1) / rows.columns; row * rows.columns < end; row++) {
            u32 i = start;
            while (i < start + n && segment + (kept[i] >> 8 & 0xFF) < row * rows.columns) i++;
            if (frame < job.unkept)
                rows.pointers[static_cast<u64>(job.part.first + frame) * (rows.rows + 1) + row] = base + i - start;
        }
    }
    __syncwarp();
    for (u32 i = lane; i < total; i += LANES) {
        const u32 pixel = kept[i], frame = pixel & 0xFF;
        put(rows, job.part.first + frame, offsets[frame] + i, segment + (pixel >> 8 & 0xFF),
            static_cast<i32>(pixel) >> 16);
    }
    __syncwarp();
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
        values[i] = bits >> i & 1 ? value_of(constants, word_of(words, i), at + i, nullptr) : INVALID;
        hits |= (values[i] != INVALID ? 1u : 0u) << i;
    }
    to += sum_below(__popc(hits), part.lane, total);
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        if (i < n && (at + i) % rows.columns == 0)
            rows.pointers[static_cast<u64>(frame) * (rows.rows + 1) + (at + i) / rows.columns] = to;
        if (hits >> i & 1) put(rows, frame, to++, at + i, values[i]);
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

// Write what the block has found in a job.
__device__ __forceinline__ void write(const Rows& rows, const u16* raw, i64 raw_stride, const Constants& constants,
                                      const Sums& sums, const Job& job, const Found& found, u32* bases,
                                      Deferred& list) {
    const Part& part = job.part;
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
    write_kept(rows, constants.count, job, found, bases, list.origin[part.warp]);
    for (u32 frame = job.unkept; frame < frames; frame++) {
        const u32 to = bases[frame] + found.before[part.warp][frame];
        write_again(rows, raw + (part.first + frame) * raw_stride, constants, part.first + frame, to, part);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sparse(const u16* raw, i64 raw_stride, u32 frames, u32 count, u32, u32 per_job, u32 columns, const u16* limits,
           const u16* pedestal, const u16* mantissa, const u32* switched, u32 shift0, u32 shift1, u32 shift2,
           i32 threshold, i64* pointers, i32* column, i16* value, u32 capacity, u32* work, u32 words) {
    __shared__ Shared shared;
    const Constants constants = {limits, pedestal, mantissa, switched, shift0, shift1, shift2, count, threshold};
    const Rows rows = {pointers, column, value, count / columns, columns, capacity};
    const u32 tiles = tiles_of(count), shares = (frames + per_job - 1) / per_job, jobs = tiles * shares;
    const Sums sums = sums_of(work, tiles, words);
    if (threadIdx.x == 0) shared.next[1] = atomicAdd(work + TICKET, 1);
    __syncthreads();

    Job last = {};
    u32 next = shared.next[1];
    for (u32 turn = 0; next < jobs || last.there; turn ^= 1) {
        Job job = {};
        if (next < jobs) {
            const u32 tile = next / shares, share = next - tile * shares, first = share * per_job;
            job.part = part_of(tile, first, min(first + per_job, frames));
            const bool whole = ALIGNED && job.part.segment() + SEGMENT <= count;
            job.there = true;
            sums.clear_next(next, jobs);
            u32 after;
            if (threadIdx.x == 0) after = atomicAdd(work + TICKET, 1);
            job.unkept = whole ? find<true>(raw, raw_stride, constants, job.part, shared, shared.found[turn])
                               : find<false>(raw, raw_stride, constants, job.part, shared, shared.found[turn]);
            if (threadIdx.x == 0) shared.next[turn] = after;
            __syncthreads();
            next = shared.next[turn];
            publish(sums, job.part, shared.found[turn]);
        } else {
            __syncthreads();  // `base` is still read
        }
        if (last.there)
            write(rows, raw, raw_stride, constants, sums, last, shared.found[turn ^ 1], shared.base, shared.list);
        last = job;
    }
    finish(work);
}
