"""The loop of an emulated source: when a frame is offered, and whether it may be sent."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from framelane.base.errors import TransportError
from framelane.base.stopping import Stop
from framelane.models.jungfrau.jf_detector import FIRST_BUNCH_ID
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx.packet_batch import Batch
from framelane.source.credit import Credit
from framelane.source.emulate_outcome import Outcome
from framelane.source.emulator import Emulator
from framelane.source.impairments.impair import Line
from framelane.source.pacing import at_once, at_rate
from framelane.source.prepared_frame import PreparedFrame

_TELL_S = 0.05
"""Shortest time between two reports to the receiver."""
_TELL_DROP_S = 0.001
"""The same for the first frame that is dropped after one that was sent: the receiver gives its slot to another."""
_NAP_S = 200e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """`rate` in frames/s, None: as fast as wire and credit permit; `frames` in all, None: until it is stopped.

    So many frames in a row, a `bunch`, go to each receiver in turn.
    """

    rate: float | None
    frames: int | None
    bunch: int = 1


class Route:
    """The frames to one receiver, which counts its own: `prepared`, again and again, through `line`."""

    def __init__(self, emulator: Emulator, prepared: Sequence[PreparedFrame], credit: Credit, line: Line) -> None:
        self.credit = credit
        self.line = line
        self.offered = self.dropped = 0
        self._emulator = emulator
        self._prepared = prepared
        session = credit.session
        self._first = 0 if session.window_end == FREE_RUNNING else session.window_end - session.n_slots
        """The session's first frame: its first credit is for the whole ring."""
        self.share_bytes = session.image_bytes // session.sources
        self._told = (0.0, -1)
        """When the receiver was told, and what had been offered then."""
        self._starved = self._starves = False
        """Whether the last frame was dropped; whether the receiver has not been told that this has begun."""
        self._end = credit.window_end
        """The credit, as it was last seen,"""
        self._before = 0
        """and how many frames had been dropped until then."""

    @property
    def number(self) -> int:
        """The number of the next frame."""
        return self._first + self.offered

    @property
    def has_credit(self) -> bool:
        """Whether the next frame may be sent."""
        return self.number < self.credit.window_end

    @property
    def dropped_at_end(self) -> int:
        """Frames that were dropped after the last credit of a receiver that has gone: it was ending then."""
        self._look()
        return self.dropped - self._before if self.credit.closed else 0

    def _look(self) -> None:
        if (end := self.credit.window_end) > self._end:
            self._end, self._before = end, self.dropped

    def send(self, image: int, detector_frame: int | None) -> Batch | None:
        """Send the next frame; its packets, None where it was dropped for want of credit, or as the receiver has gone.

        The detector's number is its own where none is given.
        """
        self._look()
        number, detector = self.number, self.number if detector_frame is None else detector_frame
        prepared = self._prepared[image % len(self._prepared)]
        self._emulator.window_end = 0 if self.credit.closed else self.credit.window_end
        batch = self._emulator.frame(number, prepared, time.time_ns(), FIRST_BUNCH_ID + detector, detector_frame)
        self.offered += 1
        self.dropped += batch is None
        self._starves |= batch is None and not self._starved
        self._starved = batch is None
        if batch is not None:
            self.line.send(batch, number)
        return batch

    def tell(self, ended: bool = False) -> bool:
        """Say on the link what was offered, when that has changed, and not too often; whether it was said.

        At once where frames begin to be dropped: the receiver's credit then comes back the sooner.
        """
        now, offered = time.monotonic(), self.offered
        pause_s = _TELL_DROP_S if self._starves else _TELL_S
        if not ended and (offered == self._told[1] or now < self._told[0] + pause_s):
            return False
        self.credit.report(self._first + offered, self._first + self.dropped, ended)
        self._told, self._starves = (now, offered), False
        return True


