// Sparse rows in memory: writing what a block has found in a job.
#pragma once

#include "found.cuh"
#include "look_back.cuh"

struct Rows {
    i64* pointers;
    i32* column;
    i16* value;
    u32 rows, columns, capacity;

    __device__ __forceinline__ i64* pointers_of(u32 frame) const {
        return pointers + static_cast<u64>(frame) * (rows + 1);
    }

    __device__ __forceinline__ void put(u32 frame, u32 to, u32 at_column, i32 of_value) const {
        const u64 at = static_cast<u64>(frame) * capacity + to;
        column[at] = static_cast<i32>(at_column);
        value[at] = static_cast<i16>(of_value);
    }
};

// Pixels of a job that are put into their order at once, in the memory of the block.
#ifndef STAGED
#define STAGED 1024
#endif

// Where the pixels of a job go.
struct Placed {
    u32 to[WARPS][ITEMS];                       // of a warp in an item: its first in the job, less its place in `kept`
    u32 before[ITEMS];                          // pixels of the frame in the items before
    u32 first[(SINGLE ? 1 : MOST_FRAMES) + 1];  // pixels of the job in the frames before
    u32 bases[SINGLE ? 1 : MOST_FRAMES];        // pixels of the frame in the jobs before
    u32 staged[STAGED];                         // a value, above it the pixel from the job's first tile on
};

static_assert(MOST_TILES * TILE <= 1 << (32 - PLACE_SHIFT), "a pixel of the job has 17 bits");
static_assert(MOST_TILES * TILE < ONE_JOB / JOBS_A_GROUP, "the sum of a group has 24 bits");

// Find the pixels of a warp in an item again and write them, from `to` on, with the pointers to rows that begin there.
__device__ __forceinline__ void write_again(const Rows& rows, const u16* words_of_frame, const Constants& constants,
                                            u32 frame, u32 to, u32 segment) {
    const u32 lane = threadIdx.x % LANES, at = segment + lane * GROUP, n = pixels_from(at, constants.count, GROUP);
    const Words words = load_words<false>(words_of_frame + at, n);
    i32 values[GROUP];
    u32 hits = 0, total;
    const Words limits = load_constants(constants.limits, at, constants.count, NOT_MET);
    const u32 each[4] = {candidates(words, limits)}, bits = in_bytes(each);
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        values[i] = bits >> i & 1 ? value_of(constants, word_of(words, i), at + i) : INVALID;
        hits |= (values[i] != INVALID ? 1u : 0u) << i;
    }
    to += sum_below(__popc(hits), lane, total);
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        const u32 row = (at + i) / rows.columns, column = at + i - row * rows.columns;
        if (i < n && column == 0) rows.pointers_of(frame)[row] = to;
        if (!(hits >> i & 1)) continue;
        if (to < rows.capacity) rows.put(frame, to, column, values[i]);
        to++;
    }
}

// What the block has found in a job, on its way to memory.
struct Writer {
    const Frames& of;
    const Job& job;
    const Rows& rows;
    Found& found;
    Placed& placed;
    const u32* kept;  // of this warp
    u32 lane, warp;

    __device__ __forceinline__ u32 items() const { return job.units * TOGETHER; }
    __device__ __forceinline__ u32 frames() const { return SINGLE ? 1 : of.frames; }

