"""config_table: entries are as software wrote them, a held word comes into force with the one behind it."""

from typing import Any

import cocotb
import pytest

from bench import Bench, run
from signals import now


class TableBench(Bench):
    """The table beside what is written into it."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.entries, self.words, self.held = (now(getattr(dut, p)) for p in ("Entries", "Words", "Held"))
        self.written = [[0] * self.words for _ in range(self.entries)]
        self.in_force = [[0] * self.words for _ in range(self.entries)]
        self.is_under_way = False
        dut.write_i.value = 0
        dut.index_i.value = 0
        dut.word_i.value = 0
        dut.entry_index_i.value = 0

    async def write(self, index: int, word: int, value: int) -> None:
        self.dut.index_i.value, self.dut.word_i.value, self.dut.data_i.value = index, word, value
        self.dut.write_i.value = 1
        await self.step()
        self.dut.write_i.value = 0
        self.dut.index_i.value, self.dut.data_i.value = self.random.getrandbits(8), self.random.getrandbits(32)
        self.dut.word_i.value = self.random.getrandbits(len(self.dut.word_i))
        self.is_under_way = True
        if index < self.entries and word < self.words:
            self.written[index][word] = value
            if word != self.held:
                self.in_force[index][word] = value
            if word == self.held + 1:
                self.in_force[index][self.held] = self.written[index][self.held]

    async def settle(self) -> None:
        """A write is in force two cycles later."""
        if self.is_under_way:
            await self.step()
        self.is_under_way = False

    async def read(self, index: int, word: int) -> int:
        """What software reads one cycle after the index; the cycle after that asks for another one."""
        await self.settle()
        self.dut.index_i.value, self.dut.word_i.value = index, word
        await self.step()
        self.dut.index_i.value = self.random.getrandbits(8)
        self.dut.word_i.value = self.random.getrandbits(len(self.dut.word_i))
        got: list[int] = []
        self.watch(lambda: got.append(now(self.dut.data_o)))
        await self.step()
        self._watchers.pop()
        return got[0]

    async def entry(self, index: int) -> list[int]:
        """What the core sees one cycle after the index."""
        await self.settle()
        self.dut.entry_index_i.value = index
        await self.step()
        self.dut.entry_index_i.value = self.random.getrandbits(8)
        got: list[int] = []
        self.watch(lambda: got.append(now(self.dut.entry_o)))
        await self.step()
        self._watchers.pop()
        return [got[0] >> 32 * w & 0xFFFF_FFFF for w in range(self.words)]

    async def fill(self, value: int | None = None) -> None:
        """Write all words, low ones first: tests begin with what the one before has left."""
        for index in range(self.entries):
            for word in range(self.words):
                await self.write(index, word, self.random.getrandbits(32) if value is None else value)

    async def check(self) -> None:
        for index in range(self.entries):
            assert await self.entry(index) == self.in_force[index], index
            for word in range(self.words):
                assert await self.read(index, word) == self.written[index][word], (index, word)


@cocotb.test()
async def all_is_zero_at_first(dut: Any) -> None:
    await TableBench(dut).check()


@cocotb.test()
async def words_written_in_any_order_are_there_for_both_sides(dut: Any) -> None:
    bench = TableBench(dut)
    places = [(index, word) for index in range(bench.entries) for word in range(bench.words)] * 2
    bench.random.shuffle(places)
    for index, word in places:
        await bench.write(index, word, bench.random.getrandbits(32))
    await bench.check()


@cocotb.test()
async def outside_the_table_writes_do_nothing_and_reads_give_zero(dut: Any) -> None:
    bench = TableBench(dut)
    await bench.fill()
    words = range(1 << len(dut.word_i))
    outside = [
        (i, w) for i in (*range(bench.entries + 2), 255) for w in words if i >= bench.entries or w >= bench.words
    ]
    assert outside
    for index, word in outside:
        await bench.write(index, word, 0xFFFF_FFFF)
    await bench.check()
    for index, word in outside:
        assert await bench.read(index, word) == 0, (index, word)
        if index >= bench.entries:
            assert await bench.entry(index) == [0] * bench.words


@cocotb.test()
async def a_held_word_and_the_next_change_in_the_same_cycle(dut: Any) -> None:
    """Also where the words of several entries are written in turn."""
    bench = TableBench(dut)
    if bench.held == bench.words:
        return
    await bench.fill(0)
    seen: list[int] = []
    halves = slice(bench.held, bench.held + 2)
    for index in range(bench.entries):
        await bench.write(index, bench.held, index + 1)
        assert (await bench.entry(index))[halves] == [0, 0]
    await bench.check()
    for index in reversed(range(bench.entries)):
        dut.entry_index_i.value = index
        await bench.step()
        await bench.step()
        seen.clear()
        bench.watch(lambda: seen.append(now(dut.entry_o) >> 32 * bench.held & (1 << 64) - 1))
        await bench.write(index, bench.held + 1, 0xFF)
        for _ in range(3):
            await bench.step()
        bench._watchers.pop()
        assert sorted(set(seen)) == [0, 0xFF << 32 | index + 1], [hex(value) for value in seen]
    await bench.check()


@pytest.mark.parametrize(("entries", "words", "held"), [(16, 8, 6), (3, 15, 15), (1, 10, 10), (5, 2, 0)])
def test_config_table(entries: int, words: int, held: int) -> None:
    run("config_table", Entries=entries, Words=words, Held=held)
