"""Writes cut into memory write requests (PCI Express Base Specification 5.0, 2.2.2, 2.2.5 and 2.2.7)."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

MPS = (128, 256, 512)
"""Values of Max_Payload_Size in bytes, by the field's own code 0 to 2 (7.5.3.4)."""
BOUNDARY = 4096
"""No request crosses a boundary of 4 KiB (2.2.7)."""


class Status(IntEnum):
    """How a write ended; reported once for every descriptor, in their order. The first that applies, in this order."""

    OK = 0
    BAD_LENGTH = 1
    """0 bytes: nothing is sent, and no payload is taken."""
    OUTSIDE = 2
    """Bytes behind the ring's end: nothing is sent, the payload is dropped."""
    NO_PAGE = 3
    """A page is not in the table: what lies in it is not sent, the rest is."""
    BAD_PARITY = 4
    """The entry of a page has a bit changed: what lies in it is not sent, the rest is."""
    SHORT = 5
    """The payload ended before the write did: the TLP in which that was seen is poisoned, those behind are not sent."""
    LONG = 6
    """The payload went on behind the write's end: that is dropped."""
    BAD_PAYLOAD = 7
    """Payload came with errors: TLPs with bytes of it are poisoned."""
    UNANSWERED = 8
    """In a frame's event: its fence was not completed in time, so whether everything arrived is unknown."""
    LINK_DOWN = 9
    """The engine has given up its link: nothing is sent any more, until it is restarted."""
    FENCE_REFUSED = 10
    """In a frame's event: its fence was completed with an error, so what was written to that page is lost too."""


@dataclass(frozen=True, slots=True)
class Write:
    """One descriptor: `length` bytes to the ring's byte `offset`."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Tlp:
    """One memory write request: `length` bytes from `address` on, in bytes. Without any: a read of none (2.2.5)."""

    address: int
    length: int

    @property
    def lead(self) -> int:
        """Bytes of the first doubleword before the first byte."""
        return self.address % 4

    @property
    def dw_address(self) -> int:
        """Address of the first doubleword, in bytes."""
        return self.address - self.lead

    @property
    def dwords(self) -> int:
        """The header's Length field, in doublewords."""
        return max(1, -(-(self.lead + self.length) // 4))

    @property
    def first_be(self) -> int:
        """Byte enables of the first doubleword, bit 0 its lowest address (2.2.5)."""
        return ((1 << min(4, self.lead + self.length)) - 1) >> self.lead << self.lead

    @property
    def last_be(self) -> int:
        """Byte enables of the last doubleword; 0 where there is only one (2.2.5)."""
        return 0 if self.dwords == 1 else (1 << (self.lead + self.length - 1) % 4 + 1) - 1


def status(write: Write, ring_bytes: int) -> Status:
    """Whether `write` can be served; what cannot is refused whole."""
    if write.length == 0:
        return Status.BAD_LENGTH
    return Status.OUTSIDE if write.offset + write.length > ring_bytes else Status.OK


def split(write: Write, mps: int) -> Iterator[Tlp]:
    """Yield the TLPs of `write`, with addresses in the ring.

    They are cut at multiples of `mps`, so also at each of 4 KiB: of a long write that begins anywhere, one more TLP in
    all than there must be, and every other one is full.
    """
    address, end = write.offset, write.offset + write.length
    while address < end:
        stop = min(end, address - address % mps + mps)
        yield Tlp(address, stop - address)
        address = stop
