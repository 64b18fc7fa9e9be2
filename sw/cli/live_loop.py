"""The loop of a live receiver: when a frame is over, and when the run is."""

from collections.abc import Iterator
from time import monotonic

from rich.status import Status

from framelane.cli.live_transport import LiveOptions, LiveReceiver
from framelane.cli.stopping import Stop
from framelane.models.session_link import Report
from framelane.receiver.background import POLL_S
from framelane.receiver.receiver import ReceivedFrame, Receiver
from framelane.receiver.tally import Tally

_POLL_S = 0.02
_QUIET = 2
"""Nothing is on its way any more when so many polls in a row have found nothing."""
_DRAIN_S = 2.0
"""So long at most what comes after the end is still taken, from sources that go on."""
_SHOW_S = 0.5


class LiveLoop:
    """Yields the frames of `live` as they are over, each to be released before the next, until the run has ended."""

    def __init__(self, live: LiveReceiver, options: LiveOptions) -> None:
        self.receiver = Receiver(live.ring, live.transport)
        self._live = live
        self._options = options
        self._first = live.ring.window.next
        self._frames = 0
        self.packets = 0
        """How many packets the sources have sent, as the trailers that came say."""
        self._told: list[Report] = []
        """What all sources have told, until it is dealt with."""
        self._told_at = 0
        self._ended = False

    def frames(self, stop: Stop, status: Status) -> Iterator[ReceivedFrame]:
        """All frames; those that are not whole at the end, too. `status` shows how it goes."""
        end, shown, before = None, monotonic(), 0
        while not self._ended and (end is None or (self._live.transport.fruitless < _QUIET and monotonic() < end)):
            yield from self._each(self.receiver.poll(_POLL_S))
            yield from self._each(self._settle())
            if end is None and (stop.wanted or self._enough()):
                end = monotonic() + _DRAIN_S
            if (now := monotonic()) - shown > _SHOW_S:
                status.update(self._line((self._frames - before) / (now - shown)))
                shown, before = now, self._frames
        yield from self._each(self.receiver.poll(0) + self.receiver.settle())

    def tally(self) -> Tally:
        """What became of the frames: all that the sources offered, or, where they go on, those that are over here."""
        reports = self._live.server.reports.values()
        return self.receiver.tally(max(report.offered for report in reports) - self._first if self._ended else None)

    def _each(self, frames: list[ReceivedFrame]) -> Iterator[ReceivedFrame]:
        for frame in frames:
            self._frames += 1
            self.packets += sum(trailer.packets + 1 for trailer in frame.trailers if trailer)
            yield frame
            self._live.server.publish(self._live.ring.window_end)
        self._live.server.publish(self._live.ring.window_end)

    def _settle(self) -> list[ReceivedFrame]:
        """Close what all sources have offered, as they told it, once nothing of it can be on its way any more.

        Of frames without credit nothing else is heard: without this their credit would stand still.
        """
        transport, reports = self._live.transport, self._live.server.reports
        if not self._told:
            if len(reports) == self._live.session.sources:
                self._told, self._told_at = list(reports.values()), transport.polls
            return []
        # The poll that was under way then may have looked before the packets came.
        if transport.fruitless < _QUIET or transport.polls - self._told_at <= _QUIET:
            return []
        told, self._told = self._told, []
        self._ended = all(report.ended for report in told)
        frames = self.receiver.poll(0)
        offered = min(report.offered for report in told) - self._first
        return frames + self.receiver.settle(max(0, offered), min(report.dropped for report in told))

    def _enough(self) -> bool:
        """Whether the user wants no more."""
        options = self._options
        enough = options.frames is not None and self._frames >= options.frames
        idle = options.idle is not None and self._live.transport.fruitless * POLL_S > options.idle
        return enough or idle

    def _line(self, rate: float) -> str:
        tally, counters = self.receiver.tally(), self._live.transport.counters
        refused = sum(counters.refused.values())
        return (
            f"frames: {tally.complete} complete, {tally.incomplete} incomplete, {tally.missing} missing, "
            f"{tally.dropped_at_source + tally.dropped_by_host} dropped, {rate:.0f}/s; packets: {counters.packets}, "
            f"{refused} refused, {counters.queue_drops} lost in the queue"
        )
