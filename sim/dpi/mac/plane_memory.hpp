// The memory behind the AXI4 read masters of the constants, which lie side by side in the ports of a design. It takes a
// burst of each in every cycle, and gives data in order: a beat a cycle, the first so many cycles behind its burst.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

struct PlaneMemory {
    static constexpr int PLANES = 6;
    static constexpr uint32_t INCR = 1, DECERR = 3;
    static constexpr uint64_t PAGE = 4096;  // no burst crosses one

    struct Burst {
        uint64_t address;
        uint32_t beats;
        uint64_t due;  // cycle of the first beat
        bool refused;
    };

    std::vector<uint8_t> bytes;  // from `base` on; without any, nothing is answered
    uint64_t base = 0, latency = 1;
    std::array<std::deque<Burst>, PLANES> bursts;  // asked for, oldest first

    void reset() { bursts.fill({}); }

    // Shows what is there in this cycle, before the clock rises.
    template <typename Top>
    void drive(Top& top, uint64_t cycle) {
        if (bytes.empty()) return;
        static_assert(sizeof top.m_axi_constant_rdata == PLANES * sizeof top.m_axis_tdata);
        uint32_t valid = 0, last = 0, response = 0;
        auto* data = reinterpret_cast<uint8_t*>(&top.m_axi_constant_rdata);
        constexpr uint64_t lanes = sizeof top.m_axis_tdata;
        for (int k = 0; k < PLANES; k++) {
            if (bursts[k].empty() || bursts[k].front().due > cycle) continue;
            const Burst& burst = bursts[k].front();
            const uint64_t at = burst.address - base;
            valid |= 1u << k;
            last |= uint32_t(burst.beats == 1) << k;
            if (burst.refused || at >= bytes.size() || bytes.size() - at < lanes)
                response |= DECERR << 2 * k;
            else
                std::memcpy(data + k * lanes, bytes.data() + at, lanes);
        }
        top.m_axi_constant_arready = (1u << PLANES) - 1;
        top.m_axi_constant_rvalid = valid;
        top.m_axi_constant_rlast = last;
        top.m_axi_constant_rresp = response;
    }

    // Takes what is asked for, when the cycle has settled; whether any data are owed.
    template <typename Top>
    bool take(Top& top, uint64_t cycle) {
        if (bytes.empty()) return false;
        constexpr uint64_t lanes = sizeof top.m_axis_tdata;
        bool owes = false;
        for (int k = 0; k < PLANES; k++) {
            if (top.m_axi_constant_rvalid >> k & top.m_axi_constant_rready >> k & 1) {
                Burst& burst = bursts[k].front();
                burst.address += lanes;
                if (--burst.beats == 0) bursts[k].pop_front();
            }
            if (top.m_axi_constant_arvalid >> k & 1) {
                uint64_t address;
                std::memcpy(&address, reinterpret_cast<const uint8_t*>(&top.m_axi_constant_araddr) + 8 * k, 8);
                const uint32_t beats = (top.m_axi_constant_arlen >> 8 * k & 0xFF) + 1;
                const bool whole = 1u << (top.m_axi_constant_arsize >> 3 * k & 7) == lanes;
                const bool refused = !whole || (top.m_axi_constant_arburst >> 2 * k & 3) != INCR ||
                                     address % PAGE + beats * lanes > PAGE;
                bursts[k].push_back({address, beats, cycle + latency, refused});
            }
            owes |= !bursts[k].empty();
        }
        return owes;
    }
};
