// The top function: six fetchers run ahead of the pixels, as far as the streams between them and the correction are
// deep.

#include "jf_correct.hpp"

namespace {

struct Counts {
    uint32_t mismatches = 0;
};

void fetch(const Lanes* plane, uint32_t beats, uint32_t frames, hls::stream<Lanes>& constants) {
fetch_frames:
    for (uint32_t frame = 0; frame < frames; frame++) {
    fetch_beats:
        for (uint32_t beat = 0; beat < beats; beat++) {
#pragma HLS PIPELINE II = 1
            constants.write(plane[beat]);
        }
    }
}

void correct(hls::stream<PixelBeat>& pixels_in, hls::stream<Lanes> constants_in[jf::PLANES],
             hls::stream<PixelBeat>& pixels_out, uint32_t beats, uint32_t frames, jf::Shift shift_g0,
             jf::Shift shift_g1, jf::Shift shift_g2, bool high_gain, uint32_t& mismatches) {
    static Counts counts;
#pragma HLS RESET variable = counts
    const jf::Settings settings = {{shift_g0, shift_g1, shift_g2}, high_gain};
correct_frames:
    for (uint32_t frame = 0; frame < frames; frame++) {
        jf::Ends ended;
        bool done = false;
    // Ends with the frame, so that no beat of it stays in the pipeline until the next one pushes it out.
    correct_beats:
        for (uint32_t beat = 1; !done; beat++) {
#pragma HLS PIPELINE II = 1
            const bool has_pixels = !ended.pixels, has_constants = !ended.constants;
            PixelBeat pixels;
            Lanes constants[jf::PLANES];
#pragma HLS ARRAY_PARTITION variable = constants complete
            if (has_pixels) pixels = pixels_in.read();
            if (has_constants) {
            read_planes:
                for (int plane = 0; plane < jf::PLANES; plane++) constants[plane] = constants_in[plane].read();
            }
            const jf::Ends::Step step = ended.step(pixels.last, beat == beats);
            if (has_pixels) {
                pixels.data = jf::correct_beat<LANES>(pixels.data, constants, has_constants, settings);
                pixels_out.write(pixels);
            }
            if (step.mismatch) counts.mismatches++;
            done = step.done;
        }
    }
    mismatches = counts.mismatches;
}

}  // namespace

void jf_correct(hls::stream<PixelBeat>& s_axis_pixel, hls::stream<PixelBeat>& m_axis_pixel, const Lanes* plane0,
                const Lanes* plane1, const Lanes* plane2, const Lanes* plane3, const Lanes* plane4, const Lanes* plane5,
                uint32_t beats, uint32_t frames, jf::Shift shift_g0, jf::Shift shift_g1, jf::Shift shift_g2,
                bool high_gain, uint32_t& mismatches) {
#pragma HLS INTERFACE mode = axis port = s_axis_pixel
#pragma HLS INTERFACE mode = axis port = m_axis_pixel
// A burst of 64 beats is 4 KiB.
#pragma HLS INTERFACE mode = m_axi port = plane0 bundle = plane0 offset = slave max_read_burst_length = 64
#pragma HLS INTERFACE mode = m_axi port = plane1 bundle = plane1 offset = slave max_read_burst_length = 64
#pragma HLS INTERFACE mode = m_axi port = plane2 bundle = plane2 offset = slave max_read_burst_length = 64
#pragma HLS INTERFACE mode = m_axi port = plane3 bundle = plane3 offset = slave max_read_burst_length = 64
#pragma HLS INTERFACE mode = m_axi port = plane4 bundle = plane4 offset = slave max_read_burst_length = 64
#pragma HLS INTERFACE mode = m_axi port = plane5 bundle = plane5 offset = slave max_read_burst_length = 64
#pragma HLS INTERFACE mode = s_axilite port = plane0
#pragma HLS INTERFACE mode = s_axilite port = plane1
#pragma HLS INTERFACE mode = s_axilite port = plane2
#pragma HLS INTERFACE mode = s_axilite port = plane3
#pragma HLS INTERFACE mode = s_axilite port = plane4
#pragma HLS INTERFACE mode = s_axilite port = plane5
#pragma HLS INTERFACE mode = s_axilite port = beats
#pragma HLS INTERFACE mode = s_axilite port = frames
#pragma HLS INTERFACE mode = s_axilite port = shift_g0
#pragma HLS INTERFACE mode = s_axilite port = shift_g1
#pragma HLS INTERFACE mode = s_axilite port = shift_g2
#pragma HLS INTERFACE mode = s_axilite port = high_gain
#pragma HLS INTERFACE mode = s_axilite port = mismatches
#pragma HLS INTERFACE mode = s_axilite port = return
#pragma HLS DATAFLOW
    hls::stream<Lanes> constants[jf::PLANES];
#pragma HLS STREAM variable = constants depth = 512
    fetch(plane0, beats, frames, constants[0]);
    fetch(plane1, beats, frames, constants[1]);
    fetch(plane2, beats, frames, constants[2]);
    fetch(plane3, beats, frames, constants[3]);
    fetch(plane4, beats, frames, constants[4]);
    fetch(plane5, beats, frames, constants[5]);
    correct(s_axis_pixel, constants, m_axis_pixel, beats, frames, shift_g0, shift_g1, shift_g2, high_gain, mismatches);
}
