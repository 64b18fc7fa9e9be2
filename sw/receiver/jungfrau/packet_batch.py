"""Packets of a JUNGFRAU as they are read, many at a time."""

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_packet import HEADER, PACKET_BYTES

BATCH = 128
"""Most packets of one reading: they stay in the processor's cache until they are placed."""

_ROW_BYTES = PACKET_BYTES + 16
"""Room for a packet and for what shows that another one is longer."""


class PacketBatch:
    """Room for `BATCH` packets, used again and again.

    Of the first `n` packets `sizes` has the bytes, and `streams` which stream each belongs to: module * interfaces +
    interface, or -1.
    """

    def __init__(self) -> None:
        memory = bytearray(BATCH * _ROW_BYTES)
        self.packets: NDArray[np.uint16] = np.frombuffer(memory, "<u2").reshape(BATCH, -1)
        self.sizes, self.streams = np.zeros(BATCH, np.int64), np.zeros(BATCH, np.int64)
        self.n = 0
        self.rows = [memoryview(memory)[row * _ROW_BYTES : (row + 1) * _ROW_BYTES] for row in range(BATCH)]
        """The memory of each packet."""
        self.headers: NDArray[np.void] = self.packets.view(np.uint8)[:, : HEADER.itemsize].view(HEADER)[:, 0]

    def add(self, packet: bytes, stream: int) -> None:
        """Append a packet to a batch that is not full."""
        stored = packet[:_ROW_BYTES]
        self.rows[self.n][: len(stored)] = stored
        self.sizes[self.n], self.streams[self.n] = len(packet), stream
        self.n += 1

    @property
    def full(self) -> bool:
        """Whether there is no room for another packet."""
        return self.n == BATCH
