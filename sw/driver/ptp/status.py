"""What a program sees of a clock that follows a master."""

from dataclasses import dataclass
from enum import Enum


class PtpState(Enum):
    """How far it has come; the value is what the command line prints."""

    LISTENING = "listening"
    """No master is known."""
    MEASURING = "measuring"
    """A master is there; its time and rate are not known well enough to follow it."""
    TRACKING = "tracking"
    """It follows; its offset is not yet within the limit."""
    LOCKED = "locked"
    HOLDOVER = "holdover"
    """It was locked: the master is gone, or is not believed. The clock goes on at its last rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PtpStatus:
    """One moment of a `PtpSlave`.

    `master` is the port that it follows, or has followed last, `grandmaster` the clock behind it, with `clock_class`.
    Offset, its uncertainty and the delay of the path in ns, None where not known. `rate_ppb`: by how much the clock is
    adjusted. `utc_offset_s` is TAI - UTC, None where the master does not know it; `tai`: whether the time is TAI, not
    the master's own. `fault`: why a master is not followed, one sentence, empty while nothing is wrong.
    `warning`: what is strange about one that is followed.
    """

    state: PtpState
    master: str | None
    grandmaster: str | None
    clock_class: int | None
    offset_ns: float | None
    uncertainty_ns: float | None
    path_delay_ns: float | None
    rate_ppb: float
    utc_offset_s: int | None
    tai: bool
    steps: int
    holdover_s: float
    fault: str
    warning: str
    counters: dict[str, int]

    @property
    def locked(self) -> bool:
        """Whether the offset is within the limit."""
        return self.state is PtpState.LOCKED
