"""`framelane correct`: a file of raw frames to one of photons, module by module or as the detector's image."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from framelane.cli.gain_mode import GainMode, open_calibration
from framelane.cli.output import check_no_input
from framelane.cli.stages import Stages, say
from framelane.models.errors import ConfigError, InputError
from framelane.models.jf_calibration import Calibration
from framelane.receiver.calibration.raw_frames import RawFrames
from framelane.receiver.correction import Correction
from framelane.receiver.geometry.assembly import DEAD, Assembly
from framelane.receiver.geometry.assembly_map import DoublePixels
from framelane.receiver.geometry.corrected_file import CorrectedFile
from framelane.receiver.geometry.geometry_file import load


@dataclass(frozen=True, slots=True)
class CorrectOptions:
    """What the user chose. ConfigError for what cannot be, InputError where an input is the output."""

    input: Path
    calibration: Path
    output: Path
    geometry: str | None
    double_pixels: DoublePixels | None
    output_type: Literal["int16", "float32"]
    unit: Literal["photons", "keV"]
    gain_mode: GainMode | None
    """Of frames that do not say it."""
    dataset: str | None
    """Of the frames; None: found."""

    def __post_init__(self) -> None:
        if self.double_pixels is not None and self.geometry is None:
            raise ConfigError("--double-pixels is for assembled images: give --geometry as well")
        check_no_input(self.output, [self.input, self.calibration])


def run(options: CorrectOptions, console: Console) -> int:
    """Correct all frames; their number. Raises FramelaneError for bad input, and then leaves nothing behind."""
    with RawFrames(options.input, options.dataset) as file, Stages(console) as stages:
        _check(file)
        calibration = _calibration(options, file)
        with stages.stage("prepare the correction"):
            correct = Correction(calibration, options.output_type, options.unit)
            arrange, shape, mask = _arrangement(options, calibration)
        dtype = np.int16 if options.output_type == "int16" else np.float32
        records, energy = file.records(), calibration.photon_energy_kev
        with CorrectedFile(options.output, shape, dtype, options.unit, records, energy, mask) as sink:
            for first in stages.track(f"correct: {file.path.name}", file.starts):
                indices, raw = file.batch(first)
                for index, image in zip(indices, arrange(correct(raw)) if indices.size else (), strict=True):
                    sink.write(image, {name: int(column[index]) for name, column in records.items()})
        n_frames, bad = file.n_good, file.n_frames - file.n_good
    left_out = f", {bad} left out whose is_good_frame is 0" if bad else ""
    say(console, f"{n_frames} frames corrected{left_out}: see {options.output}")
    return n_frames


def _check(file: RawFrames) -> None:
    """Refuse frames that no one calibration fits."""
    if len(file.gain_modes) > 1:
        raise InputError(f"{file.path} has frames in high gain and others: record them apart")
    if len(file.storage_cells) > 1:
        raise InputError(
            f"{file.path} has frames of the storage cells {', '.join(map(str, file.storage_cells))}, each of which has "
            "its own pedestals, and a calibration those of one: record them apart"
        )


def _calibration(options: CorrectOptions, file: RawFrames) -> Calibration:
    """The calibration of the frames' gain mode, after a check that it is of this detector."""
    with open_calibration(options.calibration, options.gain_mode, file.path, file.high_gain) as source:
        if (source.rows, source.columns) != (file.rows, file.columns):
            raise InputError(
                f"{source.path} is for {source.rows} x {source.columns} pixels, the frames of {file.path} have "
                f"{file.rows} x {file.columns}: give the calibration of this detector"
            )
        return source.calibration


def _arrangement(
    options: CorrectOptions, calibration: Calibration
) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], tuple[int, int], NDArray[np.uint32]]:
    """What turns corrected frames into images, the shape of an image, and its pixel mask."""
    usable = calibration.usable[0]
    if options.geometry is None:
        return (lambda frames: frames), usable.shape, np.where(usable, np.uint32(0), np.uint32(DEAD))
    assembly = Assembly(load(options.geometry), options.double_pixels or "keep")
    assembly.check(usable.shape)
    return assembly, assembly.shape, assembly.pixel_mask(usable)
