// The simulated transmitter as a C library: what framelane.driver.verilated loads. No clock but its own.

#include <cstdint>
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
    uint64_t released = 0;
};

void step(Simulation& s) {
    s.top.s_axis_frame_tvalid = !s.frames.empty();
    if (!s.frames.empty()) s.top.s_axis_frame_tdata = s.frames.front();
    s.top.eval();
    const bool taken = s.top.s_axis_frame_tvalid && s.top.s_axis_frame_tready && !s.top.rst;
    s.released += s.top.release_o;
    s.top.clk = 1;
    s.top.eval();
    s.top.clk = 0;
    s.top.eval();
    if (taken) {
        s.frames.pop_front();
        s.board.last_activity = s.board.cycle;
    }
}

// Cycles in which an access to a register must be answered.
constexpr int ANSWER = 2000;

// Offers `valid` until `ready`; false where that does not come.
template <typename Valid, typename Ready>
bool hand_over(Simulation& s, Valid& valid, const Ready& ready) {
    valid = 1;
    s.top.eval();
    for (int k = 0; !ready; k++) {
        if (k == ANSWER) return false;
        step(s);
    }
    step(s);
    valid = 0;
    return true;
}

template <typename Valid>
bool await(Simulation& s, const Valid& valid) {
    s.top.eval();
    for (int k = 0; !valid; k++) {
        if (k == ANSWER) return false;
        step(s);
    }
    return true;
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

// As after power-up.
void tx_reset(Simulation* s) {
    s->frames.clear();
    s->top.s_axil_bready = s->top.s_axil_rready = 1;
    s->top.s_axil_wstrb = 0xf;
    s->top.rst = 1;
    for (int k = 0; k < 4; k++) step(*s);
    s->top.rst = 0;
    step(*s);
}

// One access over AXI4-Lite; false where it is not answered.
bool tx_write(Simulation* s, uint32_t offset, uint32_t value) {
    auto& top = s->top;
    top.s_axil_awaddr = offset;
    top.s_axil_wdata = value;
    top.s_axil_wvalid = 1;  // address and data in the same cycle, each until it is taken
    top.s_axil_awvalid = 1;
    for (int k = 0; top.s_axil_awvalid || top.s_axil_wvalid; k++) {
        if (k == ANSWER) return false;
        top.eval();
        const bool address = top.s_axil_awready, data = top.s_axil_wready;
        step(*s);
        if (address) top.s_axil_awvalid = 0;
        if (data) top.s_axil_wvalid = 0;
    }
    if (!await(*s, top.s_axil_bvalid)) return false;
    step(*s);
    return true;
}

bool tx_read(Simulation* s, uint32_t offset, uint32_t* value) {
    auto& top = s->top;
    top.s_axil_araddr = offset;
    if (!hand_over(*s, top.s_axil_arvalid, top.s_axil_arready) || !await(*s, top.s_axil_rvalid)) return false;
    *value = top.s_axil_rdata;
    step(*s);
    return true;
}

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

// Runs for some cycles, whatever is under way.
void tx_step(Simulation* s, uint64_t cycles) {
    for (uint64_t k = 0; k < cycles; k++) step(*s);
}

// Frames released since the start.
uint64_t tx_released(Simulation* s) { return s->released; }

}  // extern "C"
