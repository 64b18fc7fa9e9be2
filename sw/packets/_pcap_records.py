"""The records of a capture, found by compiled code: only the headers are read."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.vector_loops import inlined
from framelane.packets.packet_bytes import number32

RECORD_BYTES = 16
"""Seconds, their fraction, bytes in the file, bytes on the wire."""


@compiled
def find_records(
    data: NDArray[np.uint8], at: int, big: bool, most: int, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[int, int]:
    """Note where packets lie from the record at `at` on: how many, and where the next record begins.

    It ends with `data`, with `starts`, or before a record that is cut off, not whole, or longer than `most` bytes.
    """
    found = 0
    while found < starts.size and at + RECORD_BYTES <= data.size:
        size, wire_size = _number(data, at + 8, big), _number(data, at + 12, big)
        if size > most or size < wire_size or at + RECORD_BYTES + size > data.size:
            break
        starts[found], sizes[found] = at + RECORD_BYTES, size
        at += RECORD_BYTES + size
        found += 1
    return found, at


@inlined
def _number(data: NDArray[np.uint8], at: int, big: bool) -> int:
    """Four bytes in the order of the file."""
    number: int = number32(data, at)
    if big:
        return number
    return (number & 0xFF) << 24 | (number & 0xFF00) << 8 | (number >> 8 & 0xFF00) | number >> 24
