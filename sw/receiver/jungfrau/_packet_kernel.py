"""The loop that puts the packets of a JUNGFRAU where they belong, compiled by numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_packet import DETECTOR, HEADER_BYTES, VERSION
from framelane.receiver.detector._words import copy
from framelane.receiver.detector.packet_fate import Fate
from framelane.receiver.jungfrau.packet_units import FEW, MANY, UNIT_WORDS

HEADER_WORDS = HEADER_BYTES // 2

_PLACED, _SIZE, _VERSION, _DETECTOR = int(Fate.PLACED), int(Fate.SIZE), int(Fate.VERSION), int(Fate.DETECTOR)
_PORT, _PACKET, _MODULE, _DUPLICATE = int(Fate.PORT), int(Fate.PACKET), int(Fate.MODULE), int(Fate.DUPLICATE)


@compiled
def place(
    packets: NDArray[np.uint16],
    headers: NDArray[Any],
    sizes: NDArray[np.int64],
    streams: NDArray[np.int64],
    first: int,
    interfaces: int,
    owners: NDArray[Any],
    numbers: NDArray[np.uint64],
    is_open: NDArray[np.bool_],
    missing: NDArray[np.int64],
    placed: NDArray[np.bool_],
    came: NDArray[np.int64],
    infos: NDArray[Any],
    words: NDArray[np.uint16],
    guarded: NDArray[np.int64],
    fates: NDArray[np.int64],
) -> tuple[int, int]:
    """Place the packets from `first` on, and count their fates: where it stopped, and the slot that became whole.

    It stops after a packet that completes a frame, before one whose frame has no slot, and at the end; the slot is -1
    unless a frame was completed. Shapes: `packets` (n, words) with `headers` a view of them, `placed` (slots,
    modules, 256) which units are there, `missing` (slots) how many are not, `came` (slots, streams) packets, `owners`
    (streams) and `infos` (slots, streams) headers, of version 0 where none is known, `words` (slots, modules, 256 *
    2048).
    """
    share = placed.shape[2] // interfaces
    slot = 0
    for i in range(first, headers.size):
        header, stream = headers[i], streams[i]
        units = 2 if sizes[i] == MANY else 1
        if stream < 0:
            fates[_PORT] += 1
        elif sizes[i] != MANY and sizes[i] != FEW:
            fates[_SIZE] += 1
        elif header.version != VERSION:
            fates[_VERSION] += 1
        elif header.detector != DETECTOR:
            fates[_DETECTOR] += 1
        elif header.packet_number >= share // units:
            fates[_PACKET] += 1
        elif owners[stream].version != 0 and not alike(owners[stream], header):
            fates[_MODULE] += 1
        else:
            if not is_open[slot] or numbers[slot] != header.frame_number:
                slot = 0
                while slot < numbers.size and (not is_open[slot] or numbers[slot] != header.frame_number):
                    slot += 1
                if slot == numbers.size:
                    return i, -1
            module, unit = stream // interfaces, stream % interfaces * share + np.int64(header.packet_number) * units
            info = infos[slot, stream]
            if info.version == 0:
                infos[slot, stream] = header
            elif not alike(info, header):
                fates[_MODULE] += 1
                continue
            there = int(placed[slot, module, unit])
            if units == 2:
                there += int(placed[slot, module, unit + 1])
            if there == units:
                fates[_DUPLICATE] += 1
                continue
            # Of rows that came in a packet of the other length only what is missing is placed.
            piece = 1 if there else units
            for k in range(0, units, piece):
                if placed[slot, module, unit + k]:
                    continue
                first_word, n = (unit + k) * UNIT_WORDS, piece * UNIT_WORDS
                source = packets[i, HEADER_WORDS + k * UNIT_WORDS : HEADER_WORDS + k * UNIT_WORDS + n]
                guarded[slot] += copy(source, words[slot, module, first_word : first_word + n], True, False)
                placed[slot, module, unit + k : unit + k + piece] = True
            came[slot, stream] += 1
            fates[_PLACED] += 1
            missing[slot] -= units - there
            if missing[slot] == 0:
                return i + 1, slot
    return headers.size, -1


@compiled
def alike(one: Any, other: Any) -> bool:
    """Whether two headers are of the same module, or of the same interface of it."""
    return bool(one.module_id == other.module_id and one.row == other.row and one.column == other.column)
