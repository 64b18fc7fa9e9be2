// The verdict on a frame: `Veto` of sw/receiver/pipeline/veto.py. The host and the kernels after this one are told at
// once.
//
//   counts  holes, saturated, invalid, masked, bright pixels
//   found   the number of peaks that the verdict is on: bright pixels, or Bragg peaks
//   state   see `State`
//   report  see `Report`
//   wanted  the number of the lane's newest frame that is kept in any case: memory of the host
//
// One thread.

#include "reports.cuh"

extern "C" __global__ void judge(const u32* counts, const u32* found, u32 minimum, u32* state, volatile u32* report,
                                 const volatile u32* wanted) {
    const u32 sequence = state[SEQUENCE] + 1;
    const u32 holes = counts[0], peaks = *found;
    const bool accepted = peaks >= minimum || holes != 0;
#pragma unroll
    for (u32 i = 0; i < 5; i++) report[REPORTED_COUNTS + i] = counts[i];
    report[FOUND] = peaks;
    __threadfence_system();
    report[JUDGED] = sequence;
    state[SEQUENCE] = sequence;
    state[GIVEN] = accepted || *wanted == sequence;
}
