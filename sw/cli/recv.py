"""`framelane recv`: packets of a capture to images in a file, by the receiver that takes them live."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from framelane.cli.stages import say
from framelane.models.errors import InputError
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
from framelane.receiver.veto import Veto


@dataclass(frozen=True, slots=True)
class RecvOptions:
    """What the user chose. Without `calibration` the raw words are kept."""

    pcap: Path
    session: Path
    output: Path
    calibration: Path | None
    veto: Veto
    sparse: int | None


def run(options: RecvOptions, console: Console) -> Tally:
    """Replay the capture into a ring; what became of its frames. Raises FramelaneError for bad input."""
    session = Session.load(options.session)
    process, energy = _process(options, session)
    ring = Ring(session)
    transport = SoftNic(PcapPort(options.pcap), ring.memory, session)
    receiver = Receiver(ring, transport)
    with transport, Hdf5Sink(options.output, session, energy) as sink:

        def take(frames: list[ReceivedFrame]) -> None:
            for frame in frames:
                sink.write(frame, process(frame.image))
                receiver.release(frame)

        while not transport.ended:
            take(receiver.poll(0))
        take(receiver.settle())
    counters, tally = transport.counters, receiver.tally()
    lines = [f"{counters.packets} packets, {counters.placed} of them placed in the ring"]
    lines += [f"{n} refused for {reason}, first {counters.examples[reason]}" for reason, n in counters.refused.items()]
    lines += [f"loss identity: {tally}", f"see {options.output}"]
    say(console, "\n".join(lines))
    return tally


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
