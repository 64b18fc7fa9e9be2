"""When messages no longer come as the path and the master's time let them."""

from framelane.driver.ptp.two_way_filter import Estimate

EARLY = 3
"""So many in a row before the earliest moment that can be."""
LATE = 16
"""So many in a row long behind the usual one: with jitter as it was, one in 10^12."""
_LATE = 2.5
_MARGIN_NS = 20.0


class Doubt:
    """Messages of both ways in a row, too early or too late."""

    def __init__(self) -> None:
        self._early, self._late = [0, 0], [0, 0]
        self.is_early = False
        """The last one was too early: nothing is to be learnt from it before it is known why."""

    def see(self, way: int, ahead_ns: float, known: Estimate) -> bool:
        """Whether there is a doubt, now that a message of that way (0: from the master) came, `ahead_ns` later than it
        was sent by the clock's stamps with the offset taken away."""
        margin = 8 * known.uncertainty_ns + _MARGIN_NS
        late = ahead_ns - known.delay_ns
        self.is_early = late < -margin
        self._early[way] = self._early[way] + 1 if self.is_early else 0
        self._late[way] = self._late[way] + 1 if late > _LATE * known.late_ns + margin else 0
        return self._early[way] >= EARLY or self._late[way] >= LATE
