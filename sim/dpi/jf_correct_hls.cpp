// What jf_correct_hls.sv calls: one step of both streams through the HLS core, at any width of bus.

#include "jf_correct_core.hpp"
#include "svdpi.h"

namespace {

template <int Lanes>
jf::Lanewise<Lanes> from_port(const svBitVecVal* words) {
    jf::Lanewise<Lanes> lanes;
    for (int k = 0; k < Lanes / 2; k++) lanes.range(32 * k + 31, 32 * k) = words[k];
    return lanes;
}

template <int Lanes>
void correct(const svBitVecVal* pixels, const svBitVecVal* constants, bool calibrated, const jf::Settings& settings,
             svBitVecVal* corrected) {
    jf::Lanewise<Lanes> planes[jf::PLANES];
    for (int k = 0; k < jf::PLANES; k++) planes[k] = from_port<Lanes>(constants + k * Lanes / 2);
    const auto result = jf::correct_beat<Lanes>(from_port<Lanes>(pixels), planes, calibrated, settings);
    for (int k = 0; k < Lanes / 2; k++) corrected[k] = result.range(32 * k + 31, 32 * k).to_uint();
}

}  // namespace

extern "C" void jf_correct_hls_step(int lanes, const svBitVecVal* pixels, svBit pixels_last,
                                    const svBitVecVal* constants, svBit constants_last, svBit constants_wrong,
                                    const svBitVecVal* shifts, svBit high_gain, svBit* pixels_ended,
                                    svBit* constants_ended, svBit* mismatch, svBitVecVal* corrected) {
    jf::Settings settings;
    for (int stage = 0; stage < jf::STAGES; stage++) settings.shift[stage] = shifts[0] >> (5 * stage);
    settings.high_gain = high_gain;
    jf::Ends ended;
    ended.pixels = *pixels_ended;
    ended.constants = *constants_ended;
    const bool has_pixels = !ended.pixels, calibrated = !ended.constants && !constants_wrong;
    *mismatch = ended.step(pixels_last, constants_last).mismatch;
    *pixels_ended = ended.pixels;
    *constants_ended = ended.constants;
    if (!has_pixels) return;
    switch (lanes) {
        case 4:
            return correct<4>(pixels, constants, calibrated, settings, corrected);
        case 8:
            return correct<8>(pixels, constants, calibrated, settings, corrected);
        case 16:
            return correct<16>(pixels, constants, calibrated, settings, corrected);
        case 32:
            return correct<32>(pixels, constants, calibrated, settings, corrected);
        case 64:
            return correct<64>(pixels, constants, calibrated, settings, corrected);
    }
}
