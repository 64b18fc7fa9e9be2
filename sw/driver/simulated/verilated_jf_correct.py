"""The correction alone, `jf_correct.sv` by Verilator: raw images in, corrected images and cycles out."""

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError, SimulationError
from framelane.driver.simulated.library import Design
from framelane.driver.simulated.simulation import Simulation
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration

_U8, _U64, _POINTER = ctypes.c_uint8, ctypes.c_uint64, ctypes.c_void_p

DESIGN = Design(
    "jf_correct",
    "jf_correct",
    ("jf_correct_library.cpp",),
    {
        "jf_correct_run": (ctypes.c_bool, [_POINTER, _POINTER, _U64, _U64, _POINTER, _U8, _POINTER, _POINTER, _U64]),
        "jf_correct_mismatches": (_U64, []),
    },
)

PATIENCE = 1000
"""Cycles in which nothing moves after which the design counts as stuck."""


@dataclass(frozen=True, slots=True, eq=False)
class Corrected:
    """What left the gateware: `images`, int16 in the shape of the raw ones.

    `latency` is in clock cycles, from the first beat in to the first beat out; `cycles` are those in which the `beats`
    beats went in, the first and the last one counted.
    """

    images: NDArray[np.int16]
    beats: int
    cycles: int
    latency: int


class JfCorrectSimulator(Simulation):
    """One simulated correction of a bus of `width` bits, never stalled. Not for use by several threads at once."""

    def __init__(self, width: int = 512) -> None:
        super().__init__(DESIGN, width)
        self._lanes = width // 16

    def correct(self, raw: NDArray[np.uint16], fixed: FixedCalibration) -> Corrected:
        """Correct frames, u16 (rows, columns) or (frames, rows, columns), one behind the other.

        Raises InputError where the words do not fit the calibration or their frames are no whole beats, SimulationError
        where the gateware is stuck.
        """
        if raw.dtype != np.uint16 or raw.ndim not in (2, 3) or raw.shape[-2:] != fixed.pedestal.shape[1:]:
            raise InputError(
                f"raw words are {raw.dtype} {raw.shape}, the calibration is for {fixed.pedestal.shape[1:]}"
            )
        pixels = fixed.pedestal[0].size
        if pixels % self._lanes:
            raise InputError(f"frames of {pixels} pixels are no whole beats of {self._lanes}: give other frames")
        words = np.ascontiguousarray(raw).reshape(-1, pixels)
        planes = np.ascontiguousarray(jf_constants.planes(fixed))
        shift, cycles = np.array(fixed.shift, np.uint8), np.zeros(4, np.uint64)
        images = np.empty(words.shape, np.int16)
        beats = pixels // self._lanes
        moves = self._call(
            "jf_correct_run",
            *(words.ctypes.data, planes.ctypes.data, len(words), beats, shift.ctypes.data, fixed.high_gain),
            *(images.ctypes.data, cycles.ctypes.data, PATIENCE),
        )
        if not moves or self._call("jf_correct_mismatches"):
            raise SimulationError("the simulated correction is stuck, or out of step with its constants")
        first_in, last_in, first_out, _ = map(int, cycles)
        return Corrected(images.reshape(raw.shape), beats * len(words), last_in - first_in + 1, first_out - first_in)
