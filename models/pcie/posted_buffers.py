"""Buffers that a host posts for packets of a source that knows no ring: a receive queue of equal slots."""

from dataclasses import dataclass, field

from framelane.models.pcie.tlp_split import Write
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer


@dataclass
class PostedBuffers:
    """2^`count_log2` buffers of 2^`size_log2` bytes from the ring's byte `base` on, used in turn as they are posted.

    Counts are modulo 2^32, as the registers have them. A trailer's `frames_dropped` counts all packets that were
    dropped before it, by `lost` and `wrong` too: those had no room, or were called wrong by their source.
    """

    base: int
    size_log2: int
    count_log2: int
    source: int = 0
    used: int = 0
    unposted: int = 0
    too_long: int = 0
    lost: int = 0
    wrong: int = 0
    written: list[tuple[Write, bytes]] = field(default_factory=list)
    """Descriptors and their payload: a packet's, then its trailer's."""

    @property
    def room(self) -> int:
        """Bytes that a packet may have."""
        return (1 << self.size_log2) - TRAILER_BYTES

    @property
    def dropped(self) -> int:
        """Packets that have no buffer, for whatever reason."""
        return self.unposted + self.too_long + self.lost + self.wrong

    def packet(self, data: bytes, timestamp_ns: int, posted: int) -> bool:
        """A packet comes, with `posted` buffers posted in all; whether it has got one."""
        if posted == self.used:
            self.unposted += 1
            return False
        if len(data) > self.room:
            self.too_long += 1
            return False
        index = self.used % (1 << self.count_log2)
        at = self.base + (index << self.size_log2)
        said = Trailer(self.source, index, self.used, timestamp_ns, 0, len(data), 1, self.dropped, self.used)
        self.written += [(Write(at, len(data)), data), (Write(at + self.room, TRAILER_BYTES), said.pack())]
        self.used = self.used + 1 & 0xFFFF_FFFF
        return True
