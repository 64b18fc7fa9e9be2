"""The write engine with its TLPs on a link to a root complex."""

from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import Timer

from bench import Sink, Stalls
from framelane.models.pcie import page_map
from link import Link
from tlp_ports import taken_tlps
from write_bench import WriteBench

CLOCK_NS = 4
"""At 512 bits; narrower buses have the same bytes a second, as far as the simulator's clock goes."""


class LinkBench(WriteBench):
    """The engine, its TLPs on a link to a root complex."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, mps: int = 256, lanes: int = 16, **link: bool) -> None:
        super().__init__(dut, stalls, mps)
        self.link = Link(3, lanes, mps, **link)
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

    async def start(self, page_log2: int = 12, pages: int = 32) -> None:
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
