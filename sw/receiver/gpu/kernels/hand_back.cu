// The results of a frame to the host: the table of its Bragg peaks; its image and its sparse rows where it is handed
// back; then DONE.
//
//   image     (bytes) and where it goes, or null
//   pointers  (rows + 1) i64, column (capacity) i32, value (capacity) i16 and where they go, or null
//   table     the first `limit` peaks of `found`, and where they go, or null
//   state, report   see `reports.cuh`
//   ended   whether a frame that is not handed back is done with its verdict
//
// All begin at multiples of 16 bytes, and end there: up to 15 bytes behind them are copied too.

#include "ptx.cuh"
#include "reports.cuh"

constexpr u64 PEAK_BYTES = 112;  // of PEAK_SUMS of models/peaks/peak_finder.py

// Copy `bytes` with all blocks.
__device__ __forceinline__ void copy(void* to, const void* from, u64 bytes) {
    const uint4* source = static_cast<const uint4*>(from);
    uint4* target = static_cast<uint4*>(to);
    const u64 groups = (bytes + 15) / 16, step = static_cast<u64>(gridDim.x) * blockDim.x;
    for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < groups; i += step) target[i] = source[i];
}

extern "C" __global__ void hand_back(const void* image, void* image_to, u64 bytes, const i64* pointers,
                                     i64* pointers_to, u32 rows, const i32* column, i32* column_to, const i16* value,
                                     i16* value_to, const void* table, void* table_to, const u32* found, u32 limit,
                                     u32* state, volatile u32* report, u32 ended) {
    wait_for_launches();
    if (ended && !state[GIVEN]) return;
    if (table) copy(table_to, table, min(*found, limit) * PEAK_BYTES);
    if (state[GIVEN]) {
        if (image) copy(image_to, image, bytes);
        if (pointers) {
            const u64 pixels = static_cast<u64>(pointers[rows]);
            copy(pointers_to, pointers, (rows + 1) * sizeof(i64));
            copy(column_to, column, pixels * sizeof(i32));
            copy(value_to, value, pixels * sizeof(i16));
        }
    }
    if (state[GIVEN] || table) __threadfence_system();
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(state + BLOCKS, 1) != gridDim.x - 1) return;
    state[BLOCKS] = 0;
    __threadfence_system();
    report[DONE] = state[SEQUENCE];
}
