"""The calibration of a JUNGFRAU in physical units: pedestals and gains, one plane per gain stage (G0, G1, G2).

A detector runs in one of two gain modes: the normal one, or with the high-gain G0 (HG0) as its first stage. Each has a
calibration of its own, in which plane 0 is G0 or HG0.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError

STAGES = 3
SIGN = (1, -1, -1)
"""Sign of the gain of G0, G1, G2: in G1 and G2 the ADC falls with charge."""

MAX_PEDESTAL_ADU = 16383.75
"""Largest pedestal of the fixed-point form, which counts quarters of an ADU in 16 bits (u14.2)."""

MAX_GAIN_RATIO = 4.0
"""A gain further from its stage's median than this factor is not a calibration: the pixel counts as masked there."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Pedestals and gains in physical units.

    A pixel without calibration has to be masked; elsewhere a pedestal or gain that is not finite, a gain of 0 or of the
    wrong sign raises InputError, as do wrong shapes and dtypes. Finite values that the fixed-point form cannot hold
    mask their pixel, in `usable`: a pedestal outside 0..16383.75 ADU, and a gain more than 4 times above or below the
    median of its stage, so that one dead pixel does not cost all others their precision.
    """

    pedestal: NDArray[np.floating[Any]]
    """ADU, float (3, rows, columns)."""

    gain: NDArray[np.floating[Any]]
    """ADU/keV, float (3, rows, columns): positive in G0, negative in G1 and G2."""

    photon_energy_kev: float
    """Energy of one photon. With 1.0 a "photon" is a keV."""

    mask: NDArray[np.bool_] | None = None
    """True where a pixel must not be used, bool (rows, columns), or (3, rows, columns) by stage. None: nowhere."""

    high_gain: bool = False
    """Plane 0 is HG0, which is saturated at the end of the ADC (word 0x3FFF). The words do not tell it from G0."""

    usable: NDArray[np.bool_] = field(init=False)
    """Which pixels can be corrected in which stage, bool (3, rows, columns)."""

    def __post_init__(self) -> None:
        shape = self.pedestal.shape
        if len(shape) != 3 or shape[0] != STAGES or 0 in shape:
            raise InputError(
                f"pedestals have the shape {shape}, needed is (3, rows, columns): one plane for G0, G1, G2"
            )
        if self.gain.shape != shape:
            raise InputError(
                f"gains have the shape {self.gain.shape}, the pedestals {shape}: give both for one detector"
            )
        for name, array in (("pedestals", self.pedestal), ("gains", self.gain)):
            if array.dtype.kind != "f":
                raise InputError(f"{name} have the dtype {array.dtype}, needed are floating-point numbers")
        if not 0 < self.photon_energy_kev < math.inf:
            raise InputError(
                f"a photon energy of {self.photon_energy_kev} keV cannot be: give a positive number of keV"
            )
        checked = np.ones(shape, np.bool_) if self.mask is None else ~self._planes(self.mask)
        sign = np.array(SIGN).reshape(STAGES, 1, 1)
        _refuse(checked & ~np.isfinite(self.pedestal), "the pedestal is not a finite number")
        _refuse(checked & ~np.isfinite(self.gain), "the gain is not a finite number")
        _refuse(checked & (self.gain == 0), "the gain is 0 ADU/keV")
        _refuse(checked & (self.gain * sign < 0), "the gain has the wrong sign (positive in G0, negative in G1 and G2)")
        usable = checked & (self.pedestal >= 0) & (self.pedestal <= MAX_PEDESTAL_ADU)
        for plane, gain in zip(usable, np.abs(self.gain), strict=True):
            if plane.any():
                median = np.median(gain[plane])
                plane &= (gain >= median / MAX_GAIN_RATIO) & (gain <= median * MAX_GAIN_RATIO)
        object.__setattr__(self, "usable", usable)

    def _planes(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        shape = self.pedestal.shape
        if mask.dtype != np.bool_ or mask.shape not in (shape, shape[1:]):
            raise InputError(f"the mask is {mask.dtype} {mask.shape}, needed is bool {shape[1:]} or {shape}")
        return np.broadcast_to(mask, shape)


def _refuse(bad: NDArray[np.bool_], what: str) -> None:
    """Raise InputError if any pixel of (3, rows, columns) is bad, naming the first."""
    if bad.any():
        stage, row, column = np.unravel_index(int(bad.argmax()), bad.shape)
        raise InputError(
            f"{what} at {np.count_nonzero(bad)} pixels, first in G{stage} row {row} column {column}: "
            "correct the calibration, or mask them"
        )
