// What one JUNGFRAU word becomes: the integers and codes of models/jungfrau/jf_correct.py, the float32 operations of
// sw/receiver/pipeline/correction.py. Plain arithmetic, which a C++ compiler for the host takes too.
#pragma once

#ifdef __CUDACC__
#define WORDS __device__ __forceinline__
#else
#define WORDS inline
#endif

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i16 = short;
using i32 = int;
using i64 = long long;

constexpr u32 ADC_MASK = 0x3FFF;
constexpr u32 NOT_G0 = 0x4000;  // the smallest word that is not in G0
constexpr u32 G1_ZERO_WORD = 0x4000;
constexpr u32 HOLE_WORD = 0x8000;
constexpr u32 SATURATED_WORD = 0xC000;
constexpr u32 ERROR_WORD = 0xFFFF;
constexpr u32 FORBIDDEN_STAGE = 2;
constexpr i32 MAX_VALUE = 32700;

enum Code : i32 { HOLE = -32768, MASKED = -32767, INVALID = -32766, SATURATED = 32767 };

// Gain stage: 0 for G0 or HG0, 1 for G1, 2 for G2 (and for the gain code that never occurs).
WORDS u32 stage_of(u32 word) { return word < NOT_G0 ? 0 : word < 2 * NOT_G0 ? 1 : 2; }

// 0 for a word that has a value, else its code. `usable`: whether the pixel is, in the word's stage. `special`: the
// smallest word that is not just one of G0 with a value, 0x3FFF with HG0, else 0x4000.
WORDS i32 code_of(u32 word, bool usable, u32 special) {
    if (word == HOLE_WORD) return HOLE;
    if (word >> 14 == FORBIDDEN_STAGE || word == ERROR_WORD || word == G1_ZERO_WORD) return INVALID;
    if (!usable) return MASKED;
    if (word == SATURATED_WORD || (word >= special && word < NOT_G0)) return SATURATED;
    return 0;
}

// Correct any word with the constants of its stage (jf_correct.py: d, p, r, q).
WORDS i32 corrected(u32 word, u32 pedestal, u32 mantissa, u32 shift, u32 special) {
    const i32 code = code_of(word, mantissa != 0, special);
    if (code) return code;
    const i32 quarters = static_cast<i32>((word & ADC_MASK) << 2), ped = static_cast<i32>(pedestal);
    const i64 charge = word < NOT_G0 ? quarters - ped : ped - quarters;
    const i64 value = (charge * static_cast<i64>(mantissa) + (1LL << shift >> 1)) >> shift;
    return static_cast<i32>(value < -MAX_VALUE ? -MAX_VALUE : value > MAX_VALUE ? MAX_VALUE : value);
}

// A number shifted to the right; what is left fits 32 bits, `shift` is 1 to 31.
WORDS i32 shifted(i64 r, u32 shift) {
#ifdef __CUDACC__
    return static_cast<i32>(__funnelshift_r(static_cast<u32>(r), static_cast<u32>(r >> 32), shift));
#else
    return static_cast<i32>(r >> shift);
#endif
}

// a * b + c, signed.
WORDS i64 multiplied(i32 a, i32 b, i64 c) {
#ifdef __CUDACC__
    i64 r;
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(r) : "r"(a), "r"(b), "l"(c));
    return r;
#else
    return static_cast<i64>(a) * b + c;
#endif
}

// The value of a word of G0 before it is clipped. `shift` is 1 to 31: the host has made 1 of a shift of 0, with
// mantissas doubled (`_correct_int16.arrange`). Any other word: any value.
WORDS i32 g0_value(u32 word, u32 pedestal, u32 mantissa, u32 shift) {
    const i32 charge = static_cast<i32>(4 * word - pedestal);
    return shifted(multiplied(charge, static_cast<i32>(mantissa), 1LL << (shift - 1)), shift);
}

// The same for many words: constants of a pixel, scaled so that one multiplication has the value in its upper half.
// With a small `shift` the constants have no room for all of that: then words are shifted to the left by `word_shift`.
struct G0 {
    u32 by;
    u64 from;
};

constexpr u32 LARGE_SHIFT = 18, SMALL_WORD_SHIFT = 17;

WORDS u32 word_shift(u32 shift) { return shift < LARGE_SHIFT ? SMALL_WORD_SHIFT : 0; }

WORDS G0 g0_constants(u32 pedestal, u32 mantissa, u32 shift) {
    const u64 product = static_cast<u64>(pedestal) * mantissa;
    return {mantissa << (34 - shift - word_shift(shift)), (1ULL << 31) - (product << (32 - shift))};
}

// `word` is shifted already.
WORDS i32 g0_value(u32 word, G0 pixel) {
    return static_cast<i32>((static_cast<u64>(word) * pixel.by + pixel.from) >> 32);
}

// Whether a word of G1 or G2 surely has a value; most of them.
WORDS bool surely_has_value(u32 word, u32 mantissa) {
    return (word & ADC_MASK) - 1 < ADC_MASK - 1 && word >> 14 != FORBIDDEN_STAGE && mantissa != 0;
}

// The value of such a word.
WORDS i32 switched_value(u32 word, u32 pedestal, u32 mantissa, u32 shift) {
    const i32 charge = static_cast<i32>(pedestal) - static_cast<i32>((word & ADC_MASK) << 2);
    const i32 value = shifted(multiplied(charge, static_cast<i32>(mantissa), 1LL << (shift - 1)), shift);
    return value < -MAX_VALUE ? -MAX_VALUE : value > MAX_VALUE ? MAX_VALUE : value;
}

// Words that reach a threshold (1 to 32700), as one number a pixel and stage: in G0 those from it on, in G1 and G2
// those whose ADC is below it. NOT_MET: none does. MASKED_LIMIT: the pixel is masked there.
constexpr u32 NOT_MET = 0x4000;
constexpr u32 MASKED_LIMIT = 0xFFFF;

WORDS u32 limit_of(u32 stage, u32 pedestal, u32 mantissa, u32 shift, u32 threshold) {
    if (mantissa == 0) return MASKED_LIMIT;
    const u64 needed = (static_cast<u64>(threshold) << shift) - (1ULL << shift >> 1);  // of charge * mantissa
    const u64 charge = (needed + mantissa - 1) / mantissa;
    if (stage == 0) {
        const u64 word = (pedestal + charge + 3) / 4;
        return word < NOT_MET ? static_cast<u32>(word) : NOT_MET;
    }
    return charge > pedestal ? 0 : static_cast<u32>(pedestal - charge) / 4 + 1;
}

// float32 in G0: each operation rounded by itself, as IEEE 754 says. `scale` is NaN where the pixel cannot be used.
WORDS float g0_float(u32 word, float pedestal, float scale) {
#ifdef __CUDACC__
    // The float 2**23 + word has the word as its last bits: exact, and cheaper than a conversion.
    const float adc = __fsub_rn(__uint_as_float(0x4B000000u | word), 8388608.0f);
    return __fmul_rn(__fsub_rn(adc, pedestal), scale);
#else
    const float charge = static_cast<float>(word) - pedestal;
    return charge * scale;
#endif
}

// float32 in G1 and G2: in double, rounded at the end. `per_unit` is NaN where the pixel cannot be used.
WORDS float switched_float(u32 word, double pedestal, double per_unit) {
    const double adc = static_cast<double>(static_cast<i32>(word & ADC_MASK));
#ifdef __CUDACC__
    return __double2float_rn(__ddiv_rn(__dsub_rn(adc, pedestal), per_unit));
#else
    return static_cast<float>((adc - pedestal) / per_unit);
#endif
}
