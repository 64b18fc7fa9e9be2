// Sparse rows from raw words in one pass: `SparseRows` of sw/receiver/pipeline/result.py, in its order, for every
// frame.
//
//   raw      (frames, pixels) u16, `raw_stride` words from frame to frame, rows of `columns` pixels
//   limits   (pixels) u16 of G0: `limit_of` for the threshold, NOT_MET where a pixel is masked
//   pedestal, mantissa   of G0, (pixels) u16
//   switched   (2, pixels) u32: of G1 and G2, the pedestal below the mantissa
//   pointers (frames, rows + 1) i64; they tell all pixels that reach the threshold, also those that do not fit
//   column, value   (frames, capacity) i32 and i16; nothing is written beyond the capacity
//   work     see `Work`; `words` for the sums of a launch, `each` of them for a job to clear
//   apart    (warps, MOST_KEPT) u32: what they keep, see below; not used with SINGLE
//   state    null, or see `State`: there are rows where the frame is handed back, else nothing is touched
//   turn     one after the other, below TURNS
//
// MOST_FRAMES at most. All pixels of all frames are shared out to `jobs` (see job.cuh), usually one a block. It reads
// its words without waiting for any other block, and keeps what it finds. Then it publishes how many pixels it has of
// each frame, and puts them into their order while it adds up what the jobs before have published, whole groups of them
// at once (a look-back over two levels, after Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
// Look-back", 2016); and it writes. Jobs are begun in their order, and a job's sums are published before its block
// waits for any other: so no block waits for ever, however many run at a time.
//
// The launch may begin before the end of those before. With `ordered` it only takes its first job until then; without,
// it touches nothing of theirs until it has found the pixels of its first jobs. It has a ticket of its own, and with
// many frames an `apart` that none of the two such launches before it has. With `early` it lets the next one begin at
// once, else when those before have ended. `early` is right for a single frame, and where the blocks have 1024 threads
// on every multiprocessor, which holds 2048 at most: as no block ends before the launches before it, a launch with many
// frames then begins after the end of the third such before it.

#ifndef HIGH_GAIN
#define HIGH_GAIN 0
#endif

#include "look_back.cuh"
#include "reports.cuh"
#include "rows.cuh"

struct Shared {
    Found found;
    union {
        Finding finding;
        Placed placed;
    };
    u32 number;  // of the job
    bool rest;   // whether some pixels are not kept
};

// Look up how many pixels the jobs before have; `meanwhile()` is called while the first sums are read.
template <class Meanwhile>
__device__ __forceinline__ void look_back(const Sums& sums, u32 frames, u32 job, u32* bases, Meanwhile meanwhile) {
    const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    constexpr u32 LOOKS = SINGLE ? 1 : 5;
    Look looks[LOOKS];
    auto look = [&](u32 start) {
#pragma unroll
        for (u32 i = 0; i < LOOKS; i++)
            if (start + i * WARPS < frames) looks[i] = sums.look(start + i * WARPS, job, lane);
    };
    look(warp);
    meanwhile();
#pragma unroll 1
    for (u32 start = warp; start < frames; start += LOOKS * WARPS) {
        if (start > warp) look(start);
#pragma unroll
        for (u32 i = 0; i < LOOKS; i++) {
            const u32 frame = start + i * WARPS;
            if (frame >= frames) continue;
            const u32 base = sums.before(looks[i], frame, job, lane);
            if (lane == 0) bases[frame] = base;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sparse(const u16* raw, i64 raw_stride, u32 frames, u32 count, u32, u32 ordered, u32 jobs, u32 columns,
           const u16* limits, const u16* pedestal, const u16* mantissa, const u32* switched, u32 shift0, u32 shift1,
           u32 shift2, i32 threshold, i64* pointers, i32* column, i16* value, u32 capacity, u32* work, u32 words,
           u32 each, const u32* state, u32* apart, u32 turn, u32 early) {
    __shared__ Shared shared;
    const Constants constants = {limits, pedestal, mantissa, switched, shift0, shift1, shift2, count, threshold};
    const Rows rows = {pointers, column, value, count / columns, columns, capacity};
    const Frames of = frames_of(raw, raw_stride, count, frames, jobs);
    Sums sums = {};
    if (early) let_next_begin();
    if (state != nullptr) {
        wait_for_launches();
        if (now(state + GIVEN) == 0) return;
    }
    const bool one_each = jobs <= gridDim.x;
    const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    u32* all_kept = SINGLE ? shared.found.kept : apart + static_cast<u64>(blockIdx.x) * WARPS * MOST_KEPT;
    u32* kept = all_kept + warp * MOST_KEPT;
#pragma unroll 1
    while (true) {
        if (threadIdx.x == 0) {
            shared.number = atomicAdd(work + TICKETS + turn, 1);
            shared.rest = false;
        }
        for (u32 item = lane; item < ITEMS; item += LANES) shared.found.pixels[warp][item] = 0;
        __syncthreads();
        const Job job = job_of(of, shared.number);
        if (!job.units) break;
        for (u32 unit = threadIdx.x; unit < job.units; unit += THREADS)
            shared.found.units[unit] = unit_of(of, job.first + unit);
        __syncthreads();
        if (SINGLE && ordered && sums.these == nullptr) {
            wait_for_launches();
            sums = sums_of(work, jobs, words);
        }

        Finder finder = {of, constants, shared.finding, shared.found, kept, lane, warp};
        const u32 whole = whole_units(of, job);
        if (ALIGNED) finder.find<true>(0, whole);
        finder.find<false>(whole, job.units);
        if (finder.tail != finder.head) finder.take(finder.tail - finder.head);
        if (sums.these == nullptr) {
            wait_for_launches();
            let_next_begin();
            sums = sums_of(work, jobs, words);
        }
        if (SINGLE && ordered) let_next_begin();
        sums.clear_next(job.number, each);
        __syncthreads();

        const Writer writer = {of, job, rows, shared.found, shared.placed, kept, lane, warp};
        writer.publish(sums);
        bool rest = false;
        const u32 n_kept = writer.note_starts(rest);
        if (rest) shared.rest = true;
        __syncthreads();
        rest = shared.rest;
        writer.place();
        look_back(sums, SINGLE ? 1 : frames, job.number, shared.placed.bases, [&] { writer.stage(n_kept, 0); });
        __syncthreads();
        if (one_each && threadIdx.x == THREADS - 1) finish(work, turn);
        const u32 all = shared.placed.first[SINGLE ? 1 : frames];
        writer.write_pointers(all_kept);
        for (u32 from = 0;;) {
            writer.write(from);
            from += STAGED;
            if (from >= all) break;
            __syncthreads();
            writer.stage(n_kept, from);
            __syncthreads();
        }
        if (rest || !one_each) __syncthreads();
        if (rest) writer.write_rest(constants);
        if (one_each) return;
    }
    wait_for_launches();  // of a block without a job
    let_next_begin();
    __syncthreads();
    if (threadIdx.x == 0) finish(work, turn);
}
