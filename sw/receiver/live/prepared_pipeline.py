"""The pipeline of a run, and the memory of its ring: what `Processing` asks for, for the images of a session."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError, OptionError
from framelane.calibration.gain_mode import open_calibration
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.models.jungfrau.jf_scene import CHIP
from framelane.models.pedestal.jf_pedestal_state import TrackerState
from framelane.receiver.live.live_wire import RingMemory
from framelane.receiver.live.packet_source import Capture, Live
from framelane.receiver.live.processing import Processing
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.cpu_frame_pipeline import CpuFramePipeline
from framelane.receiver.pipeline.frame_pipeline import FramePipeline
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.make_frame_pipeline import make_frame_pipeline
from framelane.receiver.pipeline.raw_words import RawWords
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.ring.ring import Ring
from framelane.session.session import Session
from framelane.session.session_plan import SessionPlan


@dataclass(frozen=True, slots=True)
class Correction:
    """A calibration, ready for use, and what follows its pedestal, if anything does."""

    fixed: FixedCalibration
    photon_energy_kev: float
    tracker: PedestalTracker | None


class PreparedPipeline:
    """What `processing` makes of the images of `session`, which are `source`'s. FramelaneError for bad input."""

    def __init__(self, processing: Processing, session: Session, source: Capture | Live) -> None:
        self._options, self._session = processing, session
        check_pixels(processing, session.pixels, source)
        self._correction = _correction(processing, session, source)
        self.judging: Judging | None = None
        """How photons, or keV, are judged; None where there are none."""
        if self._correction is not None or session.pixels == "corrected":
            self.judging = processing.judging((session.rows, session.columns), session.fraction_bits)

    @property
    def photon_energy_kev(self) -> float | None:
        """The photon energy in keV, if it is known."""
        return self._correction.photon_energy_kev if self._correction else None

    @property
    def usable(self) -> NDArray[np.bool_] | None:
        """Which pixels have a calibration in G0, bool (rows, columns); None where nobody knows."""
        return self._correction.fixed.mantissa[0] != 0 if self._correction else None

    @property
    def tracker(self) -> PedestalTracker | None:
        """What follows the pedestal; it has all that was learned when the pipeline is closed."""
        return self._correction.tracker if self._correction else None

    def open(self, ring: Ring) -> FramePipeline:
        """The pipeline for the frames of `ring`. All that it runs is compiled, and not while frames come."""
        pipeline = self._make(ring)
        if self.judging and not self._options.gpu:  # that of a GPU has compiled its kernels, that of raw words its loop
            shape = self._session.rows, self._session.columns
            pipeline.put(ReceivedFrame(0, 0, np.zeros(shape, np.uint16), None, ()), keep=True)
            pipeline.take(0)
            if self.tracker is not None:
                compile_tracking(self.tracker)
        return pipeline

    def _make(self, ring: Ring) -> FramePipeline:
        session, correction = self._session, self._correction
        if self.judging is None:
            return CpuFramePipeline(RawWords())
        if correction is None:
            shape = session.rows, session.columns
            return CpuFramePipeline(CorrectedImages(shape, self.judging, fraction_bits=session.fraction_bits))
        xp = gpu_library() if self._options.gpu else np
        return make_frame_pipeline(xp, ring, correction.fixed, self.judging, tracker=correction.tracker)


def compile_tracking(like: PedestalTracker) -> None:
    """Compile what a tracker as this one runs, by another one of a single chip."""
    chip = CHIP, CHIP
    state = TrackerState.start(np.zeros(chip, np.float32))
    tracker = PedestalTracker(state, like.settings, high_gain=like.high_gain, threads=1)
    tracker.take(np.zeros((1, *chip), np.uint16), [1])
    tracker.write_quarters(np.zeros(chip, np.uint16))
    tracker.progress.recorded = -1
    tracker.note()


def check_pixels(processing: Processing, pixels: str, source: Capture | Live) -> None:
    """OptionError where the options are not for such pixels, raw or corrected by their source."""
    if pixels != "corrected":
        return
    whose = "the images of the {0} are corrected by their source"
    if processing.gpu:
        raise OptionError(f"{whose}, the GPU has nothing to correct: leave out {{gpu}} and {{calibration}}", source.of)
    if processing.calibration is not None:
        raise OptionError(f"{whose}, they would be corrected twice: leave out {{calibration}}", source.of)


def ring_memory(processing: Processing, source: Capture | Live) -> RingMemory:
    """The memory of a ring that the options want: of the host, pinned or not, or of a GPU.

    Whatever needs no GPU is checked before the GPU is asked.
    """
    huge_pages = isinstance(source, Live) and source.huge_pages
    on_gpu = isinstance(source, Live) and source.ring == "gpu"
    if on_gpu and not processing.gpu:
        raise OptionError("{ring} gpu is for frames that a GPU processes: give {gpu} as well")

    def make(of: Session | SessionPlan) -> Any:
        check_pixels(processing, of.pixels, source)
        size = of.layout.ring_bytes
        if not processing.gpu:
            return host_memory(size, huge_pages)
        gpu_library()  # says what is missing, if anything is
        from framelane.receiver.gpu.memory import gpu_memory, pinned_memory

        return gpu_memory(size) if on_gpu else pinned_memory(size, huge_pages)

    return make


def gpu_library() -> ModuleType:
    """CuPy. ConfigError where it, or a GPU, is missing."""
    from framelane.receiver.gpu._device import cupy

    library: ModuleType = cupy()
    return library


def _correction(options: Processing, session: Session, source: Capture | Live) -> Correction | None:
    """None for raw words that stay raw, and for images that are corrected already."""
    if session.pixels == "corrected":
        return None
    if options.calibration is None:
        options.check_no_judging()
        return None
    with open_calibration(options.calibration, options.gain_mode, source.session, None) as file:
        if (file.rows, file.columns) != (session.rows, session.columns):
            raise InputError(
                f"{file.path} is for {file.rows} x {file.columns} pixels, the {source.of} for "
                f"{session.rows} x {session.columns}: give the calibration of this detector"
            )
        calibration = file.calibration
        tracker = None
        if options.dark_rule is not None:
            start = TrackerState.start(calibration.pedestal[0], ~calibration.usable[0], file.rms_adu[0], file.count[0])
            tracker = PedestalTracker(start, high_gain=calibration.high_gain)
        return Correction(quantize(calibration), file.photon_energy_kev, tracker)
