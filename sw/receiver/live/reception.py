"""A run of the receiver: its frames one after the other, as they come or from a capture.

with receive(Live(transport="udp", plan="plan.toml"), Processing(calibration="calibration.h5")) as run:
    for frame in run:
        print(frame.number, frame.timestamp_ns, frame.holes, frame.verdict.peaks)
print(run.tally)
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, wait
from typing import ParamSpec, Self, TypeVar

import numpy as np

from framelane.base.errors import ConfigError, OptionError, TransportError
from framelane.base.stopping import Stop
from framelane.receiver.gpu._device import memory_in_use
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.live.card_link import CardLink
from framelane.receiver.live.detector_loop import DetectorLink, DetectorLoop
from framelane.receiver.live.frame import Frame
from framelane.receiver.live.live_loop import LiveLoop, Work
from framelane.receiver.live.live_wire import open_wire, served
from framelane.receiver.live.packet_source import Capture, Live
from framelane.receiver.live.prepared_pipeline import PreparedPipeline, ring_memory
from framelane.receiver.live.processing import Processing
from framelane.receiver.pedestal.drift import DriftRow
from framelane.receiver.pipeline.frame_pipeline import Processed
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.capture_times import CaptureTimes
from framelane.receiver.transport.pcap_port import PcapPort
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.transport import Counters, Transport
from framelane.session.attempts import Attempts
from framelane.session.session import Session
from framelane.session.session_server import SessionServer

_MODULES = 64
"""Rows of a detector, at most: so many of the newest rows have one of each."""
_SOURCE_S = 10.0
"""So long at most a source beside the run may take to end after it."""

P = ParamSpec("P")
T = TypeVar("T")


def receive(
    source: Capture | Live,
    processing: Processing | None = None,
    *,
    stop: Stop | None = None,
) -> "Reception":
    """Open a receiver for the packets of `source`; its frames are corrected and judged as `processing` says.

    `stop.wanted`, set by anybody, ends the run with what has arrived. FramelaneError for bad input, or a wire that
    cannot be opened.
    """
    return Reception(source, processing or Processing(), stop or Stop())


class Reception:
    """Yields `Frame` after frame, each once, in the order of the source; to be used in a `with` block.

    A frame's slot is given back, and so its credit, when the next one is asked for. Whatever fails on the way (the
    wire, a GPU) ends a live run with what has arrived, and `fault` says why; a capture that cannot be read raises. When
    it has been gone through to its end, every frame is accounted for in `tally`.
    """

    def __init__(self, source: Capture | Live, processing: Processing, stop: Stop) -> None:
        self.source, self.processing, self.stop = source, processing, stop
        self.tell: Callable[[str], object] = lambda line: None
        """Is given a line now and then while a live run lasts: how it goes."""
        self.unprocessed = 0
        """Frames that came and could not be processed."""
        self.notes: list[str] = []
        """What is to be known of the sources of a live run even where all went well, when it has ended."""
        self.writes: int | None = None
        """Packets that came to an RDMA device, as it has counted, when the run has ended; None where none counts."""
        self.packets_sent = 0
        """How many packets the sources have sent, as the trailers that came say."""
        self.sources_ended = False
        """Whether all sources have told their end."""
        self.sources_gone = 0
        """How many have gone without it: what they had sent is not known."""
        self.captured: CaptureTimes | None = None
        """When the packets of a capture came, where it tells."""
        self._link = contextlib.ExitStack()
        """What sources hear of: it ends with the last frame."""
        self._address: tuple[str, int] | None = None
        self._loop: LiveLoop | None = None
        self._current: Frame | None = None
        self._tally: Tally | None = None
        memory = ring_memory(processing, source)
        with contextlib.ExitStack() as opened:
            if isinstance(source, Live):
                self._wire = opened.enter_context(open_wire(source, memory))
                self.session, ring = self._wire.session, self._wire.ring
                self._transport: Transport = self._wire.transport
                self.prepared = PreparedPipeline(processing, self.session, source)
            else:
                self.session = Session.load(source.session)
                self.prepared = PreparedPipeline(processing, self.session, source)
                ring = Ring(self.session, memory(self.session))
                port = PcapPort(source.path)
                self.captured = port.times
                nic = SoftNic(port, np.asarray(ring.memory), self.session)
                self._transport = opened.enter_context(nic)
            self._ring, self._receiver = ring, Receiver(ring, self._transport, dropped_here=_is_detector(source))
            # All is compiled before anybody hears of the session: a detector does not wait.
            pipeline = opened.enter_context(self.prepared.open(ring))
            self._work = Work(pipeline, processing)
            self._held = opened.pop_all()
        self._veto = self.prepared.judging.veto if self.prepared.judging else None
        self._on_gpu = not isinstance(ring.memory, np.ndarray)
        self._done = self._processed()

    @property
    def live(self) -> bool:
        """Whether packets come from the wire: nobody can send them again."""
        return isinstance(self.source, Live)

    @property
    def fault(self) -> str:
        """Why the run ended early, in a sentence; empty where it did not."""
        if self._loop is not None and self._loop.fault:
            return self._loop.fault
        return f"the run ended early: {self._work.fault}" if self._work.fault else ""

    @property
    def work_fault(self) -> str:
        """Why frames could no longer be processed, or kept, whatever became of the wire; empty where they could."""
        return self._work.fault

    @property
    def counters(self) -> Counters:
        """What came over the wire, and what was wrong with it."""
        return self._transport.counters

    @property
    def strays(self) -> int:
        """Immediates that bring no trailer of an open frame; `first_stray` says what was wrong with the first."""
        return self._receiver.strays

    @property
    def first_stray(self) -> str:
        """See `strays`."""
        return self._receiver.first_stray

    @property
    def first_misfit(self) -> str:
        """The size of the first frame that has another size than the session's; empty where none had."""
        return self._receiver.first_misfit

    @property
    def foreign_writes(self) -> int:
        """How many of `writes` somebody else has sent; 0 where that cannot be told, as sources go on, or send again."""
        came = self.tally.complete == self.tally.sent - self.tally.dropped_at_source
        known = self.writes is not None and self.sources_ended and came and self.session.service == "UC"
        return max(0, (self.writes or 0) - self.packets_sent) if known else 0

    @property
    def tally(self) -> Tally:
        """The loss identity: what became of the frames, up to now."""
        if self._tally is not None:
            return self._tally
        return self._loop.tally() if self._loop is not None else self._receiver.tally()

    def serve(self) -> tuple[str, int]:
        """Let the sources of a live run find its session, by its link and its file; the host and TCP port of the link.

        Of a detector, which knows of no session, it is the address and UDP port of its first interface. A board on PCIe
        sends from now on.

        Asking for the first frame does this too. TransportError where nobody can listen there, ConfigError where
        another receiver has published in that file, or the run is of a capture or has ended.
        """
        if not isinstance(self.source, Live) or self._tally is not None:
            raise ConfigError("nobody can be served: the packets are of a capture, or the run has ended")
        if self._address is None:
            server: SessionServer | DetectorLink | CardLink
            if self._wire.detector is not None:
                server = DetectorLink(self._wire.detector)
                self._loop = DetectorLoop(self._wire, self._receiver, server, self.source)
            elif self._wire.card is not None:
                server = CardLink(self._wire.card, self._ring.window_end)
                self._loop = LiveLoop(self._wire, self._receiver, server, self.source)
            else:
                server = self._link.enter_context(served(self.session, self.source))
                self._loop = LiveLoop(self._wire, self._receiver, server, self.source)
            self._link.callback(self._note_end, server.attempts)
            self._address = server.address
        return self._address

    @contextlib.contextmanager
    def beside(self, source: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Iterator[Future[T]]:
        """Call a source of a live run in a thread of its own: `with run.beside(emulate, to="127.0.0.1", frames=20)`.

        It finds the session, as by `serve`. Where it raises, the run ends with what has come, `fault` says why, and the
        block raises the same error. The block gives a future of what the source returns.

        The run ends with the block; TransportError where the source goes on for 10 s after that.
        """
        self.serve()
        returned: Future[T] = Future()

        def call() -> None:
            try:
                returned.set_result(source(*args, **kwargs))
            except BaseException as error:
                returned.set_exception(error)
                self.end(f"its source has failed: {str(error) or type(error).__name__}")

        threading.Thread(target=call, name="source beside", daemon=True).start()
        try:
            yield returned
        finally:
            failed = returned.exception() if returned.done() else None  # later it is as the run has ended
            self.close()
            wait([returned], _SOURCE_S)
            if failed is not None:
                raise failed
        if not returned.done():
            raise TransportError(
                f"the source goes on {_SOURCE_S:g} s after the receiver has ended: say how many frames it sends"
            )

    @property
    def veto(self) -> Veto | None:
        """By which the next frames are judged; None for raw words, which are not."""
        return self._veto

    def change_veto(self, *, threshold: int | None = None, minimum_peaks: int | None = None) -> Veto:
        """Judge by another veto from the next frame on that is processed; None: as it is. The file says it of each.

        May be called by any thread. ConfigError for what cannot be: raw words are not judged, a GPU's thresholds and
        the threshold of Bragg peaks stay as they are.
        """
        if self._veto is None:
            raise OptionError("raw words have no peaks to judge by: give {calibration}")
        old = self._veto
        veto = Veto(
            old.threshold if threshold is None else threshold, old.minimum if minimum_peaks is None else minimum_peaks
        )
        self._work.change_veto(veto)
        self._veto = veto
        return veto

    @property
    def notes_so_far(self) -> list[str]:
        """What `notes` would say if the run ended now; for the thread that goes through the frames."""
        return [] if self._loop is None else self._loop.notes()

    @property
    def slots(self) -> tuple[int, int]:
        """How many slots of the ring are in use here, of frames that are over or begun; and how many there are."""
        return self._ring.window.used, self._ring.window.n_slots

    @property
    def pending(self) -> int:
        """How many frames the pipeline has: on a GPU those that are under way there."""
        return self._work.pending

    @property
    def drift(self) -> list[DriftRow]:
        """The newest row of each module's pedestal; empty where none is tracked, or no dark frame has come."""
        tracker = self.prepared.tracker
        return [] if tracker is None else list({row.module: row for row in tracker.record.rows[-_MODULES:]}.values())

    @property
    def gpu_memory(self) -> tuple[int, int] | None:
        """Bytes in use of a GPU's memory, by all programs, and all there are; None of a run on the processor.

        For the thread that goes through the frames.
        """
        return memory_in_use() if self.processing.gpu else None

    def end(self, reason: str) -> None:
        """End the run early, for a reason in a sentence; the first one stays. Frames that have come still come."""
        self._work.end(reason)

    def close(self) -> None:
        """End; what has come is accounted for. May be called twice."""
        with contextlib.ExitStack() as last:  # each of them, whatever becomes of those before
            last.callback(self._held.close)
            last.callback(self._count)
            last.callback(self._link.close)
            last.callback(self._let_go)
            last.callback(self._done.close)

    def _count(self) -> None:
        """Keep the tally, which can be asked for after the ring has gone."""
        self._tally = self.tally

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Frame:
        self._let_go()
        for done in self._done:
            if done.result is not None:
                give_back = functools.partial(self._give_back, done.frame)
                self._current = Frame(done.frame, done.result, self.prepared.judging is not None, give_back)
                return self._current
            if self._on_gpu and done.frame.known_holes is None:
                done.frame.tell_holes(done.frame.image.size)  # a GPU that has failed shows its pixels to nobody
            self.unprocessed += self._give_back(done.frame)
        self._link.close()
        raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _processed(self) -> Generator[Processed, None, None]:
        if self.live:
            self.serve()
            assert self._loop is not None
            yield from self._loop.frames(self._work, self.stop, lambda line: self.tell(line))
            return
        # A capture has no credit, its next packets may be of the same slots: all that is over is processed first.
        while not (self._transport.ended or self._work.fault or self.stop.wanted):
            yield from self._all(self._timed(self._receiver.poll(0)))
        yield from self._all(self._timed(self._receiver.settle()))

    def _timed(self, frames: list[ReceivedFrame]) -> list[ReceivedFrame]:
        """With the time of the packet that came last: the transport stops behind each that ends a frame."""
        if frames and self.captured:
            time_ns = self.captured.time_ns(self._transport.counters.packets - 1)
            for frame in frames:
                frame.captured_ns = time_ns
        return frames

    def _all(self, frames: list[ReceivedFrame]) -> Iterator[Processed]:
        for frame in frames:
            self._work.put(frame)
        yield from self._work.finish()

    def _let_go(self) -> None:
        if self._current is not None:
            self._current.give_back()
            self._current = None

    def _give_back(self, frame: ReceivedFrame) -> bool:
        """Whether it is intact. Where a GPU that has failed cannot fill the slot, nothing says that it is not."""
        try:
            return self._receiver.release(frame)
        except GpuError as error:
            self._work.end(str(error))
            return True

    def _note_end(self, attempts: Attempts) -> None:
        """What is known of the sources, before their link is cut."""
        assert self._loop is not None
        self._tally = self._loop.tally()
        gone = self._loop.gone()
        self.sources_gone = len(gone)
        self.notes = [*attempts.lines(), *self._loop.notes()]
        self.packets_sent, self.sources_ended = self._loop.packets, self._loop.ended
        self.writes = self._wire.nic.writes() if self._wire.nic else None


def _is_detector(source: Capture | Live) -> bool:
    return isinstance(source, Live) and source.detector_layout is not None
