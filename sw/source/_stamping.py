"""The compiled part of the emulator: packets that are ready but for what differs from frame to frame.

A CRC is linear: where bytes change, it changes by an XOR that depends only on the change and on its distance from the
end. So the ICRC of a packet that differs in PSN and address is found without its payload.
"""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled

PACKET = np.dtype(
    [("word", "i8"), ("icrc", "i8"), ("address", "u8"), ("value", "u4"), ("shape", "i8"), ("reth", "?"), ("ends", "?")],
    align=True,
)
"""A ready packet: where its word of AckReq and PSN and its ICRC lie in the buffer; its address and its ICRC while that
word is its index; which of the tables is its own; whether it has a RETH, which follows the word; whether it ends its
message."""

SPAN = 12
"""Bytes that differ: the word of AckReq and PSN, and the address of the RETH behind it."""


def change_tables(distance: int) -> NDArray[np.uint32]:
    """How the CRC-32 changes where one byte does, uint32 (SPAN, 256), by its place and its XOR with the old one.

    Place 0 is `distance` bytes in front of the ICRC.
    """
    tables = np.zeros((SPAN, 256), np.uint32)
    for place in range(min(SPAN, distance)):
        behind = bytes(distance - place - 1)
        nothing = zlib.crc32(b"\0" + behind)
        for bit in range(8):
            change = zlib.crc32(bytes([1 << bit]) + behind) ^ nothing
            tables[place, 1 << bit : 2 << bit] = tables[place, : 1 << bit] ^ np.uint32(change)
    return tables


@compiled
def stamp(
    data: NDArray[np.uint8],
    packets: NDArray[Any],
    tables: NDArray[np.uint32],
    psn: int,
    offset: int,
    ack_policy: int,
    ack_log2: int,
) -> None:
    """Give `packets` (PACKET) in `data` PSNs from `psn` on, addresses that are `offset` further, and their ICRC.

    `ack_policy` and `ack_log2`: see `QpContext`; `tables` are uint32 (shapes, SPAN, 256).
    """
    for index in range(len(packets)):
        packet = packets[index]
        table = tables[packet.shape]
        first = index & 0xFFFFFF
        word = (psn + index) & 0xFFFFFF
        interval = ack_policy == 2 and (word + 1) % (1 << ack_log2) == 0
        if interval or (ack_policy != 0 and packet.ends):
            word |= 1 << 31
        icrc = packet.value
        at = packet.word
        for place in range(4):
            shift = 24 - 8 * place
            data[at + place] = np.uint8(word >> shift & 0xFF)
            icrc ^= table[place, (word ^ first) >> shift & 0xFF]
        if packet.reth:
            old = packet.address
            new = old + np.uint64(offset)
            for place in range(8):
                bits = np.uint64(56 - 8 * place)
                data[at + 4 + place] = np.uint8(new >> bits & np.uint64(0xFF))
                icrc ^= table[4 + place, (old ^ new) >> bits & np.uint64(0xFF)]
        for place in range(4):
            data[packet.icrc + place] = np.uint8(icrc >> np.uint32(8 * place) & np.uint32(0xFF))
