"""The event queue in host memory, read entry by entry as the device writes them (`models/pcie/event_queue.py`)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.base.errors import ConfigError, TransportError
from framelane.base.vector_loops import fence
from framelane.models.pcie.event_queue import ENTRY_LOG2, WORD
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement import trailer
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer

_WORD = WORD.start // 4
_WORDS = TRAILER_BYTES // 4
_STATUS = 4
"""Bit of the word at which the status begins."""


@dataclass(frozen=True, slots=True)
class Event:
    """A frame's trailer has been written, and how all of its frame's writes ended.

    Its `time_flags` are 0: only the trailer in the slot has them.
    """

    trailer: Trailer
    status: Status


@compiled
def _is_there(words: NDArray[np.uint32], at: int, phase: int) -> bool:
    """Whether the entry whose word is at `at` is of this round: what is read after it is the entry's own."""
    there = words[at] & np.uint32(1) == phase
    fence()
    return bool(there)


class EventRing:
    """The consumer of `memory` (uint8, zeros, 64 * 2^n bytes for n from 1 to 16): events in their order, each once.

    An entry of 64 bytes is one write of the device, at a multiple of 64: a processor sees a line of its cache change
    as a whole. ConfigError for memory of another size.
    """

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        entries = memory.nbytes // TRAILER_BYTES
        if entries * TRAILER_BYTES != memory.nbytes or entries not in {1 << log2 for log2 in ENTRY_LOG2}:
            raise ConfigError(
                f"an event queue of {memory.nbytes} bytes cannot be: give 64 times 2 to 65536, a power of 2"
            )
        self._memory, self._words = memory, memory.view("<u4")
        self._entries = entries
        self.consumed = 0
        """Events that were read since the beginning."""

    @property
    def entries(self) -> int:
        """How many events it holds."""
        return self._entries

    def take(self, most: int) -> list[Event]:
        """The events that are there, at most so many. TransportError where an entry is not a trailer."""
        found: list[Event] = []
        while len(found) < most:
            round_, place = divmod(self.consumed, self._entries)
            if not _is_there(self._words, place * _WORDS + _WORD, 1 - round_ % 2):
                break
            at = place * TRAILER_BYTES
            data = self._memory[at : at + TRAILER_BYTES].tobytes()
            read, word = trailer.unpack(data), int.from_bytes(data[WORD], "little")
            if read is None:
                raise TransportError(
                    f"entry {place} of the event queue holds no trailer: is something else writing to this memory, or "
                    "another device's queue in the same pages? Stop it, and start this receiver again"
                )
            found.append(Event(replace(read, time_flags=0), Status(word >> _STATUS & 0xF)))
            self.consumed += 1
        return found
