// The top function for Vitis HLS: what docs/reference/hls.md describes. 32 pixels a beat.
#pragma once

#include <ap_axi_sdata.h>
#include <ap_int.h>
#include <hls_stream.h>

#include <cstdint>

#include "jf_correct_core.hpp"

constexpr int LANES = 32;
constexpr int USER_BITS = 1;

using Lanes = jf::Lanewise<LANES>;
using PixelBeat = ap_axiu<16 * LANES, USER_BITS, 0, 0>;

// Corrects `frames` frames. Plane k of the constants is `beats` beats from planeK on, and is read again for every
// frame. `mismatches` counts the frames since reset that had more or fewer beats.
void jf_correct(hls::stream<PixelBeat>& s_axis_pixel, hls::stream<PixelBeat>& m_axis_pixel, const Lanes* plane0,
                const Lanes* plane1, const Lanes* plane2, const Lanes* plane3, const Lanes* plane4, const Lanes* plane5,
                uint32_t beats, uint32_t frames, jf::Shift shift_g0, jf::Shift shift_g1, jf::Shift shift_g2,
                bool high_gain, uint32_t& mismatches);
