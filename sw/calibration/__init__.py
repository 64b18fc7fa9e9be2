"""Calibrations of a JUNGFRAU: dark runs, gain maps, pedestals, and the file they become.

Public names: docs/reference/api.md.
"""

from typing import TYPE_CHECKING

from framelane.base.lazily import lazily

__all__ = [
    "Calibration",
    "DarkLimits",
    "MadeCalibration",
    "Stage",
    "make_calibration",
    "read_calibration",
    "write_calibration",
]

if TYPE_CHECKING:
    from framelane.calibration.calibration_file import write_calibration
    from framelane.calibration.dark import DarkLimits
    from framelane.calibration.gain_mode import read_calibration
    from framelane.calibration.made_calibration import MadeCalibration, make_calibration
    from framelane.calibration.stage_pedestal import Stage
    from framelane.models.jungfrau.jf_calibration import Calibration
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Calibration": "framelane.models.jungfrau.jf_calibration",
            "DarkLimits": "framelane.calibration.dark",
            "MadeCalibration": "framelane.calibration.made_calibration",
            "Stage": "framelane.calibration.stage_pedestal",
            "make_calibration": "framelane.calibration.made_calibration",
            "read_calibration": "framelane.calibration.gain_mode",
            "write_calibration": "framelane.calibration.calibration_file",
        },
    )
