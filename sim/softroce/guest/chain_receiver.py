"""What a receiver makes of the chain's frames, whichever transport places them: the same code in the guest and here."""

import json
from dataclasses import asdict
from pathlib import Path

from framelane.calibration.calibration_file import CalibrationFile
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.transport.transport import Transport
from framelane.session.session import Session

CALIBRATION, PACKETS, SESSION = "calibration.h5", "packets.pcap", "session.json"
"""Files of a case's folder."""
RESULT, MEMORY, REPORT = "frames.h5", "memory.bin", "report.json"
"""And those that are written of it."""
_PEAK, _SPARSE = 20, 2
"""Photons."""


class ChainReceiver:
    """Writes what came over `transport` to the files RESULT, MEMORY and REPORT of `folder`.

    MEMORY holds the whole ring, byte for byte, as it is when a frame is over, once a frame. The calibration is the one
    in `inputs`.
    """

    def __init__(self, inputs: Path, folder: Path, session: Session, ring: Ring, transport: Transport) -> None:
        with CalibrationFile(inputs / CALIBRATION) as file:
            fixed, energy = quantize(file.calibration), file.photon_energy_kev
        self._folder = folder
        self._ring = ring
        self._transport = transport
        self._receiver = Receiver(ring, transport)
        judging = Judging(veto=Veto(_PEAK), sparse=_SPARSE)
        self._process = Pipeline(fixed, judging, threads=1)
        self._sink = Hdf5Sink(folder / RESULT, session, photon_energy_kev=energy, judging=judging)
        self._memory = (folder / MEMORY).open("wb")

    def poll(self, timeout_s: float) -> int:
        """Take the frames that are over; how many."""
        return self._take(self._receiver.poll(timeout_s))

    def close(self) -> None:
        """Take what is left of frames, and end the files."""
        self._take(self._receiver.settle())
        tally, counters = self._receiver.tally(), self._transport.counters
        self._memory.close()
        self._sink.close()
        report = {
            **asdict(tally),
            "strays": self._receiver.strays,
            "placed": counters.placed,
            "completions": counters.completions,
            "refused": dict(counters.refused),
        }
        (self._folder / REPORT).write_text(json.dumps(report))

    def _take(self, frames: list[ReceivedFrame]) -> int:
        for frame in frames:
            self._memory.write(self._ring.memory.data)
            self._sink.write(frame, self._process(frame.image))
            self._receiver.release(frame)
        return len(frames)
