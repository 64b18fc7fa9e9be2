"""The loop that puts the packets of one stream of a live detector into the slots of the ring, compiled by numba.

It is compiled for each description anew, whose numbers are constants in it: read where they are needed at run time,
they cost time in every packet (docs/detectors/packets.md has the figures).
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.receiver.detector._words import copy, copy_rows, fill_rows, number_at
from framelane.receiver.detector.open_frames import tell_whole
from framelane.receiver.detector.packet_fate import Fate
from framelane.receiver.detector.placing_form import PlacingForm

REFUSED = 4096
"""For so many frames it is kept whether a packet was refused because there was no slot."""
EXAMPLE = 4
"""Numbers of the first packet of a fate: bytes, frame, packet, and its module where it has that, else its identity."""

STATE = np.dtype([(name, "i8") for name in (
    "newest", "packets", "good", "placed", "placed_bytes", "guarded", "ready", "run", "run_placed")]
    + [("run_number", "u8")])  # fmt: skip
"""One stream: `newest` frame of the session of which a packet came, `good` packets of the detector, `guarded` words
that would have read as holes, `ready` frames that were whole once this stream's share was; a `run` of packets that were
refused for their numbers, one like the other, since so many were placed, the last with `run_number`."""

INFO = np.dtype([("identity", "u8"), ("bunch_id", "u8"), ("timestamp", "u8")])
"""The first packet of a frame. All fields of the identity are one number: they have 8 bytes at most."""
OWNER = np.dtype([("identity", "u8"), ("known", "i8")])


class Batch(NamedTuple):
    """Packets as they were read (`PacketBatch`)."""

    octets: NDArray[np.uint8]
    """(n, bytes): each from byte `header_bytes` modulo 2 of its row on, so that pixels lie even."""
    words: NDArray[np.uint16]
    """The same memory."""
    sizes: NDArray[np.int64]
    """(n): bytes of each packet."""


class Frames(NamedTuple):
    """What holds for all streams, of `OpenFrames`."""

    signals: NDArray[np.int64]
    wheres: NDArray[np.void]
    opened: NDArray[np.int64]
    whole: NDArray[np.int64]


class Stream(NamedTuple):
    """What is of one stream alone. The ring is flat: as a view of two axes it would have strides, and words would be
    copied one by one."""

    at: NDArray[np.int64]
    """(slots): the frame of which something is there."""
    came: NDArray[np.int64]
    """(slots, 2): units of it, and packets."""
    bits: NDArray[np.bool_]
    """(slots, units): which units."""
    infos: NDArray[np.void]
    """(slots): what its first packet says, `INFO`."""
    owner: NDArray[np.void]
    """(1): whose packets the stream's are, `OWNER`."""
    heard: NDArray[np.int64]
    """(modules): packets of each."""
    states: NDArray[np.void]
    """(1): `STATE`."""
    refused: NDArray[np.int64]
    """(REFUSED): frames of which a packet was refused because there was no slot."""
    fates: NDArray[np.int64]
    """(fates): packets of each."""
    examples: NDArray[np.int64]
    """(fates, EXAMPLE): the first packet of each."""
    ring: NDArray[np.uint16]
    """All slots."""
    pitch: int
    """Words of a slot."""
    start: int
    """The stream's first row lies so many words behind a slot's first."""
    step: int
    """Words from one of its rows to the next."""
    share_units: int
    """Units of each of its modules."""


ALL, BEGINS, RESTARTS = 0, 1, 2
"""Why it stopped: at the end; before a packet with a number, and none is known; before a packet that begins anew."""

FATES = len(Fate)
"""Behind the fates that all detectors have there is one for each constant of the header."""
_PLACED, _SIZE, _PACKET, _MODULE = int(Fate.PLACED), int(Fate.SIZE), int(Fate.PACKET), int(Fate.MODULE)
_LATE, _NUMBER, _DUPLICATE, _SLOT = int(Fate.LATE), int(Fate.NUMBER), int(Fate.DUPLICATE), int(Fate.SLOT)


