"""write_guard: each burst is answered, by the memory or with an error, and the memory never gets half a burst."""

from collections import deque
from dataclasses import dataclass
from typing import Any

import cocotb

from bench import ALL_STALLS, STALL_SHARE, Bench, Stalls, run
from framelane.models.memory.write_guard import WriteGuard
from signals import now
from write_memory import WriteMemory

PAGE = 4096
"""No burst crosses one."""
SIZE = 32 * PAGE
WIDTH = 64
LANES = WIDTH // 8
UNIT, LIMIT, BURSTS = 8, 4, 8
SLVERR = 2


@dataclass(frozen=True)
class Burst:
    """What is to be written, and where."""

    address: int
    data: bytes

    @property
    def beats(self) -> int:
        return len(self.data) // LANES


class GuardBench(Bench):
    """The guard between a writer that takes answers at once, and cocotbext-axi's memory, which may stand still."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, limit: int = LIMIT) -> None:
        super().__init__(dut, stalls)
        self.before = self.random.randbytes(SIZE)
        self.memory = WriteMemory(self, 0, self.before, stalls.sink)
        self.stands = {"aw": False, "w": False, "b": False}
        """Which channels of the memory do not move."""
        for name, channel in zip(self.stands, self.memory.channels, strict=True):
            channel.queue_occupancy_limit = 2 if name != "b" else -1
            channel.set_pause_generator(self._pauses_of(name, stalls.sink))
        self.asks: deque[Burst] = deque()
        self.data: deque[Burst] = deque()
        self.waits: deque[Burst] = deque()
        """Bursts whose address, whose data, and whose answer are not over."""
        self.written: list[Burst] = []
        self.refused: list[Burst] = []
        self.model = WriteGuard()
        self.fired = self._beat = self._next = 0
        self._valid = {"aw": False, "w": False}
        self._stalls_source = stalls.source
        for name in ("awvalid", "wvalid", "wlast", "wdata", "wstrb", "awid", "awaddr", "awlen"):
            getattr(dut, f"s_axi_{name}").value = 0
        for name, value in (("awsize", 3), ("awburst", 1), ("awcache", 3), ("awprot", 0), ("bready", 1)):
            getattr(dut, f"s_axi_{name}").value = value
        dut.limit_i.value, dut.drain_i.value = limit, 0
        self.answer(self._drive)
        self.watch(self._see)

    def _pauses_of(self, name: str, stalls: bool) -> Any:
        return iter(lambda: self.stands[name] or (stalls and self.random.random() < STALL_SHARE), None)

    def stand(self, *names: str) -> None:
        """From now on these channels of the memory do not move, and the others do."""
        self.stands.update({name: name in names for name in self.stands})

    def write(self, beats: int) -> None:
        """Each burst has a place of its own."""
        if self._next % PAGE + beats * LANES > PAGE:
            self._next += -self._next % PAGE
        burst = Burst(self._next, self.random.randbytes(beats * LANES))
        self._next += len(burst.data)
        assert self._next <= SIZE
        self.asks.append(burst)
        self.data.append(burst)

    def _offers(self, channel: str, there: bool) -> bool:
        """Whether it is offered; what was, stays."""
        pauses = self._stalls_source and self.random.random() < STALL_SHARE
        self._valid[channel] = there and (self._valid[channel] or not pauses)
        return self._valid[channel]

    def _drive(self) -> None:
        dut = self.dut
        dut.s_axi_awvalid.value = int(self._offers("aw", bool(self.asks)))
        if self.asks:
            dut.s_axi_awaddr.value, dut.s_axi_awlen.value = self.asks[0].address, self.asks[0].beats - 1
        dut.s_axi_wvalid.value = int(self._offers("w", bool(self.data)))
        if self.data:
            burst, at = self.data[0], self._beat * LANES
            dut.s_axi_wdata.value = int.from_bytes(burst.data[at : at + LANES], "little")
            dut.s_axi_wstrb.value = (1 << LANES) - 1
            dut.s_axi_wlast.value = int(self._beat == burst.beats - 1)

    def _see(self) -> None:
        dut, model = self.dut, self.model
        if now(dut.rst):
            return
        asked, given, answered = (
            bool(now(getattr(dut, f"s_axi_{name}valid")) and now(getattr(dut, f"s_axi_{name}ready")))
            for name in ("aw", "w", "b")
        )
        came = bool(now(dut.m_axi_bvalid) and now(dut.m_axi_bready))
        self.fired += now(dut.fired_o)
        assert now(dut.owes_o) == model.owes
        assert now(dut.left_o) == bool(model.owed)
        if came and not model.swallows:
            assert answered, "an answer was swallowed that the writer waits for"
        if answered:
            burst, wrong = self.waits.popleft(), now(dut.s_axi_bresp)
            assert wrong == (SLVERR if model.answers else 0)
            assert burst not in self.data, "answered before its data are over"
            (self.refused if wrong else self.written).append(burst)
        if asked:
            self._valid["aw"] = False
            self.waits.append(self.asks.popleft())
        if given:
            self._valid["w"] = False
            self._beat += 1
            if self._beat == self.data[0].beats:
                self.data.popleft()
                self._beat = 0
        gives_up = bool(now(dut.late_o) or now(dut.fired_o) or now(dut.drain_i))
        model.cycle(gives_up=gives_up, asked=asked, answered=answered, came=came)

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def all_answered(self, limit: int = 3000) -> None:
        await self.until(lambda: not self.asks and not self.data and not self.waits, limit)

    async def finish(self) -> None:
        """Run until the memory owes nothing: what it said to have written is there, and no byte of a place else."""
        await self.until(lambda: not now(self.dut.owes_o), 3000)
        await self.wait(20)
        assert len(self.memory.bursts) == self.memory.answers == self.model.passed
        allowed = bytearray(self.before)
        for burst in self.written:
            assert self.memory.read(burst.address, len(burst.data)) == burst.data
            allowed[burst.address : burst.address + len(burst.data)] = burst.data
        for burst in self.refused:
            there = self.memory.read(burst.address, len(burst.data))
            for at in range(0, len(there), LANES):
                beat = there[at : at + LANES]
                place = slice(burst.address + at, burst.address + at + LANES)
                assert beat in (burst.data[at : at + LANES], self.before[place])
                allowed[place] = beat
        assert self.memory.data == allowed


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def what_the_writer_gives_passes(dut: Any, stalls: Stalls) -> None:
    bench = GuardBench(dut, stalls)
    await bench.reset()
    for _ in range(60):
        bench.write(bench.random.randint(1, 20))
        await bench.wait(bench.random.randrange(15))
    await bench.all_answered()
    await bench.finish()
    assert (len(bench.written), len(bench.refused), bench.fired) == (60, 0, 0)


@cocotb.test()
@cocotb.parametrize(stands=[("aw",), ("w",), ("b",), ("aw", "w", "b")])
async def a_memory_that_stands_is_answered_for_and_gets_its_bursts_to_their_end(
    dut: Any, stands: tuple[str, ...]
) -> None:
    bench = GuardBench(dut)
    await bench.reset()
    for _ in range(7):
        bench.write(9)
    await bench.wait(12)
    bench.stand(*stands)
    await bench.wait(LIMIT * UNIT - 5)
    assert not bench.refused
    await bench.all_answered(LIMIT * UNIT + 150)
    assert bench.refused
    assert len(bench.written) + len(bench.refused) == 7
    assert bench.fired == 1
    bench.write(3)
    await bench.all_answered(20)
    assert bench.refused[-1].beats == 3, "as long as it stands each burst is refused"
    await bench.wait(3 * LIMIT * UNIT)
    assert now(dut.late_o)
    bench.stand()
    await bench.until(lambda: not now(dut.late_o), 300)
    refused = len(bench.refused)
    for _ in range(4):
        bench.write(7)
    await bench.all_answered()
    await bench.finish()
    assert (len(bench.refused), bench.fired) == (refused, 1)


@cocotb.test()
async def told_to_it_answers_at_once_and_the_next_bursts_wait_for_the_memory(dut: Any) -> None:
    bench = GuardBench(dut, limit=0)
    await bench.reset()
    bench.stand("w", "b")
    for _ in range(5):
        bench.write(16)
    await bench.wait(10 * LIMIT * UNIT)
    assert not bench.refused, "without a limit it waits"
    dut.drain_i.value = 1
    await bench.all_answered(120)
    assert len(bench.refused) == 5
    dut.drain_i.value = 0
    await bench.wait(5)
    bench.write(5)
    await bench.wait(50)
    assert len(bench.refused) == 5
    assert now(dut.left_o)
    bench.stand()
    await bench.all_answered(400)
    await bench.finish()
    assert (len(bench.written), bench.fired) == (1, 0)


@cocotb.test()
async def a_writer_without_a_pause_reaches_the_memory_again_when_that_goes_on(dut: Any) -> None:
    bench = GuardBench(dut)
    await bench.reset()
    bench.stand("b")
    for _ in range(200):
        bench.write(2)
    await bench.until(lambda: bool(now(dut.late_o)), 3000)
    await bench.wait(30)
    bench.stand()
    await bench.until(lambda: not now(dut.late_o), 300)
    refused = len(bench.refused)
    await bench.all_answered()
    await bench.finish()
    assert len(bench.refused) <= refused + BURSTS
    assert len(bench.written) > 100


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def however_the_memory_stops_and_goes_on_every_burst_is_answered_once(dut: Any, stalls: Stalls) -> None:
    bench = GuardBench(dut, stalls)
    await bench.reset()
    for _ in range(80):
        bench.stand(*(name for name in bench.stands if bench.random.random() < 0.2))
        dut.drain_i.value = int(bench.random.random() < 0.1)
        for _ in range(bench.random.randrange(6)):
            bench.write(bench.random.choice((1, 2, 5, 17)))
        await bench.wait(bench.random.choice((1, 5, 20, 4 * LIMIT * UNIT)))
    bench.stand()
    dut.drain_i.value = 0
    await bench.all_answered(8000)
    await bench.finish()
    assert min(len(bench.written), len(bench.refused)) > 15
    assert bench.fired > 3


def test_write_guard() -> None:
    run("write_guard", flat=True, DataW=WIDTH, Bursts=BURSTS, UnitW=UNIT.bit_length() - 1)
