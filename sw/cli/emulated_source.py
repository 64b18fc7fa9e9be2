"""The loop of an emulated source: when a frame is offered, and whether it may be sent."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from framelane.cli.credit import Credit
from framelane.cli.emulate_outcome import Outcome
from framelane.cli.impair import Line
from framelane.cli.pacing import at_once, at_rate
from framelane.cli.stopping import Stop
from framelane.driver.emulator import Emulator
from framelane.driver.prepared_frame import PreparedFrame
from framelane.models.errors import TransportError
from framelane.models.jf_detector import FIRST_BUNCH_ID
from framelane.models.slots import FREE_RUNNING

_TELL_S = 0.05
"""Shortest time between two reports to the receiver."""
_TELL_DROP_S = 0.001
"""The same for the first frame that is dropped after one that was sent: the receiver gives its slot to another."""
_NAP_S = 200e-6


@dataclass(frozen=True, slots=True)
class Schedule:
    """`rate` in frames/s, None: as fast as wire and credit permit; `frames` in all, None: until a signal."""

    rate: float | None
    frames: int | None


class EmulatedSource:
    """Sends the frames `prepared`, again and again, through `line`, and tells the receiver. `outcome` counts.

    With a rate a frame without credit is dropped, as a detector cannot wait; without a rate it waits for its credit.
    """

    def __init__(
        self,
        schedule: Schedule,
        emulator: Emulator,
        prepared: Sequence[PreparedFrame],
        credit: Credit,
        line: Line,
    ) -> None:
        self.outcome = Outcome(rate=schedule.rate)
        self._schedule = schedule
        self._emulator = emulator
        self._prepared = prepared
        self._credit = credit
        self._line = line
        self._pace = at_once() if schedule.rate is None else at_rate(schedule.rate)
        session = credit.session
        self._first = 0 if session.window_end == FREE_RUNNING else session.window_end - session.n_slots
        """The session's first frame: its first credit is for the whole ring."""
        self._share_bytes = session.image_bytes // session.sources
        self._told = (0.0, -1)
        """When the receiver was told, and what had been offered then."""
        self._starved = self._starves = False
        """Whether the last frame was dropped; whether the receiver has not been told that this has begun."""

    def run(self, stop: Stop, show: Callable[[str], None] = lambda line: None) -> None:
        """Send until all frames have left, a signal comes, or the receiver or the wire has gone. `show` is told often.

        TransportError where not a packet has left.
        """
        outcome, pace = self.outcome, self._pace

        def idle() -> None:
            outcome.seconds = pace.elapsed_s
            if self._tell():
                show(outcome.lines()[0])

        try:
            while outcome.offered != self._schedule.frames and pace.wait(outcome.offered, stop, idle):
                if self._credit.closed or not self._has_credit(stop, idle):
                    break
                self._send()
                idle()
            self._line.end()
        except TransportError as error:
            if not outcome.packets:
                raise
            outcome.faults.append(f"after {outcome.offered} frames: {error}")
        finally:
            self._tell(ended=True)
        outcome.seconds = pace.elapsed_s
        if self._schedule.rate is not None:
            outcome.late_s, outcome.worst_s = pace.late_s, pace.worst_s
        outcome.faults += self._faults(stop)

    def _has_credit(self, stop: Stop, idle: Callable[[], None]) -> bool:
        """Without a rate a frame waits for its credit; False where that never comes."""
        number = self._first + self.outcome.offered
        while self._schedule.rate is None and number >= self._credit.window_end:
            if stop.wanted or self._credit.closed or not self._credit.grows:
                return False
            idle()
            time.sleep(_NAP_S)
        return True

    def _send(self) -> None:
        outcome, emulator = self.outcome, self._emulator
        number = self._first + outcome.offered
        prepared = self._prepared[outcome.offered % len(self._prepared)]
        emulator.window_end = self._credit.window_end
        batch = emulator.frame(number, prepared, time.time_ns(), FIRST_BUNCH_ID + number)
        outcome.offered += 1
        if batch is None:
            outcome.dropped += 1
            self._starves |= not self._starved
            self._starved = True
            return
        self._starved = False
        self._line.send(batch, number)
        outcome.sent += 1
        outcome.packets += len(batch)
        outcome.wire_bytes += int(batch.sizes.sum())
        outcome.image_bytes += self._share_bytes

    def _tell(self, ended: bool = False) -> bool:
        """Say on the link what was offered, when that has changed, and not too often; whether it was said.

        At once where frames begin to be dropped: the receiver's credit then comes back the sooner.
        """
        now, offered = time.monotonic(), self.outcome.offered
        pause_s = _TELL_DROP_S if self._starves else _TELL_S
        if not ended and (offered == self._told[1] or now < self._told[0] + pause_s):
            return False
        self._credit.report(self._first + offered, self._first + self.outcome.dropped, ended)
        self._told, self._starves = (now, offered), False
        return True

    def _faults(self, stop: Stop) -> list[str]:
        """What went wrong, but for the wire."""
        outcome, credit, frames = self.outcome, self._credit, self._schedule.frames
        faults = []
        if not outcome.held:
            faults.append(f"the rate was not held: the last frame was {outcome.late_s:.3f} s late")
        if outcome.dropped and credit.grows:
            faults.append("frames were dropped for want of credit: the receiver does not keep up with this rate")
        waits = outcome.offered != frames and self._first + outcome.offered >= credit.window_end
        if not credit.grows and (outcome.dropped or (waits and not stop.wanted)):
            faults.append(
                f"the session's file gives credit up to frame {credit.window_end - 1}, and nobody gives more: "
                "give --to, or let the receiver give credit for ever (--free-running)"
            )
        who = "a signal" if stop.wanted else "the receiver, which has closed the session's link"
        if outcome.offered != frames and (stop.wanted or credit.closed):
            told = outcome.notes if frames is None else faults
            told.append(f"ended by {who}, after {outcome.offered}{'' if frames is None else f' of {frames}'} frames")
        return faults
