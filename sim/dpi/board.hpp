// What surrounds the transmitter in every simulation of it: a frame memory behind AXI4, and the packets that left.
// One Board is current at a time: the DPI functions of tx_board.sv act on it.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "chance.hpp"

struct Burst {
    uint64_t address;
    uint32_t beats;
    uint64_t due;  // cycle of the first beat
};

struct Board {
    std::vector<uint8_t> memory;    // from address 0; reads behind its end are answered by DECERR
    uint64_t end = 0;               // reads from here on are answered by DECERR too, if it is not 0
    std::vector<uint8_t> packets;   // one after the other
    std::vector<uint32_t> lengths;  // of each, in bytes
    uint32_t packet_bytes = 0;      // of the one that is coming
    std::deque<Burst> bursts;       // asked for, oldest first
    uint64_t cycle = 0;
    uint64_t last_activity = 0;  // cycle of the last handshake on any stream
    uint32_t latency = 0;        // of the memory, in cycles
    uint8_t memory_stall = 0;    // share of cycles, in 1/256, in which the memory pauses
    uint8_t sink_stall = 0;      // share of cycles in which the sink pauses
    Chance chance;
};

Board* board_current();
void board_select(Board* board);
