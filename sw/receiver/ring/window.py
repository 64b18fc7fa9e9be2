"""The credit: which frames a source may write, and which of them are in use here."""

from collections.abc import Iterable

from framelane.base.errors import ConfigError
from framelane.models.placement.slots import FREE_RUNNING


class Window:
    """The frames of a ring of `n_slots` slots, counted from the first that `end`, the published credit, allows.

    `next` is the oldest frame that is not closed, `newest` the highest number that a trailer has named.
    """

    def __init__(self, n_slots: int, end: int) -> None:
        self.free_running = end == FREE_RUNNING
        if self.free_running and n_slots < 2:
            raise ConfigError("a free-running ring of 1 slot is overwritten while it is read: give at least 2 slots")
        if end < n_slots:
            raise ConfigError(f"window_end {end} is below the ring's {n_slots} slots: give {n_slots} or more")
        self.n_slots = n_slots
        self.next = 0 if self.free_running else end - n_slots
        self.newest = self.next - 1
        self._held: set[int] = set()

    @property
    def end(self) -> int:
        """A source may send frame n only if n < `end`: the oldest in use here, and the ring's slots from there."""
        return FREE_RUNNING if self.free_running else min(self._held, default=self.next) + self.n_slots

    @property
    def used(self) -> int:
        """Slots of frames that are read here, or that a trailer has named and are not closed. By any thread."""
        return min(self.n_slots, len(self._held) + max(0, self.newest + 1 - self.next))

    def live(self, stop: int) -> range:
        """The open frames below `stop` of which a slot may still hold something, and of no other frame below `stop`."""
        if not self.free_running:
            return range(self.next, min(stop, self.end))
        first = max(self.next, self.newest + 1 - self.n_slots, stop - self.n_slots)
        return range(first, min(stop, self.newest + 1 + self.n_slots))

    def close(self, stop: int, held: Iterable[int]) -> None:
        """Await no more for the frames below `stop`, which only grows; those `held` stay in use until released."""
        self._held.update(held)
        self.next = stop

    def release(self, frame: int) -> None:
        """Nobody reads `frame` any more: its slot may be written again. ValueError if it is not in use."""
        if frame not in self._held:
            raise ValueError(f"frame {frame} is not in use: it was released before, or never handed out")
        self._held.remove(frame)
