// The simulated transmitter over PCIe as a C library: what framelane.driver.simulated.verilated_pcie loads.

#include "../frame_feed.hpp"
#include "pcie_host.hpp"

double sc_time_stamp() { return 0; }

namespace {

using Host = PcieHost<FrameFeed>;

}  // namespace

extern "C" {

PCIE_HOST_FUNCTIONS(pcie_tx, Host)

bool pcie_tx_interrupt(Host* s, uint64_t cycles) { return s->interrupted(cycles); }

// Queues a frame_t.
void pcie_tx_offer(Host* s, const uint32_t* frame) {
    s->feed.frames.emplace_back();
    assign(s->feed.frames.back(), frame);
}

}  // extern "C"
