"""The other end of the link: cocotbext-pcie's root complex with host memory, and a device that sends what a port gives.

The model has the wire's time: 24 bytes of each TLP are not payload (4 doublewords of header, sequence number, LCRC and
framing), symbols take as long as the link's speed and width say.
"""

import logging
from collections import deque
from collections.abc import Iterable
from typing import Any

import cocotb
from cocotb.triggers import Event
from cocotb.utils import get_sim_time
from cocotbext.pcie.core import Device, RootComplex
from cocotbext.pcie.core.tlp import Tlp as Packet
from cocotbext.pcie.core.tlp import TlpType
from cocotbext.pcie.core.utils import PcieId

from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_split import MPS

RAW_GB_S = {(3, 8): 7.876923, (3, 16): 15.753846, (4, 8): 15.753846}
"""Bytes of a link in 1e9 a second, by generation and lanes: 8 or 16 GT/s, 128 of 130 bits."""
OVERHEAD = 24
"""Bytes of a TLP with a 64-bit address beside its payload."""
HIGH = 1 << 42
"""Host memory that needs 64-bit addresses begins here."""


class Memory:
    """Host memory in pieces, as a driver's pinned pages are."""

    def __init__(self, complex_: Any, size: int = 1 << 24) -> None:
        self._pool = complex_.mem_address_space.create_pool(HIGH, size)
        self._regions: list[Any] = []

    def pages(self, count: int, page_bytes: int) -> list[int]:
        """So many pages of memory, filled with 0xA5; their bus addresses."""
        found = []
        for _ in range(count):
            region = self._pool.alloc_region(page_bytes)
            region[0:page_bytes] = b"\xa5" * page_bytes
            self._regions.append(region)
            found.append(region.get_absolute_address(0))
        return found

    def page(self, index: int) -> bytes:
        """What is in a page."""
        region = self._regions[index]
        return bytes(region[0 : region.size])

    def fill(self, index: int, data: bytes) -> None:
        """Write a page, as software does."""
        self._regions[index][0 : len(data)] = data

    def contents(self) -> bytes:
        """All pages, in the order in which they were given."""
        return b"".join(self.page(index) for index in range(len(self._regions)))


class Host:
    """A root complex with memory; notes when memory writes arrive."""

    def __init__(self, mps: int = 256) -> None:
        logging.getLogger("cocotb.pcie").setLevel(logging.WARNING)
        self.complex = RootComplex()
        self.complex.log.setLevel(logging.WARNING)
        self.complex.max_payload_size = MPS.index(mps)
        self.memory = Memory(self.complex)
        self.arrived: list[tuple[int, int]] = []
        """Of each memory write: when it arrived in ps, and bytes of data until then."""
        self._bytes = 0
        for kind in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            self.complex.register_rx_tlp_handler(kind, self._note)

    async def _note(self, packet: Packet) -> None:
        await self.complex.handle_mem_write_tlp(packet)
        self._bytes += 4 * packet.length
        self.arrived.append((int(get_sim_time("ps")), self._bytes))

    def connect(self, device: Any) -> None:
        """Put a device behind a port of its own."""
        self.complex.make_port().connect(device)

    def gb_per_s(self, skip: int) -> float:
        """Payload in 1e9 bytes a second, without the first and last `skip` TLPs."""
        (begin, before), (end, after) = self.arrived[skip], self.arrived[-1 - skip]
        return (after - before) * 1000 / (end - begin)


class Link(Host):
    """A host and one device. TLPs that are given to it go over the wire, in order."""

    def __init__(self, generation: int = 3, lanes: int = 16, mps: int = 256) -> None:
        super().__init__(mps)
        self.device = Device()
        self.device.make_function()
        self.device.upstream_port.max_link_speed = generation
        self.device.upstream_port.max_link_width = lanes
        self.connect(self.device)
        self._waiting: deque[Packet] = deque()
        self._more = Event()
        cocotb.start_soon(self._run())

    def is_full(self) -> bool:
        """Whether the device can take no more for now."""
        return len(self._waiting) >= 4

    def send(self, tlps: Iterable[Sent]) -> None:
        """Put memory writes on the wire; one that is poisoned is nullified: it never arrives."""
        for each in tlps:
            if each.poisoned:
                continue
            packet = Packet()
            packet.fmt_type = TlpType.MEM_WRITE_64 if each.tlp.dw_address >> 32 else TlpType.MEM_WRITE
            packet.requester_id = PcieId(self.device.bus_num, 0, 0)
            packet.address, packet.length = each.tlp.dw_address, each.tlp.dwords
            packet.first_be, packet.last_be = each.tlp.first_be, each.tlp.last_be
            tail = -(each.tlp.lead + each.tlp.length) % 4
            packet.set_data(bytes(each.tlp.lead) + each.data + bytes(tail))
            assert packet.check(), f"the model of PCIe refuses {packet!r}"
            self._waiting.append(packet)
        self._more.set()

    async def _run(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                await self.device.send(self._waiting[0])
                self._waiting.popleft()
