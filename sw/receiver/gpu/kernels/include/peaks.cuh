// What a bright pixel is, in the integers of models/peaks/peak_finder.py: arithmetic that a C++ compiler for the host
// takes too. Values are int16; their codes are outside of -MAX_VALUE .. MAX_VALUE.
#pragma once

#include "words.cuh"

// Half the side of a ring, and of the square in it that is left out.
#ifndef OUTER
#define OUTER 6
#endif
#ifndef INNER
#define INNER 2
#endif

constexpr u32 RING_SIDE = 2 * OUTER + 1, HOLE_SIDE = 2 * INNER + 1, RING_WIDTH = OUTER - INNER;
constexpr u32 RING_PIXELS = RING_SIDE * RING_SIDE - HOLE_SIDE * HOLE_SIDE;
constexpr u32 RING_END = RING_WIDTH * RING_SIDE;  // pixels of the rows above the hole, and of those below it
constexpr u32 NEAREST = 4;                        // neighbours of a pixel that come before it

struct Step {
    i32 down, right;
};

// From a pixel to number `i` of its ring, in the order of rows.
WORDS Step ring_step(u32 i) {
    u32 row = i / RING_SIDE, column = i % RING_SIDE;
    if (i >= RING_PIXELS - RING_END) {
        const u32 below = i - (RING_PIXELS - RING_END);
        row = RING_WIDTH + HOLE_SIDE + below / RING_SIDE;
        column = below % RING_SIDE;
    } else if (i >= RING_END) {
        const u32 beside = i - RING_END;
        row = RING_WIDTH + beside / (2 * RING_WIDTH);
        column = beside % (2 * RING_WIDTH);
        if (column >= RING_WIDTH) column += HOLE_SIDE;
    }
    return {static_cast<i32>(row) - OUTER, static_cast<i32>(column) - OUTER};
}

// To the left, and to the three above.
WORDS Step neighbour_step(u32 i) { return i == 0 ? Step{0, -1} : Step{-1, static_cast<i32>(i) - 2}; }

WORDS bool has_value(i32 v) { return v >= -MAX_VALUE && v <= MAX_VALUE; }

// Two values: the high bit of each half whose value is from `least` to MAX_VALUE. `least_pair` is `least`, 1 to
// MAX_VALUE, in both halves.
WORDS u32 reaching(u32 pair, u32 least_pair) {
    const u32 enough = (pair | 0x80008000) - least_pair;  // of a number that is not negative
    const u32 code = (pair & 0x7FFF7FFF) + (0x7FFF - MAX_VALUE) * 0x10001;
    return enough & ~pair & ~code & 0x80008000;
}

// Those of 8 values in one number: bit i for the lower, bit 16 + i for the upper half of pair i.
WORDS u32 reaching(const u32* pairs, u32 least_pair) {
    return reaching(pairs[0], least_pair) >> 15 | reaching(pairs[1], least_pair) >> 14 |
           reaching(pairs[2], least_pair) >> 13 | reaching(pairs[3], least_pair) >> 12;
}

// Two values as bytes 0 and 2: the low 7 bits, and the high bit where the value is not 0 to 127.
WORDS u32 narrowed(u32 pair) {
    const u32 rest = pair & 0xFF80FF80;
    const u32 odd = (((rest & 0x7FFF7FFF) + 0x7FFF7FFF) | rest) & 0x80008000;
    return (pair & 0x007F007F) | odd >> 8;
}

// Four values as bytes, of two pairs.
WORDS u32 narrowed(u32 first, u32 second) {
    const u32 a = narrowed(first), b = narrowed(second);
    return (a & 0xFF) | (a >> 8 & 0xFF00) | (b << 16 & 0xFF0000) | (b << 8 & 0xFF000000);
}
constexpr u32 ODD_BYTES = 0x80808080;

// The bytes of a word from number `n` on.
WORDS u32 bytes_from(i32 n) { return n <= 0 ? 0xFFFFFFFF : n >= 4 ? 0 : 0xFFFFFFFF << 8 * n; }

// The bytes of a ring in word `k` of a row, where the ring begins at byte `shift` of the first: in a row above or below
// the hole, or beside it.
WORDS u32 ring_bytes(i32 k, i32 shift, bool beside) {
    const i32 first = shift - 4 * k, hole = first + OUTER - INNER;
    const u32 whole = bytes_from(first) & ~bytes_from(first + static_cast<i32>(RING_SIDE));
    return beside ? whole & ~(bytes_from(hole) & ~bytes_from(hole + static_cast<i32>(HOLE_SIDE))) : whole;
}

// Number, sum, and sum of squares of the values in a ring: n, s, q of the model.
struct alignas(16) Sums {
    u32 n;
    i32 s;
    i64 q;
};

// Whether a value stands out of its ring. `PeakSettings` has seen to it that all fits 64 bits.
WORDS bool stands_out(Sums ring, i64 v, i64 min_ring, i64 snr_steps) {
    const i64 n = ring.n, s = ring.s, d = n * v - s;
    return n >= min_ring && d > 0 && 64 * d * d > snr_steps * snr_steps * (n * ring.q - s * s);
}

// The weight of a value in the centroid of a peak.
WORDS i64 weight_of(Sums ring, i64 v) {
    const i64 w = static_cast<i64>(ring.n) * v - ring.s;
    return w > 0 ? w : 0;
}

// A place in an image: its row above its column, so that places are ordered as rows are.
WORDS u32 place_of(u32 row, u32 column) { return row << 16 | column; }
WORDS u32 row_of(u32 place) { return place >> 16; }
WORDS u32 column_of(u32 place) { return place & 0xFFFF; }

// Of two pixels the brighter one is the larger number; of equals the first.
WORDS u64 brightness(i32 v, u32 place) { return static_cast<u64>(v) << 32 | (0xFFFFFFFF - place); }
WORDS i32 value_of(u64 brightness) { return static_cast<i32>(brightness >> 32); }
WORDS u32 place_of(u64 brightness) { return 0xFFFFFFFF - static_cast<u32>(brightness); }

WORDS u32 bits_set(u32 bits) {
#ifdef __CUDACC__
    return static_cast<u32>(__popc(bits));
#else
    return static_cast<u32>(__builtin_popcount(bits));
#endif
}

// How many bits of a row of them are set, from `first` to before `end`.
WORDS u32 bits_between(const u32* row, u32 first, u32 end) {
    u32 sum = 0;
    for (u32 word = first / 32; word * 32 < end; word++) {
        u32 bits = row[word];
        if (word == first / 32) bits &= 0xFFFFFFFF << first % 32;
        if (word == end / 32) bits &= (1u << end % 32) - 1;
        sum += bits_set(bits);
    }
    return sum;
}
