"""The other end of the link: cocotbext-pcie's root complex with host memory, and a device that sends what a port gives.

The model has the wire's time: 24 bytes of each TLP are not payload (4 doublewords of header, sequence number, LCRC and
framing), symbols take as long as the link's speed and width say.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import cocotb
from cocotb.triggers import Event, Timer
from cocotb.utils import get_sim_time
from cocotbext.pcie.core import Device, MemoryEndpoint, RootComplex, Switch
from cocotbext.pcie.core.tlp import CplStatus, TlpType
from cocotbext.pcie.core.tlp import Tlp as Packet
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


class TranslatingRootComplex(RootComplex):  # type: ignore[misc]
    """A root complex with an IOMMU: devices see pages of 4 KiB where its table says; all else is a fault, and lost.

    Reads are answered after `delay` ns, and those for which `poisons` says so by a poisoned completion.
    """

    def __init__(self) -> None:
        super().__init__()
        self.table: dict[int, int] = {}
        """Pages of devices' addresses to pages of memory, both in units of 4 KiB."""
        self.faults: list[int] = []
        """Addresses that are not in the table."""
        self.delay: Callable[[], int] = lambda: 0
        self.poisons: Callable[[], bool] = lambda: False
        for kind in (TlpType.MEM_READ, TlpType.MEM_READ_64, TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            self.register_rx_tlp_handler(kind, self._translate)

    async def _translate(self, packet: Packet) -> None:
        number, within = divmod(packet.address, 4096)
        known = number in self.table
        if known:
            packet.address = self.table[number] * 4096 + within
        else:
            self.faults.append(packet.address)
        if packet.fmt_type not in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            cocotb.start_soon(self._answer(packet, known))
        elif known:
            await self.handle_mem_write_tlp(packet)

    async def _answer(self, packet: Packet, known: bool) -> None:
        if ns := self.delay():
            await Timer(ns, "ns")
        if known:
            await self.handle_mem_read_tlp(packet)
        else:
            await self.send(Packet.create_ur_completion_for_tlp(packet, PcieId(0, 0, 0)))

    async def send(self, packet: Packet) -> None:
        """As a root complex does; some completions are poisoned."""
        if packet.fmt_type in (TlpType.CPL, TlpType.CPL_DATA):
            packet.ep = self.poisons()
        await super().send(packet)


class Host:
    """A root complex with memory; notes when memory writes arrive. With an IOMMU where `iommu` says so."""

    def __init__(self, mps: int = 256, iommu: bool = False) -> None:
        logging.getLogger("cocotb.pcie").setLevel(logging.WARNING)
        self.complex = TranslatingRootComplex() if iommu else RootComplex()
        self.complex.log.setLevel(logging.WARNING)
        self.complex.max_payload_size = MPS.index(mps)
        self.memory = Memory(self.complex)
        self.arrived: list[tuple[int, int]] = []
        """Arrival of each memory write in ps, and the bytes of data until then."""
        self._bytes = 0
        for kind in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            self.complex.register_rx_tlp_handler(kind, self._noting(self.complex.rx_tlp_handler[kind]))

    def _noting(self, handler: Callable[[Packet], Any]) -> Callable[[Packet], Any]:
        async def note(packet: Packet) -> None:
            await handler(packet)
            self._bytes += 4 * packet.length
            self.arrived.append((int(get_sim_time("ps")), self._bytes))

        return note

    def connect(self, device: Any) -> None:
        """Put a device behind a port of its own."""
        self.complex.make_port().connect(device)

    def gb_per_s(self, skip: int) -> float:
        """Payload in 1e9 bytes a second, without the first and last `skip` TLPs."""
        (begin, before), (end, after) = self.arrived[skip], self.arrived[-1 - skip]
        return (after - before) * 1000 / (end - begin)


class Link(Host):
    """A host and one device. TLPs that are given to it go over the wire, in order.

    With a `peer`, a switch is between them, with a GPU behind another port of it; see `Peer`.
    """

    def __init__(
        self, generation: int = 3, lanes: int = 16, mps: int = 256, *, peer: bool = False, iommu: bool = False
    ) -> None:
        super().__init__(mps, iommu)
        self.device = Device()
        self.device.make_function()
        self.device.upstream_port.max_link_speed = generation
        self.device.upstream_port.max_link_width = lanes
        self.peer = Peer(self) if peer else None
        if self.peer is None:
            self.connect(self.device)
        self.device.upstream_port.rx_handler = self._receive
        self.completions: deque[tuple[int, bool]] = deque()
        """Completions that came: their tag, and whether they are an error, or poisoned."""
        self.mute = False
        """Whether completions are lost."""
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
            high = each.tlp.dw_address >> 32
            if each.fence is None:
                packet.fmt_type = TlpType.MEM_WRITE_64 if high else TlpType.MEM_WRITE
            else:
                packet.fmt_type = TlpType.MEM_READ_64 if high else TlpType.MEM_READ
                packet.tag = each.fence
            packet.requester_id = PcieId(self.device.bus_num, 0, 0)
            packet.address, packet.length = each.tlp.dw_address, each.tlp.dwords
            packet.first_be, packet.last_be = each.tlp.first_be, each.tlp.last_be
            tail = -(each.tlp.lead + each.tlp.length) % 4
            if each.fence is None:
                packet.set_data(bytes(each.tlp.lead) + each.data + bytes(tail))
            assert packet.check(), f"the model of PCIe refuses {packet!r}"
            self._waiting.append(packet)
        self._more.set()

    async def _receive(self, packet: Packet) -> None:
        if packet.fmt_type in (TlpType.CPL, TlpType.CPL_DATA):
            packet.release_fc()
            if not self.mute:
                self.completions.append((packet.tag, packet.status != CplStatus.SC or bool(packet.ep)))
        else:
            await self.device.upstream_recv(packet)

    async def _run(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                await self.device.send(self._waiting[0])
                self._waiting.popleft()


class Peer:
    """A GPU whose memory lies in a BAR, behind the same switch as the device; what goes to it may have to wait there.

    So data for the GPU and events for the host part at the switch.
    """

    BYTES = 1 << 20

    def __init__(self, link: Link) -> None:
        self._link = link
        self._switch = Switch()
        self._switch.log.setLevel(logging.WARNING)
        self._endpoint = MemoryEndpoint()
        self._endpoint.add_mem_region(self.BYTES)
        self._endpoint.log.setLevel(logging.WARNING)
        self._device = Device(self._endpoint)
        link.complex.make_port().connect(self._switch)
        self._switch.make_port().connect(link.device)
        self._switch.make_port().connect(self._device)

    async def enumerate(self) -> int:
        """Find all devices; the bus address of the GPU's memory."""
        await self._link.complex.enumerate()
        found = self._link.complex.find_device(self._endpoint.pcie_id)
        await found.enable_device()
        return int(found.bar_addr[0])

    def delay(self, ns: Callable[[], int]) -> None:
        """Keep each TLP to the GPU waiting for so long, in their order."""
        port = self._switch.switch_ports[-1]
        handler = port.tx_handler

        async def later(packet: Packet) -> None:
            await Timer(ns(), "ns")
            await handler(packet)

        port.tx_handler = later

    def contents(self, at: int, length: int) -> bytes:
        """What is in the GPU's memory."""
        return bytes(self._endpoint.regions[0][at : at + length])
