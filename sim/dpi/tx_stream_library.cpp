// The simulated transmitter behind its frame store as a C library: what framelane.driver.simulated.verilated_stream
// loads.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>
#include <vector>

#include "tx_simulation.hpp"
#include "verilated_port.hpp"

double sc_time_stamp() { return 0; }

namespace {

constexpr uint64_t LANES = sizeof(Vtop::s_axis_pixel_tdata);

struct Frame {
    std::remove_reference_t<decltype(Vtop::s_axis_pixel_tuser)> info;
    std::vector<uint8_t> bytes;
};

// A detector whose frames follow each other without a pause.
struct PixelFeed {
    std::deque<Frame> frames;
    uint64_t at = 0;  // first byte of the beat that is offered

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
    bool taken(Vtop& top) {
        if (!top.s_axis_pixel_tvalid || !top.s_axis_pixel_tready || top.rst) return false;
        at += LANES;
        if (top.s_axis_pixel_tlast) {
            frames.pop_front();
            at = 0;
        }
        return true;
    }
    bool empty() const { return frames.empty(); }
};

using TxStream = Simulation<PixelFeed>;

}  // namespace

extern "C" {

TxStream* tx_stream_new() { return new TxStream; }
void tx_stream_delete(TxStream* s) { delete s; }

// Makes `s` the one that the board_* functions act on.
void tx_stream_select(TxStream* s) { board_select(&s->board); }

void tx_stream_reset(TxStream* s) { s->reset(); }
bool tx_stream_write(TxStream* s, uint32_t offset, uint32_t value) { return s->write(offset, value); }
bool tx_stream_read(TxStream* s, uint32_t offset, uint32_t* value) { return s->read(offset, value); }
bool tx_stream_run(TxStream* s, uint64_t patience) { return s->run(patience); }
bool tx_stream_interrupt(TxStream* s, uint64_t cycles) { return s->interrupted(cycles); }

// Runs for some cycles, whatever is under way.
void tx_stream_step(TxStream* s, uint64_t cycles) {
    for (uint64_t k = 0; k < cycles; k++) s->step();
}

// Queues a frame of `n` bytes, not 0, with its frame_info_t.
void tx_stream_frame(TxStream* s, const uint32_t* info, const uint8_t* bytes, uint64_t n) {
    s->feed.frames.push_back({{}, {bytes, bytes + n}});
    assign(s->feed.frames.back().info, info);
}

}  // extern "C"
