"""The clock's own controller: pulses per second keep it, without software. Exact, pulse by pulse.

Offsets are signed, in 2^-16 ns: by how much the clock is ahead of the nearest whole second when a pulse comes.
"""

from dataclasses import dataclass
from enum import IntEnum

from framelane.models.time.time_counter import SECOND_NS

FRACTION = 1 << 16
SECOND = SECOND_NS * FRACTION
LOCK_NS, BELIEVED_NS, BELIEVED_LATE_NS, RATE_NS = 1 << 7, 1 << 10, 1 << 14, 1 << 18
"""How far a pulse may be off: to be locked; to be believed; the same when pulses were missing; to give a rate."""
GOOD, BAD = 3, 8
"""Pulses in a row until the clock is locked; pulses in a row that are not believed until it begins again."""
_MASK = (1 << 64) - 1


class Phase(IntEnum):
    """What is known: nothing; that the clock was right a second ago; its rate."""

    FREE = 0
    RATE = 1
    TRACK = 2


def within(offset: int, ns: int) -> bool:
    """Whether an offset (2^-16 ns) is from -`ns` on and below `ns`."""
    return -ns * FRACTION <= offset < ns * FRACTION


def offset_of(tai: int) -> int:
    """The offset of a pulse that came at `tai` (2^-16 ns since the epoch)."""
    rest = tai % SECOND
    return rest - SECOND if rest // FRACTION >= SECOND_NS // 2 else rest


@dataclass(slots=True)
class TimeServo:
    """The controller of a clock of `clock_hz`.

    `adjust` is that of the rate (2^-32 ns a cycle, signed), `integral` its part that lasts (2^-64 ns a cycle, signed),
    `offset` that at the last pulse that was believed, in 2^-8 ns; a pulse that only steps the clock is not one.
    """

    clock_hz: int = 250_000_000
    phase: Phase = Phase.FREE
    integral: int = 0
    adjust: int = 0
    offset: int = 0
    locked: bool = False
    holdover: bool = False
    missing: int = 0
    good: int = 0
    bad: int = 0

    def tick(self) -> None:
        """The middle of a second is over: a pulse that has not come is missing."""
        if self.missing:
            if self.phase is Phase.RATE:
                self.phase = Phase.FREE
            elif self.phase is Phase.TRACK:
                self.holdover, self.locked, self.good = True, False, 0
                self.adjust = _whole(self.integral)
        self.missing = min(3, self.missing + 1)

    def pulse(self, tai: int) -> int | None:
        """A pulse came at `tai` (2^-16 ns since the epoch). By how much the clock is to be stepped, if it is."""
        offset, unit = offset_of(tai), (1 << 48) // self.clock_hz
        if self.phase is Phase.FREE:
            self.missing = self.bad = 0
            self.phase = Phase.RATE
            return -offset
        if self.phase is Phase.RATE:
            if not within(offset, RATE_NS):
                self.phase = Phase.FREE
                return None
            self._believe(offset)
            self.integral = _signed(self.integral - offset * unit)
            self.adjust = _whole(self.integral)
            self.phase = Phase.TRACK
            return -offset
        if not within(offset, BELIEVED_LATE_NS if self.holdover else BELIEVED_NS):
            self._doubt()
            return None
        self._believe(offset)
        self.holdover = False
        self.good = min(GOOD, self.good + 1) if within(offset, LOCK_NS) else 0
        self.locked |= self.good == GOOD
        self.integral = _signed(self.integral - offset * (unit // 50))
        self.adjust = _whole(self.integral - offset * (unit * 3 // 10))
        return None

    def _believe(self, offset: int) -> None:
        self.offset, self.missing, self.bad = offset >> 8, 0, 0

    def _doubt(self) -> None:
        self.bad += 1
        if self.bad == BAD:
            self.phase, self.locked, self.good, self.bad = Phase.FREE, False, 0, 0


def _signed(value: int) -> int:
    """As 64 bits hold it."""
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


def _whole(value: int) -> int:
    """The upper 32 bits of 64, signed."""
    return _signed(value) >> 32
