// The simulated descriptor generator as a C library: what framelane.driver.simulated.verilated_bd_gen loads. No clock
// but its own. It is armed, its sinks are always ready, and both tables answer a cycle after the index, as the
// registers do.

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>
#include <vector>

#include "Vtop.h"
#include "verilated.h"
#include "verilated_port.hpp"

namespace {

using Frame = std::remove_reference_t<decltype(Vtop::s_axis_frame_tdata)>;
using Flow = std::remove_reference_t<decltype(Vtop::flow_i)>;
using Destination = std::remove_reference_t<decltype(Vtop::destination_i)>;
using Descriptor = std::remove_reference_t<decltype(Vtop::m_axis_bd_tdata)>;

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    uint64_t cycle = 0, last_activity = 0;
    std::array<Flow, 256> flows{};  // entries not written are not enabled
    std::array<Destination, 256> destinations{};
    std::deque<Frame> frames;  // offered, not yet taken
    std::vector<Descriptor> descriptors;
    std::vector<uint64_t> cycles;  // of each
};

// One clock cycle.
void step(Simulation& s) {
    auto& top = s.top;
    top.s_axis_frame_tvalid = !s.frames.empty();
    if (!s.frames.empty()) top.s_axis_frame_tdata = s.frames.front();
    top.eval();
    const bool taken = !top.rst && top.s_axis_frame_tvalid && top.s_axis_frame_tready;
    const bool given = !top.rst && top.m_axis_bd_tvalid;
    const uint8_t flow = top.flow_index_o & 0xff, destination = top.destination_index_o;
    if (taken) s.frames.pop_front();
    if (given) {
        s.descriptors.push_back(top.m_axis_bd_tdata);
        s.cycles.push_back(s.cycle);
    }
    if (taken || given) s.last_activity = s.cycle;
    top.clk = 1;
    top.eval();
    top.flow_i = s.flows[flow];
    top.destination_i = s.destinations[destination];
    top.clk = 0;
    top.eval();
    s.cycle++;
}

}  // namespace

extern "C" {

Simulation* bd_gen_new() { return new Simulation; }
void bd_gen_delete(Simulation* s) {
    s->top.final();
    delete s;
}

// Resets the design; tables are empty, and what came before is forgotten.
void bd_gen_reset(Simulation* s) {
    s->flows = {};
    s->destinations = {};
    s->frames.clear();
    s->descriptors.clear();
    s->cycles.clear();
    s->top.armed_i = s->top.room_i = 1;
    s->top.m_axis_bd_tready = s->top.m_axis_trailer_tready = 1;
    s->top.m_axis_over_tready = s->top.m_axis_count_tready = 1;
    s->top.rst = 1;
    for (int k = 0; k < 4; k++) step(*s);
    s->top.rst = 0;
}

// Entries of the tables: a flow_t, a destination_t.
void bd_gen_write_flow(Simulation* s, uint8_t index, const uint32_t* flow) { assign(s->flows[index], flow); }
void bd_gen_write_destination(Simulation* s, uint8_t index, const uint32_t* destination) {
    assign(s->destinations[index], destination);
}

// Queues a frame_t.
void bd_gen_offer(Simulation* s, const uint32_t* frame) {
    s->frames.emplace_back();
    assign(s->frames.back(), frame);
}

// Runs until all frames are served; false where nothing moves for `patience` cycles.
bool bd_gen_run(Simulation* s, uint64_t patience) {
    s->last_activity = s->cycle;
    while (!s->frames.empty() || !s->top.idle_o) {
        if (s->cycle - s->last_activity > patience) return false;
        step(*s);
    }
    return true;
}

// Descriptors since the reset.
uint64_t bd_gen_count(Simulation* s) { return s->cycles.size(); }

// Copies them, a bd_t in words of 32 bits each, and the cycle in which each left.
void bd_gen_take(Simulation* s, uint32_t* descriptors, uint64_t* cycles) {
    std::memcpy(descriptors, s->descriptors.data(), s->descriptors.size() * sizeof(Descriptor));
    std::memcpy(cycles, s->cycles.data(), s->cycles.size() * sizeof s->cycles[0]);
}

}  // extern "C"
