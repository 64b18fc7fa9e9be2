"""Where a ring's pages lie on the bus: a table with an entry for each, not a cache."""

from collections.abc import Sequence
from dataclasses import dataclass

from framelane.base.errors import InputError
from framelane.models.pcie.tlp_split import Status

PAGE_LOG2 = range(12, 22)
"""Pages of 4 KiB to 2 MiB."""
NUMBER_W = 43
"""Bits of a page's number on the bus, in units of 4 KiB: addresses below 2^55."""
PRESENT = 1 << NUMBER_W
ENTRY_W = NUMBER_W + 2


def entry(address: int | None) -> int:
    """The table's word for a page at bus address `address`, or for none: number, present, even parity from bit 0 up.

    Raise InputError for an address that is not a multiple of 4 KiB, or beyond 2^55.
    """
    if address is None:
        return 0
    number, rest = divmod(address, 4096)
    if rest or not 0 <= number < PRESENT:
        raise InputError(f"page at {address:#x}: its address must be a multiple of 4096, below {PRESENT << 12:#x}")
    word = PRESENT | number
    return word | (word.bit_count() & 1) << ENTRY_W - 1


@dataclass(frozen=True, slots=True)
class PageMap:
    """The pages of a ring: `entries` as `entry` makes them, one for each page of 2^`page_log2` bytes.

    A page must begin at a multiple of its size: low bits of its number that are within the page do not count.
    """

    page_log2: int
    entries: Sequence[int]

    @property
    def ring_bytes(self) -> int:
        """Bytes of the ring."""
        return len(self.entries) << self.page_log2

    def translate(self, offset: int) -> tuple[Status, int]:
        """The bus address of the ring's byte `offset`; 0 with the reason where there is none."""
        index, within = divmod(offset, 1 << self.page_log2)
        if index >= len(self.entries):
            return Status.OUTSIDE, 0
        word = self.entries[index]
        if word.bit_count() & 1:
            return Status.BAD_PARITY, 0
        if not word & PRESENT:
            return Status.NO_PAGE, 0
        number = word & PRESENT - 1
        return Status.OK, (number << 12 >> self.page_log2 << self.page_log2) + within


def of_pages(page_log2: int, addresses: Sequence[int | None]) -> PageMap:
    """The map of pages at these bus addresses; raise InputError for one that cannot be such a page."""
    if page_log2 not in PAGE_LOG2:
        raise InputError(f"pages of 2^{page_log2} bytes: give 12 (4 KiB) to 21 (2 MiB)")
    for index, address in enumerate(addresses):
        if address is not None and address % (1 << page_log2):
            raise InputError(f"page {index} at {address:#x}: not a multiple of its size, {1 << page_log2}")
    return PageMap(page_log2, [entry(address) for address in addresses])
