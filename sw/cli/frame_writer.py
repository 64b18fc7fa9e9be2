"""From the ring to the file: frames are corrected, judged, written and given back, and the run is summed up."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from framelane.cli.gain_mode import open_calibration
from framelane.cli.recv_options import RecvOptions
from framelane.models.dark_frames import DarkRule
from framelane.models.errors import ConfigError, InputError
from framelane.models.jf_fixed import quantize
from framelane.models.jf_pedestal_state import TrackerState
from framelane.models.part_file import PartFile
from framelane.models.peak_settings import Panel
from framelane.models.session import Session
from framelane.receiver.corrected import CorrectedImages
from framelane.receiver.hdf5 import Hdf5Sink
from framelane.receiver.peaks import PeakFinder
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pedestal.tracked_pipeline import TrackedPipeline
from framelane.receiver.pipeline import KeepingProcess, Pipeline, raw_words
from framelane.receiver.receiver import ReceivedFrame, Receiver
from framelane.receiver.tally import Tally
from framelane.receiver.transport import Counters
from framelane.receiver.veto import Reason

_MOST_NAMED = 20
MODULE = (512, 1024)
"""Rows and columns of a JUNGFRAU module."""

Write = Callable[[ReceivedFrame, Receiver], None]
"""Takes a frame, and gives it back to its receiver."""


class FrameWriter:
    """What becomes of the frames of `session`, by `options`. FramelaneError for bad input; nothing is written then."""

    def __init__(self, options: RecvOptions, session: Session) -> None:
        self._options = options
        self._session = session
        self._process, self._energy = _process(options, session)
        self._rungs = () if self._process is raw_words else options.rungs(session.fraction_bits)
        self._incomplete: list[int] = []
        self._reasons: Counter[Reason] = Counter()
        self._frames = 0

    @contextmanager
    def open(self) -> Iterator[Write]:
        """Open the file; it is there when the block ends, and not where it raises or no frame came."""
        process, rule, share = self._process, self._options.dark_rule, self._options.share
        sink = Hdf5Sink(self._options.output, self._session, self._energy, self._rungs, share, self._options.bragg)
        try:

            def write(frame: ReceivedFrame, receiver: Receiver) -> None:
                if isinstance(process, TrackedPipeline) and _is_dark(frame, rule):
                    process.take_dark(frame.image, frame.timestamp_ns)
                result = process(frame.image, keep=share is not None and share.keeps(frame.number))
                sink.write(frame, result)
                self._frames += 1
                self._reasons[result.verdict.reason] += 1
                if not receiver.release(frame):
                    sink.retract()
                    self._frames -= 1
                    self._reasons[result.verdict.reason] -= 1
                elif not frame.complete:
                    self._incomplete.append(frame.number)

            yield write
            if self._frames:
                sink.close()
        finally:
            sink.discard()

    def summary(self, counters: Counters, receiver: Receiver, tally: Tally) -> list[str]:
        """What the user is told at the end."""
        options, unit, named = self._options, self._session.unit, self._incomplete[:_MOST_NAMED]
        lines = [*_packets(counters), *_oddities(counters, receiver)]
        if named:
            more = ", ..." if len(self._incomplete) > len(named) else ""
            lines.append(f"incomplete frames: {', '.join(map(str, named))}{more}")
        if self._process is not raw_words:
            of = f"of the peak finder, snr {options.bragg.snr:g}, of pixels" if options.bragg else "a pixel"
            lines.append(f"a peak is {of} of at least {options.veto.threshold} {unit}")
            if options.minimum_peaks:
                lines.append(_verdicts(self._reasons))
            if options.sparse is not None:
                lines.append(f"sparse rows hold the pixels of at least {options.sparse} {unit}")
        if isinstance(self._process, TrackedPipeline):
            lines += _drift(self._process.tracker, options.drift_file)
        see = (
            f"see {options.output}"
            if self._frames
            else "no frame came, nothing is written: `framelane doctor` says why"
        )
        return [*lines, f"loss identity: {tally}", see]


def _verdicts(reasons: Counter[Reason]) -> str:
    return (
        f"{reasons[Reason.ENOUGH_PEAKS]} frames with enough peaks, {reasons[Reason.TOO_FEW_PEAKS]} rejected, "
        f"{reasons[Reason.KEPT_AT_RANDOM]} kept at random, {reasons[Reason.HAS_HOLES]} kept because of holes"
    )


def _is_dark(frame: ReceivedFrame, rule: DarkRule | None) -> bool:
    """Whether the detector's frame is dark; without a trailer its number is not known, then it is not."""
    number = next((trailer.detector_frame for trailer in frame.trailers if trailer), None)
    return rule is not None and number is not None and rule.is_dark(number)


