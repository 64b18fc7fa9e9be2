// The peaks of frames: bright pixels are connected, summed up, put in order, and written to the table. Four kernels,
// one after the other; the last one leaves all counters zero.
//
//   images, stride, finder  as in peak_candidates.cu
//   blocks                  of each frame
//
// Blocks of THREADS.

#include "candidates.cuh"

// Call `take(candidate, itself)` for every bright pixel of this block's share.
template <class Take>
ON_GPU void for_bright(const Frame& frame, u32 blocks, Take take) {
    const u32 n = frame.counters()[EVER_BRIGHTS];
    for (u32 entry = blockIdx.x % blocks * THREADS + threadIdx.x; entry < n; entry += blocks * THREADS) {
        const u32 number = frame.bright()[entry];
        const Candidate candidate = frame.candidates()[number];
        if (candidate.flags & BRIGHT) take(number, candidate);
    }
}

// Whether all other blocks of a frame are done; all threads of the block together.
ON_GPU bool last_block(const Frame& frame, u32 blocks) {
    __shared__ u32 last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        u32* done = frame.counters() + DONE;
        last = atomicAdd(done, 1u) == blocks - 1;
        if (last) *done = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

// The candidate that stands for a group.
ON_GPU u32 root_of(Group* groups, u32 candidate) {
    for (u32 parent = now(&groups[candidate].parent); parent != candidate; parent = now(&groups[candidate].parent))
        candidate = parent;
    return candidate;
}

// Make one group of two. Parents only become smaller: whoever has lost goes on with what was there.
ON_GPU void unite(Group* groups, u32 a, u32 b) {
    for (;;) {
        a = root_of(groups, a);
        b = root_of(groups, b);
        if (a == b) return;
        if (a < b) {
            const u32 larger = b;
            b = a;
            a = larger;
        }
        const u32 old = atomicMin(&groups[a].parent, b);
        if (old == a) return;
        a = old;
    }
}

// Unite a bright pixel with those of its neighbours that come before it.
ON_GPU void connect(const Frame& frame, u32 number, Candidate candidate) {
    const Panel panel = frame.of->panels[panel_number(candidate.flags)];
#pragma unroll
    for (u32 i = 0; i < NEAREST; i++) {
        u32 there;
        if (!step_within(panel, candidate.place, neighbour_step(i), there)) continue;
        const i32 v = frame.value(there);
        if (v < frame.of->least || v > MAX_VALUE || !frame.usable(there)) continue;
        const u32 other = frame.index()[frame.at(there)];
        if (frame.candidates()[other].flags & BRIGHT) unite(frame.groups(), number, other);
    }
}

ON_GPU bool touches_saturated(const Frame& frame, Candidate candidate) {
    const Panel panel = frame.of->panels[panel_number(candidate.flags)];
    bool touches = false;
#pragma unroll
    for (i32 i = 0; i < 9; i++) {
        u32 there;
        if (step_within(panel, candidate.place, {i / 3 - 1, i % 3 - 1}, there))
            touches |= frame.value(there) == SATURATED;
    }
    return touches;
}

// Where a row of a panel has its number of peaks.
ON_GPU u32* peaks_at(const Frame& frame, const Panel& panel, u32 place) {
    return frame.peaks_before() + panel.rows_before + row_of(place) - row_of(panel.first);
}

ON_GPU bool is_peak(const Finder& finder, const Group& group) {
    return group.pixels >= finder.min_pixels && group.pixels <= finder.max_pixels;
}

// In the place of every row's number of peaks, that of the rows before; all of them.
ON_GPU u32 add_up(u32* numbers, u32 n) {
    const u32 each = (n + THREADS - 1) / THREADS, from = min(threadIdx.x * each, n), to = min(from + each, n);
    u32 sum = 0;
    for (u32 i = from; i < to; i++) sum += now(numbers + i);
    u32 total, before = sum_before(sum, total);
    for (u32 i = from; i < to; i++) {
        const u32 number = now(numbers + i);
        numbers[i] = before;
        before += number;
    }
    return total;
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    peak_connect(const i16* images, i64 stride, u32 blocks, const Finder* finder) {
    const Frame frame = frame_of(finder, images, stride, blockIdx.x / blocks);
    for_bright(frame, blocks, [&](u32 number, Candidate candidate) { connect(frame, number, candidate); });
}

// What can be said of a group without knowing which pixel is its top.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    peak_sum(const i16* images, i64 stride, u32 blocks, const Finder* finder) {
    const Frame frame = frame_of(finder, images, stride, blockIdx.x / blocks);
    Group* groups = frame.groups();
    for_bright(frame, blocks, [&](u32 number, Candidate candidate) {
        const u32 root = root_of(groups, number);
        const i32 v = frame.value(candidate.place);
        Group& group = groups[root];
        if (root != number) atomicMin(&groups[number].parent, root);
        atomicAdd(&group.pixels, 1u);
        atomicMin(&group.first, candidate.place);
        atomicMax(&group.top, brightness(v, candidate.place));
        add(&group.value_sum, v);
        if (touches_saturated(frame, candidate)) group.saturated = 1;
    });
}

// The centroids, and how many peaks are in the rows before each.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    peak_weigh(const i16* images, i64 stride, u32 blocks, const Finder* finder) {
    const Frame frame = frame_of(finder, images, stride, blockIdx.x / blocks);
    Group* groups = frame.groups();
    for_bright(frame, blocks, [&](u32 number, Candidate candidate) {
        const u32 root = groups[number].parent;
        Group& group = groups[root];
        if (!is_peak(*finder, group)) return;
        const Sums ring = frame.sums()[frame.index()[frame.at(place_of(group.top))]];
        const i64 w = weight_of(ring, frame.value(candidate.place));
        add(&group.weight, w);
        add(&group.weight_row, w * row_of(candidate.place));
        add(&group.weight_column, w * column_of(candidate.place));
        if (number != root) return;
        const u32 column = column_of(group.first);
        atomicOr(frame.firsts(row_of(group.first)) + column / 32, 1u << column % 32);
        atomicAdd(peaks_at(frame, finder->panels[panel_number(candidate.flags)], group.first), 1u);
    });
    if (!last_block(frame, blocks)) return;
    const u32 found = add_up(frame.peaks_before(), static_cast<u32>(finder->panel_rows));
    if (threadIdx.x == 0) finder->found[frame.number] = found;
}

