"""pcie_tx before two links that others have modelled, gen4 x8 each: both at the rate of their wire, frames whole."""

from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock

from bench import run
from framelane.models.pcie import page_map
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.flow import Destination, Flow
from framelane.models.placement.trailer import TRAILER_BYTES
from link import OVERHEAD, RAW_GB_S, Link
from measured import note
from pcie_tx_bench import ENGINES, EVENT_LOG2, PcieTxBench
from tlp_ports import taken_tlps
from widths import some_widths

PAGE = 1 << 16
SLOTS = 3
LINES, LINE_BYTES = 60, 1024
IMAGE = LINES * LINE_BYTES
SHARE = 0.995
"""The share of the wires' ceiling that must be reached."""
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


@cocotb.test()
async def two_links_carry_what_two_wires_can(dut: Any) -> None:
    bench = LinksBench(dut)
    await bench.start_links()
    images = [bench.offer(number) for number in range(ENGINES * SLOTS)]
    for number in range(ENGINES * SLOTS):
        engine = number % ENGINES
        memory = bench.links[engine].memory
        for _ in range(100_000):
            if found := bench.consumers[engine].next(memory.page(SLOTS)[: 64 << EVENT_LOG2]):
                break
            await bench.step()
        else:
            raise AssertionError(f"frame {number}: no event")
        trailer, status = found
        assert (trailer.detector_frame, status) == (number, Status.OK)
        assert memory.page(number // ENGINES)[:IMAGE] == images[number]
    rates = [link.gb_per_s(skip=40) for link in bench.links]
    ceiling = RAW_GB_S[4, 8] * 256 / (256 + OVERHEAD)
    note("two", width=bench.width, mps=256, lanes=8, gb_s=sum(rates), wire=ENGINES * ceiling)
    dut._log.info("two gen4 x8, MPS 256: %.3f GB/s of the wires' %.3f", sum(rates), ENGINES * ceiling)
    assert SHARE * ENGINES * ceiling <= sum(rates) <= 1.001 * ENGINES * ceiling


@pytest.mark.parametrize("width", some_widths("pcie_tx", (128, 256, 512)))
def test_pcie_tx_links(width: int) -> None:
    run("pcie_tx_links", top="pcie_tx", DataW=width, Entries=16)
