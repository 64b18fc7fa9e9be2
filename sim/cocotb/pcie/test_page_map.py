"""page_map: every TLP gets the address that the model says, in two cycles, or the reason why it has none."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import TLP_T
from framelane.models.pcie import page_map
from framelane.models.pcie.page_map import PAGE_LOG2, PageMap
from framelane.models.pcie.tlp_split import Status
from widths import some_of


class MapBench(Bench):
    """The table beside what was written into it."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.entries = int(dut.Entries.value)
        self.asked, self.out = self.source("s_axis_tlp"), self.sink("m_axis_tlp")
        self.table = [0] * self.entries
        self.pages, self.page_log2 = self.entries, 12
        self.expected: list[dict[str, int]] = []
        dut.write_i.value = 0

    async def configure(self, page_log2: int, pages: int) -> None:
        self.dut.page_log2_i.value, self.dut.pages_i.value = page_log2, pages
        self.page_log2, self.pages = page_log2, pages
        await self.step()

    async def load(self, index: int, word: int) -> None:
        self.dut.index_i.value, self.dut.entry_i.value, self.dut.write_i.value = index, word, 1
        await self.step()
        self.dut.write_i.value = 0
        self.table[index] = word

    async def fill(self, page_log2: int, damaged: int = 0) -> None:
        """Pages anywhere, a third of them missing; single bits of some entries changed."""
        for index in range(self.entries):
            base = self.random.getrandbits(55 - page_log2) << page_log2
            await self.load(index, page_map.entry(base if self.random.random() < 0.7 else None))
        for _ in range(damaged):
            index = self.random.randrange(self.entries)
            await self.load(index, self.table[index] ^ 1 << self.random.randrange(page_map.ENTRY_W))

    def ask(self, offset: int, status: Status = Status.OK) -> None:
        fields = dict.fromkeys(TLP_T.fields, 0)
        for name, width in TLP_T.fields.items():
            fields[name] = self.random.getrandbits(width)
        fields |= {"status": status, "address": offset}
        self.asked.items.append({"tdata": TLP_T.pack(fields)})
        found, address = PageMap(self.page_log2, self.table[: self.pages]).translate(offset)
        if status is not Status.OK:
            found = status
        changed = {"status": found} | ({"address": address} if found is Status.OK else {})
        self.expected.append(fields | changed)

    async def check(self) -> None:
        await self.drain(self.out, len(self.expected))
        for item, expected in zip(self.out.items, self.expected, strict=True):
            got = TLP_T.unpack(item["tdata"])
            if expected["status"] != Status.OK:
                del got["address"], expected["address"]
            assert got == expected
        self.out.clear()
        self.expected.clear()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def addresses_of_every_page_size_equal_the_model(dut: Any, stalls: Stalls) -> None:
    bench = MapBench(dut, stalls)
    await bench.reset()
    for page_log2 in PAGE_LOG2:
        await bench.fill(page_log2, damaged=3)
        await bench.configure(page_log2, bench.random.choice([bench.entries, bench.entries - 3]))
        for _ in range(80):
            bench.ask(bench.random.randrange(bench.entries << page_log2))
        await bench.check()


@cocotb.test()
async def what_lies_behind_the_ring_or_is_damaged_gets_no_address(dut: Any) -> None:
    bench = MapBench(dut)
    await bench.reset()
    await bench.configure(12, 3)
    for index in range(4):
        await bench.load(index, page_map.entry(0x7000 + (index << 12)))
    for offset in (0, 3 << 12, (3 << 12) - 1, (bench.entries + 1) << 12, 1 << 38, 1 << 63, (1 << 64) - 1, 1 << 37):
        bench.ask(offset)
    bench.ask(5, Status.BAD_LENGTH)
    bench.ask(1 << 63, Status.OUTSIDE)
    await bench.check()
    good = page_map.entry(0x5A5A_5000)
    for bit in range(page_map.ENTRY_W):
        await bench.load(1, good ^ 1 << bit)
        bench.ask(4096 + 17)
        await bench.check()
    await bench.load(1, good)
    bench.ask(4096 + 17)
    await bench.check()


@cocotb.test()
async def one_a_cycle_and_each_after_two(dut: Any) -> None:
    bench = MapBench(dut)
    await bench.reset()
    await bench.fill(16)
    await bench.configure(16, bench.entries)
    for _ in range(50):
        bench.ask(bench.random.randrange(bench.entries << 16))
    await bench.until(lambda: len(bench.out.items) == 50)
    assert [out - asked for out, asked in zip(bench.out.taken, bench.asked.accepted, strict=True)] == [2] * 50
    assert bench.out.taken[-1] - bench.out.taken[0] == 49
    await bench.check()


@cocotb.test()
async def a_reset_keeps_the_table_and_forgets_what_was_asked(dut: Any) -> None:
    bench = MapBench(dut)
    await bench.reset()
    await bench.fill(12)
    await bench.configure(12, bench.entries)
    goes = bench.out._stall
    for cycles in (1, 2, 3, 4):
        for _ in range(5):
            bench.ask(bench.random.randrange(bench.entries << 12))
        bench.out._stall = lambda: True
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.out._stall = goes
        bench.expected.clear()
        for _ in range(20):
            bench.ask(bench.random.randrange(bench.entries << 12))
        await bench.check()


@pytest.mark.parametrize("entries", some_of("page_map", [16, 256]))
def test_page_map(entries: int) -> None:
    run("page_map", Entries=entries)
