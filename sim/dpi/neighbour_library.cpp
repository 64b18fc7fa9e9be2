// The simulated station without data as a C library: what framelane.driver.verilated_neighbour loads. No clock but its
// own. Frames come from a MAC that cannot wait, one beat a clock, and leave to one that is always ready.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "Vtop.h"
#include "verilated.h"
#include "verilated_port.hpp"

namespace {

constexpr uint64_t LANES = sizeof(Vtop::s_axis_tdata);
constexpr int EVENTS = 16;  // bits of neighbour_events_t
constexpr int DROPS = 11;   // reasons of rx_filter

struct Frame {
    std::vector<uint8_t> bytes;
    bool bad;  // its FCS
};

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    std::deque<Frame> coming;
    uint64_t at = 0;                 // first byte of the next beat of the one that comes
    std::vector<uint8_t> bytes;      // that left, one frame after the other
    std::vector<uint32_t> lengths;   // of each that is whole
    uint64_t complete = 0;           // bytes of those
    std::vector<uint64_t> resolved;  // two words each: IP and `found`, MAC
    uint64_t counters[EVENTS + DROPS] = {};
};

void drive(Simulation& s) {
    auto& top = s.top;
    top.s_axis_tvalid = !s.coming.empty();
    if (s.coming.empty()) return;
    const Frame& frame = s.coming.front();
    const uint64_t n = std::min(LANES, frame.bytes.size() - s.at);
    auto* data = reinterpret_cast<uint8_t*>(&top.s_axis_tdata);
    auto* keep = reinterpret_cast<uint8_t*>(&top.s_axis_tkeep);
    std::memset(data, 0, LANES);
    std::memcpy(data, frame.bytes.data() + s.at, n);
    std::memset(keep, 0, (LANES + 7) / 8);
    for (uint64_t k = 0; k < n; k++) keep[k / 8] |= 1 << k % 8;
    s.at += n;
    top.s_axis_tlast = s.at == frame.bytes.size();
    top.s_axis_tuser = top.s_axis_tlast && frame.bad;
    if (top.s_axis_tlast) {
        s.coming.pop_front();
        s.at = 0;
    }
}

void sample(Simulation& s) {
    auto& top = s.top;
    for (int k = 0; k < EVENTS; k++) s.counters[k] += top.events_o >> k & 1;
    for (int k = 0; k < DROPS; k++) s.counters[EVENTS + k] += top.dropped_o >> k & 1;
    if (top.m_axis_resolved_tvalid) {  // found 1, ip 32, mac 48
        uint32_t words[3];
        std::memcpy(words, &top.m_axis_resolved_tdata, sizeof words);
        const uint64_t low = words[0] | uint64_t{words[1]} << 32;
        s.resolved.push_back((low >> 48 | uint64_t{words[2]} << 16) & 0x1ffffffffULL);
        s.resolved.push_back(low & 0xffffffffffffULL);
    }
    if (!top.m_axis_tvalid) return;
    const auto* data = reinterpret_cast<const uint8_t*>(&top.m_axis_tdata);
    const auto* keep = reinterpret_cast<const uint8_t*>(&top.m_axis_tkeep);
    for (uint64_t k = 0; k < LANES && (keep[k / 8] >> k % 8 & 1); k++) s.bytes.push_back(data[k]);
    if (top.m_axis_tlast) {
        s.lengths.push_back(s.bytes.size() - s.complete);
        s.complete = s.bytes.size();
    }
}

// One clock cycle: what is offered settles, is sampled, and counts at the edge.
void step(Simulation& s) {
    auto& top = s.top;
    drive(s);
    top.eval();
    const bool asked = top.s_axis_resolve_tvalid && top.s_axis_resolve_tready;
    sample(s);
    top.clk = 1;
    top.eval();
    top.clk = 0;
    if (asked) top.s_axis_resolve_tvalid = 0;
    top.eval();
}

}  // namespace

extern "C" {

Simulation* neighbour_new() {
    auto* s = new Simulation;
    s->top.rst = 1;
    for (int k = 0; k < 4; k++) step(*s);
    s->top.rst = 0;
    std::memset(s->counters, 0, sizeof s->counters);
    return s;
}

void neighbour_delete(Simulation* s) {
    s->top.final();
    delete s;
}

// `config` is a neighbour_config_t.
void neighbour_configure(Simulation* s, const uint32_t* config, bool link_up) {
    assign(s->top.config_i, config);
    s->top.link_up_i = link_up;
}

// A frame arrives, behind those that wait.
void neighbour_receive(Simulation* s, const uint8_t* bytes, uint64_t n, bool bad) {
    s->coming.push_back({{bytes, bytes + n}, bad});
}

// `question` is a resolve_t; false while another is open.
bool neighbour_resolve(Simulation* s, const uint32_t* question) {
    if (s->top.s_axis_resolve_tvalid || !s->top.s_axis_resolve_tready) return false;
    assign(s->top.s_axis_resolve_tdata, question);
    s->top.s_axis_resolve_tvalid = 1;
    return true;
}

void neighbour_run(Simulation* s, uint64_t cycles) {
    for (uint64_t k = 0; k < cycles; k++) step(*s);
}

// Frames that left and their bytes, and ends of questions, since the last neighbour_take.
void neighbour_sizes(Simulation* s, uint64_t* values) {
    const uint64_t all[] = {s->lengths.size(), s->complete, s->resolved.size() / 2};
    std::memcpy(values, all, sizeof all);
}

// Copies all those, and forgets them. Of the end of a question: IP with `found` above it, MAC.
void neighbour_take(Simulation* s, uint8_t* bytes, uint32_t* lengths, uint64_t* resolved) {
    std::memcpy(bytes, s->bytes.data(), s->complete);
    std::memcpy(lengths, s->lengths.data(), s->lengths.size() * sizeof s->lengths[0]);
    std::memcpy(resolved, s->resolved.data(), s->resolved.size() * sizeof s->resolved[0]);
    s->bytes.erase(s->bytes.begin(), s->bytes.begin() + s->complete);
    s->complete = 0;
    s->lengths.clear();
    s->resolved.clear();
}

// Events since the begin, the least significant bit of neighbour_events_t first, then frames dropped by reason.
void neighbour_counters(Simulation* s, uint64_t* values) { std::memcpy(values, s->counters, sizeof s->counters); }

}  // extern "C"
