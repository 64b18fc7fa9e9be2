// A simulated transmitter, with or without a frame store: what the C libraries of both have in common. It has no clock
// but its own. `Feed` is what it is fed with:
//
//     void offer(Vtop&);   shows the design the next of it, before the clock rises
//     bool taken(Vtop&);   whether the design takes that with the clock; it is forgotten then
//     bool empty();
#pragma once

#include <cstdint>

#include "Vtop.h"
#include "axil_master.hpp"
#include "board.hpp"
#include "verilated.h"

template <typename Feed>
struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    Board board;
    Feed feed;

    ~Simulation() { top.final(); }

    void step() {
        feed.offer(top);
        top.eval();
        const bool taken = feed.taken(top);
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
        if (taken) board.last_activity = board.cycle;
    }

    // As after power-up.
    void reset() {
        feed = {};
        AxilMaster::reset(top);
        top.rst = 1;
        for (int k = 0; k < 4; k++) step();
        top.rst = 0;
        step();
    }

    // One access over AXI4-Lite; false where it is not answered.
    bool write(uint32_t offset, uint32_t value) {
        return AxilMaster::write(top, offset, value, [this] { step(); });
    }
    bool read(uint32_t offset, uint32_t* value) {
        return AxilMaster::read(top, offset, value, [this] { step(); });
    }

    // Runs until the interrupt is up, but for `cycles` at most; whether it is.
    bool interrupted(uint64_t cycles) {
        for (uint64_t k = 0; k < cycles && !top.interrupt_o; k++) step();
        return top.interrupt_o;
    }

    // Runs until all that was offered is served and nothing is under way; false where no stream moves for `patience`
    // cycles.
    bool run(uint64_t patience) {
        board.last_activity = board.cycle;
        while (!feed.empty() || !top.idle_o) {
            if (board.cycle - board.last_activity > patience) return false;
            step();
        }
        return true;
    }
};
