"""The images that an emulated source sends again and again: a simulated detector's, or those of a file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.calibration.calibration_file import CalibrationFile
from framelane.files.recorded_file import RecordedFile
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import correct_int16, guard
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.session.session import Session

DISTINCT = 8
"""Frames that are simulated."""
_MOST_BYTES = 1 << 30
"""Images of a file that are kept in memory."""
_MODULE = (512, 1024)
_FEW_PIXELS = 1 << 14
"""So small a detector is simulated without stuck pixels."""


def images(session: Session, path: Path | None, calibration: Path | None, seed: int) -> list[NDArray[np.generic]]:
    """The images of a file, as many as fit the memory, or of the simulated detector: as `session` wants its pixels.

    They have passed the guard: no word means "never written". `calibration` is a file's, None where `path` has its own.
    InputError where a file is not usable, or of another shape.
    """
    guarded, constants = raw_images(session.rows, session.columns, path, seed, calibration)
    if session.pixels == "raw":
        return [*guarded]
    fixed = quantize(constants(), session.fraction_bits, session.unit)
    return [correct_int16(image, fixed) for image in guarded]


Constants = Callable[[], Calibration]


def raw_images(
    rows: int, columns: int, path: Path | None, seed: int, calibration: Path | None = None
) -> tuple[list[NDArray[np.uint16]], Constants]:
    """The same of raw images, uint16 of (rows, columns), and what gives the calibration that belongs to them."""
    raw, constants = _simulated(rows, columns, seed) if path is None else _of_file(rows, columns, path, calibration)
    return [guard(image)[0] for image in raw], constants


def _simulated(rows: int, columns: int, seed: int) -> tuple[list[NDArray[np.uint16]], Constants]:
    modules, rest = divmod(rows, _MODULE[0])
    if rest or columns != _MODULE[1]:
        modules = 1
    config, height = DetectorConfig(modules=modules, seed=seed), rows // modules
    if height * columns < _FEW_PIXELS:
        config = replace(config, stuck_in_g1=0, stuck_saturated=0)
    detector = Detector(replace(config, rows=height, columns=columns))
    return [detector.frame(number).raw for number in range(DISTINCT)], lambda: detector.calibration


def _of_file(
    rows: int, columns: int, path: Path, calibration: Path | None
) -> tuple[list[NDArray[np.uint16]], Constants]:
    with RecordedFile(path) as file:
        if (file.rows, file.columns) != (rows, columns):
            raise InputError(
                f"the frames of {path} have {file.rows} x {file.columns} pixels, the session's {rows} x {columns}: "
                "give a file of this detector, or a session for these frames"
            )
        count = min(file.n_frames, max(1, _MOST_BYTES // (2 * rows * columns)))
        if not count:
            raise InputError(f"{path} holds no frames")
        raw, high_gain = list(file.images(0, count)), file.high_gain

    def constants() -> Calibration:
        with CalibrationFile(calibration or path, high_gain) as known:
            found = known.calibration
        if found.pedestal.shape[1:] != (rows, columns):
            raise ConfigError(f"{calibration or path} is not for {rows} x {columns} pixels")
        return found

    return raw, constants
