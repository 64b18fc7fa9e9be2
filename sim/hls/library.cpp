// The C simulation as a C library: what tests/support/hls_library.py loads.

#include <algorithm>
#include <stdexcept>

#include "jf_correct_start.hpp"

// One start; the state in between stays, as on a board. Gives the number of beats that came out, at most `n_pixels`, or
// -1 where the pixels ended before the frames did: a board would wait for more.
extern "C" int64_t jf_correct_start(const Registers* registers, const Line* planes, const Beat* pixels,
                                    uint64_t n_pixels, Beat* corrected, uint32_t* mismatches) try {
    const std::vector<Beat> beats = start(*registers, planes, pixels, n_pixels, *mismatches);
    std::copy(beats.begin(), beats.end(), corrected);
    return beats.size();
} catch (const std::runtime_error&) {
    return -1;
}
