"""A host at the ports of TLPs, without the time of a wire: memory by pages, completions of reads, ports that stop."""

from collections import deque
from collections.abc import Callable, Iterable

from framelane.models.pcie.tlp_join import Sent

PAGE = 4096


class Host:
    """What the TLPs of one engine reach. A page that nobody has given is a fault, and what goes there is lost."""

    def __init__(self, page_bytes: int, pages: Iterable[int]) -> None:
        self.page_bytes = page_bytes
        self.pages = {address: bytearray(b"\xa5" * page_bytes) for address in pages}
        self.faults: list[int] = []
        """Where TLPs went that reached nothing."""
        self.arrived: list[Sent] = []
        self.interrupts: list[int] = []
        """Messages that came, each as many events as had been written before it."""
        self.on_message: Callable[[Sent], bool] = lambda sent: False
        """Whether a TLP is an interrupt."""
        self.answers: deque[tuple[int, int, bool]] = deque()
        """Completions to come: in which cycle, of which tag, whether they are errors."""
        self.delay: Callable[[], int] = lambda: 20
        """Cycles from a read to its completion; 0: it is lost."""

    def take(self, sent: Sent, cycle: int) -> None:
        """One TLP arrives."""
        self.arrived.append(sent)
        base = sent.tlp.address // self.page_bytes * self.page_bytes
        if sent.fence is not None:
            if delay := self.delay():
                self.answers.append((cycle + delay, sent.fence, base not in self.pages))
            return
        if sent.poisoned or self.on_message(sent):
            return
        if base not in self.pages:
            self.faults.append(sent.tlp.address)
            return
        at = sent.tlp.address - base
        self.pages[base][at : at + len(sent.data)] = sent.data

    def ring(self, addresses: Iterable[int | None]) -> bytes:
        """The ring as software sees it: its pages in their order, a hole as what was there before."""
        return b"".join(
            bytes(self.pages.get(each, b"\xa5" * self.page_bytes)) if each else b"\xa5" * self.page_bytes
            for each in addresses
        )
