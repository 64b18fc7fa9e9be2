// Tracking of the G0 pedestal from dark frames, by models/pedestal/jf_pedestal.py: one block a chip, frame after frame.
//
//   raw    (frames, rows, columns) u16, `raw_stride` words from frame to frame; `ticks` (frames) i64
//   level to chips   the arrays of `TrackerState`
//   alpha, beta      the tables of gains, i32 (GAINS)

#ifndef THREADS
#define THREADS 1024
#endif

#include "tracking.cuh"

constexpr u32 CHIP = 256;  // rows and columns
constexpr u32 SAMPLE = 8;
constexpr u32 SAMPLES = CHIP * CHIP / SAMPLE / THREADS;  // of a thread
constexpr u32 NO_SAMPLE = 0xFFFFFFFF;
constexpr u32 LANES = 32;

// Sum over the block; every thread gets it. `scratch` is one word a warp.
__device__ __forceinline__ i64 sum_of_all(i64 n, i64* scratch) {
#pragma unroll
    for (u32 step = LANES / 2; step; step /= 2) n += __shfl_down_sync(0xFFFFFFFF, n, step);
    __syncthreads();
    if (threadIdx.x % LANES == 0) scratch[threadIdx.x / LANES] = n;
    __syncthreads();
    i64 sum = 0;
    for (u32 warp = 0; warp < THREADS / LANES; warp++) sum += scratch[warp];
    return sum;
}

// A chip's rectangle in the image.
struct Window {
    u32 row, column, rows, columns, pitch;
    __device__ __forceinline__ u32 pixel(u32 r, u32 c) const { return (row + r) * pitch + column + c; }
};

// The median of the residuals of every 8th pixel, found by halving its range; false where there is none.
__device__ __forceinline__ bool find_centre(const u16* words, const State& s, const Window& w, u32 top, i64* scratch,
                                            i32& centre) {
    u32 sample[SAMPLES];
    i32 n = 0;
#pragma unroll
    for (u32 k = 0; k < SAMPLES; k++) {
        const u32 index = k * THREADS + threadIdx.x, r = index / (CHIP / SAMPLE);
        const u32 c = (SAMPLE - r % SAMPLE) % SAMPLE + index % (CHIP / SAMPLE) * SAMPLE;
        sample[k] = NO_SAMPLE;
        if (r < w.rows && c < w.columns) {
            const u32 i = w.pixel(r, c), word = words[i];
            if (word < top && s.limit[i] >= 0) sample[k] = word + ADC_MASK - s.reference[i];
        }
        n += sample[k] != NO_SAMPLE;
    }
    const i64 samples = sum_of_all(n, scratch);
    if (samples == 0) return false;
    u32 least = 0, most = 2 * ADC_MASK;
    while (least < most) {
        const u32 middle = (least + most) / 2;
        i32 below = 0;
#pragma unroll
        for (u32 k = 0; k < SAMPLES; k++) below += sample[k] <= middle;
        if (sum_of_all(below, scratch) > (samples - 1) / 2)
            most = middle;
        else
            least = middle + 1;
    }
    centre = static_cast<i32>(least) - static_cast<i32>(ADC_MASK);
    return true;
}

template <class Each>
__device__ __forceinline__ void for_pixels(const Window& w, Each each) {
    for (u32 index = threadIdx.x; index < w.rows * CHIP; index += THREADS)
        if (index % CHIP < w.columns) each(w.pixel(index / CHIP, index % CHIP));
}

// Sum one frame of a chip, if it is dark there.
__device__ __forceinline__ void sum_frame(const u16* words, i64 tick, const State& s, i64* chip, const Window& w,
                                          u32 top, i64 share, i64* scratch) {
    i32 centre;
    if (!find_centre(words, s, w, top, scratch, centre)) {
        if (threadIdx.x == 0) chip[BLANK]++;
        return;
    }
    i64 both = 0;  // outliers above usable pixels
    for_pixels(w, [&](u32 i) {
        const Dark dark = judged(words[i], s.reference[i], s.limit[i], centre, top);
        both += (static_cast<i64>(dark.usable && !dark.fits) << 32) + dark.usable;
    });
    both = sum_of_all(both, scratch);
    const i64 outliers = both >> 32, usable = both & 0xFFFFFFFF;
    if (outliers << SHARE_BITS > usable * share) {
        if (threadIdx.x == 0) chip[REFUSED]++;
        return;
    }
    for_pixels(w, [&](u32 i) { taken(s, i, judged(words[i], s.reference[i], s.limit[i], centre, top)); });
    if (threadIdx.x == 0) frame_taken(chip, tick, centre, outliers);
}

