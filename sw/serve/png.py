"""An image of bytes as PNG (W3C PNG, third edition, 2025): 8-bit grey, no interlacing."""

import struct
import zlib

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def grey_png(image: NDArray[np.uint8]) -> bytes:
    """Uint8 (rows, columns), 0 black and 255 white."""
    rows, columns = image.shape
    lines = np.zeros((rows, columns + 1), np.uint8)  # each begins with its filter, 0: none
    lines[:, 1:] = image
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    packed = isal_zlib.compress(lines.tobytes(), 1)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
