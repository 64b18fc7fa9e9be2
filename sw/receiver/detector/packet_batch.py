"""Packets of a detector as they are read, many at a time."""

import numpy as np
from numpy.typing import NDArray

from framelane.models.detector.detector_packets import DetectorPackets

BATCH = 128
"""Most packets of one reading: they stay in the processor's cache until they are placed."""

_MORE = 16
"""Bytes behind a packet that show that another one is longer."""
_LINE = 64
"""A row begins with a line of the cache."""


class PacketBatch:
    """Room for `BATCH` packets of any size of `packets`, used again and again.

    Of the first `n` packets `sizes` has the bytes, and `streams` which stream each belongs to: module * interfaces +
    interface, or -1. `octets` (`BATCH`, bytes) and `words` (the same as uint16) hold them, each from `starts` on: there
    its pixels lie at even bytes, also where the header has an odd number of them.
    """

    def __init__(self, packets: DetectorPackets) -> None:
        pad = packets.header.bytes % 2
        row = -(-(pad + max(packets.packet_bytes) + _MORE) // _LINE) * _LINE
        memory = bytearray(BATCH * row)
        self.octets: NDArray[np.uint8] = np.frombuffer(memory, np.uint8).reshape(BATCH, row)
        self.words: NDArray[np.uint16] = self.octets.view("<u2")
        self.starts: NDArray[np.int64] = np.arange(BATCH) * row + pad
        self.room = row - pad
        """Bytes of a packet for which there is room; of a longer one the beginning is kept."""
        self.sizes, self.streams = np.zeros(BATCH, np.int64), np.zeros(BATCH, np.int64)
        self.n = 0
        self.rows = [memoryview(memory)[at : at + self.room] for at in map(int, self.starts)]
        """The memory of each packet."""

    def add(self, packet: bytes, stream: int) -> None:
        """Append a packet to a batch that is not full."""
        stored = packet[: self.room]
        self.rows[self.n][: len(stored)] = stored
        self.sizes[self.n], self.streams[self.n] = len(packet), stream
        self.n += 1

    @property
    def full(self) -> bool:
        """Whether there is no room for another packet."""
        return self.n == BATCH