@functools.cache
def placing(form: PlacingForm) -> Any:
    """The loop `place` for packets of this form.

    It places packets `first` to `count` of a batch, and counts their fates: at which packet it stopped, and why.
    """
    header, unit_pixels = form.header_bytes, form.unit_pixels
    frame_number, packet_number, module_number = form.frame_number, form.packet_number, form.module_number
    bunch_id, timestamp, first_packet, first_module = (
        form.bunch_id,
        form.timestamp,
        form.first_packet,
        form.first_module,
    )
    # Each a variable of its own: elements of a tuple would be read from memory.
    (size_0, units_0), (size_1, units_1), (size_2, units_2), (size_3, units_3) = form.sizes
    constant_0, constant_1, constant_2, constant_3 = (each[:3] for each in form.constants)
    value_0, value_1, value_2, value_3 = (each[3] for each in form.constants)
    own_0, own_1, own_2, own_3 = form.identity
    shift_1, shift_2, shift_3 = (8 * each[1] % 64 for each in form.identity[1:])
    share_columns, columns, module_pixels = form.share_columns, form.columns, form.module_pixels
    swapped, gain_code = form.swapped, form.gain_code
    flat, shared = share_columns == columns, form.module_number[1] > 0
    most_units = max(units_0, units_1, units_2, units_3)
    pad, above = header % 2, 64 - 8 * form.frame_number[1]

    def place(batch: Batch, first: int, count: int, frames: Frames, stream: Stream) -> tuple[int, int]:
        octets, words, sizes = batch
        signals, wheres, opened, whole = frames
        at, came, bits, infos, owner, heard, states, refused, fates, examples, ring, pitch, start, step, share_units = (
            stream
        )
        where, state = wheres[0], states[0]
        modules = heard.size
        for i in range(first, count):
            size, units, packets, fate = sizes[i], 0, 0, -1
            if size == size_0:
                units, packets = units_0, share_units // units_0
            elif size == size_1:
                units, packets = units_1, share_units // units_1
            elif size == size_2:
                units, packets = units_2, share_units // units_2
            elif size == size_3:
                units, packets = units_3, share_units // units_3
            number, index = number_at(octets, i, pad, frame_number), number_at(octets, i, pad, packet_number)
            identity = number_at(octets, i, pad, own_0)
            identity = identity << np.uint64(shift_1) | number_at(octets, i, pad, own_1)
            identity = identity << np.uint64(shift_2) | number_at(octets, i, pad, own_2)
            identity = identity << np.uint64(shift_3) | number_at(octets, i, pad, own_3)
            module = number_at(octets, i, pad, module_number) - np.uint64(first_module)
            index -= np.uint64(first_packet)
            if units == 0:
                fate = _SIZE
            elif number_at(octets, i, pad, constant_0) != np.uint64(value_0):
                fate = FATES
            elif number_at(octets, i, pad, constant_1) != np.uint64(value_1):
                fate = FATES + 1
            elif number_at(octets, i, pad, constant_2) != np.uint64(value_2):
                fate = FATES + 2
            elif number_at(octets, i, pad, constant_3) != np.uint64(value_3):
                fate = FATES + 3
            elif index >= np.uint64(packets):
                fate = _PACKET
            elif module >= np.uint64(modules) or (owner[0].known and owner[0].identity != identity):
                fate = _MODULE
            if fate >= 0:
                state.packets += 1
                _count(fate, fates, examples, size, number, index, module if shared else identity)
                continue
            most, whose = modules * packets, module if shared else identity
            frame = np.int64(0)
            if not where.known:
                past = _ahead(number, where.flushed_first, above)
                if not (where.flushed and 0 <= past <= np.int64(where.flushed_last - where.flushed_first)):
                    return i, BEGINS
                if _runs(state, number, where.reach, most, above):
                    return i, BEGINS
                fate = _LATE
            else:
                newest = max(state.newest, where.open)
                ahead = _ahead(number, where.base + np.uint64(newest - where.shift), above)
                frame = newest + ahead
                far = abs(ahead) > where.reach
                if far or frame < where.open:
                    # A stream that is behind the others goes on; one that falls back behind itself begins anew.
                    if (far or frame < state.newest) and _runs(state, number, where.reach, most, above):
                        return i, RESTARTS
                    if not far:
                        state.newest = max(state.newest, frame)
                    fate = _NUMBER if far else _LATE
            state.packets += 1
            state.good += 1
            heard[module] += 1
            if fate >= 0:
                _count(fate, fates, examples, size, number, index, whose)
                continue
            state.newest = max(state.newest, frame)
            slot = frame % opened.size
            if opened[slot] != frame:
                refused[frame % REFUSED] = frame
                _count(_SLOT, fates, examples, size, number, index, whose)
                continue
            if at[slot] != frame:
                at[slot] = frame
                came[slot, 0] = 0
                came[slot, 1] = 0
                bits[slot] = False
                infos[slot].identity = identity
                infos[slot].bunch_id = number_at(octets, i, pad, bunch_id)
                infos[slot].timestamp = number_at(octets, i, pad, timestamp)
            if infos[slot].identity != identity:
                _count(_MODULE, fates, examples, size, number, index, whose)
                continue
            unit = np.int64(index) * units
            bit = np.int64(module) * share_units + unit
            there = np.int64(bits[slot, bit])
            if most_units > 1 and units > 1:
                there += np.int64(bits[slot, bit + 1])
            if most_units > 2:
                for k in range(bit + 2, bit + units):
                    there += np.int64(bits[slot, k])
            if there == units:
                _count(_DUPLICATE, fates, examples, size, number, index, whose)
                continue
            to, pixel, first_word = slot * pitch + start, unit * unit_pixels, (pad + header) // 2
            if shared:
                to += np.int64(module) * module_pixels
            if flat and step > 0 and not there:
                source = words[i, first_word : first_word + units * unit_pixels]
                target = ring[to + pixel : to + pixel + units * unit_pixels]
                state.guarded += copy(source, target, gain_code, swapped)
                bits[slot, bit : bit + units] = True
            else:
                # Of rows that came in smaller packets only what is missing is placed.
                for k in range(units):
                    if not bits[slot, bit + k]:
                        source = words[i, first_word + k * unit_pixels : first_word + (k + 1) * unit_pixels]
                        at_pixel = pixel + k * unit_pixels
                        state.guarded += copy_rows(source, ring, to, at_pixel, share_columns, step, gain_code, swapped)
                        bits[slot, bit + k] = True
            came[slot, 0] += units - there
            came[slot, 1] += 1
            fates[_PLACED] += 1
            state.placed += 1
            state.placed_bytes += 2 * (units - there) * unit_pixels
            if came[slot, 0] == bits.shape[1]:
                state.ready += tell_whole(signals, whole, slot)
                if not owner[0].known:
                    owner[0].identity = identity
                    owner[0].known = 1
                    for other in range(opened.size):
                        if at[other] >= 0 and opened[other] == at[other] and infos[other].identity != identity:
                            for k in range(bits.shape[1]):
                                if bits[other, k]:
                                    gone, gone_pixel = other * pitch + start, k % share_units * unit_pixels
                                    gone += k // share_units * module_pixels
                                    fill_rows(ring, gone, gone_pixel, unit_pixels, share_columns, step)
                            fates[_PLACED] -= came[other, 1]
                            fates[_MODULE] += came[other, 1]
                            at[other] = -1
        return count, ALL

    return compiled(place)


