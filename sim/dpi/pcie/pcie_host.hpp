// A simulated endpoint with a host around it, until nothing is under way: what both C libraries have in common, and
// their functions by macro.
#pragma once

#include <cstdint>

#include "../tx_simulation.hpp"
#include "../verilated_port.hpp"
#include "root_complex.hpp"

// `Feed`: see tx_simulation.hpp.
template <typename Feed>
struct PcieHost : Simulation<Feed> {
    static constexpr int QUIET = 64;  // idle cycles after which no TLP is on its way any more

    RootComplex complex;

    PcieHost() { complex_select(&complex); }

    void select() {
        board_select(&this->board);
        complex_select(&complex);
    }

    // Until all that was given is served, and its TLPs have arrived; false where nothing moves for `patience` cycles.
    bool arrive(uint64_t patience) {
        auto& board = this->board;
        board.last_activity = board.cycle;
        for (int quiet = 0; quiet < QUIET; quiet++) {
            if (board.cycle - board.last_activity > patience) return false;
            const uint64_t before = complex.activity;
            if (!this->feed.empty() || !this->top.idle_o || complex.waiting()) quiet = 0;
            this->step();
            if (complex.activity == before) continue;
            board.last_activity = board.cycle;
            quiet = 0;
        }
        return true;
    }

    // Until a write has arrived in memory that is not late; false where none does in so many cycles.
    bool arrive_promptly(uint64_t cycles) {
        const uint64_t before = complex.prompt;
        for (uint64_t k = 0; k < cycles && complex.prompt == before; k++) this->step();
        return complex.prompt != before;
    }
};

// The functions of a library `name` on its `Host`.
#define PCIE_HOST_FUNCTIONS(name, Host)                                                                         \
    Host* name##_new() { return new Host; }                                                                     \
    void name##_delete(Host* s) { delete s; }                                                                   \
    void name##_select(Host* s) { s->select(); }                                                                \
    void name##_reset(Host* s) { s->reset(); }                                                                  \
    bool name##_write(Host* s, uint32_t offset, uint32_t value) { return s->write(offset, value); }             \
    bool name##_read(Host* s, uint32_t offset, uint32_t* value) { return s->read(offset, value); }              \
    bool name##_run(Host* s, uint64_t patience) { return s->arrive(patience); }                                 \
    void name##_step(Host* s, uint64_t cycles) {                                                                \
        for (uint64_t k = 0; k < cycles; k++) s->step();                                                        \
    }                                                                                                           \
    /* The links: up by a bit each, Max_Payload_Size as the Device Control register has it, pauses in 1/256. */ \
    void name##_link(Host* s, uint8_t up, uint8_t mps, uint8_t stall, uint64_t seed) {                          \
        s->top.link_up_i = up;                                                                                  \
        s->top.mps_i = mps;                                                                                     \
        s->complex.max_payload = 128u << mps;                                                                   \
        s->complex.stall = stall;                                                                               \
        for (auto& port : s->complex.ports) port.chance.state = seed = seed * 2 + 1;                            \
    }                                                                                                           \
    bool name##_run_promptly(Host* s, uint64_t cycles) { return s->arrive_promptly(cycles); }                   \
    /* Memory of the program that the endpoint may write, from a bus address on; and none any more. */          \
    void name##_window(Host* s, uint64_t address, uint64_t bytes, uint8_t* memory, bool late) {                 \
        s->complex.windows.push_back({address, bytes, memory, late});                                           \
    }                                                                                                           \
    /* How many cycles TLPs to late windows wait at most, and completions. */                                   \
    void name##_delay(Host* s, uint32_t tlps, uint32_t completions) {                                           \
        s->complex.most_late = tlps;                                                                            \
        s->complex.most_answer = completions;                                                                   \
    }                                                                                                           \
    /* A completion that no read has asked for. */                                                              \
    void name##_complete(Host* s, uint8_t port, uint8_t tag, bool bad) {                                        \
        s->complex.ports.at(port).completions.push_back({tag, bad, 0});                                         \
    }                                                                                                           \
    void name##_unmap(Host* s) { s->complex.windows.clear(); }                                                  \
    void name##_mute(Host* s, bool mute) { s->complex.answers = !mute; }                                        \
    void name##_counts(Host* s, uint64_t* found) {                                                              \
        const RootComplex& c = s->complex;                                                                      \
        const uint64_t all[] = {c.tlps, c.bytes, c.nullified, c.malformed, c.faults, c.first_fault};            \
        for (uint64_t each : all) *found++ = each;                                                              \
    }
