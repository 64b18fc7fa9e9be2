// What bd_gen decides, as software: the same descriptors in the same order, stored to memory. For framelane bench.
// Nothing here waits: what hands descriptors to a device comes on top. Tables are taken to be right, numbers to rise.

#include <stdbool.h>
#include <stdint.h>

// Field by field those of framelane.models.placement.flow.
typedef struct {
    uint64_t first, count;
    uint32_t bunch, period, burst;
    uint32_t source_pitch, source_offset, destination_pitch, max_length;
    uint16_t x0, y0, width, height, x1, y1;
    uint8_t source, first_destination, destinations, wide, by_kind, kind;
} flow_t;

typedef struct {
    uint64_t base, window_end;
    uint32_t slot_bytes, n_slots, trailer_offset;
    uint8_t qp;
} destination_t;

typedef struct {
    uint64_t number, address, kind_index;
    uint8_t kind;
} frame_t;

typedef struct {
    uint64_t source, destination;
    uint32_t length, imm;
    uint8_t qp, destination_index, last;
} descriptor_t;

enum { TRAILER_BYTES = 64 };

// Where descriptors go: a ring whose size is a power of two.
typedef struct {
    descriptor_t* ring;
    uint64_t mask, count;
} sink_t;

static inline void put(sink_t* sink, descriptor_t descriptor) { sink->ring[sink->count++ & sink->mask] = descriptor; }

// The index of a frame among those that a flow takes; false where it does not take it.
static bool select_frame(const flow_t* flow, const frame_t* frame, uint64_t* index) {
    const uint64_t number = flow->by_kind ? frame->kind_index : frame->number;
    if ((flow->by_kind && flow->kind != frame->kind) || number < flow->first) return false;
    const uint64_t since = number - flow->first, phase = since % flow->period;
    if (phase >= flow->burst) return false;
    *index = since / flow->period * flow->burst + phase;
    return !flow->count || *index < flow->count;
}

static void place(const flow_t* flow, const destination_t* table, const frame_t* frame, uint64_t index, sink_t* sink) {
    const uint64_t bunches = index / flow->bunch, within = index % flow->bunch;
    const uint8_t entry = flow->first_destination + bunches % flow->destinations;
    const uint64_t number = bunches / flow->destinations * flow->bunch + within;
    const destination_t* to = &table[entry];

    const unsigned log2_pixel = flow->wide ? 2 : 1;
    const uint64_t row_bytes = (uint64_t)flow->width << log2_pixel, pitch = flow->destination_pitch;
    const uint64_t offset = pitch * flow->y1 + ((uint64_t)flow->x1 << log2_pixel);
    if (offset + pitch * (flow->height - 1u) + row_bytes > to->slot_bytes) return;
    if ((uint64_t)to->trailer_offset + TRAILER_BYTES > to->slot_bytes || number >= to->window_end) return;

    const uint64_t at = to->base + number % to->n_slots * to->slot_bytes;
    const bool merged = flow->height == 1 || (row_bytes == flow->source_pitch && row_bytes == pitch);
    const uint64_t run = merged ? row_bytes * flow->height : row_bytes;
    const uint32_t rows = merged ? 1 : flow->height;
    uint64_t source = frame->address + flow->source_offset + (uint64_t)flow->source_pitch * flow->y0 +
                      ((uint64_t)flow->x0 << log2_pixel);
    uint64_t destination = at + offset;
    sink_t out = *sink;
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t done = 0;
        while (run - done > flow->max_length) {
            put(&out, (descriptor_t){source + done, destination + done, flow->max_length, 0, to->qp, entry, false});
            done += flow->max_length;
        }
        put(&out, (descriptor_t){source + done, destination + done, run - done, 0, to->qp, entry, false});
        source += flow->source_pitch;
        destination += pitch;
    }
    const uint32_t imm = (uint32_t)flow->source << 24 | (number & 0xffffff);
    put(&out, (descriptor_t){0, at + to->trailer_offset, TRAILER_BYTES, imm, to->qp, entry, true});
    *sink = out;
}

// Places frames for all flows; how many descriptors that made. The last `mask` + 1 of them are in the ring.
uint64_t placement_run(const flow_t* flows, uint64_t n_flows, const destination_t* destinations, const frame_t* frames,
                       uint64_t n_frames, descriptor_t* ring, uint64_t mask) {
    sink_t sink = {ring, mask, 0};
    uint64_t index = 0;
    for (uint64_t n = 0; n < n_frames; n++) {
        for (uint64_t k = 0; k < n_flows; k++) {
            if (select_frame(&flows[k], &frames[n], &index)) place(&flows[k], destinations, &frames[n], index, &sink);
        }
    }
    return sink.count;
}
