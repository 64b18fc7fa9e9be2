"""Packets of detectors that do not exist, packed byte by byte by `struct`: nothing of framelane has a part in it."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Sent = tuple[int, bytes]
"""Stream (from 0) and UDP payload."""

EXAMPLE_ROWS, EXAMPLE_COLUMNS = 256, 512

ODD = """
name = "odd"
byte_order = "big"

[header]
bytes = 11
packet_number = { offset = 0, width = 2, first = 1000 }
frame_number = { offset = 3, width = 2, byte_order = "little" }
bunch_id = { offset = 5, width = 3 }

[header.constant]
kind = { offset = 2, width = 1, value = 0xA5 }

[header.identity]
board = { offset = 8, width = 3 }

[module]
rows = 6
columns = 20

[pixels]
byte_order = "little"

[[packet]]
pixels = 15

[[packet]]
pixels = 5

[[interfaces]]
rows = 3
columns = 10
port = [
  { row = 3, column = 0 },
  { row = 0, column = 10, flip = "rows" },
  { row = 0, column = 0 },
  { row = 3, column = 10, flip = "rows" },
]
"""
"""A header of an odd length, big-endian numbers and little-endian pixels, packets that end inside a row, four ports."""


def counts(number: int, shape: tuple[int, int]) -> NDArray[np.uint16]:
    """The pixels of a frame: any word but 0x8000, which says that a pixel never came."""
    words = np.random.default_rng(number).integers(0, 1 << 16, shape, np.uint16)
    words[words == 0x8000] = 0x7FFF
    return words


def example(number: int, modules: int = 4, serial: int = 77) -> Iterator[Sent]:
    """A frame of the detector `example`: modules side by side, all on one port."""
    image = counts(number, (modules * EXAMPLE_ROWS, EXAMPLE_COLUMNS))
    for packet in range(128):
        for module in range(modules):
            header = struct.pack(">4sIBBHQH", b"XRAY", number & 0xFFFF_FFFF, 1, module, packet + 1, 0, serial)
            header = header[:12] + struct.pack("<Q", number * 125) + header[20:]
            first = module * EXAMPLE_ROWS + 2 * packet
            rows = [struct.pack(">512H", *image[row].tolist()) for row in (first, first + 1)]
            yield 0, header + b"".join(rows)


@dataclass(frozen=True)
class Share:
    """Where one port's pixels lie in the module."""

    row: int
    column: int
    flipped: bool


ODD_SHARES = (Share(3, 0, False), Share(0, 10, True), Share(0, 0, False), Share(3, 10, True))


def odd(number: int, pixels: int = 15, modules: int = 1, board: int = 0x010203) -> Iterator[Sent]:
    """A frame of the detector of `ODD`, port by port, in packets of so many pixels."""
    image = counts(number, (modules * 6, 20))
    for module in range(modules):
        for port, share in enumerate(ODD_SHARES):
            rows = range(share.row, share.row + 3)
            words = [
                int(image[module * 6 + row, share.column + column])
                for row in (reversed(rows) if share.flipped else rows)
                for column in range(10)
            ]
            for packet in range(30 // pixels):
                header = struct.pack(">HB", 1000 + packet, 0xA5) + struct.pack("<H", number & 0xFFFF)
                header += struct.pack(">I", number & 0xFF_FFFF)[1:] + struct.pack(">I", board + module)[1:]
                part = words[packet * pixels : (packet + 1) * pixels]
                yield module * 4 + port, header + struct.pack(f"<{pixels}H", *part)
