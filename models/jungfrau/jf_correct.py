"""JUNGFRAU correction: raw words to photons, in float64 and in the fixed-point form of the hardware.

A raw word is u16: gain stage in bits 15..14 (00 G0 or HG0, 01 G1, 11 G2; 10 never occurs), ADC in 13..0. In float64

    energy = (adc - pedestal[stage]) / gain[stage],    photons = energy / photon_energy

In fixed point, with the constants of `FixedCalibration` and `half = 2**(shift - 1)`, or 0 where the shift is 0:

| step                               | width      | range                                                       |
|------------------------------------|------------|-------------------------------------------------------------|
| `adc`                              | u14        | 0..16383                                                    |
| `pedestal`                         | u16, u14.2 | 0..65535 quarters of an ADU                                 |
| `mantissa`                         | u16        | 0 masked, else 1..65535                                     |
| `shift`, one per stage             | u5         | 0..31                                                       |
| `d = 4 * adc - pedestal`           | s17        | -65535..65532                                               |
| `p = d * (sign * mantissa)`        | s34        | 17 x 17 bits, magnitude below 2**32                         |
| `r = p + half`                     | s34        | half at most 2**30                                          |
| `q = r >> shift`                   | s34        | arithmetic: rounds to nearest, halves towards plus infinity |
| `value = min(max(q, -32700), 32700)` | s16      |                                                             |

In the place of a value come the codes of `PixelCode`. All images are (rows, columns) or (frames, rows, columns).
"""

from enum import IntEnum
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_calibration import SIGN, Calibration
from framelane.models.jungfrau.jf_fixed import PEDESTAL_FRACTION_BITS, FixedCalibration, scale
from framelane.models.placement.slots import HOLE_WORD

ADC_MASK = 0x3FFF
STAGE_SHIFT = 14
FORBIDDEN_STAGE = 0b10
"""Gain code that a detector never produces: in memory it means "not written"."""

ERROR_WORD = 0xFFFF
G1_ZERO_WORD = 0x4000
SATURATED_WORD = 0xC000
HG0_SATURATED_WORD = 0x3FFF
"""Saturated where the first stage is HG0."""

MAX_VALUE = 32700
"""Values are clipped to -32700..32700, clear of all codes."""

_PLANE = np.array([0, 1, 2, 2], np.uint8)
_ROUNDING_OF_FLOAT64 = 1e-9


class PixelCode(IntEnum):
    """What stands in a corrected int16 image where there is no value: the first of these that applies."""

    HOLE = -32768
    """The word was never written: 0x8000."""
    INVALID = -32766
    """0xFFFF, 0x4000 (G1 with ADC 0), or any other word of gain code 10."""
    MASKED = -32767
    """The pixel is masked in this stage, or has no calibration there."""
    SATURATED = 32767
    """0xC000: G2 at its end; with a high-gain calibration 0x3FFF too: HG0 at its end."""


class FloatImage(NamedTuple):
    """A corrected image in floating point."""

    values: NDArray[np.float64]
    """Photons or keV; NaN where `codes` is not 0."""
    codes: NDArray[np.int16]
    """0 where there is a value, else its `PixelCode`."""


def guard(raw: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], int]:
    """Replace every word of gain code 10 by 0xFFFF, as a source does before it sends; also return their number."""
    forbidden = raw >> STAGE_SHIFT == FORBIDDEN_STAGE
    return np.where(forbidden, np.uint16(ERROR_WORD), raw), int(np.count_nonzero(forbidden))


def correct_int16(raw: NDArray[np.uint16], fixed: FixedCalibration) -> NDArray[np.int16]:
    """Correct u16 words to int16 in units of `2**-fixed.fraction_bits` photons, with the hardware's integers.

    Raises InputError where the words do not fit the calibration in dtype or shape.
    """
    plane = _planes(raw, fixed.pedestal.shape)
    mantissa = np.choose(plane, fixed.mantissa)
    signed = np.array(SIGN, np.int64)[plane] * mantissa
    shift = np.array(fixed.shift, np.int64)[plane]
    value = (_quarters(raw, plane, fixed) * signed + (1 << shift >> 1)) >> shift
    codes = _codes(raw, mantissa != 0, fixed.high_gain)
    return np.where(codes != 0, codes, value.clip(-MAX_VALUE, MAX_VALUE).astype(np.int16))


