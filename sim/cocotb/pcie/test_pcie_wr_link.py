"""pcie_wr before a PCIe link that others have modelled: host memory holds what was sent, at the rate of the wire."""

from typing import Any

import cocotb
import pytest

from bench import Stalls, run
from framelane.models.pcie import page_map
from framelane.models.pcie.tlp_split import MPS
from link import HIGH, OVERHEAD, RAW_GB_S
from link_bench import LinkBench
from measured import note
from widths import some_widths

ENTRIES = 32
SHARE = 0.995
"""The share of the wire's ceiling that must be reached."""


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
async def behind_an_iommu_a_page_that_it_does_not_know_is_lost_and_no_other(dut: Any) -> None:
    """The engine's map has the addresses that the IOMMU gives out; then one mapping is taken away."""
    bench = LinkBench(dut, mps=256, iommu=True)
    await bench.start(12, pages=8)
    chosen = bench.random.sample(range(1 << 40), 8)
    table = bench.link.complex.table
    table |= {page: (HIGH >> 12) + index for index, page in enumerate(chosen)}
    gone = chosen[3]
    del table[gone]
    await bench.load(page_map.of_pages(12, [page << 12 for page in chosen]))
    payload = bench.random.randbytes(8 * 4096 - 30)
    bench.write(7, payload)
    await bench.finish()
    ring = b"\xa5" * 7 + payload + b"\xa5" * 23
    assert bench.link.memory.contents() == ring[: 3 << 12] + b"\xa5" * 4096 + ring[4 << 12 :]
    assert {address >> 12 for address in bench.link.complex.faults} == {gone}


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
    note("link", width=bench.width, mps=mps, lanes=lanes, gb_s=rate, wire=ceiling)
    assert SHARE <= rate / ceiling <= 1.001


@pytest.mark.parametrize("width", some_widths("pcie_wr_link", (128, 256, 512)))
def test_pcie_wr_link(width: int) -> None:
    run("pcie_wr_link", top="pcie_wr", DataW=width, Entries=ENTRIES)
