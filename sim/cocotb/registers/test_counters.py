"""counters: no event is lost, whatever comes at the same time; a snapshot shows all of them."""

from typing import Any

import cocotb
import pytest

from bench import Bench, Stalls, run
from counter_ports import PULSES_T, STATION_PULSES_T, counter
from framelane.driver.simulated.ports import COUNT_T
from framelane.models.registers.counters import Counters
from signals import now

BEHIND = counter("destination_counters[].sent")
"""The first counter behind those of events and of flows."""


class CountersBench(Bench):
    """The block beside its model, which counts what the block has taken."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.model = Counters(int(dut.Counters.value), int(dut.Pulses.value))
        self.every = (1 << self.model.pulses) - 1
        self.period = 1 << self.model.pulses.bit_length()  # cycles between two visits of a counter, at most
        self.amounts = self.source("s_axis_count")
        self.pulses = 0
        self.inputs = {"snapshot": 0, "clear": 0}
        self.watch(self._count)

    async def start(self) -> None:
        for name in ("pulse_i", "snapshot_i", "clear_i", "index_i", "high_i"):
            getattr(self.dut, name).value = 0
        await self.reset()
        self.model.clear()

    def amount(self, index: int, amount: int) -> None:
        self.amounts.items.append({"tdata": COUNT_T.pack({"index": index, "amount": amount})})

    def drive(self, pulses: int, **commands: int) -> None:
        """What the next cycles have."""
        self.pulses = pulses
        self.dut.pulse_i.value = pulses
        for name in self.inputs:
            getattr(self.dut, f"{name}_i").value = commands.get(name, 0)

    def _count(self) -> None:
        for index in range(self.model.pulses):
            if self.pulses >> index & 1:
                self.model.pulse(index)
        if now(self.dut.s_axis_count_tvalid) and now(self.dut.s_axis_count_tready):
            taken = COUNT_T.unpack(now(self.dut.s_axis_count_tdata))
            self.model.count(taken["index"], taken["amount"])

    def is_busy(self) -> bool:
        return bool(now(self.dut.busy_o))

    async def quiet(self) -> None:
        """No pulses, all amounts taken, no command under way."""
        self.drive(0)
        await self.until(lambda: not self.amounts.items and not self.is_busy(), limit=20_000)
        await self.step()

    async def read(self, index: int) -> int:
        """A counter of the last snapshot."""
        halves: list[int] = []
        for high in (0, 1):
            self.dut.index_i.value, self.dut.high_i.value = index, high
            await self.step()
            self.dut.index_i.value, self.dut.high_i.value = self.random.getrandbits(11), self.random.getrandbits(1)
            await self.step()
            self.watch(lambda: halves.append(now(self.dut.data_o)))
            await self.step()
            self._watchers.pop()
        return halves[0] | halves[1] << 32

    async def command(self, name: str) -> None:
        """Give a command and wait until it has been carried out, pulses going on."""
        self.drive(self.pulses, **{name: 1})
        await self.step()
        self.drive(self.pulses)
        await self.until(lambda: not self.is_busy(), limit=20_000)

    async def check(self) -> None:
        """With nothing going on, a snapshot is what the model says."""
        await self.quiet()
        for _ in range(2 * self.period):
            await self.step()
        await self.command("snapshot")
        await self.step()
        for index, value in enumerate(self.model.values):
            assert await self.read(index) == value, index


def amounts_of(bench: CountersBench, items: int) -> None:
    """Amounts for any counters, mostly one after the other for the same."""
    last = bench.model.pulses
    for _ in range(items):
        if bench.random.random() < 0.4:
            last = bench.random.randrange(bench.model.pulses, len(bench.model.values))
        bench.amount(last, bench.random.choice((1, 1, 1, bench.random.getrandbits(32), (1 << 64) - 1)))


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.SOURCE])
async def all_events_at_once_are_counted(dut: Any, stalls: Stalls) -> None:
    """Every pulse in every cycle, and as many amounts as are taken."""
    bench = CountersBench(dut, stalls)
    await bench.start()
    amounts_of(bench, 400)
    bench.drive(bench.every)
    await bench.until(lambda: not bench.amounts.items, limit=20_000)
    await bench.check()


@cocotb.test()
async def any_pattern_of_pulses_is_counted(dut: Any) -> None:
    bench = CountersBench(dut, Stalls.SOURCE)
    await bench.start()
    amounts_of(bench, 200)
    for _ in range(2000):
        bench.drive(bench.random.getrandbits(bench.model.pulses) & bench.random.getrandbits(bench.model.pulses))
        await bench.step()
    await bench.check()


@cocotb.test()
async def snapshots_under_full_load_lose_nothing(dut: Any) -> None:
    """Asked for again and again, in any cycle: amounts are taken between two all the same."""
    bench = CountersBench(dut)
    await bench.start()
    amounts_of(bench, 30)
    while bench.amounts.items:
        bench.drive(bench.every, snapshot=1)
        await bench.step()
        assert bench.cycle < 50_000, "the stream starves"
    await bench.check()


@cocotb.test()
async def a_snapshot_shows_one_moment_and_then_stays(dut: Any) -> None:
    bench = CountersBench(dut)
    await bench.start()
    await bench.quiet()
    bench.drive(bench.every)
    for _ in range(bench.random.randrange(100, 200)):
        await bench.step()
    before = bench.model.values[0]
    await bench.command("snapshot")
    shown = [await bench.read(index) for index in range(bench.model.pulses)]
    assert all(before < value <= before + 3 * bench.period for value in shown), (before, shown)
    assert max(shown) - min(shown) < bench.model.pulses
    for _ in range(500):
        await bench.step()
    assert [await bench.read(index) for index in range(bench.model.pulses)] == shown


@cocotb.test()
async def a_clear_under_full_load_counts_from_its_beginning(dut: Any) -> None:
    bench = CountersBench(dut)
    await bench.start()
    amounts_of(bench, 20)
    bench.drive(bench.every)
    await bench.until(lambda: not bench.amounts.items)
    started = bench.cycle
    await bench.command("clear")
    ended = bench.cycle
    for _ in range(300):
        await bench.step()
    total = bench.cycle
    await bench.quiet()
    for _ in range(2 * bench.period):
        await bench.step()
    await bench.command("snapshot")
    counts = [await bench.read(index) for index in range(len(bench.model.values))]
    assert len(set(counts[: bench.model.pulses])) == 1, counts[: bench.model.pulses]
    assert total - ended < counts[0] <= total - started
    assert not any(counts[bench.model.pulses :])


@cocotb.test()
async def a_reset_zeroes_all_and_takes_no_snapshot(dut: Any) -> None:
    bench = CountersBench(dut)
    await bench.start()
    amounts_of(bench, 20)
    bench.drive(bench.every)
    await bench.until(lambda: not bench.amounts.items)
    await bench.command("snapshot")
    assert all([await bench.read(index) for index in range(bench.model.pulses)])
    await bench.quiet()
    await bench.start()
    for _ in range(len(bench.model.values) + 8):
        await bench.step()
    bench.drive(bench.every)
    for _ in range(len(bench.model.values) + 4 * bench.period):
        await bench.step()
    assert not any([await bench.read(index) for index in range(len(bench.model.values))])
    await bench.check()


@cocotb.test()
async def amounts_right_behind_a_clear_are_added_to_zero(dut: Any) -> None:
    """Those of the last counters: the clear has just left them."""
    bench = CountersBench(dut)
    await bench.start()
    last = len(bench.model.values) - 1
    for index in (last - 1, last):
        await bench.quiet()
        for amount in (1 << 40, *[1] * 60):
            bench.amount(index, amount)
        await bench.until(lambda: len(bench.amounts.items) < 40)
        taken = bench.amounts.accepted
        bench.drive(0, clear=1)
        await bench.step()
        await bench.quiet()
        behind = max(range(1, len(taken)), key=lambda k: taken[k] - taken[k - 1])
        assert taken[behind] - taken[behind - 1] > last
        await bench.command("snapshot")
        await bench.step()
        assert await bench.read(index) == len(taken) - behind
        taken.clear()
        bench.amounts.offered.clear()


@cocotb.test()
async def a_clear_zeroes_what_software_reads(dut: Any) -> None:
    bench = CountersBench(dut)
    await bench.start()
    bench.drive(0b11)
    for _ in range(100):
        await bench.step()
    amounts_of(bench, 50)
    await bench.check()
    await bench.command("clear")
    await bench.step()
    assert not any([await bench.read(index) for index in range(len(bench.model.values))])


@cocotb.test()
async def a_clear_and_a_snapshot_of_the_same_cycle_are_both_carried_out(dut: Any) -> None:
    """The clear first: the snapshot shows what came meanwhile."""
    bench = CountersBench(dut)
    await bench.start()
    amounts_of(bench, 50)
    await bench.check()
    bench.drive(1, snapshot=1, clear=1)
    await bench.step()
    bench.drive(1)
    await bench.until(lambda: not bench.is_busy(), limit=20_000)
    shown = [await bench.read(index) for index in range(len(bench.model.values))]
    assert len(shown) <= shown[0] <= len(shown) + 3 * bench.period
    assert not any(shown[1:])


@cocotb.test()
async def commands_during_a_snapshot_wait_for_it(dut: Any) -> None:
    bench = CountersBench(dut)
    await bench.start()
    amounts_of(bench, 50)
    await bench.check()
    bench.drive(0, snapshot=1)
    await bench.step()
    bench.drive(0)
    for _ in range(bench.period + 30):
        await bench.step()
    bench.drive(0, clear=1)
    await bench.step()
    await bench.quiet()
    bench.model.clear()
    await bench.check()


@cocotb.test()
async def amounts_for_counters_that_are_not_there_count_nothing(dut: Any) -> None:
    bench = CountersBench(dut)
    await bench.start()
    for index in (0, bench.model.pulses - 1, len(bench.model.values), 0x7FFF, 0xFFFF, 1 << 11 | BEHIND):
        bench.amount(index, 5)
    bench.amount(bench.model.pulses, 7)
    bench.amount(len(bench.model.values) - 1, 9)
    await bench.check()
    assert await bench.read(len(bench.model.values)) == 0
    assert await bench.read((1 << 11) - 1) == 0


@cocotb.test()
async def a_reset_in_the_middle_of_everything_zeroes_all_and_what_comes_behind_it_counts(dut: Any) -> None:
    bench = CountersBench(dut)
    await bench.start()
    amounts_of(bench, 100)
    bench.drive(bench.every, snapshot=1, clear=1)
    for _ in range(bench.random.randrange(60, 90)):
        await bench.step()
    await bench.start()
    bench.drive(bench.every)
    for _ in range(20):
        await bench.step()
    await bench.check()
    assert bench.model.values == [20] * bench.model.pulses + [0] * (len(bench.model.values) - bench.model.pulses)


@pytest.mark.parametrize(
    ("counters", "pulses"),
    [(BEHIND + 4 * d, PULSES_T.width) for d in (1, 16, 256)] + [(80, STATION_PULSES_T.width), (129, 64)],
)
def test_counters(counters: int, pulses: int) -> None:
    run("counters", Counters=counters, Pulses=pulses)
