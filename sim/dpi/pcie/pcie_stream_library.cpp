// The simulated transmitter over PCIe behind its frame store as a C library: what
// framelane.driver.simulated.verilated_pcie_stream loads.

#include "../pixel_feed.hpp"
#include "pcie_host.hpp"

double sc_time_stamp() { return 0; }

namespace {

using Host = PcieHost<PixelFeed>;

}  // namespace

extern "C" {

PCIE_HOST_FUNCTIONS(pcie_stream, Host)

// Queues a frame of `n` bytes, not 0, with its frame_info_t.
void pcie_stream_frame(Host* s, const uint32_t* info, const uint8_t* bytes, uint64_t n) {
    s->feed.push(info, bytes, n);
}

}  // extern "C"
