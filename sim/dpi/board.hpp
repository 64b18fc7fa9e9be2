// What surrounds the transmitter in every simulation of it: a memory behind AXI4, and the packets that left. One Board
// is current at a time: the DPI functions of memory_read.sv, memory_write.sv and packet_sink.sv act on it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "chance.hpp"

struct Burst {
    uint64_t address;
    uint32_t beats;
    uint64_t due;  // cycle of the first beat
};

// A port that reads.
struct ReadPort {
    std::deque<Burst> bursts;  // asked for, oldest first
    Chance chance;
};

// A beat to be written; only bytes with their bit in `strobe` are.
struct Beat {
    std::array<uint8_t, 128> data;
    std::array<uint8_t, 16> strobe;
    bool last;
};

struct Answer {
    uint64_t due;
    uint8_t response;
};

// A port that writes. Beats may come before the address of their burst.
struct WritePort {
    std::deque<Burst> bursts;
    std::deque<Beat> beats;
    std::deque<Answer> answers;
    bool outside = false;  // the burst that is being written has left the memory
    Chance chance;
};

struct Board {
    std::vector<uint8_t> memory;      // from address 0; accesses behind its end are answered by DECERR
    uint64_t end = 0;                 // reads from here on are answered by DECERR too, if it is not 0
    std::array<ReadPort, 8> reads;    // frames, by each of up to two readers, then the planes of the constants
    std::array<WritePort, 2> writes;  // raw images, corrected ones
    std::vector<uint8_t> packets;     // one after the other
    std::vector<uint32_t> lengths;    // of each, in bytes
    std::vector<uint64_t> ends;       // of each, the cycle of its last beat
    uint32_t packet_bytes = 0;        // of the one that is coming
    uint64_t cycle = 0;
    uint64_t last_activity = 0;  // cycle of the last handshake on any stream
    uint32_t latency = 0;        // of the memory, in cycles
    uint8_t memory_stall = 0;    // share of cycles, in 1/256, in which each port of the memory pauses
    uint8_t sink_stall = 0;      // share of cycles in which the sink pauses
    bool hold_reads = false;     // the memory takes and answers no reads
    bool hold_sink = false;      // the sink takes no beat
    Chance sink_chance;
};

Board* board_current();
void board_select(Board* board);