class EmulatedSource:
    """Sends frames by `routes`, and tells their receivers. `outcome` counts.

    With a rate a frame without credit is dropped, as a detector cannot wait; without a rate it waits for its credit.
    Of several receivers one that has gone is sent no more, and its frames are dropped: a board knows nothing of it.
    """

    def __init__(self, schedule: Schedule, routes: Sequence[Route]) -> None:
        self.outcome = Outcome(rate=schedule.rate)
        self._schedule = schedule
        self._routes = routes
        self._pace = at_once() if schedule.rate is None else at_rate(schedule.rate)

    def run(self, stop: Stop, progress: Callable[[Outcome], None] = lambda outcome: None) -> None:
        """Send until all frames have left, `stop` is wanted, or the receivers or the wire have gone.

        `progress` gets the outcome so far whenever a receiver is told, at most 20 times a second where none is dropped.

        TransportError where not a packet has left.
        """
        outcome, pace = self.outcome, self._pace

        def idle() -> None:
            outcome.seconds = pace.elapsed_s
            if sum(route.tell() for route in self._routes):
                progress(outcome)

        try:
            while outcome.offered != self._schedule.frames and pace.wait(outcome.offered, stop, idle):
                route = self._routes[outcome.offered // self._schedule.bunch % len(self._routes)]
                if self._closed or not self._has_credit(route, stop, idle):
                    break
                self._send(route)
                idle()
            for route in self._routes:
                route.line.end()
        except TransportError as error:
            if not outcome.packets:
                raise
            outcome.faults.append(f"after {outcome.offered} frames: {error}")
        finally:
            for route in self._routes:
                route.tell(ended=True)
        outcome.seconds = pace.elapsed_s
        if self._schedule.rate is not None:
            outcome.late_s, outcome.worst_s = pace.late_s, pace.worst_s
        outcome.faults += self._faults(stop)

    @property
    def _closed(self) -> bool:
        return all(route.credit.closed for route in self._routes)

    def _has_credit(self, route: Route, stop: Stop, idle: Callable[[], None]) -> bool:
        """Without a rate a frame waits for its credit; False where that never comes."""
        while self._schedule.rate is None and not route.has_credit:
            if route.credit.closed:
                return len(self._routes) > 1
            if stop.wanted or not route.credit.grows:
                return False
            idle()
            time.sleep(_NAP_S)
        return True

    def _send(self, route: Route) -> None:
        outcome = self.outcome
        batch = route.send(outcome.offered, outcome.offered if len(self._routes) > 1 else None)
        outcome.offered += 1
        if batch is None:
            outcome.dropped += 1
            return
        outcome.sent += 1
        outcome.packets += len(batch)
        outcome.wire_bytes += int(batch.sizes.sum())
        outcome.image_bytes += route.share_bytes

    def _faults(self, stop: Stop) -> list[str]:
        """What went wrong, apart from the wire."""
        outcome, frames, closed = self.outcome, self._schedule.frames, self._closed
        faults = []
        if not outcome.held:
            faults.append(f"the rate was not held: the last frame was {outcome.late_s:.3f} s late")
        for number, route in enumerate(self._routes):
            credit = route.credit
            which = f"receiver {number}: " if len(self._routes) > 1 else ""
            # With all frames away each receiver may end when it has its own, before the others.
            if credit.closed and not closed and (route.dropped or outcome.offered != frames):
                faults.append(f"{which}it has closed the session's link: {route.dropped} of its frames were dropped")
            elif route.dropped > route.dropped_at_end and credit.grows:
                faults.append(
                    f"{which}frames were dropped for want of credit: the receiver does not keep up with this rate: it "
                    f"says at its end whether it is too slow, or its ring of {credit.session.n_slots} slots too small"
                )
            elif route.dropped_at_end and outcome.offered == frames:
                faults.append(f"{which}the receiver has ended: the last {route.dropped_at_end} frames were dropped")
            waits = outcome.offered != frames and not route.has_credit
            if not credit.grows and (route.dropped or (waits and not stop.wanted)):
                faults.append(
                    f"{which}the session's file gives credit up to frame {credit.window_end - 1}, and nobody gives "
                    "more: use the receiver's link, or let it give credit for ever (free-running)"
                )
        who = stop.who if stop.wanted else "the receiver, which has closed the session's link"
        if outcome.offered != frames and (stop.wanted or closed):
            told = outcome.notes if frames is None else faults
            told.append(f"ended by {who}, after {outcome.offered}{'' if frames is None else f' of {frames}'} frames")
        return faults
