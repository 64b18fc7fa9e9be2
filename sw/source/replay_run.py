"""`framelane replay`: the packets of a capture to a receiver, or into another capture, with impairments if wanted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from framelane.base.errors import OptionError, TransportError
from framelane.base.output import check_free, check_no_input
from framelane.base.progress import say
from framelane.base.stopping import Stop, stop_on_signals
from framelane.models.roce_tx.packet_batch import Batch
from framelane.packets import pcap
from framelane.packets.pcap import PcapWriter
from framelane.packets.pcap_times import times_ns
from framelane.session.session import Session
from framelane.source.impairments.impair import ImpairOptions, Line, describe, document
from framelane.source.impairments.packet_fields import is_trailer
from framelane.source.pacing import Pace
from framelane.source.replay_outcome import Replayed
from framelane.source.udp_view import udp_view
from framelane.source.wire_options import WireOptions

_AT_ONCE = 256
"""Packets of one call at most: between them a signal is looked for."""
_MOST_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """What the user chose: packets go to `wire`, or to the capture `output`.

    At `rate` packets/s, or `fast`, or at the times at which they were captured. OptionError for what cannot be.
    """

    capture: Path
    wire: WireOptions | None
    impair: ImpairOptions
    session: Path | None = None
    rate: float | None = None
    fast: bool = False
    output: Path | None = None
    report: Path | None = None
    force: bool = False
    """Older files are replaced."""

    def __post_init__(self) -> None:
        if (self.wire is None) == (self.output is None):
            raise OptionError("say where packets go: give {transport} udp or packet, or else {output}")
        if self.wire is not None and self.wire.transport == "udp" and self.session is None:
            raise OptionError("a UDP socket needs the session's addresses: give {session}, or {transport} packet")
        if self.rate is not None and not 0 < self.rate <= _MOST_PER_S:
            raise OptionError(
                "{rate} {0:g} is not a rate: give packets per second, up to {1:g}", self.rate, _MOST_PER_S
            )
        if self.output is not None and (self.fast or self.rate is not None):
            raise OptionError("{rate} and {fast} are of a wire: with {output} the capture's own times are kept")
        if self.fast and self.rate is not None:
            raise OptionError("{rate} and {fast} cannot both be: leave one out")
        for option, written in (("output", self.output), ("report", self.report)):
            if written is not None:
                check_no_input(written, [path for path in (self.capture, self.session) if path], option)
                check_free(written, force=self.force)


def run(options: ReplayOptions, console: Console) -> Replayed:
    """Replay; what was sent. FramelaneError for bad input, and where nothing could be sent."""
    replay = Replay(options)
    if options.output is not None:
        replay.write(options.output, force=options.force)
    if options.wire is not None:
        with stop_on_signals() as stop:
            replay.send(options.wire, stop)
    outcome = replay.outcome
    say(console, "\n".join([*outcome.lines(), *describe(replay.impairment)]))
    if options.report is not None:
        outcome.save(options.report, force=options.force, **document(replay.impairment))
    return outcome


class Replay:
    """The packets of a capture, ready to go. `outcome` counts; `impairment` is what happens to them, None: nothing."""

    def __init__(self, options: ReplayOptions) -> None:
        self._options = options
        self._session = Session.load(options.session) if options.session else None
        loaded = pcap.load(options.capture)
        self._times_ns = times_ns(loaded)
        self._packets = loaded
        self._spoilt = 0
        self.outcome = Replayed(len(loaded))
        if options.wire is not None and options.wire.transport == "udp" and self._session is not None:
            view = udp_view(self._packets, self._session)
            self._times_ns, self._packets, self._spoilt = self._times_ns[view.indices], view.batch, view.spoilt
            self.outcome.left_out = len(loaded) - len(view.batch)
        sources = self._session.sources if self._session else 1
        self.impairment = options.impair.make(sources)
        self._frames = np.zeros(len(self._packets), np.int64)
        if self.impairment is not None:
            trailers = np.fromiter(map(is_trailer, self._packets), np.int64, len(self._packets))
            self._frames = (np.cumsum(trailers) - trailers) // sources

    def write(self, path: Path, *, force: bool = False) -> None:
        """Into the capture `path`, over an older one only with `force`.

        The times are those at which they were captured: what is late has those of others.
        """
        with PcapWriter(path, force=force) as writer:
            file = _File(writer)
            line = Line(file, self.impairment)
            for index in range(len(self._packets)):
                file.now_ns = int(self._times_ns[index])
                line.send(self._part(index, index + 1), int(self._frames[index]))
            line.end()
        self.outcome.sent = len(self._packets)

    def send(self, wire: WireOptions, stop: Stop) -> None:
        """Send all packets, until a signal comes or the interface goes away. TransportError if none could be sent."""
        outcome, due_s = self.outcome, self._due_s()
        pace = Pace(lambda index: float(due_s[index]))
        with wire.open(self._session) as sender:
            sender.stopped = lambda: stop.wanted
            line = Line(sender, self.impairment)
            try:
                while outcome.sent < len(due_s) and pace.wait(outcome.sent, stop):
                    end = self._end(outcome.sent, due_s, pace.elapsed_s)
                    line.send(self._part(outcome.sent, end), int(self._frames[outcome.sent]))
                    outcome.sent = end
                line.end()
            except TransportError as error:
                if not outcome.sent:
                    raise
                outcome.faults.append(f"after {outcome.sent} packets: {error}")
            outcome.seconds = pace.elapsed_s
            if not self._options.fast:
                outcome.late_s, outcome.worst_s = pace.late_s, pace.worst_s
            outcome.judge(self._spoilt, sender.unheard, stop.wanted)

    def _due_s(self) -> NDArray[np.float64]:
        """When each packet is due, from the first on: no sooner than the one before."""
        n, rate = len(self._packets), self._options.rate
        if self._options.fast:
            return np.zeros(n)
        if rate is not None:
            return np.arange(n) / rate
        latest = np.maximum.accumulate(self._times_ns)
        return (latest - latest[:1]) / 1e9

    def _end(self, start: int, due_s: NDArray[np.float64], now_s: float) -> int:
        """The packets from `start` to this one are due, are of one frame, and are not too many for one call."""
        end = min(int(np.searchsorted(due_s, now_s, "right")), start + _AT_ONCE)
        return min(max(end, start + 1), int(np.searchsorted(self._frames, self._frames[start], "right")))

    def _part(self, start: int, end: int) -> Batch:
        packets = self._packets
        return Batch(packets.memory, packets.starts[start:end], packets.sizes[start:end])


class _File:
    """An outlet into a capture, where what is sent gets the time `now_ns`."""

    def __init__(self, writer: PcapWriter) -> None:
        self.now_ns = 0
        self._writer = writer

    def send(self, frames: Sequence[bytes]) -> None:
        """See `Outlet`."""
        for frame in frames:
            self._writer.write(frame, self.now_ns)

    def send_batch(self, batch: Batch) -> None:
        """See `Outlet`."""
        self.send(list(batch))
