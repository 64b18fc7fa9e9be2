// The words of every pixel that reach a threshold (see `limit_of`), from the constants of one gain stage; with G1 and
// G2 their constants are (pixels) u32, the pedestal below the mantissa. `masked`: the limit of a masked pixel in G0.

#include "words.cuh"

extern "C" __global__ void limits_g0(const u16* pedestal, const u16* mantissa, u32 shift, u32 threshold, u32 count,
                                     u16* limits, u32 masked) {
    const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const u32 limit = limit_of(0, pedestal[at], mantissa[at], shift, threshold);
    limits[at] = static_cast<u16>(limit == MASKED_LIMIT ? masked : limit);
}

extern "C" __global__ void limits_switched(const u32* constants, u32 shift, u32 threshold, u32 count, u16* limits) {
    const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    limits[at] = static_cast<u16>(limit_of(1, constants[at] & 0xFFFF, constants[at] >> 16, shift, threshold));
}
