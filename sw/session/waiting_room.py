"""Those at the session link who have not shown the token: few, from each address fewer, and none for long."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from framelane.session.channel import Channel
from framelane.session.handshake import nonce
from framelane.session.session_link import MAX_HELLO

DEADLINE_S = 3.0
"""Seconds in which the token must have been shown."""
MOST, MOST_OF_ONE = 128, 32
"""So many wait at a time, and so many of one address. Where one more comes, the oldest of them goes: a source needs
milliseconds for its handshake, and cannot be kept out by those who stay."""
RATE, BURST = 50.0, 256.0
"""So many unauthenticated clients are let in a second, and so many at once: the others wait in the kernel, which costs
nothing. Those who show the token do not count."""


@dataclass(slots=True, eq=False)
class Waiting:
    """Somebody from `host`, who was asked `nonce`."""

    channel: Channel
    host: str
    until: float
    asked: str = field(default_factory=nonce)
    greeted: bool = False
    """The receiver's first line was sent: at once, or behind the handshake of TLS."""


class WaitingRoom:
    """Keeps them in their order. Of one thread."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._waiting: dict[Waiting, None] = {}
        self._allowance, self._counted = BURST, clock()

    @property
    def opens_in_s(self) -> float:
        """Seconds until one more may come in; 0: now."""
        now = self._clock()
        self._allowance = min(BURST, self._allowance + RATE * (now - self._counted))
        self._counted = now
        return max(0.0, (1 - self._allowance) / RATE)

    def admit(self, channel: Channel, host: str) -> tuple[Waiting, Waiting | None]:
        """Let one more in; and who has to go for that."""
        channel.allowance = MAX_HELLO
        self._allowance -= 1
        one = [other for other in self._waiting if other.host == host]
        crowd = one if len(one) >= MOST_OF_ONE else list(self._waiting) if len(self._waiting) >= MOST else []
        if crowd:
            self.leave(crowd[0])
        new = Waiting(channel, host, self._clock() + DEADLINE_S)
        self._waiting[new] = None
        return new, crowd[0] if crowd else None

    def leave(self, one: Waiting, welcome: bool = False) -> None:
        """One does not wait any more: somebody who has shown the token, or not."""
        self._waiting.pop(one, None)
        self._allowance += welcome

    def late(self) -> list[Waiting]:
        """Those whose time is over."""
        now = self._clock()
        return [one for one in self._waiting if one.until <= now]

    def rest(self, seconds: float) -> None:
        """Let nobody in for so long."""
        self._allowance = min(self._allowance, 1 - RATE * seconds)
