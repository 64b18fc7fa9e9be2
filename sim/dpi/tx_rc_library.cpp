// The simulated transmitter with RC and a receive path as a C library: what framelane.driver.simulated.verilated_rc
// loads.

#include <cstdint>

#include "frame_feed.hpp"
#include "mac_line.hpp"
#include "tx_simulation.hpp"
#include "verilated_port.hpp"

double sc_time_stamp() { return 0; }

namespace {

// Frames in memory, and what the MAC hands over meanwhile. The transmitter's work is only the former.
struct WiredFeed : FrameFeed {
    MacLine line;

    void offer(Vtop& top) {
        FrameFeed::offer(top);
        line.drive(top.s_axis_rx_tdata, top.s_axis_rx_tkeep, top.s_axis_rx_tlast, top.s_axis_rx_tuser,
                   top.s_axis_rx_tvalid);
    }
};

using TxRc = Simulation<WiredFeed>;

}  // namespace

extern "C" {

TxRc* tx_rc_new() { return new TxRc; }
void tx_rc_delete(TxRc* s) { delete s; }

// Makes `s` the one that the board_* functions act on.
void tx_rc_select(TxRc* s) { board_select(&s->board); }

void tx_rc_reset(TxRc* s) { s->reset(); }
bool tx_rc_write(TxRc* s, uint32_t offset, uint32_t value) { return s->write(offset, value); }
bool tx_rc_read(TxRc* s, uint32_t offset, uint32_t* value) { return s->read(offset, value); }
bool tx_rc_run(TxRc* s, uint64_t patience) { return s->run(patience); }
bool tx_rc_interrupt(TxRc* s, uint64_t cycles) { return s->interrupted(cycles); }

// Runs for some cycles, whatever is under way.
void tx_rc_step(TxRc* s, uint64_t cycles) {
    for (uint64_t k = 0; k < cycles; k++) s->step();
}

// Runs until that many packets have left and were not taken, or for `cycles`; how many cycles that were.
uint64_t tx_rc_step_until(TxRc* s, uint64_t cycles, uint64_t packets) {
    uint64_t k = 0;
    for (; k < cycles && s->board.lengths.size() < packets; k++) s->step();
    return k;
}

// Queues a frame_t.
void tx_rc_offer(TxRc* s, const uint32_t* frame) {
    s->feed.frames.emplace_back();
    assign(s->feed.frames.back(), frame);
}

// Frames released since the reset.
uint64_t tx_rc_released(TxRc* s) { return s->feed.released; }

// A frame arrives at the MAC, behind those that wait.
void tx_rc_receive(TxRc* s, const uint8_t* bytes, uint64_t n, bool bad) { s->feed.line.push(bytes, n, bad); }

// Frames that have not wholly arrived.
uint64_t tx_rc_waiting(TxRc* s) { return s->feed.line.frames.size(); }

// The link of the MAC.
void tx_rc_link(TxRc* s, bool up) { s->top.link_up_i = up; }

}  // extern "C"
