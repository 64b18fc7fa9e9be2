"""Frames in GPU memory, as kernels take them."""

from typing import Any, NamedTuple

import numpy as np

from framelane.base.errors import InputError

VECTOR_BYTES = 16
"""What a thread reads or writes at once; frames that all begin at a multiple of it are read that way."""


class Frames(NamedTuple):
    """`n` frames of so many pixels; the next begins `stride` elements after the one before."""

    address: np.uintp
    stride: np.int64
    n: int
    aligned: bool
    itemsize: int

    def part(self, of: range) -> "Frames":
        """Some of them."""
        address = int(self.address) + of.start * int(self.stride) * self.itemsize
        return self._replace(address=np.uintp(address), n=len(of))


def parts(count: int, most: int) -> list[range]:
    """So many frames in parts of `most` at most."""
    return [range(first, min(first + most, count)) for first in range(0, count, most)]


def frames(what: str, array: Any, dtype: type[np.generic], shape: tuple[int, int], count: int | None = None) -> Frames:
    """Those of a CuPy array (frames, rows, columns); there may be gaps between frames, not within.

    InputError where it is of another dtype or shape, has not `count` frames, or has no frame.
    """
    if array.dtype != dtype or array.ndim != 3 or array.shape[1:] != shape or count not in (None, len(array)):
        raise InputError(
            f"{what} are {array.dtype} {array.shape}, needed are {np.dtype(dtype)} of "
            f"({'frames' if count is None else count}, {shape[0]}, {shape[1]}) on the GPU"
        )
    if not len(array):
        raise InputError(f"{what} are not frames: give one or more")
    item, step = array.dtype.itemsize, array.strides[0]
    if not array[0].flags.c_contiguous:
        raise InputError(f"{what} have gaps within a frame: give each frame in one piece")
    if len(array) == 1:
        step = 0
    elif step < array[0].nbytes or step % item:
        raise InputError(f"{what} have frames that overlap or go backwards: give them one after the other")
    address = array.data.ptr
    aligned = address % VECTOR_BYTES == 0 and step % VECTOR_BYTES == 0
    return Frames(np.uintp(address), np.int64(step // item), len(array), aligned, item)
