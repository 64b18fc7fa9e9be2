"""JUNGFRAU correction on the CPU: raw words to photons or keV, many frames at once.

The int16 result is that of `models.jf_correct.correct_int16`, bit for bit. The float32 result is NaN at every pixel
code, and elsewhere, with the calibration's `pedestal`, `gain` and `photon_energy` (1 for keV):

| stage   | operations of IEEE 754                                                                              |
|---------|-----------------------------------------------------------------------------------------------------|
| G0, HG0 | `(float32(adc) - float32(pedestal)) * float32(1 / (gain * photon_energy))`, both in float32          |
| G1, G2  | `float32((adc - pedestal) / (gain * photon_energy))`, both in float64: few pixels, but big values    |

With u = 2**-24 this differs from float64 in G0 and HG0 by at most about 3 u of the value and u of the pedestal as a
charge, in G1 and G2 by at most u of the value: 5e-4 photons of 8,192.
"""

import os
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.receiver.pipeline import _correct_float32, _correct_int16, _correct_numpy
from framelane.receiver.pipeline._bands import BandedLoop

Unit = Literal["photons", "keV"]


class Correction:
    """Corrects frames with one calibration. Not for use by several threads at once.

    `output` int16 is in units of `2**-fraction_bits` photons or keV; it also takes the hardware's `FixedCalibration`,
    whose unit and fraction bits are its own. The engine "numba" divides the image between `threads` at most, None: one
    a core; "numpy" is one thread and many times slower. Raises ConfigError for what does not go together.
    """

    def __init__(
        self,
        calibration: Calibration | FixedCalibration,
        output: Literal["int16", "float32"] = "int16",
        unit: Unit = "photons",
        *,
        fraction_bits: int = 0,
        engine: Literal["numba", "numpy"] = "numba",
        threads: int | None = None,
    ) -> None:
        threads = len(os.sched_getaffinity(0)) if threads is None else threads
        if threads < 1:
            raise ConfigError(f"{threads} threads correct nothing: give 1 or more, or None for one a core")
        self._dtype = np.dtype(output)
        self._image_shape = calibration.pedestal.shape[1:]
        if self._dtype == np.int16:
            fixed = _fixed(calibration, unit, fraction_bits)
            self._run = (
                BandedLoop(_correct_int16.frames, _correct_int16.arrange(fixed), threads)
                if engine == "numba"
                else partial(_correct_numpy.int16, fixed)
            )
            return
        if isinstance(calibration, FixedCalibration):
            raise ConfigError("a FixedCalibration holds integers for int16: give the Calibration it was made of")
        if fraction_bits:
            raise ConfigError(f"float32 has no fraction bits, {fraction_bits} are asked for: they are for int16")
        constants = _correct_float32.arrange(calibration, unit)
        self._run = (
            BandedLoop(_correct_float32.frames, constants, threads)
            if engine == "numba"
            else partial(_correct_numpy.float32, constants)
        )

    def __call__(
        self, raw: NDArray[np.uint16], out: NDArray[Any] | None = None, codes: NDArray[np.int16] | None = None
    ) -> NDArray[Any]:
        """Correct uint16 (frames, rows, columns) or (rows, columns) into `out`, of the same shape, and return it.

        Without `out` the result is a new array, whose first use costs more than the correction: use one again.
        `codes`, int16 of the same shape, beside a float32 result, takes each pixel's `PixelCode`, 0 where there is a
        value. There may be gaps between frames, not within. Raises InputError for any other array; then nothing is
        written.
        """
        if raw.dtype != np.uint16:
            raise InputError(f"raw words have the dtype {raw.dtype}, needed is uint16")
        if raw.ndim not in (2, 3) or raw.shape[-2:] != self._image_shape:
            raise InputError(
                f"raw words have the shape {raw.shape}, the calibration is for {self._image_shape}: needed is (rows, "
                "columns) or (frames, rows, columns) of the same detector"
            )
        result = np.empty(raw.shape, self._dtype) if out is None else out
        arrays = [_frames("raw words", raw), _written("the result", result, self._dtype, raw.shape)]
        if self._dtype == np.float32:
            none = np.empty((0, *self._image_shape), np.int16)
            arrays.append(none if codes is None else _written("the codes", codes, np.dtype(np.int16), raw.shape))
        elif codes is not None:
            raise InputError("an int16 result holds the pixel codes itself: give no other array for them")
        if raw.size:
            self._run(*arrays)
        return result


def correct(
    raw: NDArray[np.uint16],
    calibration: Calibration,
    *,
    output: Literal["int16", "float32"] = "int16",
    unit: Unit = "photons",
    fraction_bits: int = 0,
) -> NDArray[Any]:
    """Correct raw words uint16 (frames, rows, columns) or (rows, columns): a new array of the same shape.

    Values are photons or keV, `output` int16 in units of `2**-fraction_bits` of them. Special pixels are the codes of
    `PixelCode` (docs/architecture.md) in int16, NaN in float32. For many batches make one `Correction`, which arranges
    the constants once. InputError for any other array, ConfigError for what does not go together.
    """
    return Correction(calibration, output, unit, fraction_bits=fraction_bits)(raw)


def _fixed(calibration: Calibration | FixedCalibration, unit: Unit, fraction_bits: int) -> FixedCalibration:
    if isinstance(calibration, Calibration):
        return quantize(calibration, fraction_bits, unit)
    if fraction_bits or unit != "photons":
        raise ConfigError("a FixedCalibration has its unit and fraction bits already: give them to what makes it")
    return calibration


def _written(what: str, array: NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if array.dtype != dtype or array.shape != shape or not array.flags.writeable:
        raise InputError(
            f"{what} would go to {'a' if array.flags.writeable else 'a read-only'} {array.dtype} array {array.shape}, "
            f"needed is {dtype} {shape}, writeable"
        )
    return _frames(what, array)


def _frames(what: str, array: NDArray[Any]) -> NDArray[Any]:
    """View as (frames, rows, columns)."""
    frames = array if array.ndim == 3 else array[np.newaxis]
    one, step = frames[:1], frames.strides[0]
    if not (one.flags.c_contiguous and one.flags.aligned):
        raise InputError(f"{what} have gaps within a frame: give each frame in one piece, as np.ascontiguousarray does")
    if len(frames) > 1 and (step < one.nbytes or step % frames.itemsize):
        raise InputError(f"{what} have frames that overlap or go backwards: give them one after the other")
    return frames
