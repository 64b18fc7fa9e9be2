"""pcie_wr before a PCIe link that others have modelled: host memory holds what was sent, at the rate of the wire."""

from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import Timer

from bench import Sink, Stalls, run
from framelane.models.pcie import page_map
from framelane.models.pcie.tlp_split import MPS
from link import OVERHEAD, RAW_GB_S, Link
from tlp_ports import taken_tlps
from widths import some_widths
from write_bench import WriteBench

ENTRIES = 32
SHARE = 0.995
"""Of the wire's ceiling, that must be reached."""
CLOCK_NS = 4
"""At 512 bits; narrower buses have the same bytes a second, as far as the simulator's clock goes."""


class LinkBench(WriteBench):
    """The engine, its TLPs on a link to a root complex."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, mps: int = 256, lanes: int = 16) -> None:
        super().__init__(dut, stalls, mps)
        self.link = Link(3, lanes, mps)
        self.out = Sink(dut, "m_axis_tlp", self.link.is_full)
        self._sinks.append(self.out)
        self.watch(self._pass_on)

    def start_clock(self) -> None:
        """250 MHz at 512 bits."""
        period = CLOCK_NS * int(self.dut.DataW.value) // 512
        Clock(self.clk, period, "ns", impl="gpi").start(start_high=False)

    def _pass_on(self) -> None:
        if self.out.items and self.out.items[-1]["tlast"]:
            self.link.send(taken_tlps(self.out.items, self.width))
            self.out.items.clear()

    async def start(self, page_log2: int = 12, pages: int = ENTRIES) -> None:
        await self.link.complex.enumerate()
        await self.reset()
        await self.load(page_map.of_pages(page_log2, self.link.memory.pages(pages, 1 << page_log2)))

    async def finish(self) -> None:
        """Until all has arrived."""
        whole = sum(not each.poisoned for each in self.expected)
        await self.until(lambda: len(self.statuses) == len(self.expected_statuses))
        await self.until(lambda: len(self.link.arrived) == whole)
        await Timer(1, "us")
        assert len(self.link.arrived) == whole
        assert self.statuses == self.expected_statuses


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.SOURCE], mps=MPS)
async def host_memory_holds_what_was_sent_and_nothing_else_has_changed(dut: Any, stalls: Stalls, mps: int) -> None:
    bench = LinkBench(dut, stalls, mps)
    await bench.start(13, pages=8)
    ring = bytearray(b"\xa5" * bench.engine.pages.ring_bytes)
    assert bench.link.memory.contents() == ring
    for _ in range(60):
        length = bench.random.choice([bench.random.randrange(1, 20), bench.random.randrange(1, 4500)])
        offset = bench.random.randrange(len(ring) - length)
        payload = bench.random.randbytes(length)
        bench.write(offset, payload)
        ring[offset : offset + length] = payload
    await bench.finish()
    assert bench.link.memory.contents() == ring


@cocotb.test()
async def what_could_not_be_written_is_exactly_what_stays_as_it_was(dut: Any) -> None:
    """A page that is missing, and a beat that memory gave with an error."""
    bench = LinkBench(dut, mps=128)
    await bench.start(12, pages=8)
    entries = list(bench.engine.pages.entries)
    entries[2] = page_map.entry(None)
    await bench.load(page_map.PageMap(12, entries))
    ring = bytearray(b"\xa5" * bench.engine.pages.ring_bytes)
    payload = bench.random.randbytes(3 * 4096)
    bench.write(4096 + 10, payload)
    ring[4106 : 4106 + len(payload)] = payload
    ring[2 << 12 : 3 << 12] = b"\xa5" * 4096
    bench.write(5 << 12, payload[:4096], wrong=(0,))
    ring[(5 << 12) + 128 : 6 << 12] = payload[128:4096]
    await bench.finish()
    assert bench.link.memory.contents() == ring


@cocotb.test()
@cocotb.parametrize((("mps", "lanes"), [(128, 16), (256, 16), (512, 16), (256, 8)]))
async def the_rate_is_the_wires(dut: Any, mps: int, lanes: int) -> None:
    bench = LinkBench(dut, mps=mps, lanes=lanes)
    await bench.start(16, pages=4)
    size = bench.engine.pages.ring_bytes // 2
    for offset in range(0, size, size // 16):
        bench.write(offset, bench.random.randbytes(size // 16))
    await bench.finish()
    rate = bench.link.gb_per_s(skip=40)
    ceiling = RAW_GB_S[3, lanes] * mps / (mps + OVERHEAD)
    dut._log.info("gen3 x%d, MPS %d: %.3f GB/s, %.4f of the wire's %.3f", lanes, mps, rate, rate / ceiling, ceiling)
    assert SHARE <= rate / ceiling <= 1.001


@pytest.mark.parametrize("width", some_widths("pcie_wr_link", (128, 256, 512)))
def test_pcie_wr_link(width: int) -> None:
    run("pcie_wr_link", top="pcie_wr", DataW=width, Entries=ENTRIES)
