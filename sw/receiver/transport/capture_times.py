"""When the packets of a capture came, where that can be known."""

from dataclasses import dataclass
from typing import Self

from framelane.base.real_time import is_real
from framelane.models.roce_tx.packet_batch import Batch
from framelane.packets.pcap_times import time_ns


@dataclass(frozen=True, slots=True)
class CaptureTimes:
    """The first and the last time of a capture, ns since 1970."""

    packets: Batch
    """All of the capture."""
    first_ns: int
    last_ns: int

    @classmethod
    def of(cls, packets: Batch) -> Self | None:
        """Those of a capture that was loaded whole; None where it is empty, or they cannot be: some writers leave 0."""
        if not packets:
            return None
        first, last = time_ns(packets, 0), time_ns(packets, len(packets) - 1)
        return cls(packets, first, last) if is_real(first) and is_real(last) else None

    def time_ns(self, index: int) -> int:
        """When a packet came, by its number from 0."""
        return time_ns(self.packets, index)
