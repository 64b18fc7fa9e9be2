// The simulated PCIe endpoint as a C library: what framelane.driver.simulated.verilated_pcie loads. No clock but its own.

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>

#include "Vtop.h"
#include "board.hpp"
#include "frame_feed.hpp"
#include "root_complex.hpp"
#include "verilated.h"
#include "verilated_port.hpp"

double sc_time_stamp() { return 0; }

namespace {

using Flow = std::remove_reference_t<decltype(Vtop::flow_i)>;
using Destination = std::remove_reference_t<decltype(Vtop::destination_i)>;
using Descriptor = std::remove_reference_t<decltype(Vtop::s_axis_own_tdata)>;
using Trailer = std::remove_reference_t<decltype(Vtop::s_axis_own_trailer_tdata)>;

constexpr int ANSWER = 16;  // cycles in which a register must answer
constexpr int BETWEEN = 4;  // cycles from one access to the next, as AXI4-Lite has them
constexpr int QUIET = 64;  // idle cycles without a TLP after which none is on its way any more

}  // namespace

struct Pcie {
    VerilatedContext context;
    Vtop top{&context};
    Board board;
    FrameFeed feed;
    RootComplex complex;
    std::deque<Descriptor> own;
    std::deque<Trailer> trailers;  // of those that end a frame
    std::array<Flow, 4> flows{};
    std::array<Destination, 16> destinations{};
    std::array<uint64_t, 256> counts{};
    std::array<uint64_t, 16> statuses{};
    uint64_t lost = 0, unanswered = 0, refused = 0;

    ~Pcie() { top.final(); }

    void step() {
        board.cycle++;
        feed.offer(top);
        top.s_axis_own_tvalid = !own.empty();
        if (!own.empty()) top.s_axis_own_tdata = own.front();
        top.s_axis_own_trailer_tvalid = !trailers.empty();
        if (!trailers.empty()) top.s_axis_own_trailer_tdata = trailers.front();
        top.completion_i = !complex.completions.empty();
        if (top.completion_i) {
            top.completion_tag_i = complex.completions.front();
            complex.completions.pop_front();
        }
        top.m_axis_tlp_tready = !board.sink_chance.pauses(board.sink_stall);
        top.eval();
        const bool taken = feed.taken(top);
        const bool own_taken = !top.rst && top.s_axis_own_tvalid && top.s_axis_own_tready;
        const bool trailer_taken = !top.rst && top.s_axis_own_trailer_tvalid && top.s_axis_own_trailer_tready;
        const bool beat = !top.rst && top.m_axis_tlp_tvalid && top.m_axis_tlp_tready;
        if (beat) take_beat();
        if (!top.rst) count();
        const uint8_t flow = top.flow_index_o & 0xff, destination = top.destination_index_o;
        top.clk = 1;
        top.eval();
        // The tables answer a cycle after the index, as the registers do.
        top.flow_i = flow < flows.size() ? flows[flow] : Flow{};
        top.destination_i = destination < destinations.size() ? destinations[destination] : Destination{};
        top.clk = 0;
        top.eval();
        if (own_taken) own.pop_front();
        if (trailer_taken) trailers.pop_front();
        if (taken || own_taken || beat) board.last_activity = board.cycle;
    }

    bool access(bool write, uint32_t offset, uint32_t* value) {
        top.reg_offset_i = offset;
        top.reg_data_i = *value;
        top.reg_write_i = write;
        top.reg_read_i = !write;
        for (int k = 0; k < ANSWER; k++) {
            top.eval();
            const bool done = top.reg_ready_o;
            *value = write ? *value : top.reg_data_o;
            step();
            top.reg_write_i = top.reg_read_i = 0;
            if (!done) continue;
            for (int rest = 0; rest < BETWEEN; rest++) step();
            return true;
        }
        return false;
    }

    void take_beat() {
        uint32_t dwords = 0;
        auto keep = static_cast<uint32_t>(top.m_axis_tlp_tkeep);
        for (; keep & 1; keep >>= 1) dwords++;
        Tlp tlp;
        tlp.address = top.tlp_address_o;
        tlp.dwords = top.tlp_dwords_o;
        tlp.first_be = top.tlp_enables_o & 15;
        tlp.last_be = top.tlp_enables_o >> 4;
        tlp.read = top.tlp_read_o;
        tlp.tag = top.tlp_tag_o;
        tlp.poisoned = top.tlp_poisoned_o;
        if (keep) complex.malformed++;  // a hole in tkeep
        complex.beat(reinterpret_cast<const uint32_t*>(&top.m_axis_tlp_tdata), tlp.read ? 0 : dwords,
                     top.m_axis_tlp_tlast, tlp);
    }

