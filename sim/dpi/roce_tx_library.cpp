// The simulated packetizer as a C library: what framelane.driver.simulated.verilated_roce_tx loads. No clock but its
// own. Three sides surround it, each with its share of pauses: the source of messages, that of payload, and the sink.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>
#include <vector>

#include "Vtop.h"
#include "chance.hpp"
#include "verilated.h"
#include "verilated_port.hpp"

namespace {

constexpr uint64_t LANES = sizeof(Vtop::m_axis_tdata);
constexpr uint64_t PIPELINE = 8;  // cycles from a message's acceptance to its first beat out

// One message's packet on the payload stream.
struct Payload {
    std::vector<uint8_t> bytes;
    uint64_t at;       // first byte of the next beat
    uint64_t message;  // how many were sent before it since the last roce_tx_take
    uint64_t length;   // what the message says
    uint32_t mtu;      // of its QP; 0 where no packet follows from the message
};

// Cycles of one packet: its message accepted, its first payload beat accepted, its first and its last beat out.
struct PacketCycles {
    uint64_t message, payload, first, last;
};

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    uint64_t cycle = 0, last_activity = 0;

    Chance chance;
    uint8_t message_stall = 0, payload_stall = 0, sink_stall = 0;  // shares of cycles, in 1/256

    std::deque<std::remove_reference_t<decltype(Vtop::s_axis_msg_tdata)>> messages;  // not yet taken
    std::deque<Payload> payloads;

    uint64_t sent = 0;               // messages since the last roce_tx_take
    std::vector<uint64_t> accepted;  // cycle of each
    std::deque<PacketCycles> begun;  // packets whose first payload beat is taken, and no end is out
    std::vector<PacketCycles> cycles;
    std::vector<uint8_t> packets;   // one after the other
    std::vector<uint32_t> lengths;  // of each, in bytes
    uint64_t complete = 0;          // bytes of the packets that are whole
    uint64_t first = 0;             // cycle of the first beat of the one that is coming
    std::vector<std::array<uint8_t, 2>> statuses;

    // Bubbles: cycles with the sink ready and no beat for it, between the first beat and the last. `maybe_` holds those
    // behind which no beat has come yet.
    uint64_t bubbles = 0, unexplained = 0, maybe_bubbles = 0, maybe_unexplained = 0;
    uint64_t pauses = 0;  // of the sources, that no bubble has answered
};

void drive(Simulation& s) {
    auto& top = s.top;
    if (!top.s_axis_msg_tvalid && !s.messages.empty() && !s.chance.pauses(s.message_stall)) {
        top.s_axis_msg_tvalid = 1;
        top.s_axis_msg_tdata = s.messages.front();
    }
    if (!top.s_axis_payload_tvalid && !s.payloads.empty() && !s.chance.pauses(s.payload_stall)) {
        const Payload& p = s.payloads.front();
        const uint64_t n = std::min(LANES, p.bytes.size() - p.at);
        std::array<uint8_t, LANES> data{};
        std::array<uint8_t, (LANES + 7) / 8> keep{};
        std::memcpy(data.data(), p.bytes.data() + p.at, n);
        for (uint64_t k = 0; k < n; k++) keep[k / 8] |= 1 << k % 8;
        std::memcpy(&top.s_axis_payload_tdata, data.data(), data.size());
        std::memcpy(&top.s_axis_payload_tkeep, keep.data(), keep.size());
        top.s_axis_payload_tlast = p.at + n == p.bytes.size();
        top.s_axis_payload_tvalid = 1;
    }
    top.m_axis_tready = !s.chance.pauses(s.sink_stall);
}

// The beat that the sink takes.
void take_beat(Simulation& s) {
    const auto& top = s.top;
    const auto* keep = reinterpret_cast<const uint8_t*>(&top.m_axis_tkeep);
    const auto* data = reinterpret_cast<const uint8_t*>(&top.m_axis_tdata);
    uint64_t n = 0;
    while (n < LANES && (keep[n / 8] >> n % 8 & 1)) n++;
    if (s.packets.size() == s.complete) s.first = s.cycle;
    s.packets.insert(s.packets.end(), data, data + n);
    if (!top.m_axis_tlast) return;
    s.lengths.push_back(s.packets.size() - s.complete);
    s.complete = s.packets.size();
    PacketCycles packet{};
    if (!s.begun.empty()) {
        packet = s.begun.front();
        s.begun.pop_front();
    }
    packet.first = s.first;
    packet.last = s.cycle;
    s.cycles.push_back(packet);
}

// A pause of a source explains one bubble. While both sources offer what is not taken nothing is lacking, and of the
// pauses before no more can show than the pipeline holds.
void count_bubble(Simulation& s) {
    const auto& top = s.top;
    const bool message_waits = top.s_axis_msg_tvalid && !top.s_axis_msg_tready;
    const bool payload_waits = top.s_axis_payload_tvalid && !top.s_axis_payload_tready;
    s.pauses += (!top.s_axis_msg_tvalid && !s.messages.empty()) + (!top.s_axis_payload_tvalid && !s.payloads.empty());
    if (s.accepted.empty()) s.pauses = 0;
    if (message_waits && payload_waits) s.pauses = std::min(s.pauses, PIPELINE);
    if (!top.m_axis_tready || s.packets.empty()) return;
    if (top.m_axis_tvalid) {
        s.bubbles += s.maybe_bubbles;
        s.unexplained += s.maybe_unexplained;
        s.maybe_bubbles = s.maybe_unexplained = 0;
    } else {
        s.maybe_bubbles++;
        if (s.pauses)
            s.pauses--;
        else
            s.maybe_unexplained++;
    }
}

