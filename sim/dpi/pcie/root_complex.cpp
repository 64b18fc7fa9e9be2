#include "root_complex.hpp"

#include <cstring>

#include "svdpi.h"

namespace {

RootComplex* current = nullptr;

// Byte enables of one run of bytes (2.2.5): the first doubleword's reach up to its end where there is another.
bool one_run(const Tlp& t) {
    constexpr uint16_t RUNS =
        1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 14 | 1 << 15;
    constexpr uint16_t BEGINS = 1 << 8 | 1 << 12 | 1 << 14 | 1 << 15;
    constexpr uint16_t ENDS = 1 << 1 | 1 << 3 | 1 << 7 | 1 << 15;
    if (t.dwords == 1) return t.last_be == 0 && (RUNS >> t.first_be & 1);
    return (BEGINS >> t.first_be & 1) && (ENDS >> t.last_be & 1);
}

}  // namespace

void complex_select(RootComplex* complex) { current = complex; }

void RootComplex::beat(int port, const uint8_t* beat_data, uint32_t count, bool last, const Tlp& tlp) {
    RootPort& p = ports.at(port);
    activity++;
    if (!tlp.read) p.data.insert(p.data.end(), beat_data, beat_data + count);
    if (!last) return;
    const Window* to = most_late ? window(tlp.address, 4) : nullptr;
    if (to && to->late && !tlp.poisoned)
        p.held.push_back({tlp, p.data, p.chance.cycles(most_late)});
    else
        arrive(p, tlp, p.data);
    p.data.clear();
}

void RootComplex::cycle(int port) {
    RootPort& p = ports.at(port);
    if (p.held.empty() || p.held.front().left-- > 0) return;
    const Held first = std::move(p.held.front());
    p.held.pop_front();
    activity++;
    arrive(p, first.tlp, first.data);
}

bool RootComplex::waiting() const {
    for (const RootPort& each : ports)
        if (!each.held.empty() || !each.completions.empty()) return true;
    return false;
}

Window* RootComplex::window(uint64_t address, uint64_t length) {
    for (Window& each : windows)
        if (address >= each.address && length <= each.bytes && address - each.address <= each.bytes - length)
            return &each;
    return nullptr;
}

void RootComplex::fault(uint64_t address) {
    if (!faults++) first_fault = address;
}

void RootComplex::arrive(RootPort& port, const Tlp& t, const std::vector<uint8_t>& data) {
    if (t.poisoned) {
        nullified++;
        return;
    }
    const uint64_t length = 4ull * t.dwords;
    if (t.read) {
        if (t.dwords != 1 || t.first_be || t.last_be || t.address % 4) malformed++;
        const bool reached = window(t.address, 4);
        if (!reached) fault(t.address);
        if (answers) port.completions.push_back({t.tag, !reached, port.chance.cycles(most_answer)});
        return;
    }
    const bool crosses = t.address % 4096 + length > 4096;
    if (!t.dwords || t.address % 4 || crosses || length > max_payload || data.size() != length || !one_run(t)) {
        malformed++;
        return;
    }
    int lead = 0, tail = 0;
    while (!(t.first_be >> lead & 1)) lead++;
    const uint8_t closing = t.dwords == 1 ? t.first_be : t.last_be;
    while (!(closing >> (3 - tail) & 1)) tail++;
    const uint64_t count = length - lead - tail;
    Window* to = window(t.address + lead, count);
    if (!to) {
        fault(t.address + lead);
        return;
    }
    std::memcpy(to->memory + (t.address + lead - to->address), data.data() + lead, count);
    tlps++;
    prompt += !to->late;
    bytes += count;
}

extern "C" {

// One beat that a port takes. Data are whole doublewords, `keep` has a bit of each.
void complex_beat(int port, int dwords, const svBitVecVal* data, int unsigned keep, svBit last, uint64_t address,
                  int length, int enables, svBit read, int tag, svBit poisoned) {
    int count = 0;
    while (count < dwords && (keep >> count & 1)) count++;
    if (dwords > count && keep >> count) current->malformed++;  // a hole
    current->beat(port, reinterpret_cast<const uint8_t*>(data), 4 * count, last,
                  {address, uint32_t(length), uint8_t(enables & 15), uint8_t(enables >> 4 & 15), bool(read),
                   bool(poisoned), uint8_t(tag)});
}

// Whether a port takes a beat in the next cycle.
svBit complex_ready(int port) { return !current->ports.at(port).chance.pauses(current->stall); }

// A cycle of a port: the tag of its next completion, with bit 5 where it is an error; -1: there is none.
int complex_completion(int port) {
    current->cycle(port);
    auto& waiting = current->ports.at(port).completions;
    if (waiting.empty() || waiting.front().left-- > 0) return -1;
    const Completion next = waiting.front();
    waiting.pop_front();
    current->activity++;
    return next.tag | next.bad << 5;
}

}  // extern "C"
