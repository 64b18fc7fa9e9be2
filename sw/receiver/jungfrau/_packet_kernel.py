"""The loop that puts the packets of a JUNGFRAU where they belong, compiled by numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_correct import ERROR_WORD, FORBIDDEN_STAGE, STAGE_SHIFT
from framelane.models.jungfrau.jf_packet import DETECTOR, HEADER_BYTES, VERSION
from framelane.receiver.jungfrau.packet_fate import Fate
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

    It stops after a packet that completes a frame, before one whose frame has no slot, and at the end; but for the
    first of these the slot is -1. Shapes: `packets` (n, at least 4120) with `headers` a view of them, `placed` (slots,
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
            if placed[slot, module, unit] or placed[slot, module, unit + units - 1]:
                fates[_DUPLICATE] += 1
                continue
            first_word, n = unit * UNIT_WORDS, units * UNIT_WORDS
            source = packets[i, HEADER_WORDS : HEADER_WORDS + n]
            guarded[slot] += guard(source, words[slot, module, first_word : first_word + n])
            placed[slot, module, unit : unit + units] = True
            came[slot, stream] += 1
            fates[_PLACED] += 1
            missing[slot] -= units
            if missing[slot] == 0:
                return i + 1, slot
    return headers.size, -1


@compiled
def alike(one: Any, other: Any) -> bool:
    """Whether two headers are of the same module, or of the same interface of it."""
    return bool(one.module_id == other.module_id and one.row == other.row and one.column == other.column)


@compiled
def guard(source: NDArray[np.uint16], target: NDArray[np.uint16]) -> int:
    """Copy words; those of gain code 10, which would read as holes, become error words and are counted."""
    wrong = np.uint16(0)
    for i in range(source.size):
        word = source[i]
        is_wrong = word >> STAGE_SHIFT == FORBIDDEN_STAGE
        wrong = np.uint16(wrong + np.uint16(is_wrong))
        target[i] = ERROR_WORD if is_wrong else word
    return int(wrong)
