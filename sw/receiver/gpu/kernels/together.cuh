// Special words of up to 4 frames in one number, so that a thread mends them together.
#pragma once

#include "ring.cuh"
#include "special.cuh"

// Frames that a thread takes together, 4 at most.
#ifndef TOGETHER
#define TOGETHER (SINGLE ? 1 : 2)
#endif

// The special_bits of frame `f` where they have their place beside those of others.
__device__ __forceinline__ u32 together(u32 special, u32 f) { return special >> 2 * f; }

// The frame, and the word, that a bit stands for.
__device__ __forceinline__ u32 frame_of(u32 bit) { return 3 - bit % 8 / 2; }

static_assert(AHEAD % TOGETHER == 0 || SINGLE, "frames are taken from the ring by turns");
