// All that is said to the GPU in its own instructions, and the addresses of a block's memory. Nothing else has PTX: so
// the rest of a kernel can be compiled for the host, with another text in the place of this one.
#pragma once

#include "words.cuh"

// How raw words are read: 0 evict first, 1 not into the L1 cache, 3 as usual.
#ifndef LOAD
#define LOAD 0
#endif
#if LOAD == 0
#define LOAD_HOW ".cs"
#elif LOAD == 1
#define LOAD_HOW ".L1::no_allocate"
#else
#define LOAD_HOW ""
#endif

// How results are stored: 0 evict first, 1 as usual.
#ifndef STORE
#define STORE 0
#endif

// 16 bytes of a frame.
__device__ __forceinline__ uint4 load16(const void* from) {
    uint4 v;
    asm volatile("ld.global" LOAD_HOW ".v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

// Begin to read 16 bytes of a frame where `there`: here, and not where they are first used. Else they stay.
__device__ __forceinline__ void fetch_words(u32 (&words)[4], const void* from, bool there) {
    asm volatile("{ .reg .pred there; setp.ne.u32 there, %5, 0; @there ld.global" LOAD_HOW
                 ".v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
                 : "l"(from), "r"(static_cast<u32>(there)));
}

// The same with constants.
__device__ __forceinline__ void fetch_constants(u32 (&words)[4], const void* from, bool there) {
    asm volatile("{ .reg .pred there; setp.ne.u32 there, %5, 0; @there ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
                 : "l"(from), "r"(static_cast<u32>(there)));
}

// 16 bytes of a result.
__device__ __forceinline__ void store16(void* to, uint4 v) {
#if STORE == 0
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
#else  // by name: the compiler makes four of some of these where it may
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
#endif
}

// Begin to read a constant where `there`, else 0: here, and not where it is first used.
__device__ __forceinline__ u32 fetched(const u32* from, bool there) {
    u32 value;
    asm volatile("{ .reg .pred there; setp.ne.u32 there, %2, 0; mov.u32 %0, 0; @there ld.global.nc.u32 %0, [%1]; }"
                 : "=&r"(value)
                 : "l"(from), "r"(static_cast<u32>(there)));
    return value;
}

__device__ __forceinline__ float fetched(const float* from, bool there) {
    float value;
    asm volatile(
        "{ .reg .pred there; setp.ne.u32 there, %2, 0; mov.f32 %0, 0f00000000; @there ld.global.nc.f32 %0, [%1]; }"
        : "=&f"(value)
        : "l"(from), "r"(static_cast<u32>(there)));
    return value;
}

__device__ __forceinline__ double fetched(const double* from, bool there) {
    double value;
    asm volatile(
        "{ .reg .pred there; setp.ne.u32 there, %2, 0; mov.f64 %0, 0d0000000000000000; @there ld.global.nc.f64 %0, "
        "[%1]; }"
        : "=&d"(value)
        : "l"(from), "r"(static_cast<u32>(there)));
    return value;
}

// The same with a word of the host, which it may have written since the launch before.
__device__ __forceinline__ u32 fetched_from_host(const u32* from, bool there) {
    u32 value;
    asm volatile(
        "{ .reg .pred there; setp.ne.u32 there, %2, 0; mov.u32 %0, 0; @there ld.relaxed.sys.global.u32 %0, [%1]; }"
        : "=&r"(value)
        : "l"(from), "r"(static_cast<u32>(there)));
    return value;
}

// What another block may be changing.
__device__ __forceinline__ u32 now(const u32* where) {
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(where) : "memory");
    return value;
}

// Let launches behind this one begin that may overlap it (see `GpuKernels`), as soon as all blocks have said so.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Wait for the end of all launches before, where this one overlaps them.
__device__ __forceinline__ void wait_for_launches() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Make a number here, and not anew wherever it is used.
__device__ __forceinline__ void made_once(u32& number) { asm volatile("" : "+r"(number)); }

__device__ __forceinline__ u32 shared_address_anew(const void* of) {
    return static_cast<u32>(__cvta_generic_to_shared(of));
}

// An address in the memory of the block; in a register from here on, since it takes instructions to make.
__device__ __forceinline__ u32 shared_address(const void* of) {
    u32 address = shared_address_anew(of);
    made_once(address);
    return address;
}

// Memory of the block as 16 bytes: what is read or written there as something else is so before, or after.
__device__ __forceinline__ void keep16(u32 to, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ void keep16(void* to, uint4 v) { keep16(shared_address_anew(to), v); }

__device__ __forceinline__ uint4 kept16(u32 from) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(from)
                 : "memory");
    return v;
}

__device__ __forceinline__ uint4 kept16(const void* from) { return kept16(shared_address_anew(from)); }

// A word in the memory of the block.
__device__ __forceinline__ u32 kept_word(u32 from) {
    u16 word;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(word) : "r"(from) : "memory");
    return word;
}

// A policy of the L2 cache.
__device__ __forceinline__ u64 first_out() {
    u64 policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// Begin to copy 16 bytes of a frame to the memory of the block.
__device__ __forceinline__ void copy16(u32 to, const void* from) {
#if LOAD == 3
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#else
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "l"(first_out())
                 : "memory");
#endif
}

__device__ __forceinline__ void copy16(void* to, const void* from) { copy16(shared_address_anew(to), from); }

// The same with constants, which other blocks read as well.
__device__ __forceinline__ void copy_constants(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address_anew(to)), "l"(from) : "memory");
}

__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait for all copies of this thread but those before the newest PENDING calls of end_copies.
template <u32 PENDING>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// The lanes below this one, a bit each.
__device__ __forceinline__ u32 lanes_below() {
    u32 mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

// All ones in each half whose high bit is set.
__device__ __forceinline__ u32 signs_of(u32 bits) {
    u32 halves;
    asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(halves) : "r"(bits));
    return halves;
}

// Two numbers as signed halves, clipped.
__device__ __forceinline__ u32 as_halves(i32 low, i32 high) {
    u32 both;
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(both) : "r"(high), "r"(low));
    return both;
}

// The larger, and the smaller, of two signed numbers in each half.
__device__ __forceinline__ u32 larger_halves(u32 a, u32 b) {
#if __CUDA_ARCH__ >= 900
    u32 d;
    asm("max.s16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
#else
    return __vmaxs2(a, b);
#endif
}

__device__ __forceinline__ u32 smaller_halves(u32 a, u32 b) {
#if __CUDA_ARCH__ >= 900
    u32 d;
    asm("min.s16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
#else
    return __vmins2(a, b);
#endif
}

// All ones in each half whose word is not below the limit, both without their highest bits: as float16, which have the
// order of their bits; and NaN, as which words of G1 and G2 may come, is unordered, and counts.
__device__ __forceinline__ u32 reached(u32 words, u32 limits) {
    u32 halves;
    asm("{ .reg .b32 low; abs.f16x2 low, %1; set.geu.u32.f16x2 %0, low, %2; }"
        : "=r"(halves)
        : "r"(words), "r"(limits));
    return halves;
}
