"""The correction as one writes it with numba: a loop over the pixels of an image, by gain stage.

It is measured beside `receiver.pipeline.correction`. `float32` is the usual form: rows, columns, and the stage as an
index. The other two are the fastest of the plain forms that we found: flat images, and G0 is asked for first. They give
the same bits as `receiver.pipeline.correction`; `float32` multiplies in single precision where that divides in double.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_calibration import Calibration


def constants(calibration: Calibration) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Pedestals and photons per ADU for `float32`; NaN where a pixel cannot be used."""
    pedestal = np.where(calibration.usable, calibration.pedestal, np.nan)
    return pedestal.astype(np.float32), (1 / (calibration.gain * calibration.photon_energy_kev)).astype(np.float32)


@numba.njit(nogil=True)
def int16(
    raw: NDArray[np.uint16],
    pedestal: NDArray[np.uint16],
    mantissa: NDArray[np.uint16],
    shift: NDArray[np.int64],
    image: NDArray[np.int16],
) -> None:
    """Correct `raw` (pixels) with the constants of a `FixedCalibration`, (3, pixels) and (3)."""
    shift_g0, half_g0 = shift[0], 1 << shift[0] >> 1
    for i in range(raw.size):
        word = int(raw[i])
        if word < 0x4000:
            scale = int(mantissa[0, i])
            if scale:
                value = ((word * 4 - int(pedestal[0, i])) * scale + half_g0) >> shift_g0
                image[i] = min(max(value, -32700), 32700)
            else:
                image[i] = -32767
        elif word == 0x8000:
            image[i] = -32768
        elif word >> 14 == 2 or word == 0xFFFF or word == 0x4000:
            image[i] = -32766
        else:
            stage = 1 if word < 0x8000 else 2
            scale = int(mantissa[stage, i])
            if scale == 0:
                image[i] = -32767
            elif word == 0xC000:
                image[i] = 32767
            else:
                value = (int(pedestal[stage, i]) - (word & 0x3FFF) * 4) * scale
                image[i] = min(max((value + (1 << shift[stage] >> 1)) >> shift[stage], -32700), 32700)


@numba.njit(nogil=True)
def float32(
    raw: NDArray[np.uint16], pedestal: NDArray[np.float32], scale: NDArray[np.float32], image: NDArray[np.float32]
) -> None:
    """Correct `raw` (rows, columns) with pedestals in ADU and photons per ADU, both (3, rows, columns)."""
    for row in range(raw.shape[0]):
        for column in range(raw.shape[1]):
            word = int(raw[row, column])
            stage = min(np.intp(word >> 14), np.intp(2))
            if word >> 14 == 2 or word == 0xFFFF or word == 0x4000 or word == 0xC000:
                image[row, column] = np.nan
            else:
                adc = np.float32(word & 0x3FFF)
                image[row, column] = (adc - pedestal[stage, row, column]) * scale[stage, row, column]


@numba.njit(nogil=True)
def float32_flat(
    raw: NDArray[np.uint16],
    pedestal: NDArray[np.float32],
    scale: NDArray[np.float32],
    switched: NDArray[np.float64],
    image: NDArray[np.float32],
) -> None:
    """Correct `raw` (pixels) with the constants of `receiver._correct_float32`."""
    for i in range(raw.size):
        word = int(raw[i])
        if word < 0x4000:
            image[i] = (np.float32(word) - pedestal[i]) * scale[i]
        elif word >> 14 == 2 or word == 0xFFFF or word == 0x4000 or word == 0xC000:
            image[i] = np.nan
        else:
            stage = 0 if word < 0x8000 else 2
            image[i] = (np.float64(word & 0x3FFF) - switched[i, stage]) / switched[i, stage + 1]
