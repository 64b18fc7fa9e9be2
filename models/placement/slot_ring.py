"""The books of a ring of slots in memory: which slot a frame gets, and until when it keeps it."""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto


class Use(Enum):
    """What a slot is used for; the order is that of a frame's life."""

    WRITING = auto()
    """Its frame is on the way to memory."""
    WAITING = auto()
    """Its frame is whole, and its event has not been taken."""
    HELD = auto()
    """Its event has been taken, and not been released."""
    OVER = auto()
    """Its frame was released, or has failed: it is free as soon as those before it are."""


@dataclass(slots=True)
class SlotRing:
    """`slots` slots of `slot_bytes` each from address `base` on, given out in turn, at most `max_slots` at a time."""

    base: int
    slot_bytes: int
    slots: int
    max_slots: int = 1024
    _next: int = 0
    _uses: deque[Use] = field(default_factory=deque)

    @property
    def in_use(self) -> int:
        """How many slots are not free."""
        return len(self._uses)

    @property
    def free(self) -> bool:
        """Whether the next frame gets a slot."""
        return self.in_use < min(self.slots, self.max_slots) and self.slot_bytes > 0

    def restart(self) -> None:
        """Start at the base again; no slot is in use."""
        assert not self._uses
        self._next = 0

    def take(self) -> int:
        """A frame begins where a slot is free: the address of its slot."""
        assert self.free
        address = self.base + self._next * self.slot_bytes
        self._next = (self._next + 1) % self.slots
        self._uses.append(Use.WRITING)
        return address

    def finish(self, failed: bool) -> None:
        """The oldest frame under way has come to its end."""
        self._advance(Use.WRITING, Use.OVER if failed else Use.WAITING)

    def hand_over(self) -> None:
        """The oldest event is taken."""
        self._advance(Use.WAITING, Use.HELD)

    def release(self) -> None:
        """The frame of the oldest event that was taken has been read; where there is none, nothing happens."""
        if Use.HELD in self._uses:
            self._advance(Use.HELD, Use.OVER)

    def _advance(self, old: Use, new: Use) -> None:
        self._uses[self._uses.index(old)] = new
        while self._uses and self._uses[0] is Use.OVER:
            self._uses.popleft()
