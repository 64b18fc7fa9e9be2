"""Blocks of the ring that a packet socket shares with the kernel (linux/if_packet.h, TPACKET_V3), by compiled code."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.vector_loops import fence

_STATUS, _PACKETS, _FIRST = 2, 3, 4
"""Words of a block's header."""
_NEXT, _CAPTURED, _OFFSETS = 0, 3, 6
"""Words of a packet's; the lower half of the last says where the Ethernet header is."""
_KERNEL, _USER = 0, 1
SMALLEST_BYTES = 64
"""A packet takes more than this of a block: its own header alone has 48, the rest is padded to 16."""


@compiled
def read_block(words: NDArray[np.uint32], at: int, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> int:
    """Note where the packets of the block at byte `at` lie; how many, or -1 as long as the block is the kernel's."""
    block = at // 4
    if words[block + _STATUS] & _USER == 0:
        return -1
    fence()
    packet = at + np.int64(words[block + _FIRST])
    count = np.int64(words[block + _PACKETS])
    for n in range(count):
        header = packet // 4
        starts[n] = packet + np.int64(words[header + _OFFSETS] & 0xFFFF)
        sizes[n] = words[header + _CAPTURED]
        packet += np.int64(words[header + _NEXT])
    return int(count)


@compiled
def give_block(words: NDArray[np.uint32], at: int) -> None:
    """Let the kernel fill the block at byte `at` again."""
    fence()
    words[at // 4 + _STATUS] = _KERNEL
