// What a lane keeps on the device, and what it reports to the host, in words.
#pragma once

#include "words.cuh"

// On the device, all zero at first.
enum State : u32 {
    SEQUENCE,  // how many frames the lane has taken
    GIVEN,     // whether the frame is handed back
    BLOCKS,    // blocks that have handed back their part
    COMPLETE,  // counts of the frame that are complete, where several blocks complete them
    KEPT,      // the number of a frame that is kept in any case
};

constexpr u32 REPORTED = 5;  // counts

// In pinned memory of the host. JUDGED and DONE are the number of the frame when what comes before is there; FOUND is
// the number of peaks that the verdict is on.
enum Report : u32 { REPORTED_COUNTS, JUDGED = 5, DONE = 6, FOUND = 7 };
