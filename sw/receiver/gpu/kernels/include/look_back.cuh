// Sums of jobs, published by the blocks and added up over two levels: jobs, and groups of 32 of them.
#pragma once

#include "streams.cuh"

constexpr u32 JOBS_A_GROUP = 32;
constexpr u32 READY = 1u << 31;    // a job's sum is there
constexpr u32 ONE_JOB = 1u << 24;  // in the sum of a group, above the pixels of its jobs
constexpr u32 PIXELS_MASK = ONE_JOB - 1;
constexpr u32 WHOLE_GROUP = JOBS_A_GROUP * ONE_JOB;  // without pixels
constexpr u32 PATIENCE = 1u << 24;                   // polls of a sum: many seconds

// The first words of the memory that launches share, all zero at first. EPOCH: launches so far. ENDED: blocks that
// need nothing more here. TICKETS: the next job, for each of TURNS launches that overlap, more than a GPU runs at a
// time. Then two times the sums of all frames; launches use one and clear the other by turns.
enum Work : u32 { EPOCH, ENDED, TICKETS, TURNS = 255, SUMS = 260 };

// Sums that a lane has read, of a job and of two groups.
struct Look {
    u32 job, group, next_group;
};

struct Sums {
    u32 *these, *next;  // of this launch, and of the next one: for every frame those of the jobs, then of the groups
    u32 jobs, pitch;
    u32 words;

    __device__ __forceinline__ void publish(u32 frame, u32 job, u32 sum) const {
        u32* of_frame = these + static_cast<u64>(frame) * pitch;
        atomicExch(of_frame + job, READY | sum);
        atomicAdd(of_frame + jobs + job / JOBS_A_GROUP, ONE_JOB + sum);
    }

    // Begin to read the sums of all jobs before `job`; all lanes of a warp together.
    __device__ __forceinline__ Look look(u32 frame, u32 job, u32 lane) const {
        const u32* of_frame = these + static_cast<u64>(frame) * pitch;
        const u32 group = job / JOBS_A_GROUP, other = group * JOBS_A_GROUP + lane;
        Look look;
        look.job = other < job ? now(of_frame + other) : READY;
        look.group = lane < group ? now(of_frame + jobs + lane) : WHOLE_GROUP;
        look.next_group = lane + LANES < group ? now(of_frame + jobs + lane + LANES) : WHOLE_GROUP;
        return look;
    }

    // Their sum, as soon as all are published.
    __device__ __forceinline__ u32 before(Look look, u32 frame, u32 job, u32 lane) const {
        const u32 *of_frame = these + static_cast<u64>(frame) * pitch, *groups = of_frame + jobs;
        const u32 group = job / JOBS_A_GROUP, other = group * JOBS_A_GROUP + lane;
        for (u32 polls = 0; !(look.job & READY); look.job = now(of_frame + other)) wait(polls++);
        u32 sum = (look.job & ~READY) + whole(look.group, groups + lane);
        sum += whole(look.next_group, groups + lane + LANES);
        for (u32 i = lane + 2 * LANES; i < group; i += LANES) sum += whole(now(groups + i), groups + i);
        return __reduce_add_sync(ALL_LANES, sum);
    }

    // The pixels of a group of jobs, as soon as all of them are published.
    static __device__ __forceinline__ u32 whole(u32 sum, const u32* where) {
        for (u32 polls = 0; sum / ONE_JOB != JOBS_A_GROUP; sum = now(where)) wait(polls++);
        return sum & PIXELS_MASK;
    }

    // Clear the `each` sums of the next launch that are job `job`'s.
    __device__ __forceinline__ void clear_next(u32 job, u32 each) const {
        const u32 from = job * each, to = min(from + each, words);
#pragma unroll 1
        for (u32 i = from + threadIdx.x; i < to; i += THREADS) next[i] = 0;
    }

    // A launch that waits for ever would stop the GPU: it fails instead.
    static __device__ __forceinline__ void wait(u32 polls) {
        if (polls == PATIENCE) __trap();
        __nanosleep(40);
    }
};

__device__ __forceinline__ Sums sums_of(u32* work, u32 jobs, u32 words) {
    const u32 pitch = jobs + (jobs + JOBS_A_GROUP - 1) / JOBS_A_GROUP;
    const u32 turn = now(work + EPOCH) & 1;
    return {work + SUMS + turn * words, work + SUMS + (turn ^ 1) * words, jobs, pitch, words};
}

// A block needs no ticket and no sums any more: one thread. The last block makes ready for the next launch.
__device__ __forceinline__ void finish(u32* work, u32 turn) {
    if (atomicAdd(work + ENDED, 1) != gridDim.x - 1) return;
    work[ENDED] = work[TICKETS + turn] = 0;
    work[EPOCH]++;
}
