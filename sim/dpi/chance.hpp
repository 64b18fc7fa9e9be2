// When the sides of a simulated stream pause: seeded, the same on every machine.
#pragma once

#include <cstdint>

// xorshift64* (Vigna, ACM TOMS 42, 2016).
struct Chance {
    uint64_t state = 1;  // never 0

    // Whether a side pauses in this cycle; `share` of the cycles, in 1/256.
    bool pauses(uint8_t share) { return share && draw() >> 56 < share; }

    // A number of cycles from 0 to `most`: none in half of all cases, so that what waits and what does not are mixed.
    uint32_t cycles(uint32_t most) {
        if (!most) return 0;
        const uint64_t drawn = draw() >> 31;
        return drawn & 1 ? (drawn >> 1) % (most + 1ull) : 0;
    }

  private:
    uint64_t draw() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return state * 0x2545f4914f6cdd1dULL;
    }
};
