"""The C simulation of the HLS correction, the whole top function, from Python."""

import ctypes
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import SimulationError
from hls_build import library
from hls_vectors import Start


class Result(NamedTuple):
    """What one start gave."""

    beats: NDArray[np.void]
    """`hls_vectors.BEAT`, in the order in which they came out."""

    mismatches: int
    """The register afterwards; it counts on from start to start."""


def run(start: Start) -> Result:
    """Make one start. SimulationError where the pixels end before the frames do: a board would wait."""
    function = ctypes.CDLL(str(library())).jf_correct_start
    function.restype = ctypes.c_int64
    registers, planes, pixels = start.registers, start.planes, start.pixels
    corrected = np.zeros_like(pixels)
    mismatches = ctypes.c_uint32()
    count = function(
        *(array.ctypes.data_as(ctypes.c_void_p) for array in (registers, planes, pixels)),
        ctypes.c_uint64(len(pixels)),
        corrected.ctypes.data_as(ctypes.c_void_p),
        ctypes.byref(mismatches),
    )
    if count < 0:
        raise SimulationError(f"the {len(pixels)} beats of pixels end before the {len(start.frames)} frames do")
    return Result(corrected[:count], mismatches.value)
