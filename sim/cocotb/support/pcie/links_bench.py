"""pcie_tx before two links that others have modelled: gen4 x8, with the wire's time."""

from typing import Any

from cocotb.clock import Clock

from framelane.models.pcie import page_map
from framelane.models.placement.flow import Destination, Flow
from framelane.models.placement.trailer import TRAILER_BYTES
from link import Link
from pcie_tx_bench import ENGINES, PcieTxBench
from tlp_ports import taken_tlps

PAGE = 1 << 16
SLOTS = 3
LINES, LINE_BYTES = 60, 1024
IMAGE = LINES * LINE_BYTES
CLOCK_NS = 4
"""At 512 bits."""


class LinksBench(PcieTxBench):
    """Frames of 60 KiB, one page each, alternately over two links."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.links = [Link(4, 8, 256) for _ in range(ENGINES)]
        self.answer(self._hold)

    def start_clock(self) -> None:
        period = CLOCK_NS * int(self.dut.DataW.value) // 512
        Clock(self.clk, period, "ns", impl="gpi").start(start_high=False)

    def _hold(self) -> None:
        """A link that is full takes nothing."""
        self.tlp_ready = [int(not link.is_full()) for link in self.links]
        self.dut.m_axis_tlp_tready.value = sum(ready << e for e, ready in enumerate(self.tlp_ready))

    def _deliver(self, engine: int) -> None:
        self.links[engine].send(taken_tlps(self._beats[engine], self.width))

    @staticmethod
    def flow() -> Flow:
        lines = {"width": LINE_BYTES // 2, "height": LINES, "source_pitch": LINE_BYTES, "destination_pitch": LINE_BYTES}
        return Flow(source=3, first_destination=0, destinations=ENGINES, **lines)  # type: ignore[arg-type]

    @staticmethod
    def destination(engine: int) -> Destination:
        return Destination(engine, 0, PAGE, SLOTS, PAGE - TRAILER_BYTES)

    async def start_links(self) -> None:
        """With each ring in its own host's memory, a page behind it for events."""
        for engine, link in enumerate(self.links):
            await link.complex.enumerate()
            self.maps[engine] = page_map.of_pages(16, link.memory.pages(SLOTS + 1, PAGE))
            link.memory.fill(SLOTS, bytes(PAGE))
        await self.start()

    async def start_engine(self, engine: int, **control: int) -> None:
        await super().start_engine(engine, **control)
        await self.put(f"pcie[{engine}].event_base", value=SLOTS * PAGE)

    def image_of(self) -> bytes:
        return self.random.randbytes(IMAGE)
