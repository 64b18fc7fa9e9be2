"""The picture that a board sends while it has no detector: golden model of `boards/common/pattern_memory.sv`."""

import numpy as np
from numpy.typing import NDArray

ROWS, COLUMNS = 512, 1024
STRIDE = 1 << 20
"""Bytes from one image in the board's memory to the next."""
_POINTS = (64, 128)
_SIZE = 8
"""Pixels of a point, both ways."""


def image(number: int) -> NDArray[np.uint16]:
    """Frame `number` as (ROWS, COLUMNS) raw words of gain G0: rings, one point further to the left each time."""
    y, x = np.mgrid[: _POINTS[0], : _POINTS[1]]
    ring = ((x - _POINTS[1] // 2) ** 2 + (y - _POINTS[0] // 2) ** 2) % 1024
    points = 1000 + 24 * np.where(ring < 512, ring, 1023 - ring)
    moved = np.roll(points, -number, axis=1)
    y, x = np.mgrid[:ROWS, :COLUMNS]
    pixels: NDArray[np.uint16] = (moved[y // _SIZE, x // _SIZE] + _SIZE * (y % _SIZE) + x % _SIZE).astype(np.uint16)
    return pixels


def read(address: int, length: int) -> bytes:
    """Bytes of the board's memory, within one image."""
    number, at = divmod(address, STRIDE)
    return image(number % 4096).astype("<u2").tobytes()[at : at + length]
