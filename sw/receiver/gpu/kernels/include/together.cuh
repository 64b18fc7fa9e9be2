// Special words of up to 4 frames in one number, so that a thread takes them together.
#pragma once

#include "ring.cuh"
#include "special.cuh"

// The special_bits of frame `f` where they have their place beside those of others.
__device__ __forceinline__ u32 together(u32 special, u32 f) { return special >> (6 - 2 * f); }

// The frame, and the word, that a bit stands for.
__device__ __forceinline__ u32 frame_of(u32 bit) { return bit / 2 % 4; }

// What is known of the words of a thread in a few frames before they are corrected: those that are special, those of
// them that are in G2, and the constants of the first of these. They are read a step ahead: a pixel in G2 is so seldom
// that its constants are in no cache.
template <class Constant>
struct Known {
    u32 special, second;
    Constant first;
};

// Whether a bit is the lowest of some.
__device__ __forceinline__ bool is_lowest(u32 bit, u32 of) { return (of & -of) >> bit == 1; }
