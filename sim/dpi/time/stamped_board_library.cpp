// A simulated board's clock and its stamps, stamped_board.sv, as a C library: what
// framelane.driver.simulated.time.verilated_stamps loads. Moments in 2^-40 ns from the edge on with which the clock was
// set.

#include <cstdint>
#include <cstring>

#include "Vtop.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

constexpr int PATIENCE = 1000;  // cycles

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    uint64_t period = 0;
    uint64_t now = 0;  // the edge with which the present cycle began

    uint64_t next_edge() const { return now + (top.clk ? period / 2 : period); }

    void half_cycle() {
        if (!top.clk) now += period;
        top.clk = !top.clk;
        top.eval();
    }

    void cycle() {
        half_cycle();
        half_cycle();
    }

    void run_until(uint64_t moment) {
        while (next_edge() < moment) half_cycle();
    }
};

}  // namespace

extern "C" {

Simulation* stamped_board_new() { return new Simulation; }
void stamped_board_delete(Simulation* s) {
    s->top.final();
    delete s;
}

// Begins with a clock of this period (in 2^-40 ns), of these rate_t and nominal period (in 2^-24 ns), which is set to
// this time_t. False where that does not come to an end.
bool stamped_board_begin(Simulation* s, uint64_t period, const void* rate, uint32_t nominal, const void* value) {
    s->period = period;
    std::memcpy(&s->top.rate_i, rate, sizeof s->top.rate_i);
    std::memcpy(&s->top.value_i, value, sizeof s->top.value_i);
    s->top.own_period_i = nominal;
    s->top.rst = 1;
    for (int k = 0; k < 4; k++) s->cycle();
    s->top.rst = 0;
    for (int k = 0; k < 16; k++) s->cycle();
    s->top.set_i = 1;
    s->cycle();
    s->top.set_i = 0;
    for (int k = 0; !s->top.stepped_o; k++) {
        if (k == PATIENCE) return false;
        s->cycle();
    }
    s->now = 0;
    return true;
}

// Triggers at these moments, which rise, high for `high` each: how many ns the frames say that begin behind them.
// False where a trigger is not seen.
bool stamped_board_stamp(Simulation* s, const uint64_t* triggers, uint64_t n, uint64_t high, uint64_t* stamps) {
    for (uint64_t k = 0; k < n; k++) {
        const uint16_t before = s->top.triggers_o;
        s->run_until(triggers[k]);
        s->top.trigger_i = 1;
        s->run_until(triggers[k] + high);
        s->top.trigger_i = 0;
        if (s->top.triggers_o != uint16_t(before + 1)) return false;
        stamps[k] = s->top.timestamp_ns_o;
    }
    return true;
}

// The moment of the last edge, and time_o behind it.
uint64_t stamped_board_now(Simulation* s, void* time) {
    std::memcpy(time, &s->top.time_o, sizeof s->top.time_o);
    return s->now;
}

}  // extern "C"
