// Frames that are copied to shared memory ahead of their processing: without registers for what is under way, and each
// word can be picked by an index. For kernels that write as much as they read; those that only read are faster without.
#pragma once

#include "streams.cuh"

// Words on their way into shared memory: a thread's own, of AHEAD frames.
struct Ring {
    alignas(16) u16 words[AHEAD][THREADS][GROUP];
};

// A policy of the L2 cache.
__device__ __forceinline__ u64 first_out() {
    u64 policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// Begin to copy 16 bytes to shared memory.
__device__ __forceinline__ void copy16(void* to, const void* from) {
    const u32 address = static_cast<u32>(__cvta_generic_to_shared(to));
#if LOAD == 3
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                 "l"(first_out())
                 : "memory");
#endif
}

__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait for all copies of this thread but those of the newest PENDING calls of end_copies.
template <u32 PENDING>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// The frames of a part on their way into a ring, one after the other.
template <bool WHOLE>
struct Reader {
    const u16* next;
    i64 stride;
    u32 frame, end;
    u32 n;  // words that there are
    Ring& ring;

    __device__ __forceinline__ Reader(const u16* raw, i64 raw_stride, const Part& part, u32 pixels, Ring& to)
        : next(raw + part.first * raw_stride + part.segment() + part.lane * GROUP),
          stride(raw_stride),
          frame(part.first),
          end(part.end),
          n(pixels_from(part.segment() + part.lane * GROUP, pixels, GROUP)),
          ring(to) {}

    // Begin to read the next frame, if there is one, into its place of the ring; in any case this counts as a copy.
    __device__ __forceinline__ void read(u32 place) {
        if (frame < end) {
            if constexpr (WHOLE)
                copy16(ring.words[place][threadIdx.x], next);
            else
                keep_words(ring.words[place][threadIdx.x], load_words<false>(next, n));
        }
        next += stride;
        frame++;
        end_copies();
    }
};
