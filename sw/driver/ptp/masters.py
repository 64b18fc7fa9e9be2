"""Which masters announce themselves, and the best of them (IEEE 1588-2019, 9.3.2.4 and 9.3.4)."""

from collections import deque
from dataclasses import dataclass, field

from framelane.models.time.ptp_message import Announced, Flag, Message, PortIdentity

QUALIFIED = 2
"""So many announcements within `_WINDOW` intervals make a master (FOREIGN_MASTER_THRESHOLD)."""
_WINDOW = 4
"""FOREIGN_MASTER_TIME_WINDOW."""
_MOST_STEPS = 255
_MOST_MASTERS = 16
_ALTERNATE = 0x0100


@dataclass(slots=True)
class Master:
    """A port that announces a grandmaster; `heard`: when, in seconds, the last ones."""

    port: PortIdentity
    announced: Announced
    flags: Flag
    interval_s: float
    heard: deque[float] = field(default_factory=lambda: deque(maxlen=QUALIFIED))

    def qualifies(self, now: float) -> bool:
        """Whether it has announced itself often enough."""
        return len(self.heard) == QUALIFIED and now - self.heard[0] <= _WINDOW * self.interval_s

    def times_out(self, intervals: int) -> float:
        """When it counts as gone, if nothing more comes."""
        return self.heard[-1] + intervals * self.interval_s


class Masters:
    """The masters of one domain. `intervals` without announcement, and one is gone; `own` is our clock's identity."""

    def __init__(self, intervals: int, own: int) -> None:
        self._intervals, self._own = intervals, own
        self._known: dict[PortIdentity, Master] = {}

    def known(self, port: PortIdentity) -> Master | None:
        """The one at that port."""
        return self._known.get(port)

    def hear(self, message: Message, now: float) -> Master | None:
        """An Announce of this moment; None where it is not heeded."""
        said = message.announced
        assert said
        if message.flags & _ALTERNATE or said.steps_removed >= _MOST_STEPS or message.source.clock == self._own:
            return None
        master = self._known.get(message.source)
        if master is None:
            if len(self._known) >= _MOST_MASTERS:
                return None
            master = self._known[message.source] = Master(message.source, said, message.flags, 1.0)
        master.announced, master.flags = said, message.flags
        master.interval_s = 2.0 ** max(-7, min(7, message.log_interval))
        master.heard.append(now)
        return master

    def best(self, now: float, current: PortIdentity | None) -> Master | None:
        """The best that qualifies, or is `current`, and has not gone; None where there is none."""
        for port, master in list(self._known.items()):
            if master.times_out(self._intervals) <= now:
                del self._known[port]
        found = [each for each in self._known.values() if each.port == current or each.qualifies(now)]
        return min(found, key=lambda each: (each.announced.rank, each.port), default=None)

    def next_look(self, now: float) -> float:
        """Seconds until the first of them would have timed out."""
        return min((each.times_out(self._intervals) - now for each in self._known.values()), default=float("inf"))