def correct_float(
    raw: NDArray[np.uint16], calibration: Calibration, unit: Literal["photons", "keV"] = "photons"
) -> FloatImage:
    """Correct u16 words in float64. Raises InputError where they do not fit the calibration in dtype or shape."""
    plane = _planes(raw, calibration.pedestal.shape)
    codes = _codes(raw, np.choose(plane, calibration.usable), calibration.high_gain)
    charge = (raw & ADC_MASK) - np.choose(plane, calibration.pedestal).astype(np.float64)
    per_unit = np.choose(plane, calibration.gain).astype(np.float64)
    if unit == "photons":
        per_unit *= calibration.photon_energy_kev
    values = np.divide(charge, per_unit, out=np.full(raw.shape, np.nan), where=codes == 0)
    return FloatImage(values, codes)


def error_bound(raw: NDArray[np.uint16], calibration: Calibration, fixed: FixedCalibration) -> NDArray[np.float64]:
    """The most by which int16 and float64 can differ, in photons, float64 in the shape of `raw`; NaN at every code.

    `fixed` is `quantize(calibration, f)`. Let D and S be the exact charge in quarters of an ADU and the exact scale,
    so that the float64 result, in output units, is v = D*S (the signs cancel), and let d, M, s be the integers of the
    pixel: |d - D| <= 1/2 and |M / 2**s - S| <= 2**-(s+1), both being rounded to nearest. Then

        |d*M / 2**s - D*S| <= |d| * |M / 2**s - S| + S * |d - D| <= |d| * 2**-(s+1) + S/2

    The shift with `half` rounds to nearest, which adds at most 1/2; so in output units

        |q - v| <= 1/2  (rounding)  +  S/2  (pedestal)  +  |d| * 2**-(s+1)  (mantissa)

    Clipping both to -32700..32700 brings them no further apart: where the int16 value is clipped, the bound holds for
    the float64 value clipped to the same limits. The arithmetic of float64 itself errs by a few times 2**-53 of a
    value of at most 32700, below 1e-11 units; a factor of 1 + 1e-9 on the bound, which is at least 1/2, covers it.
    """
    plane = _planes(raw, fixed.pedestal.shape)
    per_quarter = np.choose(plane, scale(calibration, fixed.fraction_bits))
    half_mantissa = np.exp2(-1.0 - np.array(fixed.shift))[plane]
    units = 0.5 + per_quarter / 2 + np.abs(_quarters(raw, plane, fixed)) * half_mantissa
    valid = _codes(raw, np.choose(plane, fixed.mantissa) != 0, fixed.high_gain) == 0
    return np.where(valid, units * (1 + _ROUNDING_OF_FLOAT64) * 2.0**-fixed.fraction_bits, np.nan)


def _planes(raw: NDArray[np.uint16], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The calibration's plane for every word (that of G2 for gain code 10), after a check that the words fit it."""
    if raw.dtype != np.uint16:
        raise InputError(f"raw words have the dtype {raw.dtype}, needed is uint16")
    if raw.ndim not in (2, 3) or raw.shape[-2:] != shape[1:]:
        raise InputError(
            f"raw words have the shape {raw.shape}, the calibration is for {shape[1:]}: needed is (rows, columns) or "
            "(frames, rows, columns) of the same detector"
        )
    planes: NDArray[np.uint8] = _PLANE[raw >> STAGE_SHIFT]
    return planes


def _quarters(raw: NDArray[np.uint16], plane: NDArray[np.uint8], fixed: FixedCalibration) -> NDArray[np.int64]:
    """Charge in quarters of an ADU: `d` of the table."""
    adc = (raw & ADC_MASK).astype(np.int64)
    return (adc << PEDESTAL_FRACTION_BITS) - np.choose(plane, fixed.pedestal)


def _codes(raw: NDArray[np.uint16], usable: NDArray[np.bool_], high_gain: bool) -> NDArray[np.int16]:
    """0 for a word that has a value, else its code; `usable` tells whether the pixel is, in the word's stage."""
    codes = np.zeros(raw.shape, np.int16)
    codes[raw == SATURATED_WORD] = PixelCode.SATURATED
    if high_gain:
        codes[raw == HG0_SATURATED_WORD] = PixelCode.SATURATED
    codes[~usable] = PixelCode.MASKED
    invalid = (raw == ERROR_WORD) | (raw == G1_ZERO_WORD) | (raw >> STAGE_SHIFT == FORBIDDEN_STAGE)
    codes[invalid] = PixelCode.INVALID
    codes[raw == HOLE_WORD] = PixelCode.HOLE
    return codes
