"""time_counter: every cycle's time is the model's, whatever is set, stepped, slewed and adjusted."""

from collections import deque
from random import Random
from typing import Any

import cocotb

from bench import Bench, run
from framelane.driver.simulated.time.time_ports import rate_t, time_of, time_t
from framelane.models.time import time_counter as model
from framelane.models.time.time_counter import NS, SECOND, SLEW_CYCLES, Clock, Rate
from signals import now

LATENCY = 7
"""Cycles from a rate to the first time that has gone by it."""
FIRST_TURN = 2
"""Where the counter's turns of a slew begin: those of the model begin at 0."""
COMMAND_TURN = 3
"""When a slew's amount is taken over."""


class Follower:
    """The model beside the counter: it sees the same inputs, and compares every cycle."""

    def __init__(self, bench: Bench) -> None:
        self._dut = bench.dut
        self.rate = Rate()
        self.clock: Clock | None = None
        self.amount = 0
        self.steps = 0
        self.seconds = 0
        self._asked = self._stepping = False
        self._rates: deque[tuple[Rate, int, int | None]] = deque()
        self._tick = 0
        self._value, self._is_set = 0, False
        bench.watch(self._look)

    def start(self) -> None:
        """From the cycle behind a reset on."""
        self.clock, self._tick, self._asked = None, 0, False
        self._rates.clear()

    def step(self, value: int, *, is_set: bool) -> None:
        """What the next pulse of stepped_o does."""
        self._value, self._is_set = value, is_set

    def _look(self) -> None:
        amount = None
        if self._tick == COMMAND_TURN and self._asked:
            amount, self._asked = self.amount, False
        self._asked |= bool(now(self._dut.slew_i))
        self._rates.append((self.rate, self._tick, amount))
        self._tick = (self._tick + 1) % SLEW_CYCLES
        if len(self._rates) <= LATENCY:
            return
        time = time_of(now(self._dut.time_o))
        tai = now(self._dut.tai_o)
        assert (tai >> 16, tai & 0xFFFF) == (model.tai_ns(time), time >> 16 & 0xFFFF)
        rate, tick, amount = self._rates.popleft()
        if self.clock is None:
            assert time < 100 * 256 * NS, "time does not begin with 0"
            remainder = model.advance(Clock(), rate, 2).remainder  # that begins a cycle before the first rate is seen
            self.clock = Clock(time, remainder, 0, (tick + 1 - FIRST_TURN) % SLEW_CYCLES)
            return
        before = self.clock.time
        self.clock = model.advance(self.clock, rate)
        if now(self._dut.stepped_o):
            self.steps += 1
            step = model.set_to if self._is_set else model.stepped
            self.clock = step(self.clock, self._value)
        elif self.clock.time // SECOND != before // SECOND:
            self.seconds += 1
        if amount is not None:
            self.clock = model.slewing(self.clock, amount)
        assert time == self.clock.time, f"{time - self.clock.time} too much, in 2^-32 ns"


async def started(dut: Any, rate: Rate) -> tuple[Bench, Follower]:
    bench = Bench(dut)
    for name in ("set_i", "step_i", "slew_i", "value_i", "amount_i", "pps_i"):
        getattr(dut, name).value = 0
    dut.rate_i.value = rate_t(rate)
    follower = Follower(bench)
    follower.rate = rate
    await bench.reset(4)
    follower.start()
    return bench, follower


async def stepped(bench: Bench, follower: Follower, value: int, *, is_set: bool) -> None:
    dut = bench.dut
    follower.step(value, is_set=is_set)
    done = follower.steps + 1
    dut.value_i.value = time_t(value)
    (dut.set_i if is_set else dut.step_i).value = 1
    await bench.step()
    dut.set_i.value = dut.step_i.value = 0
    await bench.until(lambda: follower.steps == done and not now(dut.stepping_o), 20_000)


