"""read_guard: a reader gets every beat that it asks for, from the memory or as an error, and never one of before."""

import logging
from collections import deque
from typing import Any, ClassVar

import cocotb
from cocotbext.axi import AxiReadBus, AxiSlaveRead

from bench import ALL_STALLS, STALL_SHARE, Bench, Stalls, run
from framelane.models.memory.read_guard import ReadGuard
from signals import now

PAGE = 4096
"""No burst crosses one."""
SIZE = 4 * PAGE
WIDTH = 64
LANES = WIDTH // 8
UNIT, LIMIT = 8, 4
SLVERR = 2


class Memory:
    """What the AXI4 slave reads: no two beats are the same."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def read(self, address: int, length: int) -> bytes:
        return self.data[address:][:length]


class GuardBench(Bench):
    """The guard between a reader that always takes, and cocotbext-axi's memory, which may stand still."""

    axi_left_out: ClassVar = {"s_axi_rlast": "the guard passes on the memory's, also with errors that it gives itself"}

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, limit: int = LIMIT) -> None:
        super().__init__(dut, stalls)
        logging.getLogger(f"cocotb.{dut._name}.m_axi").setLevel(logging.WARNING)
        self.memory = self.random.randbytes(SIZE)
        self.slave = AxiSlaveRead(AxiReadBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, Memory(self.memory))
        self.pause_asks = self.pause_data = False
        share = STALL_SHARE if stalls.source else 0.0

        def chance() -> bool:
            return self.random.random() < share

        self.slave.ar_channel.set_pause_generator(iter(lambda: self.pause_asks or chance(), None))
        self.slave.r_channel.set_pause_generator(iter(lambda: self.pause_data or chance(), None))
        self.asks: deque[tuple[int, int]] = deque()
        self.expected: deque[int] = deque()
        self.model = ReadGuard()
        self.right = self.errors = self.fired = 0
        """Beats that were right, and that were errors; how often the limit was reached."""
        self._offered = False
        self._ask: tuple[int, int] | None = None
        dut.s_axi_arvalid.value, dut.s_axi_rready.value, dut.drain_i.value = 0, 1, 0
        for name in ("arid", "arprot", "araddr", "arlen"):
            getattr(dut, f"s_axi_{name}").value = 0
        for name, value in (("arsize", 3), ("arburst", 1), ("arcache", 3)):
            getattr(dut, f"s_axi_{name}").value = value
        dut.limit_i.value = limit
        self.answer(self._drive)
        self.watch(self._see)

    def ask(self, beats: int) -> None:
        page = self.random.randrange(SIZE // PAGE) * PAGE
        self.asks.append((page + self.random.randrange(PAGE // LANES - beats) * LANES, beats))

    def _drive(self) -> None:
        self.dut.s_axi_arvalid.value = int(bool(self.asks))
        if self.asks:
            self.dut.s_axi_araddr.value, self.dut.s_axi_arlen.value = self.asks[0][0], self.asks[0][1] - 1

    def _see(self) -> None:
        dut = self.dut
        self.fired += now(dut.fired_o)
        offered = (now(dut.m_axi_araddr), now(dut.m_axi_arlen)) if now(dut.m_axi_arvalid) else None
        assert self._ask is None or offered == self._ask, "a request was withdrawn"
        self._ask = None if now(dut.m_axi_arready) else offered
        if now(dut.s_axi_rvalid):
            assert self.expected, "a beat that nobody has asked for"
            address = self.expected.popleft()
            if now(dut.s_axi_rresp):
                assert now(dut.s_axi_rresp) == SLVERR
                self.errors += 1
            else:
                assert now(dut.s_axi_rdata) == int.from_bytes(self.memory[address : address + LANES], "little")
                self.right += 1
        if self.asks and now(dut.s_axi_arready):
            address, beats = self.asks.popleft()
            self.expected.extend(range(address, address + beats * LANES, LANES))

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def all_given(self, limit: int = 3000) -> None:
        await self.until(lambda: not self.asks and not self.expected, limit)

    @property
    def given(self) -> tuple[int, int]:
        """Beats that were right, and errors."""
        return self.right, self.errors

    @property
    def late(self) -> bool:
        return bool(now(self.dut.late_o))


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def what_the_memory_gives_passes(dut: Any, stalls: Stalls) -> None:
    bench = GuardBench(dut, stalls)
    await bench.reset()
    for _ in range(60):
        bench.ask(bench.random.randint(1, 20))
        await bench.wait(bench.random.randrange(15))
    await bench.all_given()
    assert bench.right > 300
    assert (bench.errors, bench.fired) == (0, 0)


@cocotb.test()
@cocotb.parametrize(asks=[False, True], data=[False, True])
async def a_memory_that_stands_is_answered_for_until_it_has_given_what_it_owes(
    dut: Any, asks: bool, data: bool
) -> None:
    bench = GuardBench(dut)
    await bench.reset()
    bench.pause_asks, bench.pause_data = asks, data or not asks
    for _ in range(5):
        bench.ask(9)
    await bench.wait(LIMIT * UNIT - 5)
    assert not bench.errors
    await bench.all_given(LIMIT * UNIT + 60)
    assert bench.right == (9 if asks and not data else 0), "one request was taken before it stood"
    assert (bench.right + bench.errors, bench.fired) == (45, 1)
    assert bench.late
    bench.ask(3)
    await bench.all_given(10)
    assert bench.right + bench.errors == 48
    before = bench.right
    await bench.wait(3 * LIMIT * UNIT)
    assert bench.late
    assert bench.fired == 1
    bench.pause_asks = bench.pause_data = False
    await bench.until(lambda: not bench.late, 100)
    for _ in range(4):
        bench.ask(7)
    await bench.all_given()
    assert (bench.right - before, bench.right + bench.errors) == (28, 76)


@cocotb.test()
async def told_to_it_answers_at_once_and_what_comes_late_is_swallowed(dut: Any) -> None:
    bench = GuardBench(dut, limit=0)
    await bench.reset()
    bench.pause_data = True
    for _ in range(3):
        bench.ask(16)
    await bench.wait(10 * LIMIT * UNIT)
    assert bench.given == (0, 0), "without a limit it waits"
    dut.drain_i.value = 1
    await bench.all_given(60)
    assert bench.given == (0, 48)
    dut.drain_i.value = 0
    await bench.wait(5)
    bench.ask(5)
    await bench.wait(20)
    assert bench.given == (0, 48)
    bench.pause_data = False
    await bench.all_given(200)
    assert bench.given == (5, 48)
    assert not bench.fired


@cocotb.test()
async def a_reader_without_a_pause_reaches_the_memory_again_when_that_goes_on(dut: Any) -> None:
    bench = GuardBench(dut)
    await bench.reset()
    bench.pause_data = True
    for _ in range(400):
        bench.ask(4)
    await bench.until(lambda: bench.late)
    await bench.wait(30)
    assert now(dut.left_o)
    bench.pause_data = False
    await bench.until(lambda: not bench.late, 300)
    errors, due = bench.errors, len(bench.expected)
    await bench.all_given()
    assert bench.errors <= errors + due, "only what was asked for before"
    assert bench.right > 400


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def however_the_memory_stops_and_goes_on_every_beat_is_answered_once(dut: Any, stalls: Stalls) -> None:
    bench = GuardBench(dut, stalls)
    await bench.reset()
    for _ in range(80):
        bench.pause_asks, bench.pause_data = (bench.random.random() < 0.3 for _ in range(2))
        dut.drain_i.value = int(bench.random.random() < 0.1)
        for _ in range(bench.random.randrange(6)):
            bench.ask(bench.random.choice((1, 2, 5, 17)))
        await bench.wait(bench.random.choice((1, 5, 20, 4 * LIMIT * UNIT)))
    bench.pause_asks = bench.pause_data = False
    dut.drain_i.value = 0
    await bench.all_given(5000)
    await bench.until(lambda: not bench.late)
    assert bench.right > 100
    assert bench.errors > 100
    assert bench.fired > 3
    before = bench.errors
    bench.ask(100)
    await bench.all_given()
    assert bench.errors == before


def test_read_guard() -> None:
    run("read_guard", flat=True, DataW=WIDTH, UnitW=UNIT.bit_length() - 1)
