// The other end of a PCIe link: takes TLPs of an endpoint beat by beat, and puts their bytes into memory of the program, where its windows say,
// as an IOMMU does. It has no wire: only order counts, and each TLP is there a cycle after its last beat. Rules of a TLP are those of the PCI
// Express Base Specification 5.0, 2.2.5 and 2.2.7.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

struct Window {
    uint64_t address, bytes;
    uint8_t* memory;
};

struct Tlp {
    uint64_t address = 0;  // of its first doubleword
    uint32_t dwords = 0;
    uint8_t first_be = 0, last_be = 0;
    bool read = false, poisoned = false;
    uint8_t tag = 0;
};

struct RootComplex {
    std::vector<Window> windows;
    uint32_t max_payload = 256;
    uint64_t tlps = 0, bytes = 0;   // memory writes that arrived
    uint64_t nullified = 0;
    uint64_t malformed = 0;         // against the specification: none may be
    uint64_t faults = 0;            // to no window: lost
    uint64_t first_fault = 0;       // its address
    bool answers = true;            // reads
    std::deque<uint8_t> completions;  // tags

    // One beat: `data` of `dwords` doublewords; `tlp` counts with the last one.
    void beat(const uint32_t* data, uint32_t dwords, bool last, const Tlp& tlp) {
        data_.insert(data_.end(), reinterpret_cast<const uint8_t*>(data),
                     reinterpret_cast<const uint8_t*>(data) + 4 * dwords);
        if (!last) return;
        arrive(tlp);
        data_.clear();
    }

  private:
    std::vector<uint8_t> data_;

    Window* window(uint64_t address, uint64_t length) {
        for (Window& each : windows)
            if (address >= each.address && length <= each.bytes && address - each.address <= each.bytes - length)
                return &each;
        return nullptr;
    }

    // Byte enables of one run of bytes (2.2.5): the first doubleword's reach up to its end where there is another.
    static bool one_run(const Tlp& t) {
        if (t.dwords == 1)
            return t.last_be == 0 && (t.first_be == 1 || t.first_be == 2 || t.first_be == 3 || t.first_be == 4 ||
                                      t.first_be == 6 || t.first_be == 7 || t.first_be == 8 || t.first_be == 12 ||
                                      t.first_be == 14 || t.first_be == 15);
        const bool begins = t.first_be == 15 || t.first_be == 14 || t.first_be == 12 || t.first_be == 8;
        const bool ends = t.last_be == 15 || t.last_be == 7 || t.last_be == 3 || t.last_be == 1;
        return begins && ends;
    }

    void arrive(const Tlp& t) {
        if (t.poisoned) {
            nullified++;
            return;
        }
        const uint64_t length = 4ull * t.dwords;
        const bool crosses = t.dwords && (t.address % 4096 + length > 4096);
        if (t.read) {
            if (t.dwords != 1 || t.first_be || t.last_be || t.address % 4) malformed++;
            if (!window(t.address, 4)) fault(t.address);
            if (answers) completions.push_back(t.tag);
            return;
        }
        if (!t.dwords || t.address % 4 || crosses || length > max_payload || data_.size() != length || !one_run(t)) {
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
        std::memcpy(to->memory + (t.address + lead - to->address), data_.data() + lead, count);
        tlps++;
        bytes += count;
    }

    void fault(uint64_t address) {
        if (!faults++) first_fault = address;
    }
};
