// What comes after begins when the host has released frame `number`, or a later one: `released` is its newest, memory
// of the host. Numbers are compared modulo 2^32. One thread.

#include "ptx.cuh"

extern "C" __global__ void wait_for_release(const u32* released, u32 number) {
    while (static_cast<i32>(fetched_from_host(released, true) - number) < 0) continue;
    __threadfence_system();
    let_next_begin();
}
