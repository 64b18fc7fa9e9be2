// Sparse rows from raw words in one pass: `SparseRows` of sw/receiver/result.py, in its order, for every frame.
//
//   raw      (frames, pixels) u16, `raw_stride` words from frame to frame, rows of `columns` pixels
//   limits   (pixels) u16 of G0: `limit_of` for the threshold
//   pedestal, mantissa   of G0, (pixels) u16
//   switched   (2, pixels) u32: of G1 and G2, the pedestal below the mantissa
//   pointers (frames, rows + 1) i64; they tell all pixels that reach the threshold, also those that do not fit
//   column, value   (frames, capacity) i32 and i16; nothing is written beyond the capacity
//   work     see `Work`; `words` for the sums of a launch, `each` of them for a job to clear
//
// A block takes one job after the other, a tile of THREADS * 8 pixels in `per_job` frames, and publishes how many
// pixels it found. With SINGLE a job is `per_job` tiles. Where the pixels go depends on all tiles, or jobs, before: it
// adds up what these have published, whole groups of them at once, after its next job, when most of it is there (a
// look-back, as of Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016, but over two
// levels and one job late). Jobs are begun in their order, and a job's sums are published before its block waits for
// any other: so no block waits for ever, however many run at a time.

#ifndef HIGH_GAIN
#define HIGH_GAIN 0
#endif

#include "look_back.cuh"
#include "rows.cuh"

// Bytes of a block's memory that the launch gives; 0: the compiler takes it, 48 KB at most.
#ifndef DYNAMIC
#define DYNAMIC 0
#endif

struct Shared {
    Coming coming;
    List list;
    Found found[2];
    u32 base[JOB_ITEMS];  // pixels of the jobs before; with SINGLE the first alone
    Job next[2];
};

static_assert(DYNAMIC == 0 || sizeof(Shared) <= DYNAMIC, "the plan has to give more memory");

// Publish how many pixels the block has found.
__device__ __forceinline__ void publish(const Sums& sums, const Job& job, Found& found) {
    if (SINGLE && threadIdx.x >= LANES) return;
    u32 sum = 0;
    for (u32 item = threadIdx.x; item < job.items; item += THREADS) {
        for (u32 warp = 0; warp < WARPS; warp++) {
            found.before[warp][item] = static_cast<u16>(sum);
            sum += found.pixels[warp][item];
        }
        found.total[item] = sum;
        if (!SINGLE) {
            sums.publish(job.frame + item, job.tile, sum);
            sum = 0;
        }
    }
    if (SINGLE) {
        u32 total;
        const u32 before = sum_below(sum, threadIdx.x, total);
        if (threadIdx.x < job.items)
            for (u32 warp = 0; warp < WARPS; warp++) found.before[warp][threadIdx.x] += static_cast<u16>(before);
        if (threadIdx.x == 0) {
            found.total[0] = total;
            sums.publish(0, job.number, total);
        }
    }
}

// Write what the block has found in a job.
__device__ __forceinline__ void write(const Rows& rows, const Frames& of, const Constants& constants, const Sums& sums,
                                      const Job& job, const Found& found, u32* bases) {
    const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    constexpr u32 AT_A_TIME = SINGLE ? 1 : 4;
    const u32 n = SINGLE ? 1 : job.items, place = SINGLE ? job.number : job.tile;
#pragma unroll 1
    for (u32 start = warp; start < n; start += AT_A_TIME * WARPS) {
        Look looks[AT_A_TIME];
#pragma unroll
        for (u32 i = 0; i < AT_A_TIME; i++)
            if (start + i * WARPS < n) looks[i] = sums.look(job.frame + start + i * WARPS, place, lane);
#pragma unroll
        for (u32 i = 0; i < AT_A_TIME; i++) {
            const u32 item = start + i * WARPS;
            if (item >= n) continue;
            const u32 base = sums.before(looks[i], job.frame + item, place, lane);
            if (lane == 0) bases[item] = base;
        }
    }
    __syncthreads();
    if (job.tile_of(SINGLE ? job.items - 1 : 0) == tiles_of(of.count) - 1)
        for (u32 item = threadIdx.x; item < n; item += THREADS)
            rows.pointers[static_cast<u64>(job.frame_of(item) + 1) * (rows.rows + 1) - 1] =
                bases[item] + found.total[item];
    write_pointers(rows, of.count, job, found, bases);
    write_kept(rows, job, found, bases);
    write_rest(rows, of, constants, job, found, bases);
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sparse(const u16* raw, i64 raw_stride, u32 frames, u32 count, u32, u32 per_job, u32 columns, const u16* limits,
           const u16* pedestal, const u16* mantissa, const u32* switched, u32 shift0, u32 shift1, u32 shift2,
           i32 threshold, i64* pointers, i32* column, i16* value, u32 capacity, u32* work, u32 words, u32 each) {
#if DYNAMIC
    Shared& shared = given_memory<Shared>();
#else
    __shared__ Shared shared;
#endif
    const Constants constants = {limits, pedestal, mantissa, switched, shift0, shift1, shift2, count, threshold};
    const Rows rows = {pointers, column, value, count / columns, columns, capacity};
    const u32 tiles = tiles_of(count);
    const u32 jobs = SINGLE ? (tiles + per_job - 1) / per_job : tiles * ((frames + per_job - 1) / per_job);
    const Frames of = {raw, raw_stride, count, frames, per_job, jobs};
    const Sums sums = sums_of(work, SINGLE ? jobs : tiles, words);
    if (threadIdx.x == 0) shared.next[1] = job_of(of, atomicAdd(work + TICKET, 1));
    __syncthreads();

    Job job = shared.next[1], last = {};
    for (u32 turn = 0; job.items || last.items; turn ^= 1) {
        const Job now = job;
        if (now.items) {
            sums.clear_next(now.number, each);
            u32 after;
            if (threadIdx.x == 0) after = atomicAdd(work + TICKET, 1);
            find(of, constants, now, shared.coming, shared.list, shared.found[turn]);
            if (threadIdx.x == 0) shared.next[turn] = job_of(of, after);
            __syncthreads();
            job = shared.next[turn];
            publish(sums, now, shared.found[turn]);
        } else {
            __syncthreads();  // `base` is still read
        }
        if (last.items) write(rows, of, constants, sums, last, shared.found[turn ^ 1], shared.base);
        last = now;
    }
    finish(work);
}
