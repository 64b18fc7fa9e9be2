// A detector's packets through the FPGA as a C library: what framelane.driver.simulated.verilated_detector loads.
// Frames come from a MAC, which cannot wait, as far apart as is said; the MAC that takes packets never pauses. Built
// with Correct, its constants come from a memory.

#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "../axil_master.hpp"
#include "../mac_line.hpp"
#include "Vtop.h"
#include "plane_memory.hpp"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

constexpr uint64_t LANES = sizeof(Vtop::m_axis_tdata);
constexpr uint64_t HEADERS = 54 + 16;  // Ethernet, IPv4, UDP, BTH, RETH
constexpr int QUIET = 600;             // cycles without a beat after which all that came has been dealt with

// Cycles in which of a packet that leaves the first beat went, the one with its first pixel, and the last.
struct Left {
    uint64_t first, pixel, last;
};

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    MacLine line;
    PlaneMemory constants;
    std::deque<uint64_t> gaps;  // cycles without a beat before each frame of the line that has not begun
    uint64_t gap = 0;           // of them, before the next beat
    bool inside = false;        // a frame of the line has begun
    uint64_t cycle = 0, last_activity = 0;

    std::vector<uint64_t> begun;    // cycle of the first beat of each frame that came
    std::vector<uint8_t> packets;   // that left, one after the other
    std::vector<uint32_t> lengths;  // of each, in bytes
    std::vector<Left> left;
    uint64_t complete = 0, beat = 0;  // bytes of whole packets; beats of the one that is coming

    ~Simulation() { top.final(); }

    void drive() {
        top.s_axis_tvalid = 0;
        top.s_axis_tdest = top.links_up_i = top.link_frame_i = top.link_bad_i = top.link_lost_i = 0;
        if (line.frames.empty()) return;
        if (!inside) {
            if (gap < gaps.front()) {
                gap++;
                return;
            }
            gaps.pop_front();
            gap = 0;
            begun.push_back(cycle);
        }
        line.drive(top.s_axis_tdata, top.s_axis_tkeep, top.s_axis_tlast, top.s_axis_tuser, top.s_axis_tvalid);
        inside = !top.s_axis_tlast;
        last_activity = cycle;
    }

    void take() {
        if (!top.m_axis_tvalid) return;
        const auto* data = reinterpret_cast<const uint8_t*>(&top.m_axis_tdata);
        const auto* keep = reinterpret_cast<const uint8_t*>(&top.m_axis_tkeep);
        uint64_t n = 0;
        while (n < LANES && (keep[n / 8] >> n % 8 & 1)) n++;
        if (beat == 0) left.push_back({cycle, cycle, cycle});
        if (beat == HEADERS / LANES) left.back().pixel = cycle;
        packets.insert(packets.end(), data, data + n);
        beat++;
        last_activity = cycle;
        if (!top.m_axis_tlast) return;
        left.back().last = cycle;
        lengths.push_back(packets.size() - complete);
        complete = packets.size();
        beat = 0;
    }

    void step() {
        drive();
        constants.drive(top, cycle);
        top.clk = 0;
        top.eval();
        if (!top.rst) {
            take();
            if (constants.take(top, cycle)) last_activity = cycle;
        }
        top.clk = 1;
        top.eval();
        cycle++;
    }

    void reset() {
        line = {};
        gaps.clear();
        gap = beat = 0;
        inside = false;
        AxilMaster::reset(top);
        constants.reset();
        top.rst = 1;
        for (int k = 0; k < 4; k++) step();
        top.rst = 0;
        forget();
    }

    void forget() {
        packets.clear();
        lengths.clear();
        left.clear();
        begun.clear();
        complete = 0;
    }

    // Until nothing waits and no beat has moved for a while; false where beats move for `patience` cycles after the
    // line has become empty.
    bool run(uint64_t patience) {
        while (!line.frames.empty()) step();
        const uint64_t end = cycle + patience;
        last_activity = cycle;
        while (cycle - last_activity < QUIET) {
            if (cycle > end) return false;
            step();
        }
        return true;
    }
};

}  // namespace

extern "C" {

Simulation* detector_tx_new() {
    auto* s = new Simulation;
    s->top.m_axis_tready = 1;
    s->top.link_up_i = 1;
    return s;
}
void detector_tx_delete(Simulation* s) { delete s; }

void detector_tx_reset(Simulation* s) { s->reset(); }

// The constants lie in memory from `base` on, and come so many cycles behind the request for them, 1 or more.
void detector_tx_constants(Simulation* s, uint64_t base, const uint8_t* bytes, uint64_t n, uint64_t latency) {
    s->constants.bytes.assign(bytes, bytes + n);
    s->constants.base = base;
    s->constants.latency = latency;
}

bool detector_tx_write(Simulation* s, uint32_t offset, uint32_t value) {
    return AxilMaster::write(s->top, offset, value, [s] { s->step(); });
}
bool detector_tx_read(Simulation* s, uint32_t offset, uint32_t* value) {
    return AxilMaster::read(s->top, offset, value, [s] { s->step(); });
}

// A frame of `n` bytes without FCS comes, so many cycles behind the one before.
void detector_tx_receive(Simulation* s, const uint8_t* bytes, uint64_t n, bool bad, uint64_t gap) {
    s->line.push(bytes, n, bad);
    s->gaps.push_back(gap);
}

bool detector_tx_run(Simulation* s, uint64_t patience) { return s->run(patience); }

void detector_tx_step(Simulation* s, uint64_t cycles) {
    for (uint64_t k = 0; k < cycles; k++) s->step();
}

// Of what came and left since the last take: frames, packets, their bytes.
void detector_tx_counts(Simulation* s, uint64_t* values) {
    const uint64_t all[] = {s->begun.size(), s->lengths.size(), s->complete};
    std::memcpy(values, all, sizeof all);
}

// Copies the packets, their lengths, when they left and when frames began, and forgets them.
void detector_tx_take(Simulation* s, uint8_t* bytes, uint32_t* lengths, uint64_t* left, uint64_t* begun) {
    std::memcpy(bytes, s->packets.data(), s->complete);
    std::memcpy(lengths, s->lengths.data(), s->lengths.size() * sizeof s->lengths[0]);
    std::memcpy(left, s->left.data(), s->lengths.size() * sizeof s->left[0]);
    std::memcpy(begun, s->begun.data(), s->begun.size() * sizeof s->begun[0]);
    s->forget();
}

}  // extern "C"
