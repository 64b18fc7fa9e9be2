// One start of the top function on arrays, as a board's software and its streams would give it.
#pragma once

#include <cstdint>
#include <vector>

#include "jf_correct.hpp"

using Line = uint64_t[16 * LANES / 64];  // 512 bits of memory, lowest first

struct Beat {
    Line data;
    uint64_t keep, strb;
    uint32_t user, last;
};

struct Registers {
    uint32_t beats, frames;
    uint32_t shift[jf::STAGES];
    uint32_t high_gain;
};

inline Lanes lanes_of(const Line& line) {
    Lanes lanes;
    for (int k = 0; k < 16 * LANES / 64; k++) lanes.range(64 * k + 63, 64 * k) = line[k];
    return lanes;
}

// The beats that come out. `planes` are PLANES times `beats` lines, plane after plane.
inline std::vector<Beat> start(const Registers& registers, const Line* planes, const Beat* pixels, uint64_t n_pixels,
                               uint32_t& mismatches) {
    hls::stream<PixelBeat> in, out;
    for (uint64_t k = 0; k < n_pixels; k++) {
        PixelBeat beat;
        beat.data = lanes_of(pixels[k].data);
        beat.keep = pixels[k].keep;
        beat.strb = pixels[k].strb;
        beat.user = pixels[k].user;
        beat.last = pixels[k].last;
        in.write(beat);
    }
    const uint32_t beats = registers.beats;
    std::vector<Lanes> memory;
    for (uint64_t k = 0; k < uint64_t(jf::PLANES) * beats; k++) memory.push_back(lanes_of(planes[k]));
    const Lanes* plane = memory.data();
    jf_correct(in, out, plane, plane + beats, plane + 2 * beats, plane + 3 * beats, plane + 4 * beats,
               plane + 5 * beats, beats, registers.frames, registers.shift[0], registers.shift[1], registers.shift[2],
               registers.high_gain, mismatches);
    std::vector<Beat> corrected;
    while (!out.empty()) {
        const PixelBeat from = out.read();
        Beat to;
        for (int k = 0; k < 16 * LANES / 64; k++) to.data[k] = from.data.range(64 * k + 63, 64 * k).to_uint64();
        to.keep = from.keep.to_uint64();
        to.strb = from.strb.to_uint64();
        to.user = from.user.to_uint();
        to.last = from.last.to_uint();
        corrected.push_back(to);
    }
    return corrected;
}
