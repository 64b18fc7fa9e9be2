"""tlp_join: TLPs leave with their bytes in their lanes, none lost; wrong payload spoils what has it alone."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.cells import axis
from framelane.models.pcie import page_map
from framelane.models.pcie.page_map import PageMap
from framelane.models.pcie.pcie_wr import Engine
from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_split import Status, Write
from signals import now
from tlp_ports import taken_tlps, tlp_items, without_lost_data
from widths import some_widths

PAGES = 64
HOLE, DAMAGED = 7, 9
"""Pages that cannot be written."""


def ring() -> PageMap:
    """Pages of 4 KiB: one missing, one damaged."""
    entries = [page_map.entry((index * 3 + 5) << 12) for index in range(PAGES)]
    entries[HOLE], entries[DAMAGED] = page_map.entry(None), entries[DAMAGED] ^ 1
    return PageMap(12, entries)


class JoinBench(Bench):
    """The join between TLPs and payload, with what the model wants of both."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, mps: int = 256) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.m_axis_tdata)
        self.engine = Engine(ring(), mps, self.width // 8)
        self.tlps, self.payload = self.source("s_axis_tlp"), self.source("s_axis_payload")
        self.out = self.sink("m_axis")
        self.statuses: list[Status] = []
        self.expected: list[Sent] = []
        self.expected_statuses: list[Status] = []
        self.watch(self._note)

    def _note(self) -> None:
        if now(self.dut.status_valid_o):
            self.statuses.append(Status(now(self.dut.status_o)))

    def write(self, offset: int, length: int, off_by: int = 0, wrong: tuple[int, ...] = ()) -> None:
        """A descriptor whose payload is `off_by` bytes longer than it should be; beats `wrong` of it have errors."""
        write = Write(offset, length)
        payload = self.random.randbytes(length + off_by)
        self.tlps.items.extend(tlp_items(write, self.engine))
        for index, beat in enumerate(axis.beats(payload, self.width) if payload else ()):
            marked = {"tuser": int(index in wrong)}
            self.payload.items.append({"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last)} | marked)
        status, sent = self.engine.write(write, payload, wrong)
        self.expected += without_lost_data(sent)
        self.expected_statuses.append(status)

    def some_write(self) -> None:
        length = self.random.choice([self.random.randrange(1, 20), self.random.randrange(1, 1500)])
        offset = self.random.randrange(PAGES * 4096 - length)
        self.write(offset, length)

    def beats(self) -> int:
        return sum(-(-4 * each.tlp.dwords * 8 // self.width) for each in self.expected)

    async def check(self) -> None:
        await self.drain(self.out, self.beats())
        got = taken_tlps(self.out.items, self.width)
        for index, (one, wanted) in enumerate(zip(got, self.expected, strict=True)):
            assert one == wanted, f"TLP {index}"
        assert self.statuses == self.expected_statuses
        for record in (self.out, self.expected, self.statuses, self.expected_statuses):
            record.clear()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, mps=[128, 256, 512])
async def tlps_equal_the_model(dut: Any, stalls: Stalls, mps: int) -> None:
    bench = JoinBench(dut, stalls, mps)
    await bench.reset()
    lanes = bench.width // 8
    for start in range(lanes):
        for length in (1, 2, lanes - start or lanes, lanes + 1, mps - start, mps + lanes + 3):
            bench.write(4096 - lanes + start, length)
    for _ in range(120):
        bench.some_write()
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def what_cannot_be_sent_takes_its_payload_and_no_more(dut: Any, stalls: Stalls) -> None:
    bench = JoinBench(dut, stalls)
    await bench.reset()
    for _ in range(40):
        bench.write(0, 0)
        bench.write(PAGES * 4096 - bench.random.randrange(60), 60 + bench.random.randrange(900))
        bench.write((HOLE << 12) + bench.random.randrange(-900, 4096), bench.random.randrange(1, 2000))
        bench.write((DAMAGED << 12) + bench.random.randrange(-900, 4096), bench.random.randrange(1, 2000))
        bench.some_write()
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def payload_that_is_short_or_long_spoils_its_own_descriptor(dut: Any, stalls: Stalls) -> None:
    bench = JoinBench(dut, stalls, mps=128)
    await bench.reset()
    lanes = bench.width // 8
    for length in (2, lanes, lanes + 1, 127, 128, 129, 500):
        for off_by in (-lanes - 1, -lanes, -1, 1, lanes - 1, lanes, 3 * lanes + 1):
            if length + off_by > 0:
                bench.write(bench.random.randrange(4096), length, off_by)
                bench.some_write()
    bench.write((HOLE << 12) - 200, 1000, off_by=-300)
    bench.write((HOLE << 12) - 200, 1000, off_by=300)
    bench.write(3, 10)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def only_tlps_with_wrong_bytes_are_poisoned(dut: Any, stalls: Stalls) -> None:
    bench = JoinBench(dut, stalls, mps=128)
    await bench.reset()
    lanes = bench.width // 8
    for offset in (0, 1, 3, lanes // 2, 100, 127):
        for index in range(-(-700 // lanes)):
            bench.write(offset, 700, wrong=(index,))
        bench.write(offset, 50)
    bench.write(offset, 1, wrong=(0,))
    bench.write(offset, 300, wrong=tuple(range(-(-300 // lanes))))
    bench.some_write()
    await bench.check()


@cocotb.test()
async def a_beat_leaves_in_every_cycle(dut: Any) -> None:
    """No bubble between TLPs or descriptors of 64 bytes or more, at any alignment."""
    bench = JoinBench(dut)
    await bench.reset()
    for _ in range(200):
        length = bench.random.choice([64, 65, 100, 128, 256, 1000, 4096])
        bench.write(bench.random.randrange(4096 * HOLE - length), length)
    beats = bench.beats()
    await bench.until(lambda: len(bench.out.items) == beats)
    assert bench.out.taken[-1] - bench.out.taken[0] == beats - 1
    await bench.check()


@cocotb.test()
async def a_reset_forgets_the_descriptor_under_way(dut: Any) -> None:
    bench = JoinBench(dut)
    await bench.reset()
    for cycles in (1, 3, 5, 8):
        bench.write(10, 2000, wrong=(0,))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        for record in (bench.out, bench.expected, bench.statuses, bench.expected_statuses):
            record.clear()
        for _ in range(4):
            bench.some_write()
        await bench.check()


@pytest.mark.parametrize("width", some_widths("tlp_join", (128, 256, 512)))
def test_tlp_join(width: int) -> None:
    run("tlp_join", DataW=width)
