"""Reading memory into a stream: the AXI4 bursts of one transfer (AMBA IHI 0022, A3.4.1)."""

from collections.abc import Iterator

BOUNDARY = 4096
"""No burst crosses a boundary of 4 KiB."""
MAX_BEATS = 256
"""Longest INCR burst of AXI4."""


def bursts(address: int, length: int, width: int, max_beats: int = MAX_BEATS) -> Iterator[tuple[int, int]]:
    """Yield (address, beats) of the bursts that read `length` bytes from `address` on a bus of `width` bits.

    Bursts read whole beats, from a multiple of the bus width on. Each ends at a multiple of the longest one (4 KiB, or
    `max_beats` where that is less) or with the transfer.
    """
    lanes = width // 8
    longest = min(BOUNDARY, max_beats * lanes)
    end = address + length
    address -= address % lanes
    while address < end:
        stop = min(end, address - address % longest + longest)
        yield address, -(-(stop - address) // lanes)
        address = stop
