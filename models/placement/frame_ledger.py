"""The end of every message: which frames were sent whole, and when nobody needs a frame's memory any more."""

from collections import Counter, deque


class FrameLedger:
    """`frame_ledger.sv`, event by event. `sent` and `failed` count frames by destination, `released` all frames."""

    def __init__(self) -> None:
        self.sent: Counter[int] = Counter()
        self.failed: Counter[int] = Counter()
        self.released = 0
        self._open: deque[tuple[bool, int]] = deque()
        self._overs: deque[int] = deque()
        self._begun = self._ended = 0
        self._bad = False

    def descriptor(self, last: bool, destination: int) -> None:
        """A message begins; the `last` of a frame for one destination is its trailer's."""
        self._open.append((last, destination))
        self._begun += 1

    def over(self) -> None:
        """All messages of a frame have begun."""
        self._overs.append(self._begun)
        self._release()

    def ended(self, failed: bool) -> None:
        """The oldest message ends."""
        last, destination = self._open.popleft()
        self._ended += 1
        self._bad |= failed
        if last:
            (self.failed if self._bad else self.sent)[destination] += 1
            self._bad = False
        self._release()

    def _release(self) -> None:
        while self._overs and self._overs[0] <= self._ended:
            self._overs.popleft()
            self.released += 1
