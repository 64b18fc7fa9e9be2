"""A clock and stamps by software alone: good to some microseconds, for a look at a network without a board."""

import time

from framelane.driver.simulated.tap import Tap
from framelane.models.time.time_counter import NS


class SoftwareClock:
    """A `PtpClock` of this process: CLOCK_MONOTONIC, with a rate and an offset. The machine's clock is left alone."""

    def __init__(self) -> None:
        self._since, self._time, self._rate = time.monotonic_ns(), 0, 0

    def read(self) -> int:
        """See `PtpClock`."""
        return self._at(time.monotonic_ns())

    def step(self, offset: int) -> None:
        """See `PtpClock`."""
        self._time += offset

    def adjust(self, ppb: float) -> float:
        """See `PtpClock`."""
        now = time.monotonic_ns()
        self._time, self._since = self._at(now), now
        self._rate = round(ppb * NS)
        return self._rate / NS

    def _at(self, now: int) -> int:
        passed = now - self._since
        return self._time + passed * NS + passed * self._rate // 10**9


class TapFrames:
    """`StampedFrames` of a tap device, with stamps of `clock` as frames are read and written."""

    def __init__(self, tap: Tap, clock: SoftwareClock) -> None:
        self._tap, self._clock = tap, clock

    def receive(self) -> tuple[bytes, int] | None:
        """See `StampedFrames`."""
        frame = self._tap.receive()
        return None if frame is None else (frame, self._clock.read())

    def send(self, frame: bytes) -> int | None:
        """See `StampedFrames`. The stamp is taken before: the other end may have it at once."""
        stamp = self._clock.read()
        return stamp if self._tap.send(frame) else None
