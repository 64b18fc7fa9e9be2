"""From many delayed messages to the clock's offset: the least delayed ones of both ways, on two parallel lines.

A message that waits nowhere comes after the path's own delay; all others come later. What the clock's stamps are ahead
is thus above the line `offset + rate * t + delay` for messages from the master, and above `-offset - rate * t + delay`
for those to it. Which lines these can be is in `least_delay`; their error goes down with the number of messages, not
with its root.
"""

import math
from array import array
from dataclasses import dataclass, field

import numpy as np

from framelane.driver.ptp.exchanges import Observed
from framelane.driver.ptp.least_delay import Floats, below, spacing
from framelane.models.time.time_counter import NS, SECOND

FEWEST = 20
"""Messages of each way that an estimate needs."""
_BENT = 6.0
_NARROWS, _WIDENS = 0.75, 1.02
"""What becomes of the window where the clock's rate changes, and where it does not."""
_SHORTEST_S = 8.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The clock at `at`, s since the filter's origin: `offset_ns`, and `rate_ppb` while nothing adjusts it.

    `delay_ns` of the path, the mean of both ways. `uncertainty_ns`: about one standard deviation of the offset's error;
    `late_ns`: half of the messages are later than the path's delay by more than this, the larger of both ways.
    """

    at: float
    offset_ns: float
    rate_ppb: float
    delay_ns: float
    uncertainty_ns: float
    late_ns: float
    span_s: float


@dataclass(slots=True)
class _Points:
    """One way: times in s, what the stamps are later in ns, as if nothing had adjusted the clock."""

    times: "array[float]" = field(default_factory=lambda: array("d"))
    values: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, time: float, value: float) -> None:
        self.times.append(time)
        self.values.append(value)

    def forget(self, before: float) -> None:
        if self.times and self.times[0] < before - 1:
            first = int(np.searchsorted(np.array(self.times), before))
            del self.times[:first], self.values[:first]

    def forget_half(self) -> None:
        half = len(self.times) // 2
        del self.times[:half], self.values[:half]

    def arrays(self) -> tuple[Floats, Floats]:
        return np.array(self.times), np.array(self.values)


class TwoWayFilter:
    """Observations of the last `window_s` seconds, while the clock is adjusted by `ppb`; the first one is `origin`."""

    def __init__(self, window_s: float, ppb: float, origin: Observed) -> None:
        self._window_s = self._horizon_s = window_s
        self._origin, self._base = origin.at, origin.difference
        self._ppb, self._since, self._moved = ppb, 0.0, 0.0
        self._there, self._back = _Points(), _Points()

    def seconds(self, at: int) -> float:
        """Seconds of the clock from the origin to its time `at`."""
        return (at - self._origin) / SECOND

    def adjusted_by(self, at: float) -> float:
        """How many ns adjusting has moved the clock since the origin."""
        return self._moved + self._ppb * (at - self._since)

    def adjust(self, at: int, ppb: float) -> None:
        """From the clock's time `at` on it is adjusted by `ppb`."""
        seconds = self.seconds(at)
        self._moved, self._since, self._ppb = self.adjusted_by(seconds), seconds, ppb

    def step(self, offset: int) -> None:
        """The clock was stepped: all stamps before are as if it had been so always."""
        self._origin += offset
        self._base += offset

    def from_master(self, seen: Observed) -> None:
        """A Sync."""
        at = self.seconds(seen.at)
        self._there.add(at, (seen.difference - self._base) / NS - self.adjusted_by(at))

    def to_master(self, seen: Observed) -> None:
        """A delay request that was answered."""
        at = self.seconds(seen.at)
        self._back.add(at, (seen.difference + self._base) / NS + self.adjusted_by(at))

    def widen(self, window_s: float) -> None:
        """From now on look back so far."""
        self._window_s = self._horizon_s = window_s

    def absorb(self, other: "TwoWayFilter") -> None:
        """Forget the older half of all messages, and take those of a newer filter."""
        shift = self.seconds(other._origin)
        above = (other._base - self._base) / NS - self.adjusted_by(shift)
        for ours, theirs, sign in ((self._there, other._there, 1), (self._back, other._back, -1)):
            ours.forget_half()
            for time, value in zip(theirs.times, theirs.values, strict=True):
                ours.add(time + shift, value + sign * above)

    @property
    def counts(self) -> tuple[int, int]:
        """Messages of each way."""
        return len(self._there.times), len(self._back.times)

    def offset_at(self, estimate: Estimate, at: int) -> float:
        """The offset in ns at the clock's time `at`, by an estimate that was made before."""
        return self.exact_offset_at(estimate, at) / NS

    def exact_offset_at(self, estimate: Estimate, at: int) -> int:
        """The same in 2^-32 ns: a clock that was never set is so far off that a float has no ns any more."""
        seconds = self.seconds(at)
        free = estimate.offset_ns + estimate.rate_ppb * (seconds - estimate.at)
        return self._base + round((free + self.adjusted_by(seconds)) * NS)

    def estimate(self, at: int) -> Estimate | None:
        """For the clock's time `at`; None while there are too few messages."""
        now = self.seconds(at)
        for points in (self._there, self._back):
            points.forget(now - self._horizon_s)
        if min(self.counts) < FEWEST:
            return None
        (there_at, there), (back_at, back) = self._there.arrays(), self._back.arrays()
        there_at, back_at = there_at - now, back_at - now
        lines = below(there_at, there, back_at, back)
        there, back = there - lines.rate_ppb * there_at, back + lines.rate_ppb * back_at
        span = -min(there_at[0], back_at[0])
        self._horizon_s = min(self._window_s, self._horizon_s * _WIDENS)
        if _is_bent(there_at, there, back_at, back):
            self._horizon_s = max(_SHORTEST_S, span * _NARROWS)
        late = max(float(np.median(there) - there.min()), float(np.median(back) - back.min()))
        return Estimate(
            at=now,
            offset_ns=lines.offset_ns,
            rate_ppb=lines.rate_ppb,
            delay_ns=lines.delay_ns,
            uncertainty_ns=lines.uncertainty_ns,
            late_ns=late,
            span_s=float(span),
        )


def _is_bent(there_at: Floats, there: Floats, back_at: Floats, back: Floats) -> bool:
    """Whether the clock's own rate has changed in the window: the quarters' offsets are farther apart than chance."""
    offsets, blurs = [], []
    marks = np.linspace(min(there_at[0], back_at[0]), 0.0, 5)
    firsts, backs = np.searchsorted(there_at, marks), np.searchsorted(back_at, marks)
    for k in range(4):
        low, low_back = there[firsts[k] : firsts[k + 1]], back[backs[k] : backs[k + 1]]
        if min(len(low), len(low_back)) < FEWEST:
            return False
        offsets.append((low.min() - low_back.min()) / 2)
        blurs.append(math.hypot(spacing(low), spacing(low_back)) / 2)
    return bool(max(offsets) - min(offsets) > _BENT * max(blurs))