def random_rate(random: Random) -> Rate:
    denominator = random.randrange(1, 70)
    return Rate(
        random.choice([4 * NS, random.randrange(200 * NS), random.randrange(1 << 40)]),
        random.randrange(denominator),
        denominator,
        random.choice([0, random.randrange(-1 << 31, 1 << 31)]),
        random.choice([1 << 28, random.randrange(1 << 32)]),
    )


@cocotb.test()
async def every_cycle_is_the_models_through_ends_of_seconds_steps_and_slews(dut: Any) -> None:
    bench, follower = await started(dut, Rate(6 * NS + 1717986918, 2, 5))
    random = bench.random
    for _ in range(60):
        near = random.randrange(1 << 40) * SECOND - random.randrange(40_000 * NS)
        await stepped(bench, follower, max(0, near), is_set=True)
        if random.random() < 0.5:
            dut.amount_i.value = (amount := random.randrange(-30 * NS, 30 * NS)) % (1 << 64)
            dut.slew_i.value, follower.amount = 1, amount
            await bench.step()
            dut.slew_i.value = 0
        for _ in range(random.randrange(120)):
            await bench.step()
        offset = random.choice([random.randrange(-3 * SECOND, 3 * SECOND), random.randrange(-9 * NS, 9 * NS), -NS, NS])
        await stepped(bench, follower, offset, is_set=False)
        # The slew's rate counts when a part of it is taken, all others when the cycle goes its way.
        await bench.until(lambda: not now(dut.slewing_o), 30_000) if follower.rate.slew_rate >= 1 << 26 else None
        if not now(dut.slewing_o):
            follower.rate = random_rate(random)
            dut.rate_i.value = rate_t(follower.rate)
        for _ in range(random.randrange(60)):
            await bench.step()
    assert follower.seconds > 10


@cocotb.test()
async def a_step_that_is_asked_at_the_end_of_a_second_waits_for_it(dut: Any) -> None:
    bench, follower = await started(dut, Rate(255 * NS + 77))
    for back in range(0, 12_000, 300):
        await stepped(bench, follower, 5 * SECOND - 40 * 255 * NS - back * NS, is_set=True)
        await stepped(bench, follower, bench.random.choice([SECOND - 1, -1, -SECOND + 1, 0]), is_set=False)
    assert follower.seconds > 20


@cocotb.test()
async def the_pulse_per_second_is_high_for_its_first_tenth(dut: Any) -> None:
    bench, follower = await started(dut, Rate(250 * NS))
    for start, after in ((4 * SECOND - 3000 * NS, 1), (4 * SECOND + SECOND // 10 - 3000 * NS, 0)):
        for enabled in (1, 0):
            dut.pps_i.value = enabled
            await stepped(bench, follower, start, is_set=True)
            before = None
            for _ in range(40):
                assert follower.clock
                if before is not None:
                    assert now(dut.pps_o) == (enabled and before % SECOND < SECOND // 10)
                before = follower.clock.time
                await bench.step()
            assert now(dut.pps_o) == (enabled and after)


@cocotb.test()
async def a_reset_begins_with_zero_and_takes_no_slew_along(dut: Any) -> None:
    bench, follower = await started(dut, Rate())
    await stepped(bench, follower, 9 * SECOND, is_set=True)
    dut.amount_i.value, dut.slew_i.value = 1 << 60, 1
    follower.amount = 1 << 60
    await bench.step()
    dut.slew_i.value = 0
    for _ in range(40):
        await bench.step()
    assert now(dut.slewing_o)
    dut.step_i.value = 1
    await bench.step()
    dut.step_i.value = 0
    await bench.reset(4)
    follower.start()
    assert not now(dut.stepping_o)
    for _ in range(200):
        await bench.step()
    assert not now(dut.slewing_o)
    assert follower.clock
    assert follower.clock.time < 300 * 4 * NS


def test_time_counter() -> None:
    run("time_counter")
