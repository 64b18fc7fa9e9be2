// The verdict on a frame by its Bragg peaks, see verdict.cuh. Where it is one by its bright pixels, the kernel that
// counts these judges.
//
//   counts  holes, saturated, invalid, masked, bright pixels
//   found   the number of peaks that the verdict is on
//   state   see `State`
//   report  see `Report`
//   wanted  the number of the lane's newest frame that is kept in any case: memory of the host
//
// One thread.

#include "verdict.cuh"

extern "C" __global__ void judge(const u32* counts, const u32* found, u32 minimum, u32* state, volatile u32* report,
                                 const volatile u32* wanted) {
    const Verdict verdict = {minimum, state, report, false, 0};
#pragma unroll
    for (u32 i = 0; i < REPORTED; i++) report[REPORTED_COUNTS + i] = counts[i];
    judge_frame(verdict, state[SEQUENCE] + 1, counts[0], *found, wanted);
}
