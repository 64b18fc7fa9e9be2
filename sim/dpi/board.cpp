#include "board.hpp"

#include <algorithm>
#include <cstring>

#include "svdpi.h"

namespace {

Board default_board;
Board* current = &default_board;

constexpr uint8_t OKAY = 0, DECERR = 3;

}  // namespace

Board* board_current() { return current; }
void board_select(Board* board) { current = board; }

extern "C" {

// One cycle of the AXI4 read slave: takes what was seen before the clock edge, gives what is seen after it.
void board_memory(svBit reset, int lanes, svBit arvalid, uint64_t araddr, uint8_t arlen, svBit rready, svBit* arready,
                  svBit* rvalid, svBit* rlast, svBitVecVal* rresp, svBitVecVal* rdata) {
    Board& b = *current;
    b.cycle++;
    if (reset) {
        b.bursts.clear();
        *arready = *rvalid = 0;
        return;
    }
    if (arvalid && *arready) {
        b.bursts.push_back({araddr, arlen + 1u, b.cycle + b.latency});
        b.last_activity = b.cycle;
    }
    if (*rvalid && rready) {
        b.last_activity = b.cycle;
        Burst& burst = b.bursts.front();
        burst.address += lanes;
        if (--burst.beats == 0) b.bursts.pop_front();
        *rvalid = 0;
    }
    if (!*rvalid && !b.bursts.empty() && b.bursts.front().due <= b.cycle && !b.chance.pauses(b.memory_stall)) {
        const Burst& burst = b.bursts.front();
        const uint64_t end = b.end ? std::min<uint64_t>(b.end, b.memory.size()) : b.memory.size();
        const bool inside = burst.address < end && end - burst.address >= uint64_t(lanes);
        if (inside)
            std::memcpy(rdata, b.memory.data() + burst.address, lanes);
        else
            std::memset(rdata, 0, lanes);
        *rresp = inside ? OKAY : DECERR;
        *rlast = burst.beats == 1;
        *rvalid = 1;
    }
    *arready = !b.chance.pauses(b.memory_stall);
}

// One beat that the sink takes.
void board_beat(int lanes, const svBitVecVal* data, const svBitVecVal* keep, svBit last) {
    Board& b = *current;
    int n = 0;
    while (n < lanes && (keep[n / 32] >> (n % 32) & 1)) n++;
    const auto* bytes = reinterpret_cast<const uint8_t*>(data);
    b.packets.insert(b.packets.end(), bytes, bytes + n);
    b.packet_bytes += n;
    b.last_activity = b.cycle;
    if (last) {
        b.lengths.push_back(b.packet_bytes);
        b.packet_bytes = 0;
    }
}

// Whether the sink takes a beat in the next cycle.
svBit board_ready() { return !current->chance.pauses(current->sink_stall); }

// Below: for the program around the simulation (Python's ctypes).

// Writes the frame memory, which grows as needed, by whole pages.
void board_write(uint64_t address, const uint8_t* data, uint64_t bytes) {
    const uint64_t pages = (address + bytes + 4095) / 4096;
    if (current->memory.size() < pages * 4096) current->memory.resize(pages * 4096);
    std::memcpy(current->memory.data() + address, data, bytes);
}

// From now on, reads from `end` on are answered by DECERR; 0: only those behind the memory.
void board_end(uint64_t end) { current->end = end; }

// Forgets memory, packets and bursts, and sets how the surroundings behave.
void board_configure(uint32_t latency, uint8_t memory_stall, uint8_t sink_stall, uint64_t seed) {
    *current = Board{};
    current->latency = latency;
    current->memory_stall = memory_stall;
    current->sink_stall = sink_stall;
    current->chance.state = seed ? seed : 1;
}

uint64_t board_packet_count() { return current->lengths.size(); }
uint64_t board_packet_bytes() { return current->packets.size() - current->packet_bytes; }

// Copies the packets that are complete, and their lengths, and forgets them.
void board_take(uint8_t* bytes, uint32_t* lengths) {
    Board& b = *current;
    const uint64_t n = board_packet_bytes();
    std::memcpy(bytes, b.packets.data(), n);
    std::memcpy(lengths, b.lengths.data(), b.lengths.size() * sizeof(uint32_t));
    b.packets.erase(b.packets.begin(), b.packets.begin() + static_cast<int64_t>(n));
    b.lengths.clear();
}

uint64_t board_last_activity() { return current->last_activity; }
uint64_t board_cycle() { return current->cycle; }

}  // extern "C"
