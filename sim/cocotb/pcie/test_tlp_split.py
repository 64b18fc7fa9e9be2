"""tlp_split: TLPs of every write equal the model, one a cycle; what cannot be served is refused."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import TLP_T, WRITE_T
from framelane.models.pcie import tlp_split
from framelane.models.pcie.tlp_split import MPS, Status, Write
from tlp_ports import reads, request
from widths import some_widths

RING = 1 << 24


class SplitBench(Bench):
    """The splitter of one ring, with the TLPs that the model wants."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, mps: int = 256) -> None:
        super().__init__(dut, stalls)
        self.lanes = int(dut.DataW.value) // 8
        self.writes, self.out = self.source("s_axis_write"), self.sink("m_axis_tlp")
        self.mps = mps
        dut.mps_i.value = MPS.index(mps)
        dut.ring_i.value = RING >> 12
        self.expected: list[dict[str, int]] = []

    def write(self, offset: int, length: int) -> None:
        self.writes.items.append({"tdata": WRITE_T.pack({"fence": 0, "tag": 0, "offset": offset, "length": length})})
        write = Write(offset, length)
        status = tlp_split.status(write, RING)
        if status is not Status.OK:
            self.expected.append({"status": status, "refused": 1, "empty": length == 0, "ends": 1})
            return
        tlps = list(tlp_split.split(write, self.mps))
        for tlp, lanes in zip(tlps, reads(write, tlps, self.lanes), strict=True):
            flags = {"status": 0, "refused": 0, "empty": 0, "ends": tlp is tlps[-1]}
            self.expected.append(flags | lanes | request(tlp))

    def some_write(self) -> None:
        """Any alignment, any length up to a few TLPs, often around a boundary."""
        length = self.random.choice([self.random.randrange(1, 20), self.random.randrange(1, 1500)])
        offset = self.random.randrange(RING - length)
        if self.random.random() < 0.5:
            offset = max(0, offset // 128 * 128 - self.random.randrange(2 * self.lanes))
        self.write(offset, length)

    async def check(self) -> None:
        await self.drain(self.out, len(self.expected))
        for item, expected in zip(self.out.items, self.expected, strict=True):
            got = TLP_T.unpack(item["tdata"])
            assert {name: got[name] for name in expected} == expected


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, mps=MPS)
async def tlps_equal_the_model(dut: Any, stalls: Stalls, mps: int) -> None:
    bench = SplitBench(dut, stalls, mps)
    await bench.reset()
    for start in (0, 1, 2, 3, bench.lanes - 1, bench.lanes, mps - 1, 4095):
        for length in (1, 2, 3, 4, 5, bench.lanes, bench.lanes + 1, mps - 1, mps, mps + 1, 5000):
            bench.write(4096 + start, length)
    for _ in range(200):
        bench.some_write()
    await bench.check()


@cocotb.test()
async def what_is_not_in_the_ring_is_refused(dut: Any) -> None:
    bench = SplitBench(dut)
    await bench.reset()
    for offset, length in (
        (0, 0), (RING, 0), (RING - 1, 1), (RING - 1, 2), (RING, 1), (RING - 4096, 4096), (RING - 4096, 4097),
        (0, (1 << 32) - 1), (1 << 63, 64), (1 << 38, 64), ((1 << 38) - 64, 64), ((1 << 64) - 1, 1), (0, RING + 1),
    ):  # fmt: skip
        bench.write(offset, length)
    await bench.check()


@cocotb.test()
async def a_fence_passes_as_a_read_of_no_bytes_that_takes_no_payload(dut: Any) -> None:
    bench = SplitBench(dut)
    await bench.reset()
    none = {"reads_last": 0, "beats": 0, "dwords": 1, "first_be": 0, "last_be": 0, "fence": 1, "ends": 1}
    for tag, offset in enumerate((0, 3, 4095, RING - 1, RING)):
        bench.writes.items.append({"tdata": WRITE_T.pack({"fence": 1, "tag": tag, "offset": offset, "length": 1})})
        refused = {"status": Status.OUTSIDE, "refused": 1} if offset == RING else {"status": 0, "refused": 0}
        bench.expected.append(none | refused | {"empty": 1, "tag": tag, "address": offset & ~3})
        bench.write(offset % 4096, 300)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(length=[1, 64, 256, 257, 10_000])
async def one_tlp_leaves_in_each_cycle(dut: Any, length: int) -> None:
    bench = SplitBench(dut)
    await bench.reset()
    for k in range(20):
        bench.write(k * 16384 + k, length)
    await bench.check()
    assert bench.out.taken[-1] - bench.out.taken[0] == len(bench.expected) - 1
    assert bench.out.taken[0] - bench.writes.accepted[0] == 2


@cocotb.test()
async def a_new_payload_size_counts_for_the_next_write(dut: Any) -> None:
    bench = SplitBench(dut, mps=512)
    await bench.reset()
    bench.write(100, 6000)
    await bench.until(lambda: len(bench.out.items) == 2)
    for mps in (128, 512, 256, 128):
        dut.mps_i.value = MPS.index(mps)
        bench.mps = mps
        bench.write(100, 3000)
        await bench.until(lambda: not bench.writes.items)
    await bench.check()


@cocotb.test()
async def a_reset_forgets_the_write_under_way(dut: Any) -> None:
    bench = SplitBench(dut)
    await bench.reset()
    for cycles in (1, 2, 3, 5):
        bench.write(0, 10_000)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.expected.clear()
        bench.write(77, 1000)
        await bench.check()
        bench.out.clear()
        bench.expected.clear()


@pytest.mark.parametrize("width", some_widths("tlp_split", (128, 256, 512)))
def test_tlp_split(width: int) -> None:
    run("tlp_split", DataW=width)
