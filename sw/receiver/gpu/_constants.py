"""Calibrations in GPU memory as the kernels read them: G0 by coalesced loads, switched pixels one at a time."""

from typing import Any, Literal

import numpy as np

from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.gpu._device import cupy, kernel
from framelane.receiver.pipeline import _correct_float32, _correct_int16

_THREADS = 256
_PITCH = 64
_LARGE_SHIFT, _SMALL_WORD_SHIFT = 18, 17
"""As in kernels/words.cuh."""
_NOT_MET, _MASKED_LIMIT = 0x4000, 0xFFFF
"""The same."""


class Int16Constants:
    """A `FixedCalibration`: of G0 two planes of u16, of G1 and G2 one u32 a pixel, the pedestal below the mantissa."""

    def __init__(self, fixed: FixedCalibration) -> None:
        module = cupy()
        constants = _correct_int16.arrange(fixed)
        self.pedestal = module.asarray(constants.pedestal)
        self.mantissa = module.asarray(constants.mantissa)
        pairs = constants.switched.reshape(-1, 2, 2).transpose(1, 0, 2).astype(np.uint32)
        self.switched = module.asarray(np.ascontiguousarray(pairs[..., 1] << 16 | pairs[..., 0]))
        self.shift = constants.shift.tolist()
        """1 or more: see `_correct_int16.arrange`."""
        self.word_shift = _SMALL_WORD_SHIFT if self.shift[0] < _LARGE_SHIFT else 0
        """`word_shift` of kernels/words.cuh for G0."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Pedestal, mantissa, switched and the shifts of G0, G1, G2."""
        arrays = (self.pedestal, self.mantissa, self.switched)
        return *(np.uintp(array.data.ptr) for array in arrays), *(np.uint32(shift) for shift in self.shift)

    def set_pedestal(self, plane: Any) -> None:
        """Another pedestal of plane 0, uint16 (rows, columns), CuPy or numpy."""
        flat = plane.ravel()
        if isinstance(flat, np.ndarray):
            self.pedestal.set(np.ascontiguousarray(flat))
        else:
            self.pedestal[:] = flat


class Limits:
    """For each gain stage the words that reach a threshold: u16 (3, pitch), see `limit_of` of kernels/words.cuh.

    `threshold` is a value, 1 to 32700. The limit of a masked pixel tells that it is so. With `g0` there is that stage
    only, u16 (1, pitch), and the limit of a masked pixel is just one that no word reaches.
    """

    def __init__(self, constants: Int16Constants, threshold: int, g0: bool = False) -> None:
        self._constants = constants
        self.threshold = threshold
        self._masked = np.uint32(_NOT_MET if g0 else _MASKED_LIMIT)
        self._pixels = constants.pedestal.size
        self.pitch = -(-self._pixels // _PITCH) * _PITCH
        self.planes = cupy().zeros((1 if g0 else 3, self.pitch), np.uint16)
        for stage in range(len(self.planes)):
            self.renew(stage)

    def renew(self, stage: int) -> None:
        """Make the plane of a stage anew from the constants."""
        of = self._constants
        planes = (of.pedestal, of.mantissa) if stage == 0 else (of.switched[stage - 1],)
        arguments = (
            *(np.uintp(plane.data.ptr) for plane in planes),
            np.uint32(of.shift[stage]),
            np.uint32(self.threshold),
            np.uint32(self._pixels),
            np.uintp(self.planes[stage].data.ptr),
            *(() if stage else (self._masked,)),
        )
        function = "limits_switched" if stage else "limits_g0"
        kernel("limits", function, {})((-(-self._pixels // _THREADS),), (_THREADS,), arguments)


class FloatConstants:
    """A `Calibration` in photons or keV: of G0 two planes of f32, of G1 and G2 pairs of numbers a pixel.

    Pairs are pedestals and gains, `compact` as f32 where these hold all of them exactly, else f64.
    """

    def __init__(self, calibration: Calibration, unit: Literal["photons", "keV"]) -> None:
        module = cupy()
        constants = _correct_float32.arrange(calibration, unit)
        self.pedestal = module.asarray(constants.pedestal)
        self.scale = module.asarray(constants.scale)
        usable = calibration.usable[1:].reshape(2, -1)
        pedestal = np.where(usable, calibration.pedestal[1:].reshape(2, -1), 0).astype(np.float64)
        gain = np.where(usable, calibration.gain[1:].reshape(2, -1), np.nan).astype(np.float64)
        pairs = np.stack([pedestal, gain], axis=2)
        small = pairs.astype(np.float32)
        self.compact = bool(np.array_equal(small.astype(np.float64), pairs, equal_nan=True))
        self.switched = module.asarray(small if self.compact else pairs)
        self.energy = calibration.photon_energy_kev if unit == "photons" else 1.0

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Pedestal, scale, switched, energy."""
        arrays = (self.pedestal, self.scale, self.switched)
        return *(np.uintp(array.data.ptr) for array in arrays), np.float64(self.energy)
