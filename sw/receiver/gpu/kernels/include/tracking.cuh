// The tracking of the G0 pedestal: the integers of models/pedestal/jf_pedestal.py, a pixel or a chip at a time.
#pragma once

#include "words.cuh"

// Of models/pedestal/jf_pedestal.py, jf_pedestal_settings.py and jf_pedestal_state.py.
constexpr i32 BLOCK_BITS = 5, BLOCK = 1 << BLOCK_BITS;
constexpr i32 ALPHA_BITS = 24, BETA_BITS = 32, INVERSE_BITS = 24;
constexpr i32 LEVEL_BITS = 16, RATE_SHIFT = 16, SHARE_BITS = 16;
constexpr i32 GAINS = 2048;
constexpr i32 CHIP_ALPHA_SHIFT = 1, CHIP_BETA_SHIFT = 3;
constexpr i64 CHIP_STEP = 4LL << LEVEL_BITS;
constexpr i64 TICK_NS = 1 << 20;
constexpr i64 MAX_PAUSE = 60000000000LL / TICK_NS, MAX_AHEAD = 1000000000LL / TICK_NS;
constexpr i64 WEIGHT_AFTER_PAUSE = 16;

// The columns of `TrackerState.chips`.
enum Chip {
    FRAMES,
    CENTRES,
    FIRST,
    LAST,
    TICKS,
    MIDDLE,
    COMMON,
    RATE,
    BLOCKS,
    REFUSED,
    BLANK,
    OUTLIERS,
    RESTARTS,
    CHIP_COLUMNS
};

// The arrays of `TrackerState`, in its order.
struct State {
    i32 *level, *rate;
    u16* weight;
    u8* astray;
    i16 *reference, *limit, *total;
    u8* missed;
    i32* lost_total;
    u8* lost;
    i64* chips;
};

WORDS i64 clip(i64 value, i64 least, i64 most) { return value < least ? least : value > most ? most : value; }
WORDS i32 clip32(i64 value) { return static_cast<i32>(clip(value, -0x80000000LL, 0x7FFFFFFFLL)); }

// Division that rounds down, by a positive number.
WORDS i64 divided(i64 a, i64 b) {
    const i64 quotient = a / b;
    return a % b < 0 ? quotient - 1 : quotient;
}

// A word of a dark frame: whether it can be used, is in the first stage, and by how much it misses.
struct Dark {
    bool usable, low, fits;
    i32 miss;
};

WORDS Dark judged(u32 word, i32 reference, i32 limit, i32 centre, u32 top) {
    Dark dark;
    dark.usable = limit >= 0 && word >> 14 != FORBIDDEN_STAGE && word != ERROR_WORD && word != G1_ZERO_WORD;
    dark.low = limit >= 0 && word < top;
    dark.miss = static_cast<i32>(word) - reference - centre;
    dark.fits = dark.low && dark.miss <= limit && dark.miss >= -limit;
    return dark;
}

// Sum a word of a frame that is taken.
WORDS void taken(const State& s, u32 i, const Dark& dark) {
    if (dark.fits) {
        s.total[i] = static_cast<i16>(s.total[i] + dark.miss);
    } else if (s.limit[i] >= 0) {
        s.missed[i]++;
        if (dark.low) {
            s.lost_total[i] += dark.miss;
            s.lost[i]++;
        }
    }
}

WORDS void frame_taken(i64* chip, i64 tick, i32 centre, i64 outliers) {
    if (chip[FRAMES] == 0) chip[FIRST] = tick;
    chip[OUTLIERS] += outliers;
    chip[FRAMES]++;
    chip[CENTRES] += centre;
    chip[TICKS] += tick - chip[FIRST];
    chip[LAST] = tick;
}

// What an update of a chip needs to know.
struct Update {
    i64 span, middle, elapsed, most_weight;
    i64 z;
};

WORDS Update begin_update(const i64* chip) {
    Update u;
    u.span = chip[LAST] - chip[FIRST];
    u.middle = chip[FIRST] + (chip[TICKS] >> BLOCK_BITS);
    const i64 elapsed = chip[BLOCKS] ? u.middle - chip[MIDDLE] : u.span;
    u.elapsed = clip(elapsed, 1, MAX_PAUSE);
    u.most_weight = elapsed > MAX_PAUSE ? WEIGHT_AFTER_PAUSE : GAINS - 1;
    u.z = 0;
    return u;
}

WORDS i64 taken_of(const State& s, u32 i) { return s.limit[i] >= 0 ? BLOCK - static_cast<i64>(s.missed[i]) : 0; }

WORDS i64 ahead_of(const State& s, u32 i, const Update& u) {
    return clip32(s.level[i] + (s.rate[i] * u.elapsed >> RATE_SHIFT));
}

