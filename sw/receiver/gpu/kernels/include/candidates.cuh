// What the kernels of the peak finder share: their memory, and how a pixel is looked at.
//
// A candidate is a usable pixel of a panel with a value from `least` on: only such a pixel can be bright. Every frame
// has a list of its candidates, in no order. `index` says which one a pixel is; it is never cleared, since the image
// itself says whether a pixel is a candidate at all.
#pragma once

#include "peaks.cuh"

#ifndef THREADS
#define THREADS 256
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
// Whether pixels are masked, beside those whose value is a code.
#ifndef WITH_MASK
#define WITH_MASK 0
#endif

// Threads that run together, of a warp.
#ifndef WARP_THREADS
#define WARP_THREADS 32
#endif

#define ON_GPU __device__ __forceinline__
constexpr u32 LANES = WARP_THREADS;
constexpr u32 ALL_LANES = 0xFFFFFFFF >> (32 - LANES);
constexpr u32 WARPS = THREADS / LANES;
constexpr u32 NO_PANEL = 0xFFFFFFFF;

// What a candidate is, beside the number of its panel. EVER_BRIGHT: in some round, and in the list `bright`. TOUCHED: a
// pixel of its ring has become bright, or is so no more, and it is in the list `touched`.
enum Flag : u32 { BRIGHT = 1, EVER_BRIGHT = 2, TOUCHED = 4 };

struct alignas(8) Candidate {
    u32 place, flags;
};

// Pixels that are connected, at one of them: the candidate `parent` is nearer to the one that stands for all, or is it.
// That one has the sums of all.
struct alignas(16) Group {
    u32 parent;
    u32 pixels, first;  // how many, and the first place
    u32 saturated;
    u64 top;  // `brightness`
    i64 value_sum, weight, weight_row, weight_column;
    i64 unused;
};

// The first and the last pixel of a panel, and the row before its first one among the rows of all panels.
struct alignas(16) Panel {
    u32 first, last;
    u32 rows_before;
    u32 unused;
};

// As PEAK_FIELDS of the model.
enum Field : u32 {
    FRAME,
    PANEL,
    PIXELS,
    MAX_ROW,
    MAX_COLUMN,
    MAX_AT,
    IS_SATURATED,
    VALUE_SUM,
    WEIGHT,
    WEIGHT_ROW,
    WEIGHT_COLUMN,
    RING_N,
    RING_S,
    RING_Q,
    FIELDS
};

// Of a frame, all zero between launches; then two for every round: those that were touched, and those that changed.
// DONE: blocks of a kernel, of which the last one does what comes after all.
enum Counter : u32 { CANDIDATES, EVER_BRIGHTS, DONE, COUNTERS };

// Settings and memory: as `_peak_memory.py` has them.
struct Finder {
    u64 rows, columns, panel_rows, n_counters;
    i64 least, snr_steps, min_ring, min_pixels, max_pixels, limit, rounds;
    const u32* panel_of;  // (pixels): number of its panel; NO_PANEL also for a masked pixel
    const Panel* panels;
    const u32* usable;  // (pixels) bits, with WITH_MASK
    // Of every frame:
    u32* counters;                    // (n_counters)
    u32* index;                       // (pixels): which candidate
    Candidate* candidates;            // (pixels)
    Sums* sums;                       // (pixels): of the rings of candidates, without bright pixels
    Group* groups;                    // (pixels)
    u32 *bright, *touched, *changed;  // (pixels): lists of candidates
    u32* firsts;                      // (rows, (columns + 31) / 32): bits of the first pixels of peaks
    u32* peaks_before;                // (panel_rows): how many are in a row, then how many in all rows before
    i64* table;                       // (limit, FIELDS)
    u32* found;                       // (1)
};

// What a thread knows of one frame.
struct Frame {
    const Finder* of;
    const i16* image;
    u32 number, columns;
    u64 pixels;

    ON_GPU u64 at(u32 place) const { return static_cast<u64>(row_of(place)) * columns + column_of(place); }
    ON_GPU i32 value(u32 place) const { return image[at(place)]; }
    ON_GPU u32* counters() const { return of->counters + number * of->n_counters; }
    ON_GPU u32* touched_in(u32 round) const { return counters() + COUNTERS + 2 * round; }
    ON_GPU u32* changed_in(u32 round) const { return counters() + COUNTERS + 2 * round + 1; }
    ON_GPU u32* index() const { return of->index + number * pixels; }
    ON_GPU Candidate* candidates() const { return of->candidates + number * pixels; }
    ON_GPU Sums* sums() const { return of->sums + number * pixels; }
    ON_GPU Group* groups() const { return of->groups + number * pixels; }
    ON_GPU u32* bright() const { return of->bright + number * pixels; }
    ON_GPU u32* touched() const { return of->touched + number * pixels; }
    ON_GPU u32* changed() const { return of->changed + number * pixels; }
    ON_GPU u32* firsts(u32 row) const {
        const u64 pitch = (columns + 31) / 32;
        return of->firsts + (number * of->rows + row) * pitch;
    }
    ON_GPU u32* peaks_before() const { return of->peaks_before + number * of->panel_rows; }
    ON_GPU i64* table(u32 peak) const { return of->table + (number * static_cast<u64>(of->limit) + peak) * FIELDS; }

