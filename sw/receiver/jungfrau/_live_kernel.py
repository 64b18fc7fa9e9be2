"""The loop that puts the packets of one stream of a live JUNGFRAU into the slots of the ring, compiled by numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_packet import DETECTOR, VERSION
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.jungfrau._packet_kernel import HEADER_WORDS, alike, guard
from framelane.receiver.jungfrau.packet_fate import Fate
from framelane.receiver.jungfrau.packet_units import FEW, MANY, UNIT_WORDS

REFUSED = 4096
"""Of so many frames it is kept whether a packet was refused because there was no slot."""
EXAMPLE = 4
"""Numbers of the first packet of a fate: bytes, frame, packet, module."""

WHERE = np.dtype([("base", "u8"), ("shift", "i8"), ("open", "i8"), ("reach", "i8"), ("known", "i8"),
                  ("flushed", "i8"), ("flushed_first", "u8"), ("flushed_last", "u8")])  # fmt: skip
"""What holds for all streams. Frame `base` of the detector is frame `shift` of the session; `open` is the first that is
not over; a number further than `reach` from the last begins a new acquisition. `known`: whether the detector's numbers
are; else those from `flushed_first` to `flushed_last` are of frames that are over, if any is `flushed`."""

STATE = np.dtype([(name, "i8") for name in (
    "newest", "packets", "good", "placed", "placed_bytes", "guarded", "whole", "run", "run_placed")]
    + [("run_number", "u8")])  # fmt: skip
"""Of one stream. `newest` frame of the session of which a packet came, `good` packets of the detector, `guarded` words
of gain code 10, `whole` shares of frames; a `run` of packets that were refused for their numbers, one like the other,
since so many were placed, the last with `run_number`."""

ALL, BEGINS, RESTARTS = 0, 1, 2
"""Why it stopped: at the end; before a packet with a number, and none is known; before a packet that begins anew."""

_PLACED, _SIZE, _VERSION, _DETECTOR = int(Fate.PLACED), int(Fate.SIZE), int(Fate.VERSION), int(Fate.DETECTOR)
_PACKET, _MODULE, _LATE, _NUMBER = int(Fate.PACKET), int(Fate.MODULE), int(Fate.LATE), int(Fate.NUMBER)
_DUPLICATE, _SLOT = int(Fate.DUPLICATE), int(Fate.SLOT)


@compiled
def place(
    packets: NDArray[np.uint16],
    headers: NDArray[Any],
    sizes: NDArray[np.int64],
    first: int,
    wheres: NDArray[Any],
    opened: NDArray[np.int64],
    at: NDArray[np.int64],
    came: NDArray[np.int64],
    bits: NDArray[np.bool_],
    infos: NDArray[Any],
    owner: NDArray[Any],
    states: NDArray[Any],
    refused: NDArray[np.int64],
    fates: NDArray[np.int64],
    examples: NDArray[np.int64],
    ring: NDArray[np.uint16],
    pitch: int,
    start: int,
) -> tuple[int, int]:
    """Place the packets from `first` on, and count their fates: where it stopped, and why.

    Of all streams: `opened` (slots) is the frame that may be written to a slot, -1 where none may. Of this one: `at`
    (slots) the frame of which `came` (slots, 2) units and packets are there, `bits` (slots, units) which, `infos`
    (slots) a header. The `ring` is flat: a slot has `pitch` words, and this stream's share begins `start` behind its
    first. (As a view of two axes it would have strides, and words would be copied one by one.)
    """
    where, state = wheres[0], states[0]
    units_of_share = bits.shape[1]
    for i in range(first, sizes.size):
        header = headers[i]
        fate = -1
        if sizes[i] != MANY and sizes[i] != FEW:
            fate = _SIZE
        elif header.version != VERSION:
            fate = _VERSION
        elif header.detector != DETECTOR:
            fate = _DETECTOR
        units = 2 if sizes[i] == MANY else 1
        if fate < 0 and header.packet_number >= units_of_share // units:
            fate = _PACKET
        if fate < 0 and owner[0].version != 0 and not alike(owner[0], header):
            fate = _MODULE
        if fate >= 0:
            state.packets += 1
            _count(fate, fates, examples, sizes[i], header)
            continue
        number = header.frame_number
        frame = np.int64(0)
        if not where.known:
            if not (where.flushed and where.flushed_first <= number <= where.flushed_last):
                return i, BEGINS
            if _runs(state, number, where.reach, units_of_share // units):
                return i, BEGINS
            fate = _LATE
        else:
            frame = where.shift + np.int64(number - where.base)
            far = abs(frame - max(state.newest, where.open)) > where.reach
            if far or frame < where.open:
                # A stream that is behind the others goes on; one that falls back behind itself begins anew.
                if (far or frame < state.newest) and _runs(state, number, where.reach, units_of_share // units):
                    return i, RESTARTS
                if not far:
                    state.newest = max(state.newest, frame)
                fate = _NUMBER if far else _LATE
        state.packets += 1
        state.good += 1
        if fate >= 0:
            _count(fate, fates, examples, sizes[i], header)
            continue
        state.newest = max(state.newest, frame)
        slot = frame % opened.size
        if opened[slot] != frame:
            refused[frame % REFUSED] = frame
            _count(_SLOT, fates, examples, sizes[i], header)
            continue
        if at[slot] != frame:
            at[slot] = frame
            came[slot, 0] = 0
            came[slot, 1] = 0
            bits[slot] = False
            infos[slot] = header
        if not alike(infos[slot], header):
            _count(_MODULE, fates, examples, sizes[i], header)
            continue
        unit = np.int64(header.packet_number) * units
        if bits[slot, unit] or bits[slot, unit + units - 1]:
            _count(_DUPLICATE, fates, examples, sizes[i], header)
            continue
        words = units * UNIT_WORDS
        place_at = slot * pitch + start + unit * UNIT_WORDS
        source = packets[i, HEADER_WORDS : HEADER_WORDS + words]
        state.guarded += guard(source, ring[place_at : place_at + words])
        bits[slot, unit : unit + units] = True
        came[slot, 0] += units
        came[slot, 1] += 1
        fates[_PLACED] += 1
        state.placed += 1
        state.placed_bytes += 2 * words
        if came[slot, 0] == units_of_share:
            state.whole += 1
            if owner[0].version == 0:
                owner[0] = header
                _refuse_foreign(opened, at, came, bits, infos, header, fates, ring, pitch, start)
    return sizes.size, ALL


@compiled
def _runs(state: Any, number: np.uint64, reach: int, most: int) -> bool:
    """Count a packet that is refused for its number; whether there are more than `most` like it in a row."""
    follows = state.run_placed == state.placed and abs(np.int64(number - state.run_number)) <= reach
    state.run = state.run + 1 if follows else 1
    state.run_placed, state.run_number = state.placed, number
    if state.run > most:
        state.run = 0
        return True
    return False


@compiled
def _count(fate: int, fates: NDArray[np.int64], examples: NDArray[np.int64], size: int, header: Any) -> None:
    if fates[fate] == 0:
        examples[fate, 0] = size
        examples[fate, 1] = np.int64(header.frame_number)
        examples[fate, 2] = header.packet_number
        examples[fate, 3] = header.module_id
    fates[fate] += 1


@compiled
def _refuse_foreign(
    opened: NDArray[np.int64],
    at: NDArray[np.int64],
    came: NDArray[np.int64],
    bits: NDArray[np.bool_],
    infos: NDArray[Any],
    owner: Any,
    fates: NDArray[np.int64],
    ring: NDArray[np.uint16],
    pitch: int,
    start: int,
) -> None:
    """Take what is not of the stream's owner out of the frames that are under way."""
    for slot in range(opened.size):
        if at[slot] < 0 or opened[slot] != at[slot] or alike(infos[slot], owner):
            continue
        for unit in range(bits.shape[1]):
            if bits[slot, unit]:
                place_at = slot * pitch + start + unit * UNIT_WORDS
                ring[place_at : place_at + UNIT_WORDS] = HOLE_WORD
        fates[_PLACED] -= came[slot, 1]
        fates[_MODULE] += came[slot, 1]
        at[slot] = -1
