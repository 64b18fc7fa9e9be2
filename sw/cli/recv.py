"""`framelane recv`: packets of a capture to images in a file, by the receiver that takes them live."""

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from framelane.cli.gain_mode import GainMode, open_calibration
from framelane.cli.output import check_no_input
from framelane.cli.stages import say
from framelane.models.dark_frames import DarkRule
from framelane.models.errors import ConfigError, InputError
from framelane.models.jf_correct import MAX_VALUE
from framelane.models.jf_fixed import quantize
from framelane.models.jf_pedestal_state import TrackerState
from framelane.models.part_file import PartFile
from framelane.models.session import Session
from framelane.receiver.corrected import CorrectedImages
from framelane.receiver.hdf5 import Hdf5Sink
from framelane.receiver.pcap_port import PcapPort
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pedestal.tracked_pipeline import TrackedPipeline
from framelane.receiver.pipeline import Pipeline, Process, raw_words
from framelane.receiver.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring import Ring
from framelane.receiver.softnic import SoftNic
from framelane.receiver.tally import Tally
from framelane.receiver.transport import Counters
from framelane.receiver.veto import Veto

_THRESHOLD = 20
_MOST_PEAKS = 1 << 31
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class RecvOptions:
    """What the user chose; None: the default.

    Without `calibration` raw words are kept, and nothing is counted; images that are corrected already are judged.
    `minimum_peaks` pixels of at least `threshold` make a frame worth keeping; pixels of at least `sparse` are written
    as sparse rows: both in photons, or in keV where the session says so. ConfigError for what cannot be, InputError
    where an input is the output.
    """

    pcap: Path
    session: Path
    output: Path
    calibration: Path | None
    threshold: int | None
    minimum_peaks: int | None
    sparse: int | None
    dark_period: int | None = None
    dark_phase: int | None = None
    gain_mode: GainMode | None = None
    """Of the frames, for a calibration of both modes."""

    def __post_init__(self) -> None:
        if self.dark_period is None and self.dark_phase is not None:
            raise ConfigError("--dark-phase counts within a period: give --dark-period as well")
        if self.dark_period is not None and self.calibration is None:
            raise ConfigError("--dark-period tracks the pedestals of a calibration: give --calibration as well")
        if self.gain_mode is not None and self.calibration is None:
            raise ConfigError("--gain-mode chooses of a calibration: give --calibration as well")
        _ = self.dark_rule
        if self.sparse is not None and not 1 <= self.sparse <= MAX_VALUE:
            raise ConfigError(f"--sparse {self.sparse} is no threshold: give 1 to {MAX_VALUE}")
        if (self.minimum_peaks or 0) > _MOST_PEAKS:
            raise ConfigError(f"--minimum-peaks {self.minimum_peaks} is more than any image has pixels")
        for output in (self.output, self.drift_file):
            check_no_input(output, [path for path in (self.pcap, self.session, self.calibration) if path])

    @property
    def dark_rule(self) -> DarkRule | None:
        """Which frames are dark, if any is: without a phase the last of each period. ConfigError where it cannot be."""
        if self.dark_period is None:
            return None
        return DarkRule(self.dark_period, self.dark_period - 1 if self.dark_phase is None else self.dark_phase)

    @property
    def drift_file(self) -> Path:
        """Where the record of the tracked pedestals goes."""
        return Path(f"{self.output}.drift.json")

    @property
    def judging(self) -> list[str]:
        """The options given that judge photons."""
        chosen = {"threshold": self.threshold, "minimum-peaks": self.minimum_peaks, "sparse": self.sparse}
        return [f"--{name}" for name, value in chosen.items() if value is not None]

    @property
    def veto(self) -> Veto:
        """The veto of these peaks. Raises ConfigError where there is none."""
        return Veto(_THRESHOLD if self.threshold is None else self.threshold, self.minimum_peaks or 0)


def run(options: RecvOptions, console: Console) -> Tally:
    """Replay the capture into a ring; what became of its frames. Raises FramelaneError for bad input."""
    session = Session.load(options.session)
    process, energy = _process(options, session)
    ring = Ring(session)
    transport = SoftNic(PcapPort(options.pcap), ring.memory, session)
    receiver = Receiver(ring, transport)
    incomplete: list[int] = []
    with transport, Hdf5Sink(options.output, session, energy) as sink:

        def take(frames: list[ReceivedFrame]) -> None:
            for frame in frames:
                if isinstance(process, TrackedPipeline) and _is_dark(frame, options.dark_rule):
                    process.take_dark(frame.image, frame.timestamp_ns)
                sink.write(frame, process(frame.image))
                receiver.release(frame)
                if not frame.complete:
                    incomplete.append(frame.number)

        while not transport.ended:
            take(receiver.poll(0))
        take(receiver.settle())
    tally = receiver.tally()
    lines = [*_packets(transport.counters), *_oddities(transport.counters, receiver)]
    if incomplete:
        named = ", ".join(map(str, incomplete[:_MOST_NAMED])) + (", ..." if len(incomplete) > _MOST_NAMED else "")
        lines.append(f"incomplete frames: {named}")
    if process is not raw_words:
        lines.append(f"a peak is a pixel of at least {options.veto.threshold} {session.unit}")
        if options.sparse is not None:
            lines.append(f"sparse rows hold the pixels of at least {options.sparse} {session.unit}")
    if isinstance(process, TrackedPipeline):
        lines += _drift(process.tracker, options.drift_file)
    say(console, "\n".join([*lines, f"loss identity: {tally}", f"see {options.output}"]))
    return tally


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
    return lines + [f"{n} refused for {why}, first {counters.examples[why]}" for why, n in counters.refused.items()]


def _oddities(counters: Counters, receiver: Receiver) -> list[str]:
    lines = {
        f"{counters.skipped} skipped: PSNs whose packets are not in the capture, or come later": counters.skipped,
        f"{counters.behind} behind: packets that come late, or twice": counters.behind,
        f"{receiver.strays} stray: trailers that fit no open frame, first {receiver.first_stray}": receiver.strays,
    }
    return [line for line, n in lines.items() if n]


def _process(options: RecvOptions, session: Session) -> tuple[Process, float | None]:
    """What becomes of an image, and the photon's energy in keV, where it is known."""
    if session.pixels == "corrected":
        if options.calibration is not None:
            raise ConfigError(
                f"the images of the session {options.session} are corrected by their source, they would be corrected "
                "twice: leave out --calibration"
            )
        shape = session.rows, session.columns
        bits = session.fraction_bits
        return CorrectedImages(shape, options.veto, options.sparse, fraction_bits=bits), None
    if options.calibration is None:
        if judging := options.judging:
            raise ConfigError(f"{', '.join(judging)} counts photons, raw words have none: give --calibration as well")
        return raw_words, None
    with open_calibration(options.calibration, options.gain_mode, options.session, None) as file:
        if (file.rows, file.columns) != (session.rows, session.columns):
            raise InputError(
                f"{file.path} is for {file.rows} x {file.columns} pixels, the session {options.session} for "
                f"{session.rows} x {session.columns}: give the calibration of this detector"
            )
        calibration, energy = file.calibration, file.photon_energy_kev
        fixed = quantize(calibration)
        if options.dark_rule is None:
            return Pipeline(fixed, options.veto, options.sparse), energy
        start = TrackerState.start(calibration.pedestal[0], ~calibration.usable[0], file.rms_adu[0], file.count[0])
        tracker = PedestalTracker(start, high_gain=calibration.high_gain)
        return TrackedPipeline(fixed, options.veto, options.sparse, tracker), energy
