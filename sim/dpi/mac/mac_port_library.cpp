// The simulated mac_port, from the core to the MAC, as a C library: what framelane.driver.simulated.verilated_mac_port
// loads. Two clocks of any periods; a core that offers a beat each cycle, a MAC that always takes.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

constexpr uint64_t IN_LANES = sizeof(Vtop::s_axis_tdata), OUT_LANES = sizeof(Vtop::m_axis_tdata);

constexpr uint64_t PULSE_CYCLES = 16;  // of the slower clock: more than cdc_pulse takes

// Of one packet, in fs: its first and its last beat taken from the core, and by the MAC; its bytes there.
struct Passed {
    uint64_t in_first, in_last, out_first, out_last, bytes;
};

struct Clock {
    uint64_t period, next;
    bool rises(uint64_t now) const { return now == next; }
};

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    Clock core{1, 1}, line{1, 1};
    uint64_t now = 0, last_activity = 0;

    std::deque<uint64_t> lengths;  // of the packets not wholly taken
    uint64_t at = 0;               // first byte of the beat that is offered
    std::vector<Passed> packets;   // that have begun to enter, in their order
    size_t entered = 0, left = 0;  // those whose end was taken from the core, and by the MAC: a cut one leaves first
    bool in_packet = false;        // at the MAC
    uint64_t gaps = 0;             // cycles without tvalid in a packet
    uint64_t underruns = 0, wrong = 0;  // packets; bytes that are not those that were sent
    uint64_t marked = 0;                // packets that are marked as wrong at the MAC

    static uint8_t byte(uint64_t at) { return at * 7 + (at >> 8); }

    void offer() {
        top.s_axis_tvalid = !lengths.empty();
        if (lengths.empty()) return;
        const uint64_t n = std::min(IN_LANES, lengths.front() - at);
        auto* data = reinterpret_cast<uint8_t*>(&top.s_axis_tdata);
        auto* keep = reinterpret_cast<uint8_t*>(&top.s_axis_tkeep);
        std::memset(keep, 0, sizeof top.s_axis_tkeep);
        for (uint64_t k = 0; k < n; k++) {
            data[k] = byte(at + k);
            keep[k / 8] |= 1 << k % 8;
        }
        top.s_axis_tlast = at + n == lengths.front();
    }

    // What the core's clock takes with its edge.
    void take_in() {
        underruns += top.tx_underrun_o;
        if (top.rst || !top.s_axis_tvalid || !top.s_axis_tready) return;
        if (at == 0) packets.push_back({now, 0, 0, 0, 0});
        at += IN_LANES;
        if (top.s_axis_tlast) {
            packets[entered++].in_last = now;
            lengths.pop_front();
            at = 0;
        }
        last_activity = now;
    }

    // What the MAC takes with its edge.
    void take_out() {
        if (top.tx_rst) return;
        if (!top.m_axis_tvalid) {
            gaps += in_packet;
            return;
        }
        Passed& packet = packets[left];
        if (!in_packet) packet.out_first = now;
        const auto* data = reinterpret_cast<const uint8_t*>(&top.m_axis_tdata);
        const auto* keep = reinterpret_cast<const uint8_t*>(&top.m_axis_tkeep);
        for (uint64_t k = 0; k < OUT_LANES && (keep[k / 8] >> k % 8 & 1); k++, packet.bytes++)
            wrong += data[k] != byte(packet.bytes);
        in_packet = !top.m_axis_tlast;
        last_activity = now;
        if (in_packet) return;
        marked += top.m_axis_tuser;
        packet.out_last = now;
        left++;
    }

    // To the next edge of any clock.
    void step() {
        now = std::min(core.next, line.next);
        const bool core_rises = core.rises(now), line_rises = line.rises(now);
        if (core_rises) take_in();
        if (line_rises) take_out();
        if (core_rises) top.clk = 1;
        if (line_rises) top.tx_clk = top.rx_clk = 1;
        top.eval();
        if (core_rises) {
            offer();
            top.clk = 0;
            core.next += core.period;
        }
        if (line_rises) {
            top.tx_clk = top.rx_clk = 0;
            line.next += line.period;
        }
        top.eval();
    }
};

}  // namespace

extern "C" {

Simulation* mac_port_new() { return new Simulation; }
void mac_port_delete(Simulation* s) {
    s->top.final();
    delete s;
}

// Resets the design, whose clocks have these periods in fs, with the threshold in place.
void mac_port_reset(Simulation* s, uint64_t core, uint64_t line, uint16_t threshold) {
    s->core = {core, s->now + core};
    s->line = {line, s->now + line};
    s->top.threshold_i = threshold;
    s->top.m_axis_tready = s->top.m_axis_rx_tready = 1;
    s->top.rst = s->top.tx_rst = s->top.rx_rst = 1;
    for (int k = 0; k < 20; k++) s->step();
    s->top.rst = s->top.tx_rst = s->top.rx_rst = 0;
    for (int k = 0; k < 400; k++) s->step();
}

// Queues packets of so many bytes.
void mac_port_send(Simulation* s, const uint64_t* lengths, uint64_t n) {
    s->lengths.insert(s->lengths.end(), lengths, lengths + n);
}

// Runs until all is out, and each packet that is marked is counted as an underrun: that is waited for PULSE_CYCLES at
// most. False where nothing moves for `patience` fs.
bool mac_port_run(Simulation* s, uint64_t patience) {
    s->last_activity = s->now;
    while (!s->lengths.empty() || s->left < s->packets.size()) {
        if (s->now - s->last_activity > patience) return false;
        s->step();
    }
    const uint64_t crossed = s->now + PULSE_CYCLES * std::max(s->core.period, s->line.period);
    while (s->underruns < s->marked && s->now < crossed) s->step();
    return true;
}

// Packets that have passed; cycles without tvalid inside them; underruns; bytes that were wrong: since the last take.
void mac_port_counts(Simulation* s, uint64_t* values) {
    const uint64_t all[] = {s->packets.size(), s->gaps, s->underruns, s->wrong};
    std::memcpy(values, all, sizeof all);
}

// Copies the packets' times and bytes, and forgets them.
void mac_port_take(Simulation* s, uint64_t* passed) {
    std::memcpy(passed, s->packets.data(), s->packets.size() * sizeof s->packets[0]);
    s->packets.clear();
    s->entered = s->left = 0;
    s->gaps = s->underruns = s->wrong = s->marked = 0;
}

}  // extern "C"
