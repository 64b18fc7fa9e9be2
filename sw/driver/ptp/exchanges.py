"""Stamps that belong together: of a Sync with its Follow_Up, of a Delay_Req with its Delay_Resp."""

from dataclasses import dataclass

from framelane.models.time.ptp_message import Flag, Kind, Message, PortIdentity
from framelane.models.time.time_counter import NS

_SUB_NS = 1 << 16
"""A correction's unit, 2^-16 ns, in ours."""
_KEPT = 16
_PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True)
class Observed:
    """A message's stamp of our clock, and by how much the one that was received is later than the one that was sent."""

    at: int
    difference: int


def _put(store: dict[int, tuple[int, int]], sequence: int, entry: tuple[int, int]) -> None:
    store[sequence] = entry
    while len(store) > _KEPT:
        del store[next(iter(store))]


class Syncs:
    """Sync messages of one master and, where it needs two steps, their Follow_Ups, in either order."""

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[int, int]] = {}
        self._early: dict[int, tuple[int, int]] = {}

    def sync(self, message: Message, stamp: int) -> Observed | None:
        """A Sync, received at `stamp`."""
        correction = message.correction * _SUB_NS
        if Flag.TWO_STEP not in message.flags:
            return Observed(stamp, stamp - message.time_ns * NS - correction)
        if early := self._early.pop(message.sequence, None):
            return Observed(stamp, stamp - early[0] - early[1] - correction)
        _put(self._waiting, message.sequence, (stamp, correction))
        return None

    def follow_up(self, message: Message) -> Observed | None:
        """A Follow_Up."""
        origin, correction = message.time_ns * NS, message.correction * _SUB_NS
        if waiting := self._waiting.pop(message.sequence, None):
            return Observed(waiting[0], waiting[0] - waiting[1] - origin - correction)
        _put(self._early, message.sequence, (origin, correction))
        return None


class Requests:
    """Our delay requests, and whether they were answered. A response that comes a second late is not."""

    def __init__(self, identity: PortIdentity, domain: int) -> None:
        self._identity, self._domain = identity, domain
        self._open: dict[int, tuple[int, float]] = {}
        self.sent = self.answered = self.unanswered = 0

    def request(self) -> Message:
        """The next one to send."""
        return Message(kind=Kind.DELAY_REQ, source=self._identity, sequence=self.sent & 0xFFFF, domain=self._domain)

    def left(self, message: Message, stamp: int, now: float) -> None:
        """It has left at `stamp`."""
        self._open[message.sequence] = stamp, now
        self.sent += 1

    def response(self, message: Message, now: float) -> tuple[Observed, float] | None:
        """What a Delay_Resp says, and how many seconds it took; None for one that answers none of ours."""
        if message.requester != self._identity or message.sequence not in self._open:
            return None
        stamp, left = self._open.pop(message.sequence)
        self.answered += 1
        received = message.time_ns * NS - message.correction * _SUB_NS
        return Observed(stamp, received - stamp), now - left

    def forget(self, now: float | None = None) -> None:
        """Count what was not answered until `now` as unanswered; None: take back all that is open, uncounted."""
        if now is None:
            self.sent -= len(self._open)
            self._open.clear()
            return
        for sequence, (_, left) in list(self._open.items()):
            if now - left < _PATIENCE_S:
                break
            del self._open[sequence]
            self.unanswered += 1
