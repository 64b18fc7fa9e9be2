"""The messages of RC QPs from their descriptors' acceptance to their end: one ring a QP, sent again from any place."""

from dataclasses import dataclass

from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.trailer import Trailer
from framelane.models.rc.rc_protocol import PACKETS_MAX, PSNS, Decision, RcAnswer, distance

FRAMES_MAX = 3
"""Frames of a QP that may have been let in before the last descriptor of the first has come."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A descriptor in its ring, how many `packets` it makes, and the `tag` of its frame."""

    bd: Descriptor
    trailer: Trailer | None
    packets: int
    tag: int


@dataclass(frozen=True, slots=True)
class Issue:
    """A message for the transmitter: `entry` without its first `skip` packets, `psn` being that of the first sent."""

    entry: Entry
    psn: int
    skip: int


@dataclass(frozen=True, slots=True)
class Retired:
    """The end of a descriptor: acknowledged, or `failed`."""

    tag: int
    last: bool
    destination_index: int
    failed: bool


def packets(length: int, mtu: int) -> int:
    """Packets of a message of `length` bytes, at most PACKETS_MAX, which stands for all that no window takes."""
    return min(-(-length // mtu), PACKETS_MAX)


class RcRing:
    """`rc_ring.sv` for one QP. Entries from `head` to `next` are sent, those up to `tail` are not."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.entries: dict[int, Entry] = {}
        self.head = self.next = self.tail = 0
        self.head_psn = self.next_psn = 0
        """PSN of the first packet of the entries at `head` and at `next`."""
        self.whole_frames = True
        """The last descriptor accepted was the last of its frame."""
        self._frames = 0  # admitted, of which the last descriptor has not come
        self._begun = 0  # descriptors of the oldest of them that have come
        self._most = 0  # descriptors of the largest of them

    @property
    def free(self) -> int:
        """Places for more."""
        return self.depth - (self.tail - self.head)

    def has_room(self, descriptors: int) -> bool:
        """Whether one more frame of so many descriptors finds room, beside all that are admitted already.

        A frame of more than the ring holds is admitted to an empty ring, and waits in front of it.
        """
        expected = self._frames * self._most - min(self._begun, self._most) if self._frames else 0
        return self._frames < FRAMES_MAX and min(descriptors, self.depth) + expected <= self.free

    def admit(self, descriptors: int) -> None:
        """A frame of so many has been let in: its descriptors will come. All count as the largest of them."""
        self._most = max(self._most if self._frames else 0, min(descriptors, self.depth))
        self._frames = min(self._frames + 1, FRAMES_MAX)

    @property
    def expects(self) -> bool:
        """Whether a frame was let in, or has begun, of which not all has come."""
        return self._frames > 0 or not self.whole_frames

    def enqueue(self, entry: Entry) -> None:
        """Accept a descriptor; there must be a free place."""
        assert self.free
        self.entries[self.tail] = entry
        self.tail += 1
        self.whole_frames = entry.bd.last
        self._begun = 0 if entry.bd.last else self._begun + 1
        if entry.bd.last:
            self._frames = max(self._frames - 1, 0)

    @property
    def waiting(self) -> Entry | None:
        """The next to be sent."""
        return self.entries.get(self.next)

    def answered(self, decision: Decision) -> Issue | None:
        """Go on with the next entry as it was decided; what is to be sent."""
        entry = self.entries[self.next]
        if decision.answer is RcAnswer.WAIT:
            return None
        self.next += 1
        self.next_psn = (self.next_psn + entry.packets) % PSNS
        return Issue(entry, decision.psn, decision.skip) if decision.answer is RcAnswer.SEND else None

    def back(self) -> None:
        """Go on with the oldest entry."""
        self.next, self.next_psn = self.head, self.head_psn

    def retire(self, una: int, failing: bool) -> Retired | None:
        """End the oldest entry, if it was passed and is acknowledged, or if all are `failing`."""
        if self.head == self.next:
            return None
        entry = self.entries[self.head]
        acked = 0 < entry.packets <= distance(una, self.head_psn)
        if not acked and not failing:
            return None
        del self.entries[self.head]
        self.head += 1
        self.head_psn = (self.head_psn + entry.packets) % PSNS if acked else una
        return Retired(entry.tag, entry.bd.last, entry.bd.destination_index, not acked)

    def arm(self, psn: int) -> None:
        """Start anew; the ring must be empty."""
        assert self.head == self.tail
        self.head_psn = self.next_psn = psn
