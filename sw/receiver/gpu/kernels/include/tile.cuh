// A tile of an image, kept by a block with what is around it as bytes: the sums of a ring are then a matter of few
// instructions. Values that are no bytes are marked, and looked up in the image.
#pragma once

#include "candidates.cuh"

// Candidates of a tile from which on it is kept.
#ifndef IN_TILE
#define IN_TILE 16
#endif

constexpr u32 GROUP = 8;  // values of a thread in a row
constexpr u32 VECTORS = 4;
constexpr u32 TILE_COLUMNS = LANES * GROUP, TILE_ROWS = WARPS * VECTORS;
static_assert(TILE_COLUMNS * TILE_ROWS <= 1u << 16, "a place in a tile has 16 bits");

constexpr bool TILED = OUTER <= GROUP;   // else rings are too large
constexpr u32 EDGE = TILED ? OUTER : 0;  // rows that are kept above and below
constexpr u32 KEPT_ROWS = TILE_ROWS + 2 * EDGE;
constexpr u32 KEPT_GROUPS = LANES + 2;              // of a row: one more on each side
constexpr u32 PITCH = KEPT_GROUPS * GROUP / 4 + 1;  // words; odd, so that the words of a column are in many banks
constexpr u32 ROW_WORDS = (RING_SIDE + 3 + 3) / 4;  // that a row of a ring may be in

struct Values {
    u32 pair[GROUP / 2];
};

struct Tile {
    u32 row, column;  // of its first pixel
    bool aligned;
};

// GROUP values, from a column of a row of the tile on; what the image does not have is 0.
ON_GPU Values load(const Frame& frame, const Tile& tile, u32 row, u32 column) {
    const u32 at_row = tile.row + row, at_column = tile.column + column;  // beyond the image also where it is before
    if (at_row >= frame.of->rows || at_column >= frame.columns) return {};
    const i16* values = frame.image + static_cast<u64>(at_row) * frame.columns + at_column;
    if (tile.aligned) {
        const uint4 v = *reinterpret_cast<const uint4*>(values);
        return {{v.x, v.y, v.z, v.w}};
    }
    Values all = {};
    for (u32 i = 0; i < GROUP && at_column + i < frame.columns; i++)
        all.pair[i / 2] |= static_cast<u32>(static_cast<u16>(values[i])) << (i % 2 * 16);
    return all;
}

// What a block keeps of a tile.
struct KeptTile {
    u32 words[KEPT_ROWS][PITCH];
    u32 ring_bytes[4][2][ROW_WORDS];  // for every byte at which a ring may begin
};

ON_GPU KeptTile& kept_tile() {
    __shared__ KeptTile kept;
    return kept;
}

// Keep GROUP values as bytes; `row` and `group` count what is kept around the tile too.
ON_GPU void keep(const Frame& frame, const Tile& tile, u32 row, u32 group, const Values& values) {
    u32 words[2] = {narrowed(values.pair[0], values.pair[1]), narrowed(values.pair[2], values.pair[3])};
    if (WITH_MASK) {
        const u32 at_row = tile.row + row - EDGE, at_column = tile.column + (group - 1) * GROUP;
        for (u32 i = 0; i < GROUP; i++)
            if (at_row < frame.of->rows && at_column + i < frame.columns &&
                !frame.usable(place_of(at_row, at_column + i)))
                words[i / 4] |= 0x80u << i % 4 * 8;
    }
    u32* to = kept_tile().words[row] + group * (GROUP / 4);
    to[0] = words[0];
    to[1] = words[1];
}

// Keep a tile, of which every thread has its values; all threads of the block together, before a barrier.
ON_GPU void keep_tile(const Frame& frame, const Tile& tile, const Values* values) {
    constexpr u32 ABOVE = 2 * EDGE * KEPT_GROUPS, ALL = ABOVE + TILE_ROWS * 2;
    const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
#pragma unroll
    for (u32 i = 0; i < VECTORS; i++) keep(frame, tile, EDGE + i * WARPS + warp, 1 + lane, values[i]);
    for (u32 i = threadIdx.x; i < ALL; i += THREADS) {
        const u32 side = i - ABOVE;
        u32 row = i / KEPT_GROUPS, group = i % KEPT_GROUPS;
        if (i >= ABOVE) {
            row = EDGE + side / 2;
            group = side % 2 * (KEPT_GROUPS - 1);
        } else if (row >= EDGE) {
            row += TILE_ROWS;
        }
        keep(frame, tile, row, group, load(frame, tile, row - EDGE, (group - 1) * GROUP));
    }
    for (u32 i = threadIdx.x; i < 4 * 2 * ROW_WORDS; i += THREADS) {
        const u32 word = i % ROW_WORDS, beside = i / ROW_WORDS % 2, shift = i / ROW_WORDS / 2;
        kept_tile().ring_bytes[shift][beside][word] =
            ring_bytes(static_cast<i32>(word), static_cast<i32>(shift), beside != 0);
    }
}

ON_GPU bool is_beside(u32 row) { return row >= RING_WIDTH && row < RING_WIDTH + HOLE_SIDE; }

// Put right what was summed up for the bytes of a ring that are marked.
ON_GPU void mend(const Frame& frame, const Tile& tile, u32 row, u32 first, Sums& sums) {
    const KeptTile& kept = kept_tile();
#pragma unroll 1
    for (u32 i = 0; i < RING_SIDE * ROW_WORDS; i++) {
        const u32 down = i / ROW_WORDS, k = i % ROW_WORDS, at = first / 4 + k;
        const u32 word = kept.words[row + down][at] & kept.ring_bytes[first % 4][is_beside(down)][k];
        for (u32 odd = word & ODD_BYTES; odd; odd &= odd - 1) {
            const u32 byte = lowest(odd) / 8, counted = word >> 8 * byte & 0xFF;
            const u32 place = place_of(tile.row + row + down - EDGE, tile.column + 4 * at + byte - GROUP);
            const i32 v = frame.value(place);
            sums.s -= static_cast<i32>(counted);
            sums.q -= counted * counted;
            if (has_value(v) && frame.usable(place)) {
                sums.s += v;
                sums.q += v * v;
            } else {
                sums.n--;
            }
        }
    }
}

// The sums of the ring of a pixel of the tile, which the tile has all pixels of.
ON_GPU Sums tile_sums(const Frame& frame, const Tile& tile, u32 row, u32 column) {
    const KeptTile& kept = kept_tile();
    const u32 first = column + GROUP - OUTER;  // its first byte in a row
    u32 masks[2][ROW_WORDS], any = 0, s = 0, q = 0;
#pragma unroll
    for (u32 k = 0; k < ROW_WORDS; k++) {
        masks[0][k] = kept.ring_bytes[first % 4][0][k];
        masks[1][k] = kept.ring_bytes[first % 4][1][k];
    }
    const u32* words = kept.words[row] + first / 4;
#pragma unroll
    for (u32 down = 0; down < RING_SIDE; down++) {
#pragma unroll
        for (u32 k = 0; k < ROW_WORDS; k++) {
            const u32 word = words[down * PITCH + k] & masks[is_beside(down)][k];
            any |= word;
            s = __dp4a(word, 0x01010101u, s);
            q = __dp4a(word, word, q);
        }
    }
    Sums sums = {RING_PIXELS, static_cast<i32>(s), q};
    if (any & ODD_BYTES) mend(frame, tile, row, first, sums);
    return sums;
}
