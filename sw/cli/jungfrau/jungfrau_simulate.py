"""`framelane jungfrau simulate`: all that a calibration is made of, of a detector whose truth is known."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from framelane.base.errors import OptionError
from framelane.base.output import check_free
from framelane.base.progress import Stages, say
from framelane.calibration import write_calibration
from framelane.calibration.gain_maps import write_gain_maps
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.jungfrau.jf_packet import PACKETS, TICK_NS, JfHeader
from framelane.receiver.jungfrau.detector_frame import DetectorFrame
from framelane.receiver.jungfrau.recorder import Recorder

_STAGES = "G0", "G1", "G2"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateOptions:
    """What the user chose; a file that is None is not made. OptionError (a ConfigError) for what cannot be."""

    detector: DetectorConfig
    darks: tuple[Path | None, Path | None, Path | None]
    """Dark runs of G0, G1, G2."""
    gain_maps: list[Path]
    """One file for each module, or none."""
    exposed: Path | None
    truth: Path | None
    frames: int
    """Frames of each dark run."""
    exposed_frames: int
    force: bool = False
    """Older files are replaced."""

    def __post_init__(self) -> None:
        outputs = self.outputs
        if not outputs:
            raise OptionError("there is nothing to write: give {dark_g0}, {gain_maps}, {exposed} or another file")
        if len({path.resolve() for path in outputs}) < len(outputs):
            raise OptionError("two of the files have the same name: give each its own")
        if min(self.frames, self.exposed_frames) < 1:
            raise OptionError("{frames} and {exposed_frames} cannot be below 1")
        if self.gain_maps and len(self.gain_maps) != self.detector.modules:
            raise OptionError(
                "{gain_maps} is of a module: give it once for each of {0} {modules}, not {1} times",
                *(self.detector.modules, len(self.gain_maps)),
            )
        for path in outputs:
            check_free(path, force=self.force)

    @property
    def outputs(self) -> list[Path]:
        """All files to write."""
        return [path for path in (*self.darks, *self.gain_maps, self.exposed, self.truth) if path is not None]


def run(options: SimulateOptions, console: Console) -> None:
    """Simulate and write. InputError where a file cannot be written."""
    with Stages(console) as stages:
        stages.show("simulate the pixels", 0, 0)
        detector = Detector(options.detector)
        for module, path in enumerate(options.gain_maps):
            rows = slice(module * options.detector.rows, (module + 1) * options.detector.rows)
            write_gain_maps(path, detector.calibration.gain[:, rows], force=options.force)
        for stage, dark in enumerate(options.darks):
            if dark is not None:
                _record(dark, _dark(detector, stage, options.frames, stages), options)
        photons = _exposed(detector, options, stages)
        if options.truth is not None:
            write_calibration(options.truth, detector.calibration, photons, force=options.force)
        for _ in photons:  # those that no truth has taken
            pass
    say(console, f"see {', '.join(map(str, options.outputs))}")


def _dark(detector: Detector, stage: int, frames: int, stages: Stages) -> Iterator[NDArray[np.uint16]]:
    for number in range(frames):
        stages.show(f"dark run in {_STAGES[stage]}", number, frames)
        yield detector.dark(number, stage)


def _record(path: Path, images: Iterator[NDArray[np.uint16]], options: SimulateOptions) -> None:
    with Recorder(path, options.detector.modules, force=options.force) as file:
        for number, image in enumerate(images):
            file.write(_frame(number, image, options.detector))


def _exposed(detector: Detector, options: SimulateOptions, stages: Stages) -> Iterator[NDArray[np.float32]]:
    """Record the exposed frames, and give the photons of each."""
    if options.exposed is None:
        return
    with Recorder(options.exposed, options.detector.modules, force=options.force) as file:
        for number in range(options.exposed_frames):
            stages.show("exposed frames", number, options.exposed_frames)
            frame = detector.frame(number)
            file.write(_frame(number, frame.raw, options.detector))
            yield frame.photons


def _frame(number: int, image: NDArray[np.uint16], config: DetectorConfig) -> DetectorFrame:
    """A frame as a recorder has it, of which all packets came. A detector counts from 1."""
    ticks, exposure = number * config.period_ns // TICK_NS, config.period_ns // 2 // TICK_NS
    headers = tuple(
        JfHeader(number + 1, exposure=exposure, timestamp=ticks, module_id=module, row=module)
        for module in range(config.modules)
    )
    packets = np.full(config.modules, PACKETS, np.uint16)
    return DetectorFrame(number + 1, image, packets, headers, 0)
