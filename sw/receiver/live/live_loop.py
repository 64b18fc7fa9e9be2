"""The loop of a live receiver: when a frame is over, and when the run is."""

from collections.abc import Callable, Collection, Iterator
from time import monotonic
from typing import Protocol

from framelane.base.errors import TransportError
from framelane.base.stopping import Stop
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.live.keeping_up import KeepingUp
from framelane.receiver.live.live_wire import LiveWire
from framelane.receiver.live.packet_source import Live
from framelane.receiver.live.processing import Processing
from framelane.receiver.pipeline.frame_pipeline import FramePipeline, Processed
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.background import POLL_S
from framelane.session.session_link import Report


class Link(Protocol):
    """Where sources report and are given credit: a `SessionServer`."""

    @property
    def reports(self) -> dict[int, Report]:
        """The last of each source that has reported."""

    @property
    def gone(self) -> Collection[int]:
        """The sources that have gone without their end."""

    def publish(self, window_end: int) -> None:
        """Tell the credit."""


_POLL_S = 0.005
_SETTLED = 20
"""After so many polls in a row that have found nothing, a second, what was sent and is not here is lost."""
_QUIET = 2
"""So many of them are enough where the user wants the end."""
_DRAIN_S, _DRAIN_FREE_S = 2.0, 0.3
"""So long at most what arrives is still taken then, with credit and without."""
_SHOW_S = 0.5
_FINISH_S = 1.0
_TAKE_S = 0.001
"""So long at most frames that are over are left alone, while others are waited for in the pipeline."""


class Work:
    """What becomes of frames: the pipeline of a run, told of each whether it is dark, and kept whatever the veto says.

    `fault` says why it ends, if it does; what is put after that comes back with no result.
    """

    def __init__(self, pipeline: FramePipeline, processing: Processing) -> None:
        self.fault = ""
        self._pipeline = pipeline
        self._share, self._rule = processing.share, processing.dark_rule

    def end(self, fault: str | None) -> None:
        """End, for a reason; the first one stays."""
        self.fault = self.fault or fault or ""

    def change_veto(self, veto: Veto) -> None:
        """Judge by another veto from the next frame on; see `FramePipeline`."""
        self._pipeline.change_veto(veto)

    @property
    def pending(self) -> int:
        """Frames that were put and have not been taken."""
        return self._pipeline.pending

    def put(self, frame: ReceivedFrame) -> None:
        """Take a frame. Without a trailer the detector's number is not known, then it is not dark."""
        number = next((trailer.detector_frame for trailer in frame.trailers if trailer), None)
        keep = self._share is not None and self._share.keeps(frame.number)
        dark = self._rule is not None and number is not None and self._rule.is_dark(number)
        self._pipeline.put(frame, keep=keep, dark=dark)

    def take(self, timeout_s: float) -> Iterator[Processed]:
        """What became of frames, in their order, waiting so long at most where anything is pending."""
        for done in self._pipeline.take(timeout_s):
            self.end(done.fault)
            yield done
        self.end(self._pipeline.fault)

    def finish(self) -> Iterator[Processed]:
        """What became of all that are pending."""
        while self.pending:
            yield from self.take(_FINISH_S)


