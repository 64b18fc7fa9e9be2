"""The seam between PTP and a clock that it sets."""

from typing import Protocol


class PtpClock(Protocol):
    """A clock that can be read, stepped, and whose rate can be changed.

    Times are ints in 2^-32 ns since the epoch of PTP (1970-01-01 00:00:00 TAI), `time_counter.NS` of them a ns.
    """

    def read(self) -> int:
        """What time it is."""

    def step(self, offset: int) -> None:
        """Add `offset` to it at once."""

    def adjust(self, ppb: float) -> float:
        """Let it go `ppb` faster than its nominal rate from now on; the value in force, which may be rounded."""
