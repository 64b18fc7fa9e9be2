#include "board.hpp"

#include <algorithm>
#include <cstring>

#include "svdpi.h"

namespace {

Board default_board;
Board* current = &default_board;

constexpr uint8_t OKAY = 0, SLVERR = 2, DECERR = 3;

// The oldest beat goes to the oldest burst; the last one is answered. A burst whose end is not its last beat is an
// error.
void write_beat(Board& b, WritePort& p, uint64_t lanes) {
    Burst& burst = p.bursts.front();
    const Beat& beat = p.beats.front();
    const bool inside = burst.address < b.memory.size() && b.memory.size() - burst.address >= lanes;
    for (uint64_t n = 0; inside && n < lanes; n++)
        if (beat.strobe[n / 8] >> n % 8 & 1) b.memory[burst.address + n] = beat.data[n];
    p.outside |= !inside;
    burst.address += lanes;
    burst.beats--;
    if (beat.last || !burst.beats) {
        const uint8_t response = p.outside ? DECERR : beat.last && !burst.beats ? OKAY : SLVERR;
        p.answers.push_back({b.cycle + b.latency, response});
        p.outside = false;
        p.bursts.pop_front();
    }
    p.beats.pop_front();
}

}  // namespace

Board* board_current() { return current; }
void board_select(Board* board) { current = board; }

extern "C" {

// A clock cycle begins. The order of this and the ports' cycles does not matter, as long as it stays.
void board_clock() { current->cycle++; }

// One cycle of an AXI4 read slave: takes what was seen before the clock edge, gives what is seen after it.
void board_read_port(int port, svBit reset, int lanes, svBit arvalid, uint64_t araddr, uint8_t arlen, svBit rready,
                     svBit* arready, svBit* rvalid, svBit* rlast, svBitVecVal* rresp, svBitVecVal* rdata) {
    Board& b = *current;
    ReadPort& p = b.reads.at(port);
    if (reset) {
        p.bursts.clear();
        *arready = *rvalid = 0;
        return;
    }
    if (arvalid && *arready) {
        p.bursts.push_back({araddr, arlen + 1u, b.cycle + b.latency});
        b.last_activity = b.cycle;
    }
    if (*rvalid && rready) {
        b.last_activity = b.cycle;
        Burst& burst = p.bursts.front();
        burst.address += lanes;
        if (--burst.beats == 0) p.bursts.pop_front();
        *rvalid = 0;
    }
    if (!*rvalid && !b.hold_reads && !p.bursts.empty() && p.bursts.front().due <= b.cycle &&
        !p.chance.pauses(b.memory_stall)) {
        const Burst& burst = p.bursts.front();
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
    *arready = !b.hold_reads && !p.chance.pauses(b.memory_stall);
}

// The same of an AXI4 write slave.
void board_write_port(int port, svBit reset, int lanes, svBit awvalid, uint64_t awaddr, uint8_t awlen, svBit wvalid,
                      const svBitVecVal* wdata, const svBitVecVal* wstrb, svBit wlast, svBit bready, svBit* awready,
                      svBit* wready, svBit* bvalid, svBitVecVal* bresp) {
    Board& b = *current;
    WritePort& p = b.writes.at(port);
    if (reset) {
        p.bursts.clear();
        p.beats.clear();
        p.answers.clear();
        p.outside = false;
        *awready = *wready = *bvalid = 0;
        return;
    }
    if (awvalid && *awready) {
        p.bursts.push_back({awaddr, awlen + 1u, 0});
        b.last_activity = b.cycle;
    }
    if (wvalid && *wready) {
        Beat& beat = p.beats.emplace_back();
        std::memcpy(beat.data.data(), wdata, lanes);
        std::memcpy(beat.strobe.data(), wstrb, (lanes + 7) / 8);
        beat.last = wlast;
        b.last_activity = b.cycle;
    }
    if (*bvalid && bready) {
        p.answers.pop_front();
        *bvalid = 0;
        b.last_activity = b.cycle;
    }
    while (!p.bursts.empty() && !p.beats.empty()) write_beat(b, p, lanes);
    if (!*bvalid && !p.answers.empty() && p.answers.front().due <= b.cycle && !p.chance.pauses(b.memory_stall)) {
        *bresp = p.answers.front().response;
        *bvalid = 1;
    }
    *awready = !p.chance.pauses(b.memory_stall);
    *wready = !p.chance.pauses(b.memory_stall);
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
        b.ends.push_back(b.cycle);
        b.packet_bytes = 0;
    }
}

// Whether the sink takes a beat in the next cycle.
svBit board_ready() { return !current->hold_sink && !current->sink_chance.pauses(current->sink_stall); }

// Below: for the program around the simulation (Python's ctypes).

// Writes the memory, which grows as needed, by whole pages.
void board_write(uint64_t address, const uint8_t* data, uint64_t bytes) {
    const uint64_t pages = (address + bytes + 4095) / 4096;
    if (current->memory.size() < pages * 4096) current->memory.resize(pages * 4096);
    std::memcpy(current->memory.data() + address, data, bytes);
}

// From now on, reads from `end` on are answered by DECERR; 0: only those behind the memory.
void board_end(uint64_t end) { current->end = end; }

// From now on, whether the memory leaves reads, and the sink packets, as they are.
void board_hold(bool reads, bool sink) {
    current->hold_reads = reads;
    current->hold_sink = sink;
}

// Forgets memory, packets and accesses, and sets how the simulated host behaves.
void board_configure(uint32_t latency, uint8_t memory_stall, uint8_t sink_stall, uint64_t seed) {
    *current = Board{};
    current->latency = latency;
    current->memory_stall = memory_stall;
    current->sink_stall = sink_stall;
    // Each side has its own chance: which of them is asked first does not matter.
    const auto sow = [&](Chance& chance) {
        chance.state = seed ? seed : 1;
        seed += 0x9e3779b97f4a7c15ULL;
    };
    sow(current->sink_chance);
    for (ReadPort& port : current->reads) sow(port.chance);
    for (WritePort& port : current->writes) sow(port.chance);
}

uint64_t board_packet_count() { return current->lengths.size(); }
uint64_t board_packet_bytes() { return current->packets.size() - current->packet_bytes; }

// Copies the cycles of the last beats of the packets that are complete.
void board_ends(uint64_t* cycles) {
    std::memcpy(cycles, current->ends.data(), current->ends.size() * sizeof(uint64_t));
}

// Copies the packets that are complete, and their lengths, and forgets them.
void board_take(uint8_t* bytes, uint32_t* lengths) {
    Board& b = *current;
    const uint64_t n = board_packet_bytes();
    std::memcpy(bytes, b.packets.data(), n);
    std::memcpy(lengths, b.lengths.data(), b.lengths.size() * sizeof(uint32_t));
    b.packets.erase(b.packets.begin(), b.packets.begin() + static_cast<int64_t>(n));
    b.lengths.clear();
    b.ends.clear();
}

uint64_t board_last_activity() { return current->last_activity; }
uint64_t board_cycle() { return current->cycle; }

}  // extern "C"