// What both sides see in this cycle. A stream whose beat is taken offers none until `drive`.
void sample(Simulation& s) {
    auto& top = s.top;
    const bool message = top.s_axis_msg_tvalid && top.s_axis_msg_tready;
    const bool payload = top.s_axis_payload_tvalid && top.s_axis_payload_tready;
    const bool beat = top.m_axis_tvalid && top.m_axis_tready;
    count_bubble(s);
    if (message) {
        s.accepted.push_back(s.cycle);
        s.messages.pop_front();
        top.s_axis_msg_tvalid = 0;
    }
    if (payload) {
        Payload& p = s.payloads.front();
        if (p.mtu && p.at < p.length && p.at % p.mtu == 0) s.begun.push_back({s.accepted.at(p.message), s.cycle, 0, 0});
        p.at += LANES;
        if (p.at >= p.bytes.size()) s.payloads.pop_front();
        top.s_axis_payload_tvalid = 0;
    }
    if (beat) take_beat(s);
    if (top.status_valid_o) s.statuses.push_back({top.status_o, top.status_qp_o});
    if (message || payload || beat || top.status_valid_o) s.last_activity = s.cycle;
}

// One clock cycle. What is driven counts in the next one.
void step(Simulation& s) {
    sample(s);
    drive(s);
    s.top.clk = 1;
    s.top.eval();
    s.top.clk = 0;
    s.top.eval();
    s.cycle++;
}

}  // namespace

extern "C" {

Simulation* roce_tx_new() { return new Simulation; }
void roce_tx_delete(Simulation* s) {
    s->top.final();
    delete s;
}

// Resets the design with its own addresses in place.
void roce_tx_reset(Simulation* s, uint64_t mac, uint32_t ip) {
    s->top.rst = 1;
    s->top.local_mac_i = mac;
    s->top.local_ip_i = ip;
    for (int k = 0; k < 4; k++) step(*s);
    s->top.rst = 0;
}

// Shares of cycles in which each side pauses, in 1/256, from now on.
void roce_tx_set_stalls(Simulation* s, uint8_t message, uint8_t payload, uint8_t sink, uint64_t seed) {
    s->message_stall = message;
    s->payload_stall = payload;
    s->sink_stall = sink;
    s->chance.state = seed ? seed : 1;
}

// `write` is a qp_write_t. Returns when it is in force; no message may wait.
void roce_tx_write_qp(Simulation* s, const uint32_t* write) {
    s->top.s_axis_qp_tvalid = 1;
    assign(s->top.s_axis_qp_tdata, write);
    step(*s);
    s->top.s_axis_qp_tvalid = 0;
    do step(*s);
    while (!s->top.s_axis_qp_tready);
}

// Queues a message_t and its packet on the payload stream. `length` is what it says, `mtu` of its QP: 0 where it has
// none.
void roce_tx_send(Simulation* s, const uint32_t* message, uint64_t length, uint32_t mtu, const uint8_t* bytes,
                  uint64_t n) {
    s->messages.emplace_back();
    assign(s->messages.back(), message);
    if (n) s->payloads.push_back({{bytes, bytes + n}, 0, s->sent, length, mtu});
    s->sent++;
}

// Runs until all is out; false where nothing moves for `patience` cycles.
bool roce_tx_run(Simulation* s, uint64_t patience) {
    s->last_activity = s->cycle;
    while (!s->messages.empty() || !s->payloads.empty() || !s->top.idle_o) {
        if (s->cycle - s->last_activity > patience) return false;
        step(*s);
    }
    return true;
}

// Of the messages since the last roce_tx_take: packets, their bytes, statuses, bubbles, unexplained bubbles.
void roce_tx_sizes(Simulation* s, uint64_t* values) {
    const uint64_t all[] = {s->lengths.size(), s->complete, s->statuses.size(), s->bubbles, s->unexplained};
    std::memcpy(values, all, sizeof all);
}

// Copies the packets, the length and the cycles of each, and the statuses and QPs, and forgets them.
void roce_tx_take(Simulation* s, uint8_t* bytes, uint32_t* lengths, uint64_t* cycles, uint8_t* statuses) {
    std::memcpy(bytes, s->packets.data(), s->complete);
    std::memcpy(lengths, s->lengths.data(), s->lengths.size() * sizeof s->lengths[0]);
    std::memcpy(cycles, s->cycles.data(), s->cycles.size() * sizeof s->cycles[0]);
    std::memcpy(statuses, s->statuses.data(), s->statuses.size() * sizeof s->statuses[0]);
    s->sent = s->complete = s->bubbles = s->unexplained = s->maybe_bubbles = s->maybe_unexplained = s->pauses = 0;
    s->accepted.clear();
    s->begun.clear();
    s->packets.clear();
    s->lengths.clear();
    s->cycles.clear();
    s->statuses.clear();
}

}  // extern "C"
