// The JUNGFRAU correction, raw words to photons, by the numeric contract of models/jungfrau/jf_correct.py. No tool
// pragmas here: the loop over lanes has a constant bound, and unrolls in the pipeline of whoever calls.
#pragma once

#include <ap_int.h>

namespace jf {

// Every format, beside the integer of the model's table that it holds.
using Word = ap_uint<16>;           // a raw word, or a constant as it lies in memory
using Stage = ap_uint<2>;           // 0, 1, 2: G0, G1, G2
using Adc = ap_uint<14>;            // adc
using Pedestal = ap_uint<16>;       // pedestal: u14.2
using Mantissa = ap_uint<16>;       // mantissa
using Shift = ap_uint<5>;           // shift
using Charge = ap_int<17>;          // d: s15.2
using SignedMantissa = ap_int<17>;  // sign * mantissa
using Product = ap_int<34>;         // p, r and q
using Half = ap_uint<31>;           // half
using Value = ap_int<16>;           // value, or a code

constexpr int CHARGE_FRACTION = 2;  // binary digits after the point of d
constexpr int MAX_VALUE = 32700;    // values are clipped to -MAX_VALUE..MAX_VALUE
enum Code { HOLE = -32768, MASKED = -32767, INVALID = -32766, SATURATED = 32767 };

constexpr int STAGES = 3;
constexpr int PLANES = 2 * STAGES;  // pedestal of G0, G1, G2, then mantissa of G0, G1, G2

template <int Lanes>
using Lanewise = ap_uint<16 * Lanes>;  // one word a pixel, the first in the lowest bits

// What holds for all pixels.
struct Settings {
    Shift shift[STAGES];
    bool high_gain;  // G0 is HG0, which is saturated at the end of the ADC
};

// The stage whose constants a word needs; that of G2 for the forbidden gain code 10.
inline Stage stage_of(Word word) { return word[15] ? Stage(2) : Stage(word[14]); }

// One pixel with the constants of its stage. A mantissa of 0: masked, or no calibration.
inline Value correct_pixel(Word word, Pedestal pedestal, Mantissa mantissa, const Settings& settings) {
    if (word == 0x8000) return HOLE;
    if (word >> 14 == 0b10 || word == 0xFFFF || word == 0x4000) return INVALID;
    if (mantissa == 0) return MASKED;
    if (word == 0xC000 || (word == 0x3FFF && settings.high_gain)) return SATURATED;

    const Stage stage = stage_of(word);
    const Shift shift = settings.shift[stage];
    const Charge charge = (Charge(Adc(word)) << CHARGE_FRACTION) - pedestal;
    const SignedMantissa signed_mantissa = stage == 0 ? SignedMantissa(mantissa) : SignedMantissa(-mantissa);
    const Half half = (ap_uint<32>(1) << shift) >> 1;
    const Product rounded = charge * signed_mantissa + half;
    const Product value = rounded >> shift;
    if (value > MAX_VALUE) return MAX_VALUE;
    if (value < -MAX_VALUE) return -MAX_VALUE;
    return value;
}

template <int Lanes>
Word lane_of(const Lanewise<Lanes>& words, int lane) {
    return words >> (16 * lane);
}

template <int Lanes>
Word lane_of(const Lanewise<Lanes> planes[STAGES], Stage stage, int lane) {
    return stage == 0   ? lane_of<Lanes>(planes[0], lane)
           : stage == 1 ? lane_of<Lanes>(planes[1], lane)
                        : lane_of<Lanes>(planes[2], lane);
}

// One beat of pixels with its beat of each plane. Without calibration every pixel is masked, except that holes and
// invalid words keep their codes.
template <int Lanes>
Lanewise<Lanes> correct_beat(const Lanewise<Lanes>& pixels, const Lanewise<Lanes> constants[PLANES], bool calibrated,
                             const Settings& settings) {
    Lanewise<Lanes> corrected;
lanes:
    for (int lane = 0; lane < Lanes; lane++) {
        const Word word = lane_of<Lanes>(pixels, lane);
        const Stage stage = stage_of(word);
        const Pedestal pedestal = lane_of<Lanes>(constants, stage, lane);
        const Mantissa mantissa = calibrated ? lane_of<Lanes>(constants + STAGES, stage, lane) : Word(0);
        corrected.range(16 * lane + 15, 16 * lane) = Word(correct_pixel(word, pedestal, mantissa, settings));
    }
    return corrected;
}

// Keeps the beats of a frame beside those of the constants. When one ends first, the other goes on alone: the rest of
// the constants is swallowed, the rest of a frame is corrected without.
struct Ends {
    bool pixels = false;     // the frame has ended, the constants have not
    bool constants = false;  // the constants have ended, the frame has not

    struct Step {
        bool mismatch;  // one has ended and the other goes on
        bool done;      // both have ended
    };

    // Takes the next beat of each that has not ended.
    Step step(bool pixels_last, bool constants_last) {
        const bool pixels_end = pixels || pixels_last;
        const bool constants_end = constants || constants_last;
        const bool together = !pixels && !constants;
        pixels = pixels_end && !constants_end;
        constants = constants_end && !pixels_end;
        return {together && pixels_end != constants_end, pixels_end && constants_end};
    }
};

}  // namespace jf
