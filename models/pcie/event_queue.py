"""The queue in which software finds frames that have been written: a ring of 64-byte entries in the same pages.

An entry is the frame's trailer, but in the place of its `time_flags` there are the phase (bit 0) and how the frame's
writes ended (bits 4 to 7, `tlp_split.Status`: the first that is not OK). The phase is 1 in the first round of the ring
and changes with each: software that has zeroed the ring waits for the phase of its own round to come up in the next
entry.
"""

from dataclasses import dataclass, replace

from framelane.base.errors import InputError
from framelane.models.pcie.tlp_split import Status, Write
from framelane.models.placement import trailer
from framelane.models.placement.trailer import TRAILER_BYTES

WORD = slice(12, 16)
"""The trailer's `time_flags`, which are in the slot's trailer alone."""
ENTRY_LOG2 = range(1, 17)
"""Queues of 2 to 65,536 entries."""


def entry(trailer_bytes: bytes, number: int, entries: int, status: Status) -> bytes:
    """The 64 bytes of event `number`, counted from 0, in a queue of `entries`."""
    phase = 1 - number // entries % 2
    word = (phase | status << 4).to_bytes(4, "little")
    return trailer_bytes[: WORD.start] + word + trailer_bytes[WORD.stop :]


@dataclass
class EventQueue:
    """The producer: 2^`log2` entries of 64 bytes from the ring's byte `base` on, a multiple of the queue's bytes."""

    base: int
    log2: int
    produced: int = 0
    lost: int = 0

    def event(self, trailer_bytes: bytes, status: Status, consumed: int) -> tuple[Write, bytes] | None:
        """The write of a frame's event; None where there is no room, with `consumed` entries read by software: lost."""
        if self.produced - consumed >= 1 << self.log2:
            self.lost += 1
            return None
        number, self.produced = self.produced, self.produced + 1
        write = Write(self.base + number % (1 << self.log2) * TRAILER_BYTES, TRAILER_BYTES)
        return write, entry(trailer_bytes, number, 1 << self.log2, status)


class Consumer:
    """Software's side, on a memory that others write: entry by entry, in order."""

    def __init__(self, log2: int) -> None:
        if log2 not in ENTRY_LOG2:
            raise InputError(f"an event queue of 2^{log2} entries: give 1 to 16")
        self._entries = 1 << log2
        self.consumed = 0

    def next(self, queue: bytes) -> tuple[trailer.Trailer, Status] | None:
        """The next event in `queue`, all its bytes; None while it has not come."""
        at = self.consumed % self._entries * TRAILER_BYTES
        data = queue[at : at + TRAILER_BYTES]
        word = int.from_bytes(data[WORD], "little")
        found = trailer.unpack(data)
        if found is None or word & 1 != 1 - self.consumed // self._entries % 2:
            return None
        self.consumed += 1
        return replace(found, time_flags=0), Status(word >> 4 & 0xF)
