// The first round of the peak finder: candidates, the sums of their rings, and which of them are bright.
//
//   images  (frames, pixels) i16, `stride` values from frame to frame; `aligned`: every row begins at a multiple of 16
//           bytes
//   finder  see `Finder`
//
// Blocks of THREADS, one for every tile of a frame.

#include "tile.cuh"

// The sums of a ring; all lanes of a warp together. WHOLE: the panel has all pixels of it.
template <bool WHOLE>
ON_GPU Sums ring_sums(const Frame& frame, u32 place, const Panel& panel, u32 lane) {
    constexpr bool FEW = RING_PIXELS < 256;  // then number and sum fit one word
    const i16* here = frame.image + frame.at(place);
    u32 n = 0;
    i32 s = 0;
    u64 q = 0;
#pragma unroll(FEW ? (RING_PIXELS + LANES - 1) / LANES : 1)
    for (u32 begin = 0; begin < RING_PIXELS; begin += LANES) {
        const u32 i = begin + lane;
        const Step step = ring_step(i);
        u32 there = place + static_cast<u32>(step.down) * 0x10000 + static_cast<u32>(step.right);
        bool inside = i < RING_PIXELS;
        if (!WHOLE) inside = inside && step_within(panel, place, step, there);
        if (WITH_MASK) inside = inside && frame.usable(there);
        const i64 there_from_here = static_cast<i64>(step.down) * static_cast<i32>(frame.columns) + step.right;
        i32 v = inside ? here[there_from_here] : static_cast<i32>(HOLE);
        inside = has_value(v);
        v = inside ? v : 0;
        n += inside;
        s += v;
        q += static_cast<u32>(v * v);
    }
    if (FEW) {
        const u32 both = sum_of_lanes((n << 24) + static_cast<u32>(s));
        s = static_cast<i32>(both << 8) >> 8;
        n = (both - static_cast<u32>(s)) >> 24;
    } else {
        n = sum_of_lanes(n);
        s = static_cast<i32>(sum_of_lanes(static_cast<u32>(s)));
    }
    const u64 low = sum_of_lanes(static_cast<u32>(q) & 0xFFFFFF), high = sum_of_lanes(static_cast<u32>(q >> 24));
    return {n, s, static_cast<i64>(low + (high << 24))};
}

// Take a candidate of every lane of a warp that is `there`: the sums of its ring, and whether it is bright.
ON_GPU void take(const Frame& frame, const Tile& tile, u32 row, u32 column, bool there, u32 candidate, u32 lane,
                 bool in_tile) {
    const Finder& finder = *frame.of;
    const u32 place = place_of(tile.row + row, tile.column + column);
    const u64 pixel = frame.at(place);
    const u32 number = there ? finder.panel_of[pixel] : NO_PANEL;
    const bool usable = number != NO_PANEL;
    Panel panel = {};
    if (usable) panel = finder.panels[number];
    const bool by_itself = TILED && in_tile && usable && ring_is_whole(place, panel);
    Sums mine = {};
    if (by_itself) mine = tile_sums(frame, tile, row, column);
    for (u32 left = lanes_with(usable && !by_itself); left; left &= left - 1) {
        const u32 other = lowest(left), at = of_lane(place, other);
        const Panel its = {of_lane(panel.first, other), of_lane(panel.last, other), 0, 0};
        const Sums sums =
            ring_is_whole(at, its) ? ring_sums<true>(frame, at, its, lane) : ring_sums<false>(frame, at, its, lane);
        if (lane == other) mine = sums;
    }
    const bool bright = usable && stands_out(mine, frame.image[pixel], finder.min_ring, finder.snr_steps);
    list_bright(frame, bright, candidate, lane);
    if (!there) return;
    frame.candidates()[candidate] = {place, usable ? flags_of(number) | (bright ? BRIGHT | EVER_BRIGHT : 0) : 0};
    if (!usable) return;
    frame.sums()[candidate] = mine;
    frame.index()[pixel] = candidate;
}

// Clear a part of some words: number `part` of `parts`.
ON_GPU void clear(u32* words, u64 n, u32 part, u32 parts) {
    const u64 each = (n + parts - 1) / parts, from = part * each, to = from + each < n ? from + each : n;
    for (u64 i = from + threadIdx.x; i < to; i += THREADS) words[i] = 0;
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    peak_candidates(const i16* images, i64 stride, u32 aligned, const Finder* finder) {
    __shared__ u16 found[TILE_ROWS * TILE_COLUMNS];
    __shared__ u32 before;
    const u32 columns = static_cast<u32>(finder->columns);
    const u32 across = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const u32 tiles = across * ((static_cast<u32>(finder->rows) + TILE_ROWS - 1) / TILE_ROWS);
    const u32 number = blockIdx.x % tiles;
    const Frame frame = frame_of(finder, images, stride, blockIdx.x / tiles);
    const Tile tile = {number / across * TILE_ROWS, number % across * TILE_COLUMNS, aligned != 0};
    const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES,
              least_pair = static_cast<u32>(finder->least) * 0x10001;
    Values values[VECTORS];
#pragma unroll
    for (u32 i = 0; i < VECTORS; i++) values[i] = load(frame, tile, i * WARPS + warp, lane * GROUP);
    clear(frame.firsts(0), finder->rows * ((columns + 31) / 32), number, tiles);
    clear(frame.peaks_before(), finder->panel_rows, number, tiles);
    u32 bits = 0;
#pragma unroll
    for (u32 i = 0; i < VECTORS; i++) bits |= reaching(values[i].pair, least_pair) << (4 * i);

    u32 total, to = sum_before(bits_set(bits), total);
    if (total == 0) return;
    if (threadIdx.x == 0) before = atomicAdd(frame.counters() + CANDIDATES, total);
    for (; bits; bits &= bits - 1) {
        const u32 bit = lowest(bits), vector = bit / 4 % 4, i = bit % 4 * 2 + bit / 16;
        found[to++] = static_cast<u16>((vector * WARPS + warp) * TILE_COLUMNS + lane * GROUP + i);
    }
    const bool in_tile = TILED && total >= IN_TILE;
    if (in_tile) keep_tile(frame, tile, values);
    __syncthreads();
    // Every lane has its own candidate, or where they are few, each warp as many as the others.
    for (u32 begin = 0; begin + (in_tile ? warp * LANES : warp) < total; begin += THREADS) {
        const u32 mine = begin + (in_tile ? threadIdx.x : lane * WARPS + warp);
        const bool there = mine < total;
        const u32 where = there ? found[mine] : 0;
        take(frame, tile, where / TILE_COLUMNS, where % TILE_COLUMNS, there, before + mine, lane, in_tile);
    }
}
