// When the sides of a simulated stream pause: seeded, the same on every machine.
#pragma once

#include <cstdint>

// xorshift64* (Vigna, ACM TOMS 42, 2016).
struct Chance {
    uint64_t state = 1;  // never 0

    // Whether a side pauses in this cycle; `share` of the cycles, in 1/256.
    bool pauses(uint8_t share) {
        if (!share) return false;
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return (state * 0x2545f4914f6cdd1dULL >> 56) < share;
    }
};
