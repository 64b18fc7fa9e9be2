"""Pedestals from a file: those of PSI's jungfrau_utils, or of a calibration file.

| dataset      | shape                   | type     |                                                               |
|--------------|-------------------------|----------|---------------------------------------------------------------|
| `gains`      | (3 or 4, rows, columns) | float    | pedestals, in spite of the name, in ADU: G0, G1, G2 (, HG0)   |
| `gainsRMS`   | (3 or 4, rows, columns) | float    | optional: their rms in ADU                                    |
| `pixel_mask` | (rows, columns)         | integers | optional, bad pixels: bit 0 in G0, 1 in G1, 3 in G2, 4 in HG0 |

Source: `jungfrau_create_pedestals.py` of jungfrau_utils, whose `JFDataHandler` reads `gains` and `pixel_mask`. A stage
that was not measured is a plane of zeros there. Some of its versions write the pedestals into `gainsRMS` a second time:
an rms that equals the pedestal counts as not known. Any other bit of `pixel_mask` masks the pixel in every stage.
"""

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.calibration.calibration_file import CalibrationFile
from framelane.calibration.stage_pedestal import HIGH_GAIN, NORMAL, Reason, Stage, StagePedestal
from framelane.files.checked_file import CheckedFile
from framelane.models.jungfrau.jf_packet import MODULE_ROWS

_STAGES = (Stage.G0, Stage.G1, Stage.G2, Stage.HG0)
_BITS = {Stage.G0: 1 << 0, Stage.G1: 1 << 1, Stage.G2: 1 << 3, Stage.HG0: 1 << 4}

_OF_SETS = Reason.BAD_GAIN | Reason.BAD_FIRST_STAGE | Reason.UNUSABLE
"""What the pedestals of a stage alone do not say."""


def read_pedestals(path: Path, unused_modules: Collection[int] = ()) -> dict[Stage, StagePedestal]:
    """The pedestals of each stage that the file has. InputError where it is neither of the two kinds, or damaged.

    InputError also where they cannot be those of their stages. A pixel whose pedestal is not finite is masked, as are
    modules that are not used.
    """
    with _PedestalFile(path) as file:
        found = file.pedestals
    if not found:
        found = _of_calibration(path)
    for pedestal in found.values():
        for module in unused_modules:
            pedestal.reasons[module * MODULE_ROWS : (module + 1) * MODULE_ROWS] |= Reason.GIVEN.bit
        pedestal.check(path)
    return found


class _PedestalFile(CheckedFile):
    needed = "needed is gains, as jungfrau_utils writes it, or pedestal_adu of a calibration"

    def _load(self) -> None:
        self.pedestals: dict[Stage, StagePedestal] = {}
        """Empty where the file may be a calibration."""
        if not self._has("gains") and self._has("pedestal_adu"):
            return
        found = self._dataset("gains", (None, None, None), "f").shape
        shape = (len(_STAGES) if found[0] == len(_STAGES) else len(NORMAL), *found[1:])
        mean = self._read("gains", shape, "f", np.float32)
        rms = self._read("gainsRMS", shape, "f", np.float32) if self._has("gainsRMS") else mean
        bits = np.zeros(shape[1:], np.int64)
        if self._has("pixel_mask"):
            bits = self._read("pixel_mask", shape[1:], ("i", "u", "b"), np.int64)
        for stage, plane, noise in zip(_STAGES, mean, rms, strict=False):
            if plane.any():
                self.pedestals[stage] = _pedestal(stage, plane, noise, bits)
        if not self.pedestals:
            raise InputError(f"{self.path}: the pedestals in gains are 0 in every stage: give another file")


def _pedestal(
    stage: Stage, mean: NDArray[np.float32], rms: NDArray[np.float32], bits: NDArray[np.int64]
) -> StagePedestal:
    others = sum(bit for other, bit in _BITS.items() if other is not stage)
    bad = (bits & ~others != 0) | ~np.isfinite(mean)
    return StagePedestal(
        stage,
        mean,
        np.full_like(rms, np.nan) if np.array_equal(rms, mean, equal_nan=True) else rms,
        np.zeros(mean.shape, np.uint32),
        bad * Reason.GIVEN.bit,
    )


def _of_calibration(path: Path) -> dict[Stage, StagePedestal]:
    found: dict[Stage, StagePedestal] = {}
    with CalibrationFile(path) as file:
        modes = [file.high_gain] + ([True] if file.has_high_gain and not file.high_gain else [])
    for high_gain in modes:
        with CalibrationFile(path, high_gain) as file:
            _ = file.calibration  # its numbers are checked
            stages = HIGH_GAIN if high_gain else NORMAL
            reasons = file.mask_reasons & ~_OF_SETS.bit
            for stage, *planes in zip(stages, file.pedestal_adu, file.rms_adu, file.count, reasons, strict=True):
                found.setdefault(stage, StagePedestal(stage, *planes))
    return found