// By how much a pixel misses its chip's `z`, summed over the block.
WORDS i64 miss_of(const State& s, u32 i, const Update& u) {
    const i64 k = (static_cast<i64>(s.reference[i]) << LEVEL_BITS) - ahead_of(s, i, u) - u.z;
    return (static_cast<i64>(s.total[i]) << LEVEL_BITS) + taken_of(s, i) * k;
}

WORDS void update_chip(i64* chip, const Update& u) {
    const i64 measured = u.z + (chip[CENTRES] << LEVEL_BITS >> BLOCK_BITS);
    if (chip[BLOCKS] == 0) {
        chip[COMMON] = measured;
        return;
    }
    const i64 predicted = chip[COMMON] + (chip[RATE] * u.elapsed >> RATE_SHIFT);
    const i64 miss = measured - predicted;
    const bool second = chip[BLOCKS] == 1;
    const i64 turn = divided(clip(miss, -CHIP_STEP, CHIP_STEP) << RATE_SHIFT, u.elapsed);
    const bool exact = second || miss > CHIP_STEP || miss < -CHIP_STEP;
    chip[COMMON] = exact ? measured : predicted + (miss >> CHIP_ALPHA_SHIFT);
    chip[RATE] = clip32(chip[RATE] + (turn >> (second ? 0 : CHIP_BETA_SHIFT)));
}

// The pedestal of a pixel `passed` ticks after its chip's MIDDLE, in 2**(shift - LEVEL_BITS) ADU.
WORDS i64 pedestal_of(const State& s, u32 i, const i64* chip, i64 passed, i32 shift) {
    const i64 drifted = (s.rate[i] * passed + chip[RATE] * passed) >> RATE_SHIFT;
    return (s.level[i] + chip[COMMON] + drifted + (1LL << shift >> 1)) >> shift;
}

// Make a new pedestal of a full block of a pixel, after its chip's; whether the pixel started anew.
WORDS bool update_pixel(const State& s, u32 i, const i64* chip, const Update& u, const i32* alpha, const i32* beta,
                        i32 restart_blocks) {
    const i64 taken = taken_of(s, i), ahead = ahead_of(s, i, u), inverse = (1LL << INVERSE_BITS) / u.elapsed;
    i64 miss = miss_of(s, i, u);
    const i64 most = taken * (static_cast<i64>(s.limit[i]) << (LEVEL_BITS - 2));
    const bool odd = miss > most || -miss > most || (taken == 0 && s.lost[i] >= BLOCK / 2);
    const u8 astray = odd || taken == 0 ? static_cast<u8>(s.astray[i] + odd) : 0;
    if (odd) miss = 0;
    const i64 weight = clip(s.weight[i], 0, u.most_weight);
    const i64 q = (miss + (BLOCK >> 1)) >> BLOCK_BITS;
    i32 level = clip32(ahead + ((q * alpha[weight] + (1LL << ALPHA_BITS >> 1)) >> ALPHA_BITS));
    const i64 turn = (q * beta[weight] >> (BETA_BITS - RATE_SHIFT)) * inverse;
    i32 rate = clip32(s.rate[i] + ((turn + (1LL << INVERSE_BITS >> 1)) >> INVERSE_BITS));
    const bool good = taken >= BLOCK / 2 && astray == 0;
    const bool anew = astray >= restart_blocks;
    if (anew) {
        const i64 shown = (static_cast<i64>(s.total[i]) + s.lost_total[i]) << LEVEL_BITS;
        const i64 seen = BLOCK - static_cast<i64>(s.missed[i]) + s.lost[i];
        level = clip32((static_cast<i64>(s.reference[i]) << LEVEL_BITS) + divided(shown, seen) - u.z);
        rate = 0;
    }
    s.level[i] = level;
    s.rate[i] = rate;
    s.weight[i] = static_cast<u16>(anew ? 0 : clip(weight + good, 0, GAINS - 1));
    s.astray[i] = anew ? 0 : astray;
    s.reference[i] = static_cast<i16>(
        clip(pedestal_of(s, i, chip, u.span < MAX_AHEAD ? u.span : MAX_AHEAD, LEVEL_BITS), 0, ADC_MASK));
    s.total[i] = 0;
    s.missed[i] = 0;
    s.lost_total[i] = 0;
    s.lost[i] = 0;
    return anew;
}

WORDS void end_update(i64* chip, const Update& u, i64 restarts) {
    chip[RESTARTS] += restarts;
    chip[FRAMES] = chip[CENTRES] = chip[TICKS] = 0;
    chip[BLOCKS]++;
    chip[MIDDLE] = u.middle;
}
