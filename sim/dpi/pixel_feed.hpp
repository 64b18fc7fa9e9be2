// A detector whose frames follow each other without a pause: what the simulated transmitters with a frame store are fed
// with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>
#include <vector>

#include "Vtop.h"
#include "verilated_port.hpp"

struct PixelFeed {
    // Queues a frame of `n` bytes, not 0, with its frame_info_t.
    void push(const uint32_t* info, const uint8_t* bytes, uint64_t n) {
        frames.push_back({{}, {bytes, bytes + n}});
        assign(frames.back().info, info);
    }
    void offer(Vtop& top) {
        top.s_axis_pixel_tvalid = !frames.empty();
        if (frames.empty()) return;
        const Frame& frame = frames.front();
        const uint64_t n = std::min(LANES, frame.bytes.size() - at);
        auto* data = reinterpret_cast<uint8_t*>(&top.s_axis_pixel_tdata);
        auto* keep = reinterpret_cast<uint8_t*>(&top.s_axis_pixel_tkeep);
        std::memset(data, 0, LANES);
        std::memcpy(data, frame.bytes.data() + at, n);
        for (uint64_t lane = 0; lane < LANES; lane += 8)
            keep[lane / 8] = lane + 8 <= n ? 0xff : lane < n ? (1 << (n - lane)) - 1 : 0;
        top.s_axis_pixel_tlast = at + LANES >= frame.bytes.size();
        top.s_axis_pixel_tuser = frame.info;
    }
    // The beat that was offered is taken.
    void next(const Vtop& top) {
        at += LANES;
        if (!top.s_axis_pixel_tlast) return;
        frames.pop_front();
        at = 0;
    }
    // As tx_simulation.hpp asks, where all has one clock.
    bool taken(Vtop& top) {
        if (!top.s_axis_pixel_tvalid || !top.s_axis_pixel_tready || top.rst) return false;
        next(top);
        return true;
    }
    bool empty() const { return frames.empty(); }

  private:
    static constexpr uint64_t LANES = sizeof(Vtop::s_axis_pixel_tdata);

    struct Frame {
        std::remove_reference_t<decltype(Vtop::s_axis_pixel_tuser)> info;
        std::vector<uint8_t> bytes;
    };

    std::deque<Frame> frames;
    uint64_t at = 0;  // first byte of the beat that is offered
};
