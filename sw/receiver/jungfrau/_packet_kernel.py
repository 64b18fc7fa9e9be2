"""The loop that puts the packets of a JUNGFRAU where they belong, compiled by numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_correct import ERROR_WORD, FORBIDDEN_STAGE, STAGE_SHIFT
from framelane.models.jungfrau.jf_packet import DETECTOR, HEADER_BYTES, PACKET_BYTES, PACKET_WORDS, PACKETS, VERSION
from framelane.receiver.jungfrau.packet_fate import Fate

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
    infos: NDArray[Any],
    words: NDArray[np.uint16],
    guarded: NDArray[np.int64],
    fates: NDArray[np.int64],
) -> tuple[int, int]:
    """Place the packets from `first` on, and count their fates: where it stopped, and the slot that became whole.

    It stops after a packet that completes a frame, before one whose frame has no slot, and at the end; but for the
    first of these the slot is -1. Shapes: `packets` (n, at least 4120) with `headers` a view of them, `placed` (slots,
    modules, 128), `owners` (streams) and `infos` (slots, streams) headers, of version 0 where none is known, `words`
    (slots, modules, 128, 4096).
    """
    share = PACKETS // interfaces
    slot = 0
    for i in range(first, headers.size):
        header, stream = headers[i], streams[i]
        if stream < 0:
            fates[_PORT] += 1
        elif sizes[i] != PACKET_BYTES:
            fates[_SIZE] += 1
        elif header.version != VERSION:
            fates[_VERSION] += 1
        elif header.detector != DETECTOR:
            fates[_DETECTOR] += 1
        elif header.packet_number >= share:
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
            module, packet = stream // interfaces, stream % interfaces * share + header.packet_number
            info = infos[slot, stream]
            if info.version == 0:
                infos[slot, stream] = header
            elif not alike(info, header):
                fates[_MODULE] += 1
                continue
            if placed[slot, module, packet]:
                fates[_DUPLICATE] += 1
                continue
            guarded[slot] += guard(packets[i, HEADER_WORDS : HEADER_WORDS + PACKET_WORDS], words[slot, module, packet])
            placed[slot, module, packet] = True
            fates[_PLACED] += 1
            missing[slot] -= 1
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
