// Fill frames with holes: (frames, pixels) u16, `stride` words from frame to frame.

#include "streams.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) fill(u16* raw, i64 stride, u32 frames, u32 count) {
    const u32 groups = (count + GROUP - 1) / GROUP;
    const Words holes = {{HIGH_BITS, HIGH_BITS, HIGH_BITS, HIGH_BITS}};
    for (u32 frame = blockIdx.y; frame < frames; frame += gridDim.y) {
        u16* to = raw + frame * stride;
        for (u32 group = blockIdx.x * THREADS + threadIdx.x; group < groups; group += gridDim.x * THREADS) {
            const u32 at = group * GROUP;
            if (ALIGNED && at + GROUP <= count)
                store_words<true>(to + at, holes, GROUP);
            else
                store_words<false>(to + at, holes, pixels_from(at, count, GROUP));
        }
    }
}