// A peak, as the table has it.
ON_GPU void write(const Frame& frame, const Group& group, u32 of_panel, u32 peak) {
    const u32 top = place_of(group.top);
    const Sums ring = frame.sums()[frame.index()[frame.at(top)]];
    i64* fields = frame.table(peak);
    fields[FRAME] = frame.number;
    fields[PANEL] = of_panel;
    fields[PIXELS] = group.pixels;
    fields[MAX_ROW] = row_of(top);
    fields[MAX_COLUMN] = column_of(top);
    fields[MAX_AT] = value_of(group.top);
    fields[IS_SATURATED] = group.saturated;
    fields[VALUE_SUM] = group.value_sum;
    fields[WEIGHT] = group.weight;
    fields[WEIGHT_ROW] = group.weight_row;
    fields[WEIGHT_COLUMN] = group.weight_column;
    fields[RING_N] = ring.n;
    fields[RING_S] = ring.s;
    fields[RING_Q] = ring.q;
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    peak_write(const i16* images, i64 stride, u32 blocks, const Finder* finder) {
    const Frame frame = frame_of(finder, images, stride, blockIdx.x / blocks);
    for_bright(frame, blocks, [&](u32 number, Candidate candidate) {
        const Group& group = frame.groups()[number];
        if (group.parent != number || !is_peak(*finder, group)) return;
        const u32 of_panel = panel_number(candidate.flags);
        const Panel panel = finder->panels[of_panel];
        const u32 before =
            bits_between(frame.firsts(row_of(group.first)), column_of(panel.first), column_of(group.first));
        const u32 peak = *peaks_at(frame, panel, group.first) + before;
        if (peak < finder->limit) write(frame, group, of_panel, peak);
    });
    if (!last_block(frame, blocks)) return;
    for (u32 i = threadIdx.x; i < finder->n_counters; i += THREADS) frame.counters()[i] = 0;
}
