"""mm2s: memory comes out as one packet a command, read over AXI4 from an independent slave model."""

import itertools
import logging
from typing import Any

import cocotb
import pytest
from cocotbext.axi import AxiReadBus, AxiSlaveRead

from bench import ALL_STALLS, STALL_SHARE, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated.ports import READ_T
from framelane.models.cells import axis
from framelane.models.memory import mm2s
from signals import now
from waves import Waves, check
from widths import some_of

SIZE = 1 << 17
BASE = (5 << 32) - SIZE // 2
"""The memory crosses a boundary of 4 GiB."""
NORMAL_BUFFERABLE = 0b0011
"""ARCACHE of memory that may be buffered, not cached (AMBA IHI 0022, A4.4)."""


BEATS = 512
"""For which there is room."""


def longest(dut: Any) -> int:
    """Beats of the longest burst of this build."""
    return min(int(dut.MaxBurst.value), 4096 * 8 // len(dut.m_axis_tdata))


class Memory:
    """What the AXI4 slave reads; it answers SLVERR where this raises."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.broken = range(0)
        """Addresses that cannot be read."""

    async def read(self, address: int, length: int) -> bytes:
        if not BASE <= address <= BASE + len(self.data) - length or address in self.broken:
            raise IndexError
        return self.data[address - BASE :][:length]


class Mm2sBench(Bench):
    """The reader between a source of commands and cocotbext-axi's memory."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.m_axis_tdata)
        self.commands, self.out = self.source("s_axis_cmd"), self.sink("m_axis")
        logging.getLogger(f"cocotb.{dut._name}.m_axi").setLevel(logging.WARNING)
        self.memory = self.random.randbytes(SIZE)
        self.slave_memory = Memory(self.memory)
        slave = AxiSlaveRead(AxiReadBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, self.slave_memory)
        if stalls.source:
            slave.r_channel.set_pause_generator(iter(lambda: self.random.random() < STALL_SHARE, None))
            slave.ar_channel.set_pause_generator(iter(lambda: self.random.random() < STALL_SHARE, None))
        self.expected: list[bytes] = []
        self.bursts: list[tuple[int, int]] = []
        self.expected_bursts: list[tuple[int, int]] = []
        self.errors = 0
        self.watch(self._note_burst)

    def _note_burst(self) -> None:
        self.errors += now(self.dut.read_error_o)
        assert now(self.dut.m_axi_rready), "the memory waits"
        if now(self.dut.m_axi_arvalid) and now(self.dut.m_axi_arready):
            assert now(self.dut.m_axi_arcache) == NORMAL_BUFFERABLE
            self.bursts.append((now(self.dut.m_axi_araddr), now(self.dut.m_axi_arlen) + 1))

    def read(self, offset: int, length: int) -> None:
        address = BASE + offset
        self.commands.items.append({"tdata": READ_T.pack({"address": address, "length": length})})
        self.expected.append(self.memory[offset : offset + length])
        self.expected_bursts += mm2s.bursts(address, length, self.width, longest(self.dut))

    async def check(self) -> None:
        await self.drain(self.out, sum(axis.n_beats(len(p), self.width) for p in self.expected))
        assert_same_packets(self.out.packets(self.width), self.expected)
        assert self.bursts == self.expected_bursts
        assert self.errors == 0


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def memory_comes_out_unchanged_for_any_length(dut: Any, stalls: Stalls) -> None:
    bench = Mm2sBench(dut, stalls)
    await bench.reset()
    lanes = bench.width // 8
    for length in (1, lanes - 1, lanes, lanes + 1, 4095, 4096, 4097, 9001, 1, 1, 64, 10_000):
        bench.read(bench.random.randrange(0, SIZE - length, lanes), length)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def any_alignment_comes_out_from_lane_0_on(dut: Any, stalls: Stalls) -> None:
    bench = Mm2sBench(dut, stalls)
    await bench.reset()
    lanes = bench.width // 8
    for offset in range(lanes):
        for length in (1, 2, lanes - 1, lanes, lanes + 1, 2 * lanes - offset, 2 * lanes - offset + 1, 3 * lanes + 5):
            bench.read(bench.random.randrange(0, SIZE - 4096, lanes) + offset, length)
    for _ in range(100):
        length = bench.random.randrange(1, 600)
        bench.read(bench.random.randrange(SIZE - length), length)
    await bench.check()
    assert not any(item["tuser"] for item in bench.out.items)


@cocotb.test()
async def a_command_of_more_than_16_mib_is_asked_for_beyond_its_first_burst(dut: Any) -> None:
    bench = Mm2sBench(dut)
    await bench.reset()
    length = (1 << 31) + (1 << 24) + 100
    bench.commands.items.append({"tdata": READ_T.pack({"address": 0, "length": length})})
    await bench.until(lambda: len(bench.bursts) == 4, limit=2000)
    assert bench.bursts == list(itertools.islice(mm2s.bursts(0, length, bench.width, longest(dut)), 4))
    await bench.reset()


@cocotb.test()
@cocotb.parametrize(length=[1, 100, 5000, 1 << 16])
async def as_much_is_asked_for_before_the_first_data_come_as_there_is_room_for(dut: Any, length: int) -> None:
    """All commands of the queue, or all beats of the buffer but a burst; never more, however long the output stands."""
    bench = Bench(dut)
    commands = bench.source("s_axis_cmd")
    asked: list[int] = []

    def note() -> None:
        if now(dut.m_axi_arvalid) and now(dut.m_axi_arready):
            asked.append(now(dut.m_axi_arlen) + 1)

    bench.watch(note)
    dut.m_axi_arready.value, dut.m_axi_rvalid.value = 1, 0
    await bench.reset()
    width = len(dut.m_axis_tdata)
    for k in range(40):
        commands.items.append({"tdata": READ_T.pack({"address": k << 16, "length": length})})
    for _ in range(2 * BEATS + 100):
        await bench.step()
    of_one = list(mm2s.bursts(0, length, width, longest(dut)))
    assert sum(asked) <= BEATS
    assert sum(asked) > BEATS - longest(dut) or len(asked) >= 32 * len(of_one)
    await bench.reset()


@cocotb.test()
async def data_go_on_when_the_output_stands_until_the_room_is_full(dut: Any) -> None:
    """Nothing is lost, and the memory never waits: it gives a beat in each cycle in which it has one."""
    bench = Mm2sBench(dut)
    await bench.reset()
    bench._sinks.remove(bench.out)
    dut.m_axis_tready.value, bench.out._is_ready = 0, False
    lanes = bench.width // 8
    for k in range(4):
        bench.read(k * lanes + k, 3 * BEATS * lanes // 4)
    for _ in range(3 * BEATS):
        await bench.step()
    under_way = 16  # beyond the buffer
    assert BEATS - longest(dut) < sum(beats for _, beats in bench.bursts) <= BEATS + under_way
    bench._sinks.append(bench.out)
    await bench.check()


@cocotb.test()
async def no_burst_crosses_4_kib(dut: Any) -> None:
    bench = Mm2sBench(dut)
    await bench.reset()
    lanes = bench.width // 8
    for start in (4096 - lanes, 2048 - lanes, 0, 4096, 3 * lanes, SIZE // 2 - 4096):
        bench.read(start, 8192 + 3)
    await bench.check()
    assert all(address // 4096 == (address + beats * lanes - 1) // 4096 for address, beats in bench.bursts)


@cocotb.test()
async def read_errors_are_counted_and_nothing_hangs(dut: Any) -> None:
    bench = Mm2sBench(dut)
    await bench.reset()
    bench.commands.items.append({"tdata": READ_T.pack({"address": BASE + SIZE, "length": 100})})
    beats = axis.n_beats(100, bench.width)
    await bench.until(lambda: len(bench.out.items) == beats, limit=1000)
    await bench.step()
    assert bench.errors == beats
    assert all(item["tuser"] for item in bench.out.items)


@cocotb.test()
async def an_error_marks_the_beats_that_hold_its_bytes(dut: Any) -> None:
    """The memory ends inside the command: bytes from there on are marked, and none before."""
    bench = Mm2sBench(dut)
    await bench.reset()
    lanes = bench.width // 8
    for offset in (0, 1, lanes // 2, lanes - 1):
        good, bad = 3 * lanes - offset, 2 * lanes + offset
        bench.commands.items.append({"tdata": READ_T.pack({"address": BASE + SIZE - good, "length": good + bad})})
        beats = axis.n_beats(good + bad, bench.width)
        bench.out.clear()
        while len(bench.out.items) < beats:
            await bench.step()
        marked = [bool(item["tuser"]) for item in bench.out.items]
        assert marked == [(n + 1) * lanes > good for n in range(beats)]


@cocotb.test()
async def one_broken_beat_marks_the_two_that_share_its_bytes(dut: Any) -> None:
    bench = Mm2sBench(dut)
    await bench.reset()
    lanes = bench.width // 8
    bench.slave_memory.broken = range(BASE + 3 * lanes, BASE + 4 * lanes)
    for offset in (0, 1, lanes // 2, lanes - 1):
        length = 7 * lanes
        bench.commands.items.append({"tdata": READ_T.pack({"address": BASE + offset, "length": length})})
        bench.out.clear()
        while len(bench.out.items) < 7:
            await bench.step()
        marked = [bool(item["tuser"]) for item in bench.out.items]
        spoilt = {(3 * lanes - offset) // lanes, (4 * lanes - offset - 1) // lanes}
        assert marked == [n in spoilt for n in range(7)], offset


@cocotb.test()
async def a_reset_leaves_nothing_of_the_command_under_way(dut: Any) -> None:
    bench = Mm2sBench(dut)
    for cycles in (1, 2, 4, 8, 30):
        await bench.reset()
        bench.read(0, 9001)
        bench.read(0, 9001)
        for _ in range(cycles):
            await bench.step()
        await bench.reset()
        for record in (bench.expected, bench.bursts, bench.expected_bursts):
            record.clear()
        bench.read(4096, 100)
        await bench.check()
        for record in (bench.expected, bench.bursts, bench.expected_bursts):
            record.clear()


@cocotb.test()
async def a_read_of_three_bursts_as_the_page_shows_it(dut: Any) -> None:
    if (len(dut.m_axis_tdata), longest(dut)) != (512, 16):
        return
    bench = Mm2sBench(dut)
    await bench.reset()
    asks, data = ((f"m_axi_{channel}valid", f"m_axi_{channel}ready") for channel in ("ar", "r"))
    buses = {"m_axi_araddr[11:0]": asks[0], "m_axi_arlen": asks[0]}
    waves = Waves(bench, *asks, *data, "m_axi_rlast", buses=buses)
    bench.read(10 * 64, 24 * 64)
    await bench.check()
    check("memory_read", ("memory", waves))


@pytest.mark.parametrize(("width", "burst"), some_of("mm2s", [(64, 256), (512, 16), (512, 256)]))
def test_mm2s(width: int, burst: int) -> None:
    run("mm2s", flat=True, DataW=width, MaxBurst=burst)
