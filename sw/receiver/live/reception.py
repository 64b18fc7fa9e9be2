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
"""At most so many modules; the newest so many rows of the drift record have one of each."""
_SOURCE_S = 10.0
"""Time that a source beside the run may take to end after it."""

P = ParamSpec("P")
T = TypeVar("T")


def receive(
    source: Capture | Live,
    processing: Processing | None = None,
    *,
    stop: Stop | None = None,
) -> "Reception":
    """Open a receiver for the packets of `source`. `processing` says how frames are corrected and judged.

    Set `stop.wanted` to end the run with what has arrived. Raises FramelaneError for bad input, or if the wire cannot
    be opened.
    """
    return Reception(source, processing or Processing(), stop or Stop())


class Reception:
    """Iterates over the frames of a run, each once, in the order of the source. Use it in a `with` block.

    Requesting the next frame gives the last one's slot back, and so its credit. If something fails (the wire, a GPU), a
    live run ends with what has arrived, and `fault` says why; a capture that cannot be read raises. After the last
    frame, `tally` accounts for every frame.
    """

    def __init__(self, source: Capture | Live, processing: Processing, stop: Stop) -> None:
        self.source, self.processing, self.stop = source, processing, stop
        self.tell: Callable[[str], object] = lambda line: None
        """Called with a progress line now and then during a live run."""
        self.unprocessed = 0
        """Number of frames that came but could not be processed."""
        self.notes: list[str] = []
        """After a live run: sentences about its sources, also if all went well."""
        self.writes: int | None = None
        """After the run: packets that the RDMA device has counted; None if nothing counts them."""
        self.packets_sent = 0
        """Number of packets that the sources have sent, according to the trailers that came."""
        self.sources_ended = False
        """Whether all sources have reported their end."""
        self.sources_gone = 0
        """Number of sources that went away without it; what they had sent is not known."""
        self.captured: CaptureTimes | None = None
        """Times of the packets of a capture, if it has any."""
        self._link = contextlib.ExitStack()
        """What sources are connected to; it closes with the last frame."""
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
        """Whether packets come from the wire, so that they cannot be read again."""
        return isinstance(self.source, Live)

    @property
    def fault(self) -> str:
        """Why the run ended early, in a sentence; empty if it did not."""
        if self._loop is not None and self._loop.fault:
            return self._loop.fault
        return f"the run ended early: {self._work.fault}" if self._work.fault else ""

    @property
    def work_fault(self) -> str:
        """Why frames could no longer be processed or kept, apart from the wire; empty if they could."""
        return self._work.fault

    @property
    def counters(self) -> Counters:
        """Counts of what came over the wire, and of what was wrong with it."""
        return self._transport.counters

    @property
    def strays(self) -> int:
        """Number of immediates without a trailer of an open frame; `first_stray` says what was wrong with the first."""
        return self._receiver.strays

    @property
    def first_stray(self) -> str:
        """See `strays`."""
        return self._receiver.first_stray

    @property
    def first_misfit(self) -> str:
        """The first frame whose size is not the session's, in a sentence; empty if there was none."""
        return self._receiver.first_misfit

    @property
    def foreign_writes(self) -> int:
        """How many of `writes` were foreign; 0 if unknown, because sources are still running or send again."""
        came = self.tally.complete == self.tally.sent - self.tally.dropped_at_source
        known = self.writes is not None and self.sources_ended and came and self.session.service == "UC"
        return max(0, (self.writes or 0) - self.packets_sent) if known else 0

    @property
    def tally(self) -> Tally:
        """The loss identity: what has become of the frames so far."""
        if self._tally is not None:
            return self._tally
        return self._loop.tally() if self._loop is not None else self._receiver.tally()

    def serve(self) -> tuple[str, int]:
        """Let the sources of a live run find its session, by its link and its file.

        Returns host and TCP port of the link; for a detector, address and UDP port of its first interface. A board on
        PCIe sends from now on. Requesting the first frame does this too.

        Raises TransportError if the port cannot be opened. Raises ConfigError if another receiver publishes in that
        file, if the packets come from a capture, or if the run has ended.
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
        """Run a source in its own thread: `with run.beside(emulate, to="127.0.0.1", frames=20)`.

        It finds the session as after `serve`. The block yields a future of what the source returns. If the source
        raises, the run ends with what has come, `fault` says why, and the block raises the same error.

        The run ends with the block. Raises TransportError if the source is still running 10 s later.
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
        """The veto for the next frames; None for raw words, which are not judged."""
        return self._veto

    def change_veto(self, *, threshold: int | None = None, minimum_peaks: int | None = None) -> Veto:
        """Change the veto from the next processed frame on; None keeps a value. The file records it for each frame.

        Any thread may call this. Raises ConfigError for raw words, which are not judged, and for thresholds that cannot
        change: all of them on a GPU, and the threshold of Bragg peaks.
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
        """What `notes` would be if the run ended now. Only for the thread that iterates over the frames."""
        return [] if self._loop is None else self._loop.notes()

    @property
    def slots(self) -> tuple[int, int]:
        """Number of slots that hold finished or begun frames, and number of all slots."""
        return self._ring.window.used, self._ring.window.n_slots

    @property
    def pending(self) -> int:
        """Number of frames in the pipeline; on a GPU, those in flight there."""
        return self._work.pending

    @property
    def drift(self) -> list[DriftRow]:
        """The newest drift row of each module; empty if no pedestal is tracked, or no dark frame has come."""
        tracker = self.prepared.tracker
        return [] if tracker is None else list({row.module: row for row in tracker.record.rows[-_MODULES:]}.values())

    @property
    def gpu_memory(self) -> tuple[int, int] | None:
        """Bytes of GPU memory that all programs use, and bytes in total; None for a run on the processor.

        Only for the thread that iterates over the frames.
        """
        return memory_in_use() if self.processing.gpu else None

    def end(self, reason: str) -> None:
        """End the run early, for a reason in a sentence; the first reason stays. Arrived frames are still yielded."""
        self._work.end(reason)

    def close(self) -> None:
        """End the run and account for what has come. May be called twice."""
        with contextlib.ExitStack() as last:  # each of them, whatever becomes of those before
            last.callback(self._held.close)
            last.callback(self._count)
            last.callback(self._link.close)
            last.callback(self._let_go)
            last.callback(self._done.close)

    def _count(self) -> None:
        """Keep the tally for later, when the ring is gone."""
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
