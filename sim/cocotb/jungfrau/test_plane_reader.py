"""plane_reader: one piece of memory again and again, read over AXI4 from an independent slave model."""

import logging
from typing import Any

import cocotb
import pytest
from cocotbext.axi import AxiReadBus, AxiSlaveRead

from bench import ALL_STALLS, STALL_SHARE, Bench, Stalls, run
from framelane.models.cells import axis
from signals import now
from widths import some_of

BASE = (3 << 32) - 4096
SIZE = 1 << 15


class Memory:
    """What the AXI4 slave reads; it answers with an error where this raises."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.broken = range(0)

    async def read(self, address: int, length: int) -> bytes:
        if not BASE <= address <= BASE + len(self.data) - length or address in self.broken:
            raise IndexError
        return self.data[address - BASE :][:length]


class Reader:
    """The reader of `beats` beats between cocotbext-axi's memory and a sink."""

    def __init__(self, dut: Any, stalls: Stalls, beats: int) -> None:
        self.bench, self.dut, self.beats = Bench(dut, stalls), dut, beats
        self.width = len(dut.m_axis_tdata)
        self.out = self.bench.sink("m_axis")
        logging.getLogger(f"cocotb.{dut._name}.m_axi").setLevel(logging.ERROR)
        self.memory = Memory(self.bench.random.randbytes(SIZE))
        slave = AxiSlaveRead(AxiReadBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, self.memory)
        if stalls.source:
            for channel in (slave.r_channel, slave.ar_channel):
                channel.set_pause_generator(iter(lambda: self.bench.random.random() < STALL_SHARE, None))
        dut.base_i.value, dut.beats_i.value, dut.run_i.value = BASE, beats, 0
        self.bench.watch(self._see_bursts)

    def _see_bursts(self) -> None:
        """None is longer than it may be."""
        assert not now(self.dut.m_axi_arvalid) or now(self.dut.m_axi_arlen) < int(self.dut.MaxBurst.value)

    async def take(self, packets: int) -> None:
        """See so many packets, each the whole piece."""
        await self.bench.until(lambda: len(self.out.items) >= packets * self.beats)
        del self.out.items[packets * self.beats :]
        piece = self.memory.data[: self.beats * self.width // 8]
        for k, beat in enumerate([*axis.beats(piece, self.width)] * packets):
            item = self.out.items[k]
            assert (item["tdata"], bool(item["tlast"])) == (beat.data, beat.last), f"beat {k}"


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, beats=[1, 2, 64, 65, 256, 257])
async def the_piece_comes_again_and_again(dut: Any, stalls: Stalls, beats: int) -> None:
    """Also where its last burst is a whole one."""
    reader = Reader(dut, stalls, beats)
    await reader.bench.reset()
    reader.dut.run_i.value = 1
    await reader.take(4)
    assert not any(item["tuser"] for item in reader.out.items)


@cocotb.test()
async def bits_of_the_base_below_4_kib_do_not_count(dut: Any) -> None:
    reader = Reader(dut, Stalls.NONE, 9)
    reader.dut.base_i.value = BASE + 1234
    await reader.bench.reset()
    reader.dut.run_i.value = 1
    await reader.take(2)


@cocotb.test()
async def a_broken_beat_is_marked(dut: Any) -> None:
    reader = Reader(dut, Stalls.NONE, 40)
    lanes = reader.width // 8
    reader.memory.broken = range(BASE + 5 * lanes, BASE + 6 * lanes)
    await reader.bench.reset()
    reader.dut.run_i.value = 1
    await reader.bench.until(lambda: len(reader.out.items) >= 80)
    assert [k for k, item in enumerate(reader.out.items[:80]) if item["tuser"]] == [5, 45]


@cocotb.test()
async def nothing_is_read_of_a_piece_without_beats_nor_before_the_start(dut: Any) -> None:
    reader = Reader(dut, Stalls.NONE, 0)
    asked = 0

    def watch() -> None:
        nonlocal asked
        asked += now(dut.m_axi_arvalid)

    reader.bench.watch(watch)
    await reader.bench.reset()
    for run_ in (0, 1):
        dut.run_i.value = run_
        for _ in range(100):
            await reader.bench.step()
    assert asked == 0


@cocotb.test()
async def a_stop_of_one_cycle_starts_anew(dut: Any) -> None:
    reader = Reader(dut, Stalls.SOURCE, 300)
    await reader.bench.reset()
    dut.run_i.value = 1
    for wait in (40, 3, 333, 0, 1, 2):
        for _ in range(wait):
            await reader.bench.step()
        dut.run_i.value = 0
        await reader.bench.step()
        dut.run_i.value = 1
        await reader.bench.step()  # what was offered is withdrawn
        reader.out.clear()
        await reader.take(2)


@pytest.mark.parametrize(("width", "burst"), some_of("plane_reader", [(64, 256), (512, 256), (512, 16)]))
def test_plane_reader(width: int, burst: int) -> None:
    run("plane_reader", flat=True, DataW=width, MaxBurst=burst)
