// The simulated correction as a C library: what framelane.driver.simulated.verilated_jf_correct loads. No clock but its
// own. Pixels and constants are offered in every cycle, the sink is always ready.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "Vtop.h"
#include "verilated.h"
#include "verilated_port.hpp"

namespace {

using Beat = std::remove_reference_t<decltype(Vtop::s_axis_pixel_tdata)>;
using Constants = std::remove_reference_t<decltype(Vtop::s_axis_constant_tdata)>;

constexpr int PLANES = sizeof(Constants) / sizeof(Beat);

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    uint64_t mismatches = 0;
};

// The edge of a clock whose cycle has settled.
void tick(Simulation& s) {
    s.mismatches += s.top.mismatch_o;
    s.top.clk = 1;
    s.top.eval();
    s.top.clk = 0;
}

}  // namespace

extern "C" {

Simulation* jf_correct_new() { return new Simulation; }
void jf_correct_delete(Simulation* s) {
    s->top.final();
    delete s;
}

// Corrects `frames` frames of `beats` whole beats, with the same `planes` of constants (plane after plane, each as long
// as a frame) for all. `cycles` are those in which the first and the last beat went in, then those in which they came
// out. False where nothing moves for `patience` cycles.
bool jf_correct_run(Simulation* s, const uint8_t* raw, const uint8_t* planes, uint64_t frames, uint64_t beats,
                    const uint8_t* shift, uint8_t high_gain, uint8_t* image, uint64_t* cycles, uint64_t patience) {
    auto& top = s->top;
    top.shift_i = shift[0] | shift[1] << 5 | shift[2] << 10;
    top.high_gain_i = high_gain;
    top.s_axis_pixel_tvalid = top.s_axis_constant_tvalid = top.s_axis_constant_tuser = 0;
    top.m_axis_pixel_tready = 1;
    std::memset(&top.s_axis_pixel_tkeep, 0xFF, sizeof top.s_axis_pixel_tkeep);
    top.rst = 1;
    for (int k = 0; k < 4; k++) {
        top.eval();
        tick(*s);
    }
    top.rst = 0;
    s->mismatches = 0;

    const uint64_t all = frames * beats;
    uint64_t in = 0, constants = 0, out = 0, last_activity = 0;
    for (uint64_t cycle = 0; out < all; cycle++) {
        if (cycle - last_activity > patience) return false;
        top.s_axis_pixel_tvalid = in < all;
        if (in < all) {
            std::memcpy(&top.s_axis_pixel_tdata, raw + in * sizeof(Beat), sizeof(Beat));
            top.s_axis_pixel_tlast = in % beats == beats - 1;
        }
        top.s_axis_constant_tvalid = constants < all;
        if (constants < all) {
            auto* data = reinterpret_cast<uint8_t*>(&top.s_axis_constant_tdata);
            for (int plane = 0; plane < PLANES; plane++) {
                const uint8_t* from = planes + (plane * beats + constants % beats) * sizeof(Beat);
                std::memcpy(data + plane * sizeof(Beat), from, sizeof(Beat));
            }
            top.s_axis_constant_tlast = constants % beats == beats - 1;
        }
        top.eval();
        if (top.s_axis_pixel_tvalid && top.s_axis_pixel_tready) {
            if (in == 0) cycles[0] = cycle;
            cycles[1] = cycle;
            in++;
            last_activity = cycle;
        }
        constants += top.s_axis_constant_tvalid && top.s_axis_constant_tready;
        if (top.m_axis_pixel_tvalid) {
            std::memcpy(image + out * sizeof(Beat), &top.m_axis_pixel_tdata, sizeof(Beat));
            if (out == 0) cycles[2] = cycle;
            cycles[3] = cycle;
            out++;
            last_activity = cycle;
        }
        tick(*s);
    }
    return true;
}

// Frames of the last run that were shorter or longer than their constants.
uint64_t jf_correct_mismatches(Simulation* s) { return s->mismatches; }

}  // extern "C"
