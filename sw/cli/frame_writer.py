"""From the ring to the file: frames go through a pipeline, are written in their order, and given back."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from framelane.cli.recv_options import RecvOptions
from framelane.cli.recv_pipeline import RecvPipeline
from framelane.models.dark_frames import DarkRule
from framelane.models.session import Session
from framelane.receiver.frame_pipeline import FramePipeline, Processed
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.hdf5 import Hdf5Sink
from framelane.receiver.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring import Ring
from framelane.receiver.veto import Reason

_FINISH_S = 1.0


class FrameWriter:
    """Writes the frames of `receiver` to the file of `options`, and gives them back.

    When the disk is full, or the pipeline fails, `fault` says why. The file has all frames that could be processed
    until then; those that could not, and those for which there is no room, are `unwritten`.
    """

    def __init__(self, options: RecvOptions, session: Session, pipeline: RecvPipeline, receiver: Receiver) -> None:
        self._options, self._session, self._made = options, session, pipeline
        self._receiver = receiver
        self.fault = ""
        self.frames = self.unwritten = 0
        self.incomplete: list[int] = []
        """Numbers of the frames in the file that are."""
        self.reasons: Counter[Reason] = Counter()
        self._pipeline: FramePipeline
        self._sink: Hdf5Sink
        self._writing = self._on_gpu = False

    @contextmanager
    def open(self, ring: Ring) -> Iterator[None]:
        """Open pipeline and file; the file is there when the block ends, and not where no frame came.

        Where it raises, a file of frames from the wire is kept, which nobody can send again.
        """
        options, made = self._options, self._made
        self._on_gpu = not isinstance(ring.memory, np.ndarray)
        with made.open(ring) as self._pipeline:
            self._sink = Hdf5Sink(
                options.output,
                self._session,
                made.photon_energy_kev,
                made.rungs,
                options.share,
                options.bragg,
                reserve=True,
            )
            kept = False
            try:
                yield
                kept = True
            finally:
                try:
                    if self.frames and (kept or (options.pcap is None and not self._writing)):
                        self._sink.close()
                finally:
                    self._sink.discard()

    @property
    def pending(self) -> int:
        """Frames that were put and are not given back."""
        return self._pipeline.pending

    def put(self, frame: ReceivedFrame) -> None:
        """Take a frame."""
        share, rule = self._options.share, self._options.dark_rule
        self._pipeline.put(frame, keep=share is not None and share.keeps(frame.number), dark=_is_dark(frame, rule))

    def take(self, timeout_s: float) -> Iterator[ReceivedFrame]:
        """Write what is done, waiting so long at most where anything is pending; yields frames that were given back."""
        for done in self._pipeline.take(timeout_s):
            self._write(done)
            if self._sink.full:
                self._end(f"cannot write {self._options.output}: {self._sink.full}: make room there")
            yield done.frame
        self._end(self._pipeline.fault)

    def finish(self) -> None:
        """Write all that is pending."""
        while self.pending:
            for _ in self.take(_FINISH_S):
                pass

    def _end(self, fault: str | None) -> None:
        """The first one stays."""
        self.fault = self.fault or fault or ""

    def _write(self, done: Processed) -> None:
        frame, result = done.frame, done.result
        self._end(done.fault)
        if result is None or self._sink.full:
            self._pass_over(frame)
            return
        self._writing = True
        self._sink.write(frame, result)
        self._writing = False
        reason = result.verdict.reason
        if self._give_back(frame):
            self.frames += 1
            self.reasons[reason] += 1
            if not frame.complete:
                self.incomplete.append(frame.number)
        else:
            self._sink.retract()

    def _pass_over(self, frame: ReceivedFrame) -> None:
        """Give back a frame that is not written."""
        if self._on_gpu and frame.known_holes is None:
            frame.tell_holes(frame.image.size)  # a GPU that has failed shows its pixels to nobody
        self.unwritten += self._give_back(frame)

    def _give_back(self, frame: ReceivedFrame) -> bool:
        """Whether it is intact. Where a GPU that has failed cannot fill the slot, nothing says that it is not."""
        try:
            return self._receiver.release(frame)
        except GpuError as error:
            self._end(str(error))
            return True


def _is_dark(frame: ReceivedFrame, rule: DarkRule | None) -> bool:
    """Whether the detector's frame is dark; without a trailer its number is not known, then it is not."""
    number = next((trailer.detector_frame for trailer in frame.trailers if trailer), None)
    return rule is not None and number is not None and rule.is_dark(number)
