// Frames that lie in memory: what the simulated transmitters without a frame store are fed with.
#pragma once

#include <cstdint>
#include <deque>
#include <type_traits>

#include "Vtop.h"

struct FrameFeed {
    std::deque<std::remove_reference_t<decltype(Vtop::s_axis_frame_tdata)>> frames;
    uint64_t released = 0;

    void offer(Vtop& top) {
        top.s_axis_frame_tvalid = !frames.empty();
        if (!frames.empty()) top.s_axis_frame_tdata = frames.front();
    }
    bool taken(Vtop& top) {
        released += top.release_o;
        if (!top.s_axis_frame_tvalid || !top.s_axis_frame_tready || top.rst) return false;
        frames.pop_front();
        return true;
    }
    bool empty() const { return frames.empty(); }
};
