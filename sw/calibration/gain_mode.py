"""The calibration of the gain mode that frames were taken in: they say it themselves, or the user does."""

from typing import Literal

from framelane.base.any_path import AnyPath
from framelane.base.errors import InputOptionError
from framelane.calibration.calibration_file import CalibrationFile
from framelane.models.jungfrau.jf_calibration import Calibration

GainMode = Literal["normal", "hg0"]


def read_calibration(path: AnyPath, *, gain_mode: GainMode | None = None) -> Calibration:
    """The calibration in an HDF5 file (docs/howto/calibration.md), of a gain mode: "normal", "hg0", None: the only one.

    InputError for a file that is none, one without that gain mode, and one of both where `gain_mode` is not given.
    """
    with open_calibration(path, gain_mode, "the call", None) as file:
        return file.calibration


def open_calibration(path: AnyPath, chosen: GainMode | None, frames: object, high_gain: bool | None) -> CalibrationFile:
    """The file `path`, in the gain mode that `frames` were taken in: `high_gain` where they say it, else `chosen`.

    Where neither says, the file must be of one mode. InputError names the files and what to give.
    """
    said: GainMode | None = None if high_gain is None else "hg0" if high_gain else "normal"
    if chosen and said and chosen != said:
        raise InputOptionError(
            "{0} says that its gain mode is {1}, not {2}: leave out {gain_mode}", frames, said, chosen
        )
    mode = said or chosen
    file = CalibrationFile(path, None if mode is None else mode == "hg0")
    if mode is None and file.has_high_gain and not file.high_gain:
        file.close()
        raise InputOptionError(
            "{0} is for both gain modes, and {1} does not say which one it is of: give {gain_mode} normal or "
            "{gain_mode} hg0",
            *(path, frames),
        )
    return file
