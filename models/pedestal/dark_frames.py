"""Dark frames between exposed ones: which frames are dark, and when each was taken."""

from dataclasses import dataclass

from framelane.base.errors import ConfigError

TICK_NS = 1 << 20
"""Nanoseconds of a tick, the unit of time of the pedestal's tracking: about a millisecond."""

_FURTHEST = 1 << 20
"""Ticks that a clock goes forward at most from one frame to the next, about 18 minutes: after that no drift is known
any more, and a timestamp that is wrong cannot bring the clock to its end."""


@dataclass(frozen=True, slots=True)
class DarkRule:
    """Frame `number` of the detector is dark where `number % period == phase`. ConfigError for a rule that cannot be.

    The number is the detector's own (`detector_frame` of the trailer), not that of the session: frames that the source
    drops or that get lost on the way must not move the rule.
    """

    period: int
    """Frames from one dark frame to the next, 1 or more. 1: every frame is dark."""

    phase: int
    """The first dark frame, 0 to `period - 1`."""

    def __post_init__(self) -> None:
        if self.period < 1 or not 0 <= self.phase < self.period:
            raise ConfigError(
                f"frames {self.phase} of every {self.period} cannot be the dark ones: give a period of 1 or more, "
                "and a phase from 0 to the period less 1"
            )

    def is_dark(self, number: int) -> bool:
        """Whether the detector's frame `number` is dark."""
        return number % self.period == self.phase


class DarkClock:
    """Ticks since the first dark frame, from timestamps that may be missing or wrong: it never goes back.

    A frame whose timestamp is missing (None or 0), or is not later than the last one that was there, counts as
    `interval_ns` after the frame before; `faults` counts those that were not later.
    """

    def __init__(self, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._now_ns = -interval_ns
        self._known: int | None = None
        """The last timestamp that was there, and what the clock showed then."""
        self._shown_ns = 0
        self.faults = 0

    def tick(self, timestamp_ns: int | None) -> int:
        """The time of the next dark frame, in ticks."""
        now = self._now_ns + self._interval_ns
        if timestamp_ns:
            if self._known is not None and timestamp_ns <= self._known:
                self.faults += 1
            elif self._known is not None:
                now = max(self._shown_ns + timestamp_ns - self._known, self._now_ns)
            self._known = timestamp_ns
        self._now_ns = min(now, self._now_ns + _FURTHEST * TICK_NS)
        if timestamp_ns:
            self._shown_ns = self._now_ns
        return self._now_ns // TICK_NS
