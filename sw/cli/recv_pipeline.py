"""The pipeline of `framelane recv`: what becomes of an image, by its options."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from framelane.cli.gain_mode import open_calibration
from framelane.cli.recv_options import RecvOptions
from framelane.models.errors import ConfigError, InputError
from framelane.models.jf_fixed import FixedCalibration, quantize
from framelane.models.jf_pedestal_state import TrackerState
from framelane.models.jf_scene import CHIP
from framelane.models.peak_settings import Panel
from framelane.models.session import Session
from framelane.receiver.corrected import CorrectedImages
from framelane.receiver.cpu_frame_pipeline import CpuFramePipeline
from framelane.receiver.frame_pipeline import FramePipeline, make_frame_pipeline
from framelane.receiver.peaks import PeakFinder
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline import raw_words
from framelane.receiver.receiver import ReceivedFrame
from framelane.receiver.ring import Ring

MODULE = (512, 1024)
"""Rows and columns of a JUNGFRAU module."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A calibration, ready for use, and what follows its pedestal, if anything does."""

    fixed: FixedCalibration
    photon_energy_kev: float
    tracker: PedestalTracker | None


class RecvPipeline:
    """What the options make of the images of `session`. FramelaneError for bad input."""

    def __init__(self, options: RecvOptions, session: Session) -> None:
        self._options, self._session = options, session
        check_pixels(options, session.pixels)
        self._correction = _correction(options, session)
        self.judges = self._correction is not None or session.pixels == "corrected"
        """Whether there are photons, or keV, to be judged."""
        self.rungs = options.rungs(session.fraction_bits) if self.judges else ()
        """Of the ladder."""

    @property
    def photon_energy_kev(self) -> float | None:
        """Where it is known."""
        return self._correction.photon_energy_kev if self._correction else None

    @property
    def tracker(self) -> PedestalTracker | None:
        """What follows the pedestal; it has all that was learned when the pipeline is closed."""
        return self._correction.tracker if self._correction else None

    def open(self, ring: Ring) -> FramePipeline:
        """The pipeline for the frames of `ring`. All that it runs is compiled, and not while frames come."""
        pipeline = self._make(ring)
        if self.judges and not self._options.gpu:  # that of a GPU has compiled its kernels; raw words need no code
            shape = self._session.rows, self._session.columns
            pipeline.put(ReceivedFrame(0, 0, np.zeros(shape, np.uint16), None, ()), keep=True)
            pipeline.take(0)
            if self.tracker is not None:
                compile_tracking(self.tracker)
        return pipeline

    def _make(self, ring: Ring) -> FramePipeline:
        options, session, correction = self._options, self._session, self._correction
        shape = session.rows, session.columns
        panels = _panels(shape)
        if correction is not None:
            return make_frame_pipeline(
                gpu_library() if options.gpu else np,
                ring,
                correction.fixed,
                options.veto,
                options.sparse,
                rungs=self.rungs,
                peaks=options.bragg,
                panels=panels,
                tracker=correction.tracker,
            )
        if session.pixels == "raw":
            return CpuFramePipeline(raw_words)
        bits = session.fraction_bits
        finder = PeakFinder(shape, options.bragg, panels, fraction_bits=bits) if options.bragg else None
        return CpuFramePipeline(CorrectedImages(shape, options.veto, options.sparse, None, bits, self.rungs, finder))


def compile_tracking(like: PedestalTracker) -> None:
    """Compile what a tracker as this one runs, by another one of a single chip."""
    chip = CHIP, CHIP
    state = TrackerState.start(np.zeros(chip, np.float32))
    tracker = PedestalTracker(state, like.settings, high_gain=like.high_gain, threads=1)
    tracker.take(np.zeros((1, *chip), np.uint16), [1])
    tracker.write_quarters(np.zeros(chip, np.uint16))
    tracker.progress.recorded = -1
    tracker.note()


def check_pixels(options: RecvOptions, pixels: str) -> None:
    """ConfigError where the options are not for such pixels, raw or corrected by their source."""
    if pixels != "corrected":
        return
    source = f"session {options.session}" if options.session else f"plan {options.live.plan}"
    whose = f"the images of the {source} are corrected by their source"
    if options.gpu:
        raise ConfigError(f"{whose}, the GPU has nothing to correct: leave out --gpu and --calibration")
    if options.calibration is not None:
        raise ConfigError(f"{whose}, they would be corrected twice: leave out --calibration")


def gpu_library() -> ModuleType:
    """CuPy. ConfigError where it, or a GPU, is missing."""
    from framelane.receiver.gpu._device import cupy

    library: ModuleType = cupy()
    return library


def _panels(shape: tuple[int, int]) -> Sequence[Panel] | None:
    """Whole modules, one above the other and side by side; None for an image of one piece."""
    modules = not (shape[0] % MODULE[0] or shape[1] % MODULE[1])
    return Panel.grid(shape, *MODULE) if modules else None


def _correction(options: RecvOptions, session: Session) -> Correction | None:
    """None for raw words that stay raw, and for images that are corrected already."""
    if session.pixels == "corrected":
        return None
    if options.calibration is None:
        if judging := options.judging:
            raise ConfigError(f"{', '.join(judging)} counts photons, raw words have none: give --calibration as well")
        return None
    with open_calibration(options.calibration, options.gain_mode, options.session, None) as file:
        if (file.rows, file.columns) != (session.rows, session.columns):
            source = f"session {options.session}" if options.session else f"plan {options.live.plan}"
            raise InputError(
                f"{file.path} is for {file.rows} x {file.columns} pixels, the {source} for "
                f"{session.rows} x {session.columns}: give the calibration of this detector"
            )
        calibration = file.calibration
        tracker = None
        if options.dark_rule is not None:
            start = TrackerState.start(calibration.pedestal[0], ~calibration.usable[0], file.rms_adu[0], file.count[0])
            tracker = PedestalTracker(start, high_gain=calibration.high_gain)
        return Correction(quantize(calibration), file.photon_energy_kev, tracker)
