// The whole gateware as a C library, each side with its own clock: what framelane.driver.simulated.verilated_top loads.

#include <algorithm>
#include <array>
#include <cstdint>

#include "Vtop.h"
#include "axil_master.hpp"
#include "board.hpp"
#include "mac_line.hpp"
#include "pixel_feed.hpp"
#include "verilated.h"
#include "verilated_port.hpp"

double sc_time_stamp() { return 0; }

namespace {

// Times in ps.
struct Clock {
    CData& pin;
    uint64_t period = 1, next = 1;
};

struct Top {
    VerilatedContext context;
    Vtop top{&context};
    Board board;
    PixelFeed pixels;
    MacLine line;

    enum { CORE, PIXEL, MEMORY, REGISTER, TX, RX };
    std::array<Clock, 6> clocks{
        {{top.clk}, {top.pixel_clk}, {top.memory_clk}, {top.register_clk}, {top.tx_clk}, {top.rx_clk}}};

    ~Top() { top.final(); }

    // On to the next edge; whether that is one of `clock`.
    bool edge(int clock) {
        uint64_t now = UINT64_MAX;
        for (const Clock& c : clocks) now = std::min(now, c.next);
        for (Clock& c : clocks) {
            if (c.next != now || !c.pin) continue;
            c.pin = 0;  // it rises twice in a row: the design must have seen it low
            top.eval();
        }
        bool offered = false;
        if (clocks[PIXEL].next == now) {
            offered = !pixels.empty();
            pixels.offer(top);
            if (offered) top.eval();
            offered = offered && top.s_axis_pixel_tready && !top.pixel_rst;
        }
        if (clocks[RX].next == now)
            line.drive(top.s_axis_rx_tdata, top.s_axis_rx_tkeep, top.s_axis_rx_tlast, top.s_axis_rx_tuser,
                       top.s_axis_rx_tvalid);
        const bool found = clocks[clock].next == now;
        for (Clock& c : clocks) {
            c.pin = c.next == now;  // and who rose before falls now
            if (c.pin) c.next += c.period;
        }
        top.eval();
        if (offered) {
            pixels.next(top);
            board.last_activity = board.cycle;
        }
        return found;
    }

    void cycle(int clock) {
        while (!edge(clock)) {
        }
    }
    void step() { cycle(CORE); }

    // As after power-up.
    void reset() {
        pixels = {};
        line = {};
        AxilMaster::reset(top);
        resets(1);
        for (int k = 0; k < 16; k++) step();
        resets(0);
        step();
    }

    bool write(uint32_t offset, uint32_t value) {
        return AxilMaster::write(top, offset, value, [this] { cycle(REGISTER); });
    }
    bool read(uint32_t offset, uint32_t* value) {
        return AxilMaster::read(top, offset, value, [this] { cycle(REGISTER); });
    }

    bool interrupted(uint64_t cycles) {
        for (uint64_t k = 0; k < cycles && !top.interrupt_o; k++) step();
        return top.interrupt_o;
    }

    // Runs until all that was offered is served, nothing is under way, and the MAC has all packets; false where no
    // stream moves for `patience` cycles.
    bool run(uint64_t patience) {
        board.last_activity = board.cycle;
        for (int quiet = 0; quiet < CROSSING; step()) {
            if (board.cycle - board.last_activity > patience) return false;
            const bool busy = !pixels.empty() || !top.idle_o || top.core_ends_o != top.line_ends_o;
            quiet = busy ? 0 : quiet + 1;
        }
        return true;
    }

  private:
    static constexpr int CROSSING = 64;  // cycles in which pixels are between two clocks, and nobody is busy

    void resets(bool on) { top.rst = top.pixel_rst = top.memory_rst = top.register_rst = top.tx_rst = top.rx_rst = on; }
};

}  // namespace

extern "C" {

Top* framelane_top_new() { return new Top; }
void framelane_top_delete(Top* s) { delete s; }

// Makes `s` the one that the board_* functions act on.
void framelane_top_select(Top* s) { board_select(&s->board); }

// Periods, in ps, as Top has its clocks; each begins at another time.
void framelane_top_clocks(Top* s, const uint64_t* periods) {
    for (uint64_t k = 0; k < s->clocks.size(); k++) {
        s->clocks[k].period = periods[k];
        s->clocks[k].next = periods[k] * (k + 1) / (s->clocks.size() + 1);
    }
}

void framelane_top_reset(Top* s) { s->reset(); }
bool framelane_top_write(Top* s, uint32_t offset, uint32_t value) { return s->write(offset, value); }
bool framelane_top_read(Top* s, uint32_t offset, uint32_t* value) { return s->read(offset, value); }
bool framelane_top_run(Top* s, uint64_t patience) { return s->run(patience); }
bool framelane_top_interrupt(Top* s, uint64_t cycles) { return s->interrupted(cycles); }

// Runs for some cycles of the core, whatever is under way.
void framelane_top_step(Top* s, uint64_t cycles) {
    for (uint64_t k = 0; k < cycles; k++) s->step();
}

// Queues a frame of `n` bytes, not 0, with its frame_info_t.
void framelane_top_frame(Top* s, const uint32_t* info, const uint8_t* bytes, uint64_t n) {
    s->pixels.push(info, bytes, n);
}

// A frame arrives at the MAC, behind those that wait.
void framelane_top_receive(Top* s, const uint8_t* bytes, uint64_t n, bool bad) { s->line.push(bytes, n, bad); }

// The link of the MAC.
void framelane_top_link(Top* s, bool up) { s->top.link_up_i = up; }

// Cycles in which the MAC lacked a beat inside a packet.
uint64_t framelane_top_gaps(Top* s) { return s->top.gaps_o; }

}  // extern "C"
