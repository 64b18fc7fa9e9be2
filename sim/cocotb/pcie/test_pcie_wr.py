"""pcie_wr: descriptors and payload leave as the model's TLPs, at the bus's rate; what cannot be written is told."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Stalls, run
from framelane.models.pcie import page_map
from framelane.models.pcie.page_map import PageMap
from framelane.models.pcie.tlp_split import MPS, Status
from measured import note
from tlp_ports import taken_tlps
from widths import some_widths
from write_bench import WriteBench

ENTRIES = 64
LATENCY = 6
"""Cycles from a descriptor that is taken to its first TLP's first beat, where the payload waits."""


class EngineBench(WriteBench):
    """The engine with a sink at its port."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, mps: int = 256) -> None:
        super().__init__(dut, stalls, mps)
        self.out = self.sink("m_axis_tlp")

    async def start(self, page_log2: int = 12, pages: int = ENTRIES) -> None:
        await self.reset()
        numbers = self.random.sample(range(1 << 55 - page_log2), pages)
        await self.load(page_map.of_pages(page_log2, [number << page_log2 for number in numbers]))

    def beats(self) -> int:
        return sum(-(-4 * each.tlp.dwords * 8 // self.width) for each in self.expected)

    async def check(self) -> None:
        await self.drain(self.out, self.beats())
        for index, (one, wanted) in enumerate(zip(taken_tlps(self.out.items, self.width), self.expected, strict=True)):
            assert one == wanted, f"TLP {index}"
        assert self.statuses == self.expected_statuses
        for record in (self.out, self.expected, self.statuses, self.expected_statuses, self.descriptors):
            record.clear()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, mps=MPS)
async def tlps_equal_the_model(dut: Any, stalls: Stalls, mps: int) -> None:
    bench = EngineBench(dut, stalls, mps)
    await bench.start(bench.random.choice([12, 13, 16, 21]))
    bench.some_writes(80)
    bench.write(4095, bench.random.randbytes(9000))
    await bench.check()


@cocotb.test()
@cocotb.parametrize(payload=[64, 128, 256, 512])
async def a_tlp_takes_no_more_cycles_than_it_has_beats(dut: Any, payload: int) -> None:
    """And a descriptor's first beat leaves after six cycles."""
    bench = EngineBench(dut, mps=max(128, payload))
    await bench.start(16)
    n, repeat = 64, payload * 8 // min(bench.width, payload * 8)
    for k in range(n):
        bench.write(k * payload, bench.random.randbytes(payload))
    await bench.until(lambda: len(bench.out.items) == n * repeat)
    latency = bench.out.taken[0] - bench.descriptors.accepted[0]
    cycles = (bench.out.taken[-1] - bench.out.taken[0] + 1) / n
    note("cycles", width=bench.width, payload=payload, cycles=cycles, latency=latency)
    assert latency == LATENCY
    assert bench.out.taken[-1] - bench.out.taken[0] == n * repeat - 1
    await bench.check()


@cocotb.test()
async def nothing_is_lost_between_descriptors_of_any_length_and_alignment(dut: Any) -> None:
    bench = EngineBench(dut)
    await bench.start(21)
    for _ in range(100):
        length = bench.random.randrange(64, 700)
        bench.write(bench.random.randrange(bench.engine.pages.ring_bytes - length), bench.random.randbytes(length))
    beats = bench.beats()
    await bench.until(lambda: len(bench.out.items) == beats)
    assert bench.out.taken[-1] - bench.out.taken[0] == beats - 1
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def a_descriptor_that_cannot_be_written_ends_with_its_reason(dut: Any, stalls: Stalls) -> None:
    bench = EngineBench(dut, stalls)
    await bench.start(12, pages=ENTRIES - 5)
    entries = list(bench.engine.pages.entries)
    entries[3], entries[5] = page_map.entry(None), entries[5] ^ 1 << 20
    await bench.load(PageMap(12, entries))
    ring = bench.engine.pages.ring_bytes
    bench.write(0, b"")
    bench.write(ring - 1, b"ab")
    bench.write(1 << 63, bytes(500))
    bench.write(2 << 12, bytes(2 * 4096))
    bench.write((5 << 12) - 100, bytes(200))
    bench.write(0, bytes(300), length=500)
    bench.write(0, bytes(500), length=300)
    bench.write(0, bytes(500), wrong=(1,))
    bench.write(ring - 500, bench.random.randbytes(500))
    assert bench.expected_statuses == [
        *(Status.BAD_LENGTH, Status.OUTSIDE, Status.OUTSIDE, Status.NO_PAGE, Status.BAD_PARITY),
        *(Status.SHORT, Status.LONG, Status.BAD_PAYLOAD, Status.OK),
    ]
    bench.some_writes(40)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def a_fence_that_cannot_go_anywhere_takes_nothing_of_the_next(dut: Any, stalls: Stalls) -> None:
    bench = EngineBench(dut, stalls)
    await bench.start(12)
    entries = [*bench.engine.pages.entries[:-1], page_map.entry(None)]
    await bench.load(PageMap(12, entries))
    ring = bench.engine.pages.ring_bytes
    for offset, status in ((ring, Status.OUTSIDE), (ring - 1, Status.NO_PAGE), (5, Status.OK)):
        bench.fence(offset, status)
        bench.some_writes(3)
    await bench.check()


@cocotb.test()
async def the_map_may_be_loaded_anew_and_the_link_trained_to_another_payload(dut: Any) -> None:
    bench = EngineBench(dut)
    await bench.start(21)
    for page_log2, mps in ((12, 512), (16, 128), (13, 256)):
        numbers = bench.random.sample(range(1 << 30), ENTRIES)
        await bench.load(page_map.of_pages(page_log2, [number << page_log2 for number in numbers]))
        bench.set_mps(mps)
        bench.some_writes(30)
        await bench.check()


@pytest.mark.parametrize("width", some_widths("pcie_wr", (128, 256, 512)))
def test_pcie_wr(width: int) -> None:
    run("pcie_wr", DataW=width, Entries=ENTRIES)