def _drift(tracker: PedestalTracker, path: Path) -> list[str]:
    """Write the record of the tracked pedestals; what the user should know of it."""
    tracker.note()
    with PartFile(path) as part:
        part.path.write_text(json.dumps(tracker.record.document(), indent=1) + "\n")
    newest = {row.module: row for row in tracker.record.rows}.values()
    lines = [
        f"module {row.module}: {row.frames} dark frames, {row.refused} refused, the pedestal has drifted by "
        f"{row.drift_adu:.1f} ADU"
        for row in newest
    ]
    return [*(lines or ["no dark frame came: the pedestals are those of the calibration"]), f"see {path}"]


def _packets(counters: Counters) -> list[str]:
    lines = [f"{counters.packets} packets, {counters.placed} of them placed in the ring"]
    if counters.completions and not counters.packets:  # an RDMA device places them, and tells of trailers only
        lines = [f"{counters.completions} trailers came"]
    return lines + [f"{n} refused for {why}, first {counters.examples[why]}" for why, n in counters.refused.items()]


def _oddities(counters: Counters, receiver: Receiver) -> list[str]:
    lines = {
        f"{counters.skipped} skipped: PSNs whose packets did not come, or come later": counters.skipped,
        f"{counters.behind} behind: packets that come late, or twice": counters.behind,
        f"{counters.queue_drops} dropped by the kernel, whose queue was full": counters.queue_drops,
        f"{receiver.strays} stray: trailers that fit no open frame, first {receiver.first_stray}": receiver.strays,
    }
    return [line for line, n in lines.items() if n]


def _finder(options: RecvOptions, session: Session) -> PeakFinder | None:
    """The peak finder for whole modules, one above the other and side by side, or else for an image of one piece."""
    if options.bragg is None:
        return None
    shape = session.rows, session.columns
    modules = not (shape[0] % MODULE[0] or shape[1] % MODULE[1])
    panels = Panel.grid(shape, *MODULE) if modules else None
    return PeakFinder(shape, options.bragg, panels, fraction_bits=session.fraction_bits)


def _process(options: RecvOptions, session: Session) -> tuple[KeepingProcess, float | None]:
    """What becomes of an image, and the photon's energy in keV, where it is known."""
    if session.pixels == "corrected":
        if options.calibration is not None:
            raise ConfigError(
                f"the images of the session {options.session} are corrected by their source, they would be corrected "
                "twice: leave out --calibration"
            )
        shape = session.rows, session.columns
        bits = session.fraction_bits
        rungs, finder = options.rungs(bits), _finder(options, session)
        return CorrectedImages(shape, options.veto, options.sparse, None, bits, rungs, finder), None
    if options.calibration is None:
        if judging := options.judging:
            raise ConfigError(f"{', '.join(judging)} counts photons, raw words have none: give --calibration as well")
        return raw_words, None
    rungs, finder = options.rungs(0), _finder(options, session)
    with open_calibration(options.calibration, options.gain_mode, options.session, None) as file:
        if (file.rows, file.columns) != (session.rows, session.columns):
            raise InputError(
                f"{file.path} is for {file.rows} x {file.columns} pixels, the session {options.session} for "
                f"{session.rows} x {session.columns}: give the calibration of this detector"
            )
        calibration, energy = file.calibration, file.photon_energy_kev
        fixed = quantize(calibration)
        if options.dark_rule is None:
            return Pipeline(fixed, options.veto, options.sparse, None, rungs, finder), energy
        start = TrackerState.start(calibration.pedestal[0], ~calibration.usable[0], file.rms_adu[0], file.count[0])
        tracker = PedestalTracker(start, high_gain=calibration.high_gain)
        return TrackedPipeline(fixed, options.veto, options.sparse, tracker, None, rungs, finder), energy
