"""`framelane recv`: packets of a capture to images in a file, by the receiver that takes them live."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from framelane.cli.output import check_no_input
from framelane.cli.stages import say
from framelane.models.errors import ConfigError, InputError
from framelane.models.jf_correct import MAX_VALUE
from framelane.models.jf_fixed import quantize
from framelane.models.session import Session
from framelane.receiver.calibration_file import CalibrationFile
from framelane.receiver.hdf5 import Hdf5Sink
from framelane.receiver.pcap_port import PcapPort
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
    """What the user chose; None: the default. Without `calibration` the raw words are kept, and nothing is counted.

    `minimum_peaks` pixels of at least `threshold` photons make a frame worth keeping; pixels of at least `sparse`
    photons are written as sparse rows. ConfigError for what cannot be, InputError where an input is the output.
    """

    pcap: Path
    session: Path
    output: Path
    calibration: Path | None
    threshold: int | None
    minimum_peaks: int | None
    sparse: int | None

    def __post_init__(self) -> None:
        chosen = {"threshold": self.threshold, "minimum-peaks": self.minimum_peaks, "sparse": self.sparse}
        useless = [f"--{name}" for name, value in chosen.items() if value is not None and self.calibration is None]
        if useless:
            raise ConfigError(f"{', '.join(useless)} counts photons, raw words have none: give --calibration as well")
        if self.sparse is not None and not 1 <= self.sparse <= MAX_VALUE:
            raise ConfigError(f"--sparse {self.sparse} is no number of photons: give 1 to {MAX_VALUE}")
        if (self.minimum_peaks or 0) > _MOST_PEAKS:
            raise ConfigError(f"--minimum-peaks {self.minimum_peaks} is more than any image has pixels")
        check_no_input(self.output, [path for path in (self.pcap, self.session, self.calibration) if path])

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
    say(console, "\n".join([*lines, f"loss identity: {tally}", f"see {options.output}"]))
    return tally


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
    """What becomes of an image, and the photon's energy in keV."""
    if options.calibration is None:
        return raw_words, None
    with CalibrationFile(options.calibration) as file:
        if (file.rows, file.columns) != (session.rows, session.columns):
            raise InputError(
                f"{file.path} is for {file.rows} x {file.columns} pixels, the session {options.session} for "
                f"{session.rows} x {session.columns}: give the calibration of this detector"
            )
        return Pipeline(quantize(file.calibration), options.veto, options.sparse), file.photon_energy_kev