    // Note where among those that are kept the pixels of each item of this warp begin. How many are kept, and whether
    // there are more.
    __device__ __forceinline__ u32 note_starts(bool& rest) const {
        constexpr u32 EACH = (ITEMS + LANES - 1) / LANES;  // items of a lane, in a row
        const u32 each = (items() + LANES - 1) / LANES, first = lane * each;
        u32 states[EACH], sum = 0, all, end = ALL_LANES;
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            states[i] = i < each && first + i < items() ? found.pixels[warp][first + i] : 0;
            if (!(states[i] & NOT_KEPT)) sum += states[i];
        }
        u32 at = sum_below(sum, lane, all);
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u32 n = states[i];
            const u32 start = at;
            if (!(n & NOT_KEPT)) at += n;
            if (n && !(n & NOT_KEPT) && at > MOST_KEPT) {
                n |= NOT_KEPT;
                end = min(end, start);
            }
            if (i < each && first + i < items()) found.pixels[warp][first + i] = n | start << START_SHIFT;
            rest = rest || (n & NOT_KEPT);
        }
        rest = __ballot_sync(ALL_LANES, rest) != 0;
        return min(all, __reduce_min_sync(ALL_LANES, end));
    }

    // Add up what all warps have found, and publish it.
    __device__ __forceinline__ void publish(const Sums& sums) const {
        for (u32 item = threadIdx.x; item < items(); item += THREADS) {
            u32 sum = 0;
#pragma unroll
            for (u32 w = 0; w < WARPS; w++) {
                placed.to[w][item] = sum;
                sum += found.pixels[w][item] & MOST_PIXELS;
            }
            placed.before[item] = sum;
        }
        __syncthreads();
        if (warp == 0) {
            u32 all = 0, here;
            if (SINGLE) {
                for (u32 first = 0; first < items(); first += LANES, all += here) {
                    const u32 item = first + lane, n = item < items() ? placed.before[item] : 0;
                    const u32 before = all + sum_below(n, lane, here);
                    if (item < items()) placed.before[item] = before;
                }
                if (lane == 0) sums.publish(0, job.number, all);
                if (lane == 0) placed.first[0] = 0;
            } else {
                const u32 turn = of.units_a_tile * TOGETHER, begin = found.units[0].frame;
                for (u32 first = 0; first < of.frames; first += LANES, all += here) {
                    const u32 frame = first + lane;
                    u32 sum = 0;
                    if (frame < of.frames) {
                        for (u32 i = frame < begin ? frame + turn - begin : frame - begin; i < items(); i += turn) {
                            const u32 n = placed.before[i];
                            placed.before[i] = sum;
                            sum += n;
                        }
                        sums.publish(frame, job.number, sum);
                    }
                    const u32 at = all + sum_below(sum, lane, here);
                    if (frame < of.frames) placed.first[frame] = at;
                }
            }
            if (lane == 0) placed.first[frames()] = all;
        }
    }

    // Know where the pixels of this warp are staged.
    __device__ __forceinline__ void place() const {
#pragma unroll 1
        for (u32 item = lane; item < items(); item += LANES) {
            const u32 frame = found.units[item / TOGETHER].frame_of(item % TOGETHER);
            if (SINGLE || frame < of.frames)
                placed.to[warp][item] += placed.first[frame] + placed.before[item] - start_of(found.pixels[warp][item]);
        }
        __syncwarp();
    }

    // Stage those of the pixels of this warp that come into the memory from pixel `from` of the job on.
    __device__ __forceinline__ void stage(u32 n_kept, u32 from) const {
        constexpr u32 AT_ONCE = 8;
#pragma unroll 1
        for (u32 first = lane; first < n_kept; first += AT_ONCE * LANES) {
            u32 pixel[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++)
                if (first + i * LANES < n_kept) pixel[i] = kept[first + i * LANES];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++) {
                const u32 at = first + i * LANES;
                if (at >= n_kept) continue;
                const u32 item = kept_item(pixel[i]), to = placed.to[warp][item] + at - from;
                const u32 segment = found.units[item / TOGETHER].segment(item % TOGETHER, warp);
                const u32 place = segment - found.units[0].tile * TILE + kept_place(pixel[i]);
                if (to < STAGED) placed.staged[to] = kept_value(pixel[i]) | place << PLACE_SHIFT;
            }
        }
    }

    // Write what is staged, from pixel `from` of the job on; in the places of what is not kept, anything.
    __device__ __forceinline__ void write(u32 from) const {
        const u32 column = found.units[0].tile * TILE % rows.columns;
#pragma unroll 1
        for (u32 frame = SINGLE ? 0 : warp; frame < frames(); frame += WARPS) {
            const u32 first = placed.first[frame], end = min(placed.first[frame + 1], from + STAGED);
            const u32 base = placed.bases[frame] - first;
            i32* columns = rows.column + static_cast<u64>(frame) * rows.capacity;
            i16* values = rows.value + static_cast<u64>(frame) * rows.capacity;
#pragma unroll 2
            for (u32 at = max(first, from) + (SINGLE ? threadIdx.x : lane); at < end; at += SINGLE ? THREADS : LANES) {
                const u32 pixel = placed.staged[at - from], to = base + at;
                if (to >= rows.capacity) continue;
                columns[to] = static_cast<i32>((column + (pixel >> PLACE_SHIFT)) % rows.columns);
                values[to] = static_cast<i16>(kept_value(pixel));
            }
        }
    }

    // Write the pointers to the rows that begin in the items of the job, except for parts of warps that are not kept.
    __device__ __forceinline__ void write_pointers(const u32* all_kept) const {
        for (u32 item = threadIdx.x; item < items(); item += THREADS) {
            const Unit unit = found.units[item / TOGETHER];
            const u32 i = item % TOGETHER, frame = unit.frame_of(i), tile = unit.tile_of(i), pixel = tile * TILE;
            if (i >= unit.items(of)) continue;
            const u32 base = placed.bases[frame] - placed.first[frame], end = min(pixel + TILE, of.count);
            i64* pointers = rows.pointers_of(frame);
#pragma unroll 1
            for (u32 row = (pixel + rows.columns - 1) / rows.columns; row * rows.columns < end; row++) {
                const u32 at = row * rows.columns - pixel, w = at / SEGMENT, place = at % SEGMENT;
                const u32 state = found.pixels[w][item], start = start_of(state);
                if (state & NOT_KEPT) continue;
                u32 before = 0;
                if (place) {
                    const u32* of_warp = all_kept + w * MOST_KEPT + start;
                    while (before < (state & MOST_PIXELS) && kept_place(of_warp[before]) < place) before++;
                }
                pointers[row] = base + placed.to[w][item] + start + before;
            }
            if (end == of.count) {
                const u32 state = found.pixels[WARPS - 1][item];
                pointers[rows.rows] = base + placed.to[WARPS - 1][item] + start_of(state) + (state & MOST_PIXELS);
            }
        }
    }

    // Find the pixels of this warp that are not kept again, and write them, in the places of what was written there.
    __device__ __forceinline__ void write_rest(const Constants& constants) const {
#pragma unroll 1
        for (u32 item = 0; item < items(); item++) {
            const u32 state = found.pixels[warp][item];
            if (!(state & NOT_KEPT)) continue;
            const Unit unit = found.units[item / TOGETHER];
            const u32 i = item % TOGETHER, frame = unit.frame_of(i);
            const u32 to = placed.bases[frame] - placed.first[frame] + placed.to[warp][item] + start_of(state);
            write_again(rows, of.raw + frame * of.stride, constants, frame, to, unit.segment(i, warp));
        }
    }
};
