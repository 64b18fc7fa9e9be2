"""piece_reader: pieces of memory by their addresses, read over AXI4 from an independent slave model."""

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
SIZE = 1 << 16


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
    """The reader between whoever asks it, cocotbext-axi's memory and a sink."""

    def __init__(self, dut: Any, stalls: Stalls) -> None:
        self.bench, self.dut = Bench(dut, stalls), dut
        self.width, self.beats = len(dut.m_axis_tdata), int(dut.Beats.value)
        self.lanes = self.width // 8
        self.asks, self.out = self.bench.source("s_axis_address"), self.bench.sink("m_axis")
        logging.getLogger(f"cocotb.{dut._name}.m_axi").setLevel(logging.ERROR)
        self.memory = Memory(self.bench.random.randbytes(SIZE))
        slave = AxiSlaveRead(AxiReadBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, self.memory)
        if stalls.source:
            for channel in (slave.r_channel, slave.ar_channel):
                channel.set_pause_generator(iter(lambda: self.bench.random.random() < STALL_SHARE, None))
        self.expected: list[axis.Beat] = []
        self.bench.watch(self._see_bursts)

    def _see_bursts(self) -> None:
        if now(self.dut.m_axi_arvalid):
            address, length = now(self.dut.m_axi_araddr), now(self.dut.m_axi_arlen) + 1
            assert length <= int(self.dut.MaxBurst.value)
            assert address % 4096 + length * self.lanes <= 4096, f"a burst from {address:#x} crosses 4 KiB"
        if now(self.dut.idle_o):
            assert not now(self.dut.m_axis_tvalid)
            assert not now(self.dut.m_axi_arvalid)

    def piece(self, at: int) -> None:
        """Ask for the piece that begins with this beat of the memory."""
        start = at * self.lanes
        self.asks.items.append({"tdata": BASE + start})
        self.expected += axis.beats(self.memory.data[start : start + self.beats * self.lanes], self.width)

    async def finish(self) -> None:
        """See all pieces, each once, in the order of the questions."""
        await self.bench.drain(self.out, len(self.expected), quiet=50)
        found = [(item["tdata"], bool(item["tlast"])) for item in self.out.items]
        assert found == [(beat.data, beat.last) for beat in self.expected]
        assert now(self.dut.idle_o)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def pieces_come_in_the_order_of_their_addresses(dut: Any, stalls: Stalls) -> None:
    reader = Reader(dut, stalls)
    await reader.bench.reset()
    most = SIZE // reader.lanes - reader.beats
    for at in (0, most, 0, *(reader.bench.random.randrange(most + 1) for _ in range(20))):
        reader.piece(at)
    await reader.finish()
    assert not any(item["tuser"] for item in reader.out.items)


@cocotb.test()
async def it_reads_ahead_as_far_as_its_buffer_holds(dut: Any) -> None:
    reader = Reader(dut, Stalls.NONE)
    reader.out._stall = lambda: True
    await reader.bench.reset()
    asked = 0

    def count() -> None:
        nonlocal asked
        if now(dut.m_axi_arvalid) and now(dut.m_axi_arready):
            asked += now(dut.m_axi_arlen) + 1

    reader.bench.watch(count)
    for _ in range(2 + int(dut.Depth.value) // reader.beats):
        reader.piece(3)
    for _ in range(3000):
        await reader.bench.step()
    assert int(dut.Depth.value) // 2 < asked <= int(dut.Depth.value)
    assert not now(dut.idle_o)
    reader.out._stall = lambda: False
    await reader.finish()


@cocotb.test()
async def a_broken_beat_is_marked_alone(dut: Any) -> None:
    reader = Reader(dut, Stalls.NONE)
    reader.memory.broken = range(BASE + 6 * reader.lanes, BASE + 7 * reader.lanes)
    await reader.bench.reset()
    for at in (5, 6, 7):
        reader.piece(at)
    await reader.bench.until(lambda: len(reader.out.items) >= 3 * reader.beats)
    assert [k for k, item in enumerate(reader.out.items) if item["tuser"]] == [1, reader.beats]


@cocotb.test()
async def nothing_is_read_that_was_not_asked_for(dut: Any) -> None:
    reader = Reader(dut, Stalls.NONE)
    await reader.bench.reset()
    for _ in range(100):
        await reader.bench.step()
        assert not now(dut.m_axi_arvalid)
        assert now(dut.idle_o)


CASES = [(64, 256, 64, 256), (512, 256, 128, 256), (512, 4, 7, 16)]


@pytest.mark.parametrize(("width", "burst", "beats", "depth"), some_of("piece_reader", CASES))
def test_piece_reader(width: int, burst: int, beats: int, depth: int) -> None:
    run("piece_reader", flat=True, DataW=width, MaxBurst=burst, Beats=beats, Depth=depth)
