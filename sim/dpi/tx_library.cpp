// The simulated transmitter as a C library: what framelane.driver.simulated.verilated loads.

#include <cstdint>

#include "frame_feed.hpp"
#include "tx_simulation.hpp"
#include "verilated_port.hpp"

double sc_time_stamp() { return 0; }

namespace {

using Tx = Simulation<FrameFeed>;

}  // namespace

extern "C" {

Tx* tx_new() { return new Tx; }
void tx_delete(Tx* s) { delete s; }

// Makes `s` the one that the board_* functions act on.
void tx_select(Tx* s) { board_select(&s->board); }

void tx_reset(Tx* s) { s->reset(); }
bool tx_write(Tx* s, uint32_t offset, uint32_t value) { return s->write(offset, value); }
bool tx_read(Tx* s, uint32_t offset, uint32_t* value) { return s->read(offset, value); }
bool tx_run(Tx* s, uint64_t patience) { return s->run(patience); }
bool tx_interrupt(Tx* s, uint64_t cycles) { return s->interrupted(cycles); }

// Runs for some cycles, whatever is under way.
void tx_step(Tx* s, uint64_t cycles) {
    for (uint64_t k = 0; k < cycles; k++) s->step();
}

// Queues a frame_t.
void tx_offer(Tx* s, const uint32_t* frame) {
    s->feed.frames.emplace_back();
    assign(s->feed.frames.back(), frame);
}

// Frames released since the reset.
uint64_t tx_released(Tx* s) { return s->feed.released; }

}  // extern "C"
