"""Which pages a ring and its event queue take: first the ring's, then those of the queue, in one table."""

from dataclasses import dataclass

from framelane.base.errors import ConfigError
from framelane.models.pcie.event_queue import ENTRY_LOG2
from framelane.models.pcie.page_map import PAGE_LOG2
from framelane.models.placement.slots import SlotLayout
from framelane.models.placement.trailer import TRAILER_BYTES


@dataclass(frozen=True, slots=True)
class PagePlan:
    """A ring of `ring_bytes` in pages of 2^`page_log2` bytes, behind it a queue of 2^`event_log2` events.

    ConfigError for sizes that no engine takes.
    """

    ring_bytes: int
    event_log2: int
    page_log2: int = 21

    def __post_init__(self) -> None:
        if self.page_log2 not in PAGE_LOG2:
            raise ConfigError(f"pages of 2^{self.page_log2} bytes cannot be: give 12 (4 KiB) to 21 (2 MiB)")
        if self.event_log2 not in ENTRY_LOG2:
            raise ConfigError(f"an event queue of 2^{self.event_log2} entries cannot be: give 1 to 16")
        if self.ring_bytes < 1:
            raise ConfigError(f"a ring of {self.ring_bytes} bytes cannot be: give at least one slot")

    @classmethod
    def of(cls, layout: SlotLayout, page_log2: int = 21) -> "PagePlan":
        """The plan of a session's ring, with a queue that has room for an event of every source in each slot."""
        wanted = layout.n_slots * layout.sources
        event_log2 = max(1, (wanted - 1).bit_length())
        if event_log2 not in ENTRY_LOG2:
            raise ConfigError(
                f"{layout.n_slots} slots of {layout.sources} sources are {wanted} events, a queue has at most "
                f"{1 << ENTRY_LOG2[-1]}: give fewer slots"
            )
        return cls(layout.ring_bytes, event_log2, page_log2)

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
        return 1 << self.page_log2

    @property
    def ring_pages(self) -> int:
        """Pages of the ring; the last one may have bytes behind it."""
        return -(-self.ring_bytes // self.page_bytes)

    @property
    def queue_bytes(self) -> int:
        """Bytes of the event queue."""
        return TRAILER_BYTES << self.event_log2

    @property
    def event_offset(self) -> int:
        """Offset of the queue in the pages: a multiple of its own length, as the engine wants it."""
        step = max(self.page_bytes, self.queue_bytes)
        return -(-self.ring_bytes // step) * step

    @property
    def pages(self) -> int:
        """Pages of the table."""
        return -(-(self.event_offset + self.queue_bytes) // self.page_bytes)

    @property
    def total_bytes(self) -> int:
        """Bytes of one piece of memory that has all of them."""
        return self.pages * self.page_bytes