// Make new pedestals of a full block of a chip.
__device__ __forceinline__ void update(const State& s, i64* chip, const Window& w, const i32* alpha, const i32* beta,
                                       i32 restart_blocks, i64* scratch) {
    Update u = begin_update(chip);
    i64 misses = 0, all = 0;
    for_pixels(w, [&](u32 i) {
        misses += miss_of(s, i, u);
        all += taken_of(s, i);
    });
    misses = sum_of_all(misses, scratch);
    all = sum_of_all(all, scratch);
    u.z = divided(misses, all);
    __syncthreads();
    if (threadIdx.x == 0) update_chip(chip, u);
    __syncthreads();
    i64 restarts = 0;
    for_pixels(w, [&](u32 i) { restarts += update_pixel(s, i, chip, u, alpha, beta, restart_blocks); });
    restarts = sum_of_all(restarts, scratch);
    if (threadIdx.x == 0) end_update(chip, u, restarts);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    take_dark(const u16* raw, i64 raw_stride, const i64* ticks, u32 frames, u32 rows, u32 columns, i32* level,
              i32* rate, u16* weight, u8* astray, i16* reference, i16* limit, i16* total, u8* missed, i32* lost_total,
              u8* lost, i64* chips, const i32* alpha, const i32* beta, u32 top, i64 share, i32 restart_blocks) {
    __shared__ i64 scratch[THREADS / LANES];
    __shared__ i64 chip[CHIP_COLUMNS];
    const State s = {level, rate, weight, astray, reference, limit, total, missed, lost_total, lost, chips};
    const u32 across = (columns + CHIP - 1) / CHIP;
    const u32 row = blockIdx.x / across * CHIP, column = blockIdx.x % across * CHIP;
    const Window w = {row, column, min(CHIP, rows - row), min(CHIP, columns - column), columns};
    i64* home = chips + blockIdx.x * CHIP_COLUMNS;
    if (threadIdx.x < CHIP_COLUMNS) chip[threadIdx.x] = home[threadIdx.x];
    __syncthreads();
    for (u32 frame = 0; frame < frames; frame++) {
        sum_frame(raw + frame * raw_stride, ticks[frame], s, chip, w, top, share, scratch);
        __syncthreads();
        if (chip[FRAMES] == BLOCK) update(s, chip, w, alpha, beta, restart_blocks, scratch);
        __syncthreads();
    }
    if (threadIdx.x < CHIP_COLUMNS) home[threadIdx.x] = chip[threadIdx.x];
}

// A pixel's pedestal at `tick` in 2**(shift - LEVEL_BITS) ADU.
__device__ __forceinline__ u16 published(const i32* level, const i32* rate, const i64* chips, i64 tick, i32 shift,
                                         u32 i, u32 columns) {
    State s = {};
    s.level = const_cast<i32*>(level);
    s.rate = const_cast<i32*>(rate);
    const u32 across = (columns + CHIP - 1) / CHIP, row = i / columns;
    const i64* chip = chips + (row / CHIP * across + (i - row * columns) / CHIP) * CHIP_COLUMNS;
    const i64 passed = clip(tick - chip[MIDDLE], 0, MAX_PAUSE);
    return static_cast<u16>(clip(pedestal_of(s, i, chip, passed, shift), 0, 0xFFFF));
}

// Write the pedestal at `tick`, (rows, columns) u16.
extern "C" __global__ void publish(const i32* level, const i32* rate, const i64* chips, i64 tick, i32 shift, u32 rows,
                                   u32 columns, u16* plane) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) plane[i] = published(level, rate, chips, tick, shift, i, columns);
}

// What is known of the pedestals that were written last, in words; NOW: whether they are written anew, for AT.
enum Due : u32 { THEN_BLOCKS, WRITTEN, AT, NOW };

// Whether pedestals are due after frames at `ticks`: as `PedestalTracker.take` and `write_quarters`. A chip that drifts
// by 1 in RATE_BITS has half of what makes them due after `half_due` ticks; `most` is the longest half. One warp.
extern "C" __global__ void decide(const i64* chips, u32 n, const i64* ticks, u32 frames, i64 half_due, i64 most,
                                  i64* due) {
    i64 blocks = 0, fastest = 1;
    for (u32 chip = threadIdx.x; chip < n; chip += LANES) {
        const i64 rate = chips[chip * CHIP_COLUMNS + RATE];
        blocks += chips[chip * CHIP_COLUMNS + BLOCKS];
        fastest = max(fastest, rate < 0 ? -rate : rate);
    }
#pragma unroll
    for (u32 step = LANES / 2; step; step /= 2) {
        blocks += __shfl_down_sync(0xFFFFFFFF, blocks, step);
        fastest = max(fastest, __shfl_down_sync(0xFFFFFFFF, fastest, step));
    }
    if (threadIdx.x != 0) return;
    due[NOW] = 0;
    if (frames == 0) return;
    const i64 tick = ticks[frames - 1], half = min(half_due / fastest, most);
    if (blocks == due[THEN_BLOCKS] && tick - due[WRITTEN] < 2 * half) return;
    due[THEN_BLOCKS] = blocks;
    due[WRITTEN] = tick;
    due[AT] = tick + half;
    due[NOW] = 1;
}

// Write the pedestal where it is due.
extern "C" __global__ void publish_due(const i32* level, const i32* rate, const i64* chips, const i64* due, i32 shift,
                                       u32 rows, u32 columns, u16* plane) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (due[NOW] && i < rows * columns) plane[i] = published(level, rate, chips, due[AT], shift, i, columns);
}
