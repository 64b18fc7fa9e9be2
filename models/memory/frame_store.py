"""The frame store: a detector's frames wait in a ring of slots in memory until the link has read them.

A detector cannot wait, so a frame that finds no slot free is lost, whole. Frames of a kind are numbered as they begin,
lost ones included. The ring itself is `slot_ring.SlotRing`.
"""

from dataclasses import dataclass, field

from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slot_ring import SlotRing

KINDS = 8


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """What the detector says of a frame as it begins. `kind` is 0..7; `time_flags` are those of the trailer."""

    number: int
    timestamp_ns: int
    bunch_id: int
    kind: int = 0
    time_flags: int = 0

    def event(self, address: int, kind_index: int) -> FrameEvent:
        """That frame, complete in memory at `address`, with `kind_index` of its kind before it."""
        about = self.number, self.timestamp_ns, self.bunch_id
        return FrameEvent(*about, address, self.kind, kind_index, self.time_flags)


@dataclass(slots=True)
class FrameStore:
    """Frames in order; the counters tell what became of those that never were events."""

    ring: SlotRing
    image_bytes: int | None = None
    """What a frame has to have where frames are corrected, in bytes; None: they are not, a slot is the limit."""
    lost: int = 0
    """No slot was free."""
    bad: int = 0
    """Frames of the wrong length, or refused by the memory."""
    mismatches: int = 0
    """Those among them whose length was not `image_bytes`."""
    ignored: int = 0
    """Begun while not armed."""
    _begun: list[int] = field(default_factory=lambda: [0] * KINDS)

    def begin(self, info: FrameInfo, armed: bool = True, known: bool = True) -> FrameEvent | None:
        """A frame begins: the event that it becomes if all goes well, or None where it is swallowed.

        Where the last release is not yet `known`, the frame is lost too.
        """
        if not armed:
            self.ignored += 1
            return None
        kind_index = self._begun[info.kind]
        self._begun[info.kind] += 1
        if not known or not self.ring.free:
            self.lost += 1
            return None
        return info.event(self.ring.take(), kind_index)

    def finish(self, length: int, refused: bool) -> bool:
        """The oldest frame under way, of `length` bytes, is in memory, or `refused` there: whether it is an event."""
        mismatch = self.image_bytes is not None and length != self.image_bytes
        bad = refused or mismatch or length > self.ring.slot_bytes
        self.mismatches += mismatch
        self.bad += bad
        self.ring.finish(bad)
        return not bad
