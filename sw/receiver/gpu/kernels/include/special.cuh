// Words that are not just in G0, few in a frame.
#pragma once

#include "streams.cuh"

// The high bits of 8 halves as bits 6 and 7 of 4 bytes: see `index_of`.
__device__ __forceinline__ u32 gathered(u32 a, u32 b, u32 c, u32 d) {
    const u32 low = __byte_perm(a, b, 0x7531), high = __byte_perm(c, d, 0x7531);
    return (low & 0x80808080) >> 1 | (high & 0x80808080);
}

// Special words among the 8: not in G0, or with HG0 at its end. One bit each, as `gathered`.
__device__ __forceinline__ u32 special_bits(const Words& words) {
#if HIGH_GAIN
    u32 w[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) w[i] = words.pair[i] | ((words.pair[i] & 0x3FFF3FFF) + 0x00010001);  // bit 14 as well
#else
    const u32* w = words.pair;
#endif
    const u32 low = __byte_perm(w[0], w[1], 0x7531), high = __byte_perm(w[2], w[3], 0x7531);  // the words' high bytes
    return ((low | low << 1) & 0x80808080) >> 1 | ((high | high << 1) & 0x80808080);
}

// Which word a bit stands for.
__device__ __forceinline__ u32 index_of(u32 bit) { return bit / 8 + bit % 2 * 4; }

// The same bits, bit i for word i.
__device__ __forceinline__ u32 in_order(u32 bits) {
    const u32 low = bits >> 6 & 0x01010101, high = bits >> 7 & 0x01010101;
    return low * 0x01020408 >> 24 | (high * 0x01020408 >> 24) << 4;
}

__device__ __forceinline__ u32 lowest(u32 bits) { return __ffs(bits) - 1; }

// Cheaper than the lowest; `bits` are not 0.
__device__ __forceinline__ u32 highest(u32 bits) { return 31 - __clz(bits); }
