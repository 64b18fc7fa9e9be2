// The other end of PCIe links: takes TLPs of endpoints beat by beat, and puts their bytes into memory of the program
// where its windows say, as an IOMMU does. It has no wire: only order counts, and each TLP is there with its last beat,
// but for those to a `late` window: these wait as at a switch's port, in their order, so others overtake them. One is
// current at a time: the DPI functions of tlp_sink.sv act on it. Rules of a TLP are those of the PCI Express Base
// Specification 5.0, 2.2.5 and 2.2.7.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "../chance.hpp"

struct Window {
    uint64_t address, bytes;
    uint8_t* memory;
    bool late;  // behind the port of a switch that delays
};

struct Tlp {
    uint64_t address;  // of its first doubleword
    uint32_t dwords;
    uint8_t first_be, last_be;
    bool read, poisoned;
    uint8_t tag;
};

struct Completion {
    uint8_t tag;
    bool bad;
    uint32_t left;  // cycles that it waits
};

// A TLP that waits at the switch.
struct Held {
    Tlp tlp;
    std::vector<uint8_t> data;
    uint32_t left;  // cycles, from when it is the first
};

// One endpoint's port.
struct RootPort {
    std::vector<uint8_t> data;  // of the TLP that is coming
    std::deque<Held> held;
    std::deque<Completion> completions;
    Chance chance;
};

struct RootComplex {
    std::vector<Window> windows;
    std::array<RootPort, 2> ports;
    uint32_t max_payload = 256;
    uint8_t stall = 0;             // share of cycles, in 1/256, in which each port pauses
    bool answers = true;           // reads
    uint32_t most_late = 0;        // cycles that a TLP to a late window waits at most
    uint32_t most_answer = 0;      // cycles that a completion waits at most
    uint64_t tlps = 0, bytes = 0;  // memory writes that arrived
    uint64_t prompt = 0;           // of them, those to windows that are not late
    uint64_t nullified = 0;
    uint64_t malformed = 0;    // against the specification: none may be
    uint64_t faults = 0;       // to no window: lost
    uint64_t first_fault = 0;  // its address
    uint64_t activity = 0;     // beats and completions

    // One beat: `bytes` of `data`; `tlp` counts with the last one.
    void beat(int port, const uint8_t* data, uint32_t bytes, bool last, const Tlp& tlp);

    // A cycle of what waits at a port.
    void cycle(int port);
    bool waiting() const;

  private:
    Window* window(uint64_t address, uint64_t length);
    void arrive(RootPort& port, const Tlp& tlp, const std::vector<uint8_t>& data);
    void fault(uint64_t address);
};

void complex_select(RootComplex* complex);
