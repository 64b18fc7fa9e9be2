"""The calibration of the gain mode that frames were taken in: they say it themselves, or the user does."""

from pathlib import Path
from typing import Literal

from framelane.models.errors import InputError
from framelane.receiver.calibration.calibration_file import CalibrationFile

GainMode = Literal["normal", "hg0"]


def open_calibration(path: Path, chosen: GainMode | None, frames: object, high_gain: bool | None) -> CalibrationFile:
    """The file `path`, in the gain mode that `frames` were taken in: `high_gain` where they say it, else `chosen`.

    Where neither says, the file must be of one mode. InputError names the files and what to give.
    """
    said: GainMode | None = None if high_gain is None else "hg0" if high_gain else "normal"
    if chosen and said and chosen != said:
        raise InputError(f"{frames} says that its gain mode is {said}, not {chosen}: leave out --gain-mode")
    mode = said or chosen
    file = CalibrationFile(path, None if mode is None else mode == "hg0")
    if mode is None and file.has_high_gain and not file.high_gain:
        file.close()
        raise InputError(
            f"{path} is for both gain modes, and {frames} does not say which one it is of: give --gain-mode normal or "
            "--gain-mode hg0"
        )
    return file
