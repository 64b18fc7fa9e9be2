// A simulated board by its pins, with the other end of its RGMII, as a C library: what framelane.driver.simulated.pins
// loads. A byte passes each way in a cycle of the line; both ends have the same clock.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

constexpr uint16_t VALID = 0x100;
constexpr uint16_t IDLE = 0xDD;  // between packets the PHY says: 1 Gb/s, full duplex, up (RGMII 2.0, 3.4.1)
constexpr int GAP = 12;

constexpr uint64_t LINE_HZ = 125'000'000, BAUD = 115'200;

// The other end of a UART: 8N1, its bits by the line's cycles.
struct Uart {
    std::deque<uint8_t> to_board;
    std::vector<uint8_t> heard;
    uint64_t sends = 0, hears = 0;  // cycles since the byte began, and one; 0: none is under way
    uint16_t hearing = 0;

    static uint64_t bit(uint64_t cycles) { return cycles * BAUD / LINE_HZ; }

    bool level() {
        if (to_board.empty()) return true;
        const uint64_t at = bit(sends++);
        if (at < 10) return at == 0 ? false : at == 9 || (to_board.front() >> (at - 1) & 1);
        to_board.pop_front();
        sends = 0;
        return true;
    }

    void hear(bool level) {
        if (hears == 0 && level) return;
        hears++;
        constexpr uint64_t HALF = LINE_HZ / BAUD / 2;
        if (hears == HALF && level) hears = 0;  // too short for a start bit
        if (hears <= HALF || bit(hears - HALF) == bit(hears - HALF - 1)) return;
        const uint64_t at = bit(hears - HALF);  // the middle of bit `at`
        if (at < 9) {
            hearing = hearing >> 1 | level << 7;
        } else {
            if (level) heard.push_back(hearing);
            hearing = 0;
            hears = 0;
        }
    }
};

struct Simulation {
    VerilatedContext context;
    Vtop top{&context};
    uint64_t cycles = 0;

    std::deque<uint16_t> to_board;  // bytes with VALID, and those between packets
    std::vector<uint8_t> packet;    // that the board is sending
    bool spoiled = false;           // the PHY was told of an error in it
    std::vector<uint8_t> data;      // of packets that the board has sent
    std::vector<uint32_t> lengths;
    uint64_t errors = 0;  // packets that were not kept, as they were spoiled
    Uart uart;

    // The low half of a byte with the rising edge, the high half with the falling one.
    void step() {
        uint16_t in = IDLE;
        if (!to_board.empty()) {
            in = to_board.front();
            to_board.pop_front();
        }
        top.uart_rx_i = uart.level();
        top.rx_ctl_i = in >> 8;
        top.rxd_i = in & 15;
        top.clk = top.rxc_i = 1;
        top.eval();
        const uint8_t low = top.txd_o;
        const bool valid = top.tx_ctl_o;
        top.rxd_i = in >> 4 & 15;
        top.clk = top.rxc_i = 0;
        top.eval();
        cycles++;
        uart.hear(top.uart_tx_o);
        if (valid) {
            packet.push_back(low | top.txd_o << 4);
            spoiled |= !top.tx_ctl_o;
        } else if (!packet.empty()) {
            if (spoiled) {
                errors++;
            } else {
                data.insert(data.end(), packet.begin(), packet.end());
                lengths.push_back(packet.size());
            }
            packet.clear();
            spoiled = false;
        }
    }
};

}  // namespace

extern "C" {

Simulation* pins_new() { return new Simulation; }
void pins_delete(Simulation* s) {
    s->top.final();
    delete s;
}

// The button, for so many cycles of the line.
void pins_press(Simulation* s, uint64_t cycles) {
    s->top.button_ni = 0;
    while (cycles--) s->step();
    s->top.button_ni = 1;
}

// A packet for the board, from its preamble to its FCS, behind those that are on their way.
void pins_send(Simulation* s, const uint8_t* line, uint64_t bytes) {
    for (uint64_t k = 0; k < bytes; k++) s->to_board.push_back(VALID | line[k]);
    s->to_board.insert(s->to_board.end(), GAP, IDLE);
}

void pins_step(Simulation* s, uint64_t cycles) {
    while (cycles--) s->step();
}

// Packets that the board has sent; their bytes; packets that it has spoiled, since power-up; cycles since then.
void pins_counts(Simulation* s, uint64_t* values) {
    const uint64_t all[] = {s->lengths.size(), s->data.size(), s->errors, s->cycles};
    std::memcpy(values, all, sizeof all);
}

// Copies the packets, one after the other, and their lengths, and forgets them.
void pins_take(Simulation* s, uint8_t* data, uint32_t* lengths) {
    std::memcpy(data, s->data.data(), s->data.size());
    std::memcpy(lengths, s->lengths.data(), 4 * s->lengths.size());
    s->data.clear();
    s->lengths.clear();
}

// Bytes for the board's UART, behind those that are on their way.
void pins_uart_send(Simulation* s, const uint8_t* data, uint64_t bytes) {
    s->uart.to_board.insert(s->uart.to_board.end(), data, data + bytes);
}

// Bytes that its UART has said since this was asked last, `most` of them at most; how many.
uint64_t pins_uart_take(Simulation* s, uint8_t* data, uint64_t most) {
    const uint64_t n = std::min<uint64_t>(most, s->uart.heard.size());
    std::memcpy(data, s->uart.heard.data(), n);
    s->uart.heard.erase(s->uart.heard.begin(), s->uart.heard.begin() + n);
    return n;
}

bool pins_led(Simulation* s) { return s->top.led_o; }

}  // extern "C"