    // Whether a pixel of a panel may be looked at.
    ON_GPU bool usable(u32 place) const {
        if (!WITH_MASK) return true;
        const u64 pixel = at(place);
        return of->usable[pixel / 32] >> (pixel % 32) & 1;
    }
};

ON_GPU Frame frame_of(const Finder* finder, const i16* images, i64 stride, u32 number) {
    const u64 pixels = finder->rows * finder->columns;
    return {finder, images + number * stride, number, static_cast<u32>(finder->columns), pixels};
}

// The place a step from another, if the panel has it.
ON_GPU bool step_within(const Panel& panel, u32 place, Step step, u32& there) {
    const u32 row = row_of(place) + static_cast<u32>(step.down),
              column = column_of(place) + static_cast<u32>(step.right);
    there = place_of(row, column);
    return row - row_of(panel.first) <= row_of(panel.last) - row_of(panel.first) &&
           column - column_of(panel.first) <= column_of(panel.last) - column_of(panel.first);
}

// Whether the panel has all pixels of the ring of a place.
ON_GPU bool ring_is_whole(u32 place, const Panel& panel) {
    const u32 row = row_of(place), column = column_of(place);
    return row >= row_of(panel.first) + OUTER && row + OUTER <= row_of(panel.last) &&
           column >= column_of(panel.first) + OUTER && column + OUTER <= column_of(panel.last);
}

ON_GPU u32 panel_number(u32 flags) { return flags >> 3; }
ON_GPU u32 flags_of(u32 panel) { return panel << 3; }

// What another thread may be changing.
ON_GPU u32 now(const u32* where) { return *static_cast<const volatile u32*>(where); }

ON_GPU void add(i64* where, i64 n) { atomicAdd(reinterpret_cast<u64*>(where), static_cast<u64>(n)); }

ON_GPU u32 sum_of_lanes(u32 n) { return __reduce_add_sync(ALL_LANES, n); }
ON_GPU u32 lanes_with(bool condition) { return __ballot_sync(ALL_LANES, condition); }
ON_GPU u32 of_lane(u32 n, u32 lane) { return __shfl_sync(ALL_LANES, n, lane); }
ON_GPU u32 lowest(u32 bits) { return static_cast<u32>(__ffs(static_cast<i32>(bits))) - 1; }

// The sum of this lane's number and those of all lanes before.
ON_GPU u32 sum_to_lane(u32 n, u32 lane) {
#pragma unroll
    for (u32 step = 1; step < LANES; step *= 2) {
        const u32 other = __shfl_up_sync(ALL_LANES, n, step);
        if (lane >= step) n += other;
    }
    return n;
}

// Append the entries of the lanes that have one to a list; `length` counts its entries. All lanes of a warp together.
ON_GPU void append(bool has_one, u32 entry, u32* list, u32* length, u32 lane) {
    const u32 lanes = lanes_with(has_one);
    if (lanes == 0) return;
    u32 first = 0;
    if (lane == lowest(lanes)) first = atomicAdd(length, bits_set(lanes));
    first = of_lane(first, lowest(lanes));
    if (has_one) list[first + bits_set(lanes & ((1u << lane) - 1))] = entry;
}

// Candidates that are bright for the first time: from now on in the list, and each alone in its group.
ON_GPU void list_bright(const Frame& frame, bool is_one, u32 candidate, u32 lane) {
    append(is_one, candidate, frame.bright(), frame.counters() + EVER_BRIGHTS, lane);
    if (is_one) frame.groups()[candidate] = {candidate, 0, 0xFFFFFFFF, 0, 0, 0, 0, 0, 0, 0};
}

// The sum of the numbers of all threads before this one, and of all; the whole block together.
ON_GPU u32 sum_before(u32 n, u32& total) {
    __shared__ u32 of_warp[WARPS];
    const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    const u32 sum = sum_to_lane(n, lane);
    if (lane == LANES - 1) of_warp[warp] = sum;
    __syncthreads();
    u32 before = 0;
    total = 0;
    for (u32 i = 0; i < WARPS; i++) {
        if (i == warp) before = total;
        total += of_warp[i];
    }
    __syncthreads();
    return before + sum - n;
}
