"""The calibration of a JUNGFRAU as the integers that the fixed-point correction computes with."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_calibration import STAGES, Calibration

PEDESTAL_FRACTION_BITS = 2
MAX_SHIFT = 31
MAX_FRACTION_BITS = 15


@dataclass(frozen=True, eq=False)
class FixedCalibration:
    """The constants of the fixed-point correction: 4 bytes per pixel and stage, a sign and a shift per stage.

    A value is `sign * (4 * adc - pedestal) * mantissa / 2**shift`, in units of `2**-fraction_bits` photons.
    Raises ConfigError where the hardware's integers do not hold it.
    """

    pedestal: NDArray[np.uint16]
    """Quarters of an ADU (u14.2), u16 (3, rows, columns)."""

    mantissa: NDArray[np.uint16]
    """Output units per quarter ADU, times `2**shift`, u16 (3, rows, columns). 0: masked, or no calibration."""

    shift: tuple[int, int, int]
    """Right shift of G0, G1, G2, each 0..31."""

    fraction_bits: int = 0
    """Binary digits of a photon in the output, 0..15."""

    high_gain: bool = False
    """Plane 0 is HG0: the word 0x3FFF is saturated."""

    def __post_init__(self) -> None:
        for name, planes in (("pedestals", self.pedestal), ("mantissas", self.mantissa)):
            if planes.dtype != np.uint16 or planes.shape != (STAGES, *self.pedestal.shape[1:]):
                raise ConfigError(
                    f"{name} are {planes.dtype} {planes.shape}, needed are uint16 (3, rows, columns), both the same"
                )
        if not 0 <= self.fraction_bits <= MAX_FRACTION_BITS:
            raise ConfigError(f"{self.fraction_bits} fraction bits cannot be: give 0 to {MAX_FRACTION_BITS}")
        for stage, shift in enumerate(self.shift):
            if not 0 <= shift <= MAX_SHIFT:
                raise ConfigError(
                    f"G{stage} with {self.fraction_bits} fraction bits needs a right shift of {shift}, the hardware "
                    f"has 0 to {MAX_SHIFT}: check the gains and the photon energy, or change the fraction bits"
                )


def quantize(
    calibration: Calibration, fraction_bits: int = 0, unit: Literal["photons", "keV"] = "photons"
) -> FixedCalibration:
    """Round a calibration to the constants of the fixed-point correction; keV are photons of 1 keV.

    Pedestals are rounded to quarters of an ADU. The scale, `2**fraction_bits / (4 * |gain| * photon_energy_kev)` output
    units per quarter ADU, is rounded to 16 bits with the stage's shift, the one that puts the stage's largest mantissa
    into 32768..65535. By `Calibration.usable` the smallest is then at least 2048. Raises ConfigError where a shift is
    out of range.
    """
    if unit == "keV":
        calibration = replace(calibration, photon_energy_kev=1.0)
    exact = scale(calibration, fraction_bits)
    shift = tuple(_shift(float(plane.max())) for plane in exact)
    mantissa = np.rint(np.ldexp(exact, np.array(shift).reshape(STAGES, 1, 1)))
    pedestal = np.rint(np.where(calibration.usable, calibration.pedestal, 0) * 2.0**PEDESTAL_FRACTION_BITS)
    return FixedCalibration(
        pedestal.astype(np.uint16),
        mantissa.astype(np.uint16),
        (shift[0], shift[1], shift[2]),
        fraction_bits,
        calibration.high_gain,
    )


def scale(calibration: Calibration, fraction_bits: int) -> NDArray[np.float64]:
    """Output units of `2**-fraction_bits` photons per quarter ADU, float64 (3, rows, columns); 0 where not usable."""
    units_per_kev = 2.0**fraction_bits / calibration.photon_energy_kev
    quarters_per_kev = np.abs(calibration.gain.astype(np.float64)) * 2**PEDESTAL_FRACTION_BITS
    exact = np.zeros(calibration.gain.shape)
    np.divide(units_per_kev, quarters_per_kev, out=exact, where=calibration.usable)
    return exact


def _shift(largest: float) -> int:
    """The shift that brings the largest scale of a stage into 32768..65535; 0 where the stage has none."""
    if largest == 0:
        return 0
    shift = 16 - math.frexp(largest)[1]
    return shift if math.ldexp(largest, shift) < 65535.5 else shift - 1