    void count() {
        if (top.count_valid_o) {
            std::array<uint32_t, 3> words{};
            std::memcpy(words.data(), &top.count_o, 10);
            const uint32_t index = words[0] & 0xffff;
            if (index < counts.size())
                counts[index] += uint64_t(words[0] >> 16) | uint64_t(words[1]) << 16 | uint64_t(words[2]) << 48;
        }
        if (top.status_valid_o) statuses[top.status_o]++;
        lost += top.event_lost_o;
        unanswered += top.unanswered_o;
        refused += top.refused_o;
    }

    void reset() {
        feed = {};
        own.clear();
        trailers.clear();
        top.rst = 1;
        for (int k = 0; k < 4; k++) step();
        top.rst = 0;
        step();
    }

    // Until all that was given is served, and its TLPs have arrived; false where nothing moves for `patience` cycles.
    bool run(uint64_t patience) {
        board.last_activity = board.cycle;
        for (int quiet = 0; quiet < QUIET; quiet++) {
            if (board.cycle - board.last_activity > patience) return false;
            const uint64_t before = board.last_activity;
            if (!feed.empty() || !own.empty() || !top.idle_o) quiet = 0;
            step();
            if (board.last_activity != before) quiet = 0;
        }
        return true;
    }
};

extern "C" {

Pcie* pcie_new() { return new Pcie; }
void pcie_delete(Pcie* s) { delete s; }

// Makes `s` the one that the board_* functions act on.
void pcie_select(Pcie* s) { board_select(&s->board); }

void pcie_reset(Pcie* s) { s->reset(); }
bool pcie_run(Pcie* s, uint64_t patience) { return s->run(patience); }
void pcie_step(Pcie* s, uint64_t cycles) {
    for (uint64_t k = 0; k < cycles; k++) s->step();
}

// Memory of the program that the endpoint may write, from a bus address on; and none any more.
void pcie_window(Pcie* s, uint64_t address, uint64_t bytes, uint8_t* memory) {
    s->complex.windows.push_back({address, bytes, memory});
}
void pcie_unmap(Pcie* s) { s->complex.windows.clear(); }
void pcie_mute(Pcie* s, bool mute) { s->complex.answers = !mute; }

// One access to the registers; false where it is not answered.
bool pcie_write(Pcie* s, uint32_t offset, uint32_t value) { return s->access(true, offset, &value); }
bool pcie_read(Pcie* s, uint32_t offset, uint32_t* value) { return s->access(false, offset, value); }

// Max_Payload_Size that the link was given, as the Device Control register has it.
void pcie_link(Pcie* s, uint8_t mps) {
    s->top.endpoint_mps_i = mps;
    s->complex.max_payload = 128u << mps;
}

// Entries of the tables: a flow_t, a destination_t.
void pcie_write_flow(Pcie* s, uint8_t index, const uint32_t* flow) { assign(s->flows.at(index), flow); }
void pcie_write_destination(Pcie* s, uint8_t index, const uint32_t* destination) {
    assign(s->destinations.at(index), destination);
}

// Queues a frame_t; a bd_t, with the trailer_t of one that ends a frame, else null.
void pcie_offer(Pcie* s, const uint32_t* frame) {
    s->feed.frames.emplace_back();
    assign(s->feed.frames.back(), frame);
}
void pcie_give(Pcie* s, const uint32_t* descriptor, const uint32_t* trailer) {
    s->own.emplace_back();
    assign(s->own.back(), descriptor);
    if (!trailer) return;
    s->trailers.emplace_back();
    assign(s->trailers.back(), trailer);
}

// Counts since the program began: see verilated_pcie.py.
void pcie_counts(Pcie* s, uint64_t* found) {
    const RootComplex& c = s->complex;
    const uint64_t all[] = {c.tlps,        c.bytes,  c.nullified,   c.malformed, c.faults,
                            c.first_fault, s->lost, s->unanswered, s->refused};
    std::memcpy(found, all, sizeof all);
}
void pcie_frame_counts(Pcie* s, uint64_t* found) { std::memcpy(found, s->counts.data(), sizeof s->counts); }
void pcie_statuses(Pcie* s, uint64_t* found) { std::memcpy(found, s->statuses.data(), sizeof s->statuses); }

}  // extern "C"
