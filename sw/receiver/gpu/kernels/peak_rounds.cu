// The further rounds of the peak finder: `peak_spread` takes the pixels that have changed out of the rings that they
// are in, or puts them back; `peak_renew` looks at the candidates of these rings again.
//
//   images, stride, finder  as in peak_candidates.cu
//   blocks  of each frame
//   round   from 1 on; in the first one all bright pixels have changed
//
// Blocks of THREADS.

#include "candidates.cuh"

constexpr u32 MOST_SLOTS = 8, NEEDED_SLOTS = (RING_PIXELS + LANES - 1) / LANES;
constexpr u32 SLOTS = NEEDED_SLOTS < MOST_SLOTS ? NEEDED_SLOTS : MOST_SLOTS;  // pixels of a lane at a time

// Take a value out of the ring of a candidate, or put it back; whether it is the first that does so in this round.
ON_GPU bool touch(const Frame& frame, u32 candidate, i32 sign, i32 v) {
    Sums* sums = frame.sums() + candidate;
    atomicAdd(&sums->n, static_cast<u32>(sign));
    atomicAdd(&sums->s, sign * v);
    add(&sums->q, static_cast<i64>(sign) * (v * v));
    return !(atomicOr(&frame.candidates()[candidate].flags, TOUCHED) & TOUCHED);
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    peak_spread(const i16* images, i64 stride, u32 blocks, u32 round, const Finder* finder) {
    const Frame frame = frame_of(finder, images, stride, blockIdx.x / blocks);
    const u32 lane = threadIdx.x % LANES, warp = blockIdx.x % blocks * WARPS + threadIdx.x / LANES;
    const u32 n = round == 1 ? frame.counters()[EVER_BRIGHTS] : *frame.changed_in(round);
    const u32* list = round == 1 ? frame.bright() : frame.changed();
    for (u32 entry = warp; entry < n; entry += blocks * WARPS) {
        const Candidate changed = frame.candidates()[list[entry]];
        const i32 v = frame.value(changed.place), sign = changed.flags & BRIGHT ? -1 : 1;
        const Panel panel = finder->panels[panel_number(changed.flags)];
        for (u32 begin = 0; begin < RING_PIXELS; begin += SLOTS * LANES) {
            u32 found = 0;  // bit n: pixel n of this lane is a candidate
#pragma unroll
            for (u32 n = 0; n < SLOTS; n++) {
                const u32 i = begin + n * LANES + lane;
                u32 there;
                if (i < RING_PIXELS && step_within(panel, changed.place, ring_step(i), there)) {
                    const i32 other = frame.value(there);
                    if (other >= finder->least && other <= MAX_VALUE && frame.usable(there)) found |= 1u << n;
                }
            }
            for (; lanes_with(found != 0); found &= found - 1) {
                u32 candidate = 0;
                bool first = false;
                if (found) {
                    const Step step = ring_step(begin + lowest(found) * LANES + lane);
                    const u32 steps = static_cast<u32>(step.down) * 0x10000 + static_cast<u32>(step.right);
                    candidate = frame.index()[frame.at(changed.place + steps)];
                    first = touch(frame, candidate, sign, v);
                }
                append(first, candidate, frame.touched(), frame.touched_in(round), lane);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    peak_renew(const i16* images, i64 stride, u32 blocks, u32 round, const Finder* finder) {
    const Frame frame = frame_of(finder, images, stride, blockIdx.x / blocks);
    const u32 n = *frame.touched_in(round), lane = threadIdx.x % LANES;
    for (u32 begin = blockIdx.x % blocks * THREADS + threadIdx.x - lane; begin < n; begin += blocks * THREADS) {
        u32 candidate = 0;
        bool changes = false, is_new = false;
        if (begin + lane < n) {
            candidate = frame.touched()[begin + lane];
            const Candidate before = frame.candidates()[candidate];
            const i32 v = frame.value(before.place);
            const bool bright = stands_out(frame.sums()[candidate], v, finder->min_ring, finder->snr_steps);
            changes = bright != ((before.flags & BRIGHT) != 0);
            is_new = bright && !(before.flags & EVER_BRIGHT);
            frame.candidates()[candidate].flags =
                (before.flags & ~(BRIGHT | TOUCHED)) | (bright ? BRIGHT | EVER_BRIGHT : 0);
        }
        list_bright(frame, is_new, candidate, lane);
        if (round + 1 < finder->rounds) append(changes, candidate, frame.changed(), frame.changed_in(round + 1), lane);
    }
}
