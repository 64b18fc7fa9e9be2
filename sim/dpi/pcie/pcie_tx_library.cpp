// The simulated transmitter over PCIe as a C library: what framelane.driver.simulated.verilated_pcie loads.

#include <deque>

#include "../frame_feed.hpp"
#include "../mac_line.hpp"
#include "pcie_host.hpp"

double sc_time_stamp() { return 0; }

namespace {

// Frames, and packets of a source that knows no ring: those come from a MAC, which cannot wait.
struct MixedFeed : FrameFeed {
    MacLine line;
    std::deque<uint8_t> engines;  // of each packet in the line
    std::deque<uint64_t> gaps;    // cycles without a beat before it
    uint64_t cycle = 0, waited = 0;

    void offer(Vtop& top) {
        FrameFeed::offer(top);
        top.s_axis_packet_tvalid = 0;
        top.packet_time_ns_i = 4 * cycle++;
        if (top.rst || line.frames.empty() || waited++ < gaps.front()) return;
        CData valid;
        line.drive(top.s_axis_packet_tdata, top.s_axis_packet_tkeep, top.s_axis_packet_tlast, top.s_axis_packet_tuser,
                   valid);
        top.s_axis_packet_tvalid = 1 << engines.front();
        if (!top.s_axis_packet_tlast) return;
        engines.pop_front();
        gaps.pop_front();
        waited = 0;
    }
    bool taken(Vtop& top) { return FrameFeed::taken(top) || top.s_axis_packet_tvalid; }
    bool empty() const { return FrameFeed::empty() && line.frames.empty(); }
};

using Host = PcieHost<MixedFeed>;

}  // namespace

extern "C" {

PCIE_HOST_FUNCTIONS(pcie_tx, Host)

bool pcie_tx_interrupt(Host* s, uint64_t cycles) { return s->interrupted(cycles); }

// Queues a frame_t.
void pcie_tx_offer(Host* s, const uint32_t* frame) {
    s->feed.frames.emplace_back();
    assign(s->feed.frames.back(), frame);
}

// Queues a packet of `n` bytes, not 0, for an engine, so many cycles behind the one before; `bad`: its source says so.
void pcie_tx_packet(Host* s, const uint8_t* bytes, uint64_t n, uint8_t engine, bool bad, uint64_t gap) {
    s->feed.line.push(bytes, n, bad);
    s->feed.engines.push_back(engine);
    s->feed.gaps.push_back(gap);
}

}  // extern "C"