class LiveLoop:
    """Hands the frames of `receiver`, as they are over, to what becomes of them, until the run has ended.

    Whoever is given a frame by `frames` gives it back before the next one: then its credit is published. Where the wire
    fails, or the work, the run ends with what has arrived, and `fault` says why.
    """

    def __init__(self, wire: LiveWire, receiver: Receiver, server: Link, options: Live) -> None:
        self.fault = ""
        self.ended = False
        """All sources have told their end."""
        self.packets = 0
        """How many packets the sources have sent, as the trailers that came say."""
        self._receiver, self._transport, self._ring = receiver, wire.transport, wire.ring
        self._server = server
        self._options = options
        self._first = wire.ring.window.next
        self._frames = 0
        self._keeping_up = KeepingUp(wire.ring.window.n_slots, self._first)
        self._trailers = [0] * wire.session.sources
        """How many of each source have come with the frames that are over."""
        self._lost = [0] * wire.session.sources
        """How many of each source never came."""
        self._newest = [-1] * wire.session.sources
        """The last frame of each source of which a trailer came."""
        self._given_at = monotonic()
        """When the last frame was given back: a source without credit sends nothing before."""
        self._told: list[Report] = []
        """What all sources have told, until it is dealt with."""
        self._told_at = 0
        self._given_up: list[Report] = []
        """What they had told of which the rest was given up."""

    def frames(self, work: Work, stop: Stop, tell: Callable[[str], object]) -> Iterator[Processed]:
        """All frames; those that are not whole at the end, too. `tell` is given a line now and then: how it goes."""
        self._given_at = monotonic()
        try:
            yield from self._go_on(work, stop, tell)
            if stop.wanted:
                yield from self._drain(work)
        except (TransportError, GpuError) as error:  # of the wire, or of a ring on a GPU
            self._end(error)
        try:
            if not self._enough:
                self._put(work, self._last() + self._receiver.settle())
        except GpuError as error:
            self._end(error)
        yield from work.finish()
        if work.fault:
            self._end(work.fault)

    def tally(self) -> Tally:
        """What became of the frames: all that the sources offered, or, where they go on, those that are over here."""
        reports = self._server.reports.values()
        return self._receiver.tally(max(report.offered for report in reports) - self._first if self.ended else None)

    def gone(self) -> list[str]:
        """A sentence for each source that has gone without its end."""
        reports, lines = self._server.reports, []
        for source in self._server.gone:
            known = max(reports[source].offered - 1, self._newest[source])
            after = "" if known < self._first else f" after frame {known}"
            lines.append(f"source {source} has gone without telling its end: what it had sent{after} is not known")
        return lines

    def notes(self) -> list[str]:
        """What is to be known of the sources even where all went well."""
        return [*self.gone(), *self.starved()]

    def starved(self) -> list[str]:
        """Why the sources had to drop frames while the run went on, in a sentence, where they had."""
        return [line] if (line := self._keeping_up.line()) else []

    def _end(self, reason: object) -> None:
        self.fault = self.fault or f"the run ended early: {reason}"

    def _go_on(self, work: Work, stop: Stop, tell: Callable[[str], object]) -> Iterator[Processed]:
        """Receive until somebody wants the end. Credit is given as frames are given back, none after a fault."""
        shown, before = monotonic(), 0
        while not (self.ended or stop.wanted or work.fault or self._enough or self._idle):
            self._put(work, self._receive(work) + self._settle())
            for done in work.take(_TAKE_S):
                yield done
                self._given_at = monotonic()
                self._keeping_up.took()
                if not work.fault:
                    self._publish()
            if not work.fault:
                self._publish()
            if (now := monotonic()) - shown > _SHOW_S:
                tell(self._line((self._frames - before) / (now - shown)))
                shown, before = now, self._frames

    def _receive(self, work: Work) -> list[ReceivedFrame]:
        """The frames that are over now; without work they are waited for."""
        begun, idle = monotonic(), not work.pending
        frames = self._receiver.poll(_POLL_S if idle else 0)
        if idle:
            self._keeping_up.waited(monotonic() - begun)
        return frames

    def _publish(self) -> None:
        end = self._ring.window_end
        self._server.publish(end)
        self._keeping_up.published(end)

    def _drain(self, work: Work) -> Iterator[Processed]:
        """What has arrived when the user wants the end; no more credit is given."""
        transport = self._transport
        most_s = _DRAIN_FREE_S if self._ring.window.free_running else _DRAIN_S
        begun, end = transport.polls, monotonic() + most_s
        while not self.ended and monotonic() < end:
            self._put(work, self._receiver.poll(0 if work.pending else _POLL_S))
            yield from work.take(_TAKE_S)
            # The poll that was under way then may have looked before the last packets came.
            if transport.fruitless >= _QUIET and transport.polls - begun > _QUIET:
                break

    def _last(self) -> list[ReceivedFrame]:
        """The frames that were over when the last packet was placed: from here on whatever is in the ring is kept."""
        self._transport.halt()
        try:
            return self._receiver.poll(0)
        except TransportError as error:
            self._end(error)
            return []

    def _put(self, work: Work, frames: list[ReceivedFrame]) -> None:
        for frame in frames:
            self._frames += 1
            for source, trailer in enumerate(frame.trailers):
                if trailer:
                    self._trailers[source] += 1
                    self._newest[source] = frame.number
                    self.packets += trailer.packets + 1
            work.put(frame)

    def _settle(self) -> list[ReceivedFrame]:
        """Close what all sources have offered, as they told it, once nothing of it can be on its way any more.

        Of frames without credit nothing else is heard: without this their credit would stand still.
        """
        transport, reports = self._transport, self._server.reports
        self._keeping_up.told(list(reports.values()))
        for report in self._given_up:
            came = self._trailers[report.source] + self._receiver.withheld[report.source]
            self._lost[report.source] = report.offered - report.dropped - came
        self._given_up = []
        for source, report in reports.items():
            if report.ended and self._here(report):
                self._receiver.end_source(source)
        if len(reports) < len(self._trailers):
            return []
        if all(map(self._here, reports.values())):
            return self._close(list(reports.values()))
        if not self._told:
            self._told, self._told_at = list(reports.values()), transport.polls
        # The poll that was under way when they told may have looked before the packets came.
        if transport.fruitless < _SETTLED or transport.polls - self._told_at <= _SETTLED:
            return []
        self._given_up = self._told
        return self._receiver.poll(0) + self._close(self._told)

    def _here(self, report: Report) -> bool:
        """Whether every trailer that a source has sent has come, but for those that were given up."""
        source = report.source
        came = self._trailers[source] + self._receiver.withheld[source]
        return report.offered - report.dropped == came + self._lost[source]

    def _close(self, told: list[Report]) -> list[ReceivedFrame]:
        self._told = []
        going = [report for report in told if not report.ended]
        self.ended = not going
        offered = min((report.offered for report in going), default=max(report.offered for report in told))
        dropped = min(report.dropped for report in told)
        return self._receiver.settle(max(0, offered - self._first), dropped)

    @property
    def _enough(self) -> bool:
        """Whether the user wants no more frames."""
        return self._options.frames is not None and self._frames >= self._options.frames

    @property
    def _idle(self) -> bool:
        """Whether nothing has come for longer than the user wants to wait, and nothing was given back."""
        idle_s = self._options.idle
        quiet_s = min(self._transport.fruitless * POLL_S, monotonic() - self._given_at)
        return idle_s is not None and quiet_s > idle_s

    def _line(self, rate: float) -> str:
        tally, counters = self._receiver.tally(out=False), self._transport.counters
        refused = sum(counters.refused.values())
        return (
            f"frames: {tally.complete} complete, {tally.incomplete} incomplete, {tally.missing} missing, "
            + (f"{tally.wrong_size} of another size, " if tally.wrong_size else "")
            + f"{tally.dropped_at_source + tally.dropped_by_host} dropped, {rate:.0f}/s; packets: {counters.packets}, "
            f"{refused} refused, {counters.queue_drops} lost in the queue"
            + "".join(f"; source {source} has gone" for source in self._server.gone)
        )
