// Sparse rows in memory: writing what a block has found in a job.
#pragma once

#include "found.cuh"

struct Rows {
    i64* pointers;
    i32* column;
    i16* value;
    u32 rows, columns, capacity;
};

// Which column a pixel is in that lies `place` after one of column `start`.
__device__ __forceinline__ u32 column_of(const Rows& rows, u32 start, u32 place) {
    const u32 column = start + place;
    return column < rows.columns ? column : rows.columns >= SEGMENT ? column - rows.columns : column % rows.columns;
}

__device__ __forceinline__ void put(const Rows& rows, u32 frame, u32 to, u32 column, i32 value) {
    if (to >= rows.capacity) return;
    const u64 at = static_cast<u64>(frame) * rows.capacity + to;
    rows.column[at] = static_cast<i32>(column);
    rows.value[at] = static_cast<i16>(value);
}

// Where the pixels of a warp in an item go.
__device__ __forceinline__ u32 start_of(const Found& found, const u32* bases, u32 warp, u32 item) {
    return bases[SINGLE ? 0 : item] + found.before[warp][item];
}

// Write the pointers to the rows that begin in the segments of a warp, of the items of which it has kept all pixels.
__device__ __forceinline__ void write_pointers(const Rows& rows, u32 count, const Job& job, const Found& found,
                                               const u32* bases) {
    const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    u32 segment = job.segment(SINGLE ? lane : 0, warp), end = min(segment + SEGMENT, count);
    const u32 first = (segment + rows.columns - 1) / rows.columns;
    if (first * rows.columns >= end) return;
    for (u32 item = lane; item < job.items; item += LANES) {
        const u32 n = found.pixels[warp][item], base = start_of(found, bases, warp, item);
        if (n > SLOTS) continue;
        i64* to = rows.pointers + static_cast<u64>(job.frame_of(item)) * (rows.rows + 1);
#pragma unroll 1
        for (u32 row = first; row * rows.columns < end; row++) {
            const u32 place = row * rows.columns - segment;
            u32 before = 0;
            for (u32 i = 0; i < n && place; i++) before += found.kept[warp][item][i] < place << PLACE_SHIFT;
            to[row] = base + before;
        }
    }
}

// Write the pixels that a warp has kept, of the items of which it has kept all.
__device__ __forceinline__ void write_kept(const Rows& rows, const Job& job, const Found& found, const u32* bases) {
    const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, n = found.listed[warp];
    u32 start = job.segment(0, warp) % rows.columns;
#pragma unroll 1
    for (u32 i = lane; i < n; i += LANES) {
        const u32 number = found.list[warp][i], item = number / SLOTS;
        if (found.pixels[warp][item] > SLOTS) continue;
        const u32* kept = found.kept[warp][item];
        const u32 mine = kept[number % SLOTS];
        u32 to = start_of(found, bases, warp, item);
#pragma unroll
        for (u32 k = 0; k < SLOTS; k += 4) {
            const uint4 other = kept16(kept + k);
            to += (other.x - mine) >> 31;
            to += (other.y - mine) >> 31;
            to += (other.z - mine) >> 31;
            to += (other.w - mine) >> 31;
        }
        if (SINGLE) start = job.segment(item, warp) % rows.columns;
        put(rows, job.frame_of(item), to, column_of(rows, start, mine >> PLACE_SHIFT), static_cast<i32>(mine & 0xFFFF));
    }
}

// Find the pixels of one item again and write them, from `to` on.
__device__ __forceinline__ void write_again(const Rows& rows, const u16* words_of_frame, const Constants& constants,
                                            u32 frame, u32 to, u32 segment) {
    const u32 lane = threadIdx.x % LANES, at = segment + lane * GROUP, n = pixels_from(at, constants.count, GROUP);
    const Words words = load_words<false>(words_of_frame + at, n);
    i32 values[GROUP];
    u32 hits = 0, total;
    const Words limits = usable_limits(load_constants(constants.limits, at, constants.count, NOT_MET));
    const u32 bits = in_order(candidates(words, limits));
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        values[i] = bits >> i & 1 ? value_of(constants, word_of(words, i), at + i) : INVALID;
        hits |= (values[i] != INVALID ? 1u : 0u) << i;
    }
    to += sum_below(__popc(hits), lane, total);
    const u32 start = segment % rows.columns;
#pragma unroll
    for (u32 i = 0; i < GROUP; i++) {
        if (i < n && (at + i) % rows.columns == 0)
            rows.pointers[static_cast<u64>(frame) * (rows.rows + 1) + (at + i) / rows.columns] = to;
        if (hits >> i & 1) put(rows, frame, to++, column_of(rows, start, lane * GROUP + i), values[i]);
    }
}

// Write the pixels of the items of which a warp has not kept all.
__device__ __forceinline__ void write_rest(const Rows& rows, const Frames& of, const Constants& constants,
                                           const Job& job, const Found& found, const u32* bases) {
    const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
#pragma unroll 1
    for (u32 start = 0; start < job.items; start += LANES) {
        const u32 n = start + lane < job.items ? found.pixels[warp][start + lane] : 0;
#pragma unroll 1
        for (u32 many = __ballot_sync(ALL_LANES, n > SLOTS); many; many &= many - 1) {
            const u32 item = start + lowest(many), frame = job.frame_of(item);
            write_again(rows, of.raw + frame * of.stride, constants, frame, start_of(found, bases, warp, item),
                        job.segment(item, warp));
        }
    }
}