@compiled
def fill_missing(
    ring: NDArray[np.uint16],
    bits: NDArray[np.bool_],
    start: int,
    step: int,
    unit_pixels: int,
    columns: int,
    share_units: int,
    module_pixels: int,
) -> None:
    """Fill with holes what has not come of a stream's share of a frame.

    `bits` (units) says what has; all else is as `placing` has it, and `start` is in the frame's slot.
    """
    for unit in range(bits.size):
        if not bits[unit]:
            at = start + unit // share_units * module_pixels
            fill_rows(ring, at, unit % share_units * unit_pixels, unit_pixels, columns, step)


@compiled
def _ahead(number: np.uint64, of: np.uint64, above: int) -> int:
    """How far a number is ahead of another, both without the `above` highest bits: the shorter way round."""
    return int(np.int64((number - of) << np.uint64(above)) >> np.int64(above))


@compiled
def _runs(state: Any, number: np.uint64, reach: int, most: int, above: int) -> bool:
    """Count a packet that is refused for its number; whether there are more than `most` like it in a row."""
    follows = state.run_placed == state.placed and abs(_ahead(number, state.run_number, above)) <= reach
    state.run = state.run + 1 if follows else 1
    state.run_placed, state.run_number = state.placed, number
    if state.run > most:
        state.run = 0
        return True
    return False


@compiled
def _count(
    fate: int,
    fates: NDArray[np.int64],
    examples: NDArray[np.int64],
    size: int,
    number: np.uint64,
    index: np.uint64,
    module: np.uint64,
) -> None:
    if fates[fate] == 0:
        examples[fate, 0] = size
        examples[fate, 1] = np.int64(number)
        examples[fate, 2] = np.int64(index)
        examples[fate, 3] = np.int64(module)
    fates[fate] += 1
