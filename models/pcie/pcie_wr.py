"""The write engine: descriptors and their payload become TLPs, and those the contents of memory."""

from collections.abc import Collection, Iterable, MutableMapping
from dataclasses import dataclass, replace

from framelane.models.pcie import tlp_join, tlp_split
from framelane.models.pcie.page_map import PageMap
from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_split import Status, Write


@dataclass(frozen=True, slots=True)
class Engine:
    """What software configures: the ring's pages, and the link's Max_Payload_Size in bytes.

    `beat` is the width of the bus in bytes: how much payload an error spoils.
    """

    pages: PageMap
    mps: int = 256
    beat: int = 64

    def write(self, write: Write, payload: bytes, wrong: Collection[int] = ()) -> tuple[Status, list[Sent]]:
        """The TLPs of one descriptor, in order, and how it ended; `payload` is empty for one of 0 bytes.

        `wrong` are indices of the payload's beats that came with errors.
        """
        refused = tlp_split.status(write, self.pages.ring_bytes)
        if refused is not Status.OK:
            return refused, []
        parts = []
        for tlp in tlp_split.split(write, self.mps):
            said, address = self.pages.translate(tlp.address)
            parts.append((replace(tlp, address=address), said))
        return tlp_join.join(parts, payload, self.beat, wrong)


def tlps(writes: Iterable[tuple[Write, bytes]], engine: Engine) -> list[Sent]:
    """The TLPs of descriptors with their payload, in order."""
    return [sent for write, payload in writes for sent in engine.write(write, payload)[1]]


def store(sent: Iterable[Sent], memory: MutableMapping[int, int]) -> None:
    """What the receiving side does: put the bytes of each TLP at their addresses, in `memory` by address."""
    for each in sent:
        if not each.poisoned:
            memory.update(zip(range(each.tlp.address, each.tlp.address + each.tlp.length), each.data, strict=True))
