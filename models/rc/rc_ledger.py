"""Which frames somebody still needs: the successor of `frame_ledger` where messages may be sent more than once.

A frame's memory is held by every descriptor that is not retired, and by every transmission that has not ended.
"""

from collections import Counter, deque

from framelane.models.rc.rc_ring import Retired


class RcLedger:
    """`rc_ledger.sv`, event by event. Frames have a tag, modulo `tags`, and are released in order.

    `sent` and `failed` count frames by destination, `released` all frames.
    """

    def __init__(self, tags: int) -> None:
        self.tags = tags
        self.sent: Counter[int] = Counter()
        self.failed: Counter[int] = Counter()
        self.released = 0
        self.begun = 0
        """Frames of which the end has come: their number is the tag of the next."""
        self._held: Counter[int] = Counter()
        self._bad = False
        self._leaving: deque[tuple[int, bool, bool, int]] = deque()

    @property
    def tag(self) -> int:
        """The tag of the frame whose descriptors come now."""
        return self.begun % self.tags

    @property
    def full(self) -> bool:
        """No tag is free: the end of a frame has to wait."""
        return self.begun - self.released >= self.tags - 1

    def accepted(self) -> None:
        """A descriptor of this frame: retired in the end, or, if not of RC, gone with its only transmission."""
        self._held[self.tag] += 1

    def issued(self, tag: int) -> None:
        """A transmission of an RC descriptor begins."""
        self._held[tag] += 1

    def over(self) -> None:
        """All descriptors of the frame have been accepted."""
        assert not self.full
        self.begun += 1
        self._release()

    def item(self, tag: int, rc: bool, last: bool, destination: int) -> None:
        """A message is handed to the packetizer."""
        self._leaving.append((tag, rc, last, destination))

    def ended(self, failed: bool) -> None:
        """The oldest message in the packetizer ends. Of RC, that says nothing of the frame."""
        tag, rc, last, destination = self._leaving.popleft()
        self._held[tag] -= 1
        if not rc:
            self._bad |= failed
            if last:
                (self.failed if self._bad else self.sent)[destination] += 1
                self._bad = False
        self._release()

    def retired(self, end: Retired) -> None:
        """An RC descriptor ends. What follows a failed one in its frame has failed, too."""
        self._held[end.tag] -= 1
        if end.last:
            (self.failed if end.failed else self.sent)[end.destination_index] += 1
        self._release()

    def _release(self) -> None:
        while self.released < self.begun and not self._held[self.released % self.tags]:
            self.released += 1
