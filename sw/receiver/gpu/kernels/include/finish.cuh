// Which block is the last.
#pragma once

#include "streams.cuh"

// Whether all other blocks are done; `done` counts them, zero before and after. All threads of the block together.
__device__ __forceinline__ bool last_block(u32* done) {
    __shared__ u32 last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(done, 1) == gridDim.x - 1;
        if (last) *done = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}
