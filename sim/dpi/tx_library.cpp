// The simulated transmitter as a C library: what framelane.driver.verilated loads. No clock but its own.

#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>

#include "Vtop.h"
#include "board.hpp"
#include "verilated.h"
#include "verilated_port.hpp"

double sc_time_stamp() { return 0; }

namespace {

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    Board board;
    std::deque<std::remove_reference_t<decltype(Vtop::s_axis_frame_tdata)>> frames;  // offered, not yet taken
};

void step(Simulation& s) {
    s.top.s_axis_frame_tvalid = !s.frames.empty();
    if (!s.frames.empty()) s.top.s_axis_frame_tdata = s.frames.front();
    s.top.eval();
    const bool taken = s.top.s_axis_frame_tvalid && s.top.s_axis_frame_tready && !s.top.rst;
    s.top.clk = 1;
    s.top.eval();
    s.top.clk = 0;
    s.top.eval();
    if (taken) {
        s.frames.pop_front();
        s.board.last_activity = s.board.cycle;
    }
}

}  // namespace

extern "C" {

void board_configure(uint32_t latency, uint8_t memory_stall, uint8_t sink_stall, uint64_t seed);

Simulation* tx_new() { return new Simulation; }
void tx_delete(Simulation* s) {
    s->top.final();
    delete s;
}

// Makes `s` the one that the board_* functions act on.
void tx_select(Simulation* s) { board_select(&s->board); }

// Resets the design with its addresses and flow in place.
void tx_reset(Simulation* s, uint64_t mac, uint32_t ip, const uint32_t* flow) {
    s->frames.clear();
    s->top.rst = 1;
    s->top.local_mac_i = mac;
    s->top.local_ip_i = ip;
    s->top.s_axis_qp_tvalid = 0;
    s->top.window_end_i = ~uint64_t{0};
    assign(s->top.flow_i, flow);
    for (int k = 0; k < 4; k++) step(*s);
    s->top.rst = 0;
    step(*s);
}

// `write` is a qp_write_t. Returns when it is in force.
void tx_write_qp(Simulation* s, const uint32_t* write) {
    s->top.s_axis_qp_tvalid = 1;
    assign(s->top.s_axis_qp_tdata, write);
    step(*s);
    s->top.s_axis_qp_tvalid = 0;
    do step(*s);
    while (!s->top.s_axis_qp_tready);
}

void tx_set_window_end(Simulation* s, uint64_t window_end) { s->top.window_end_i = window_end; }

void tx_offer(Simulation* s, const uint32_t* frame) {
    s->frames.emplace_back();
    assign(s->frames.back(), frame);
}

// Runs until all offered frames are served and nothing is under way; false where no stream moves for `patience` cycles.
bool tx_run(Simulation* s, uint64_t patience) {
    s->board.last_activity = s->board.cycle;
    while (!s->frames.empty() || !s->top.idle_o) {
        if (s->board.cycle - s->board.last_activity > patience) return false;
        step(*s);
    }
    return true;
}

// In the order of framelane.driver.verilated.TxCounters.
void tx_counters(Simulation* s, uint64_t* values) {
    const auto& errors = s->top.message_errors_o;  // errors_t, its last field first
    const uint64_t all[] = {s->top.frames_sent_o,
                            s->top.frames_dropped_o,
                            s->top.frames_refused_o,
                            s->top.packets_o,
                            errors[0],
                            errors[1],
                            errors[2],
                            errors[3],
                            s->top.read_errors_o};
    std::memcpy(values, all, sizeof all);
}

}  // extern "C"
