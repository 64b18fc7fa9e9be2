// The verdict on a frame: `Veto` of sw/receiver/pipeline/veto.py. The host and the kernels after this one are told at
// once.
#pragma once

#include "reports.cuh"
#include "streams.cuh"

// Of a launch that judges its frame, from the number of its peaks; with a null `state` it does not.
struct Verdict {
    u32 minimum;           // peaks from which on it is accepted
    u32* state;            // see `State`
    volatile u32* report;  // see `Report`
    bool ends;             // whether nothing but its counts is handed back of a frame that is rejected: it is done
    u32 kept;              // with `brings_kept`: the number of the lane's newest frame that is kept in any case

    __device__ __forceinline__ bool brings_kept() const {
        return state != nullptr && blockIdx.x == 0 && threadIdx.x == 0;
    }
};

// `wanted` is memory of the host: one thread reads it, and long before it is needed.
__device__ __forceinline__ Verdict verdict_of(u32 minimum, u32* state, volatile u32* report, const u32* wanted,
                                              u32 ends) {
    Verdict verdict = {minimum, state, report, ends != 0, 0};
    verdict.kept = fetched_from_host(wanted, verdict.brings_kept());
    return verdict;
}

// Judge frame `sequence`, whose counts are reported; one thread. `kept` is where the number of one that is kept lies.
__device__ __forceinline__ void judge_frame(const Verdict& of, u32 sequence, u32 holes, u32 found,
                                            const volatile u32* kept) {
    of.report[FOUND] = found;
    __threadfence_system();
    of.report[JUDGED] = sequence;
    of.state[SEQUENCE] = sequence;
    const bool given = found >= of.minimum || holes != 0 || *kept == sequence;
    of.state[GIVEN] = given;
    if (of.ends && !given) of.report[DONE] = sequence;
}

// Judge when all counts are complete. `complete`: whether lane i has completed count i, and written it as `result`.
// Blocks that end together may each complete some: the last of them judges. One warp together.
__device__ __forceinline__ void judge_when_complete(const Verdict& verdict, const u32* counts, u32 result,
                                                    bool complete, u32 sequence) {
    const u32 lane = threadIdx.x % LANES, who = __ballot_sync(ALL_LANES, complete);
    if (who == 0) return;
    if (who != (1u << REPORTED) - 1) {
        __threadfence();
        __syncwarp();
        u32 done = __popc(who);
        if (lane == 0) done += atomicAdd(verdict.state + COMPLETE, done);
        if (__shfl_sync(ALL_LANES, done, 0) != REPORTED) return;
        if (lane == 0) verdict.state[COMPLETE] = 0;
        __threadfence();
        result = lane < REPORTED ? now(counts + lane) : 0;
    }
    if (lane < REPORTED) verdict.report[REPORTED_COUNTS + lane] = result;
    const u32 holes = __shfl_sync(ALL_LANES, result, 0), peaks = __shfl_sync(ALL_LANES, result, REPORTED - 1);
    if (lane == 0) judge_frame(verdict, sequence, holes, peaks, verdict.state + KEPT);
}
