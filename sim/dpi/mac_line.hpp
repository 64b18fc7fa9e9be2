// Frames that come from a MAC, which cannot wait: back to back, a beat a clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

struct MacLine {
    struct Frame {
        std::vector<uint8_t> bytes;  // 1 or more
        bool bad;                    // its FCS
    };
    std::deque<Frame> frames;  // oldest first; a part of the first may have come
    uint64_t at = 0;           // its first byte that has not

    void push(const uint8_t* bytes, uint64_t n, bool bad) { frames.push_back({{bytes, bytes + n}, bad}); }

    // Shows the next beat, before the clock rises: the ports of the stream, of any width.
    template <typename Data, typename Keep, typename Bit>
    void drive(Data& tdata, Keep& tkeep, Bit& tlast, Bit& tuser, Bit& tvalid) {
        tvalid = !frames.empty();
        if (frames.empty()) return;
        const Frame& frame = frames.front();
        const uint64_t lanes = sizeof tdata, n = std::min(lanes, frame.bytes.size() - at);
        auto* data = reinterpret_cast<uint8_t*>(&tdata);
        auto* keep = reinterpret_cast<uint8_t*>(&tkeep);
        std::memset(data, 0, lanes);
        std::memcpy(data, frame.bytes.data() + at, n);
        std::memset(keep, 0, (lanes + 7) / 8);
        for (uint64_t k = 0; k < n; k++) keep[k / 8] |= 1 << k % 8;
        at += n;
        tlast = at == frame.bytes.size();
        tuser = tlast && frame.bad;
        if (!tlast) return;
        frames.pop_front();
        at = 0;
    }
};
