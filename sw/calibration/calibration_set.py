"""A calibration with the statistics behind it, put together from pedestals and gains."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.calibration.gain_maps import Gains
from framelane.calibration.stage_pedestal import HIGH_GAIN, NORMAL, Reason, Stage, StagePedestal
from framelane.models.jungfrau.jf_calibration import Calibration


@dataclass(frozen=True, eq=False, slots=True)
class CalibrationSet:
    """The calibration of one gain mode; all arrays (3, rows, columns)."""

    calibration: Calibration
    rms: NDArray[np.float32]
    """Noise, ADU; NaN where it is not known."""
    count: NDArray[np.uint32]
    """Words behind a pedestal; 0 where it is not known."""
    reasons: NDArray[np.uint32]
    """Bits of `Reason`; 0 exactly where the calibration is `usable`."""


def combine(
    pedestals: Mapping[Stage, StagePedestal], gains: Gains, photon_energy_kev: float, high_gain: bool = False
) -> CalibrationSet:
    """Put the calibration of one gain mode together. InputError where pedestals and gains are not of one detector."""
    planes = [pedestals[stage] for stage in (HIGH_GAIN if high_gain else NORMAL)]
    for plane in planes:
        if plane.mean.shape != gains.values.shape[1:]:
            raise InputError(
                f"the pedestals of {plane.stage} have {plane.mean.shape} pixels, the gain maps "
                f"{gains.values.shape[1:]}: give both for the same modules"
            )
    reasons = np.stack([plane.reasons for plane in planes])
    reasons[1:, reasons[0] != 0] |= Reason.BAD_FIRST_STAGE.bit
    reasons[gains.bad] |= Reason.BAD_GAIN.bit
    calibration = Calibration(
        np.stack([plane.mean for plane in planes]), gains.values, photon_energy_kev, reasons != 0, high_gain
    )
    reasons[~calibration.usable & (reasons == 0)] |= Reason.UNUSABLE.bit
    rms, count = np.stack([plane.rms for plane in planes]), np.stack([plane.count for plane in planes])
    return CalibrationSet(calibration, rms, count, reasons)
