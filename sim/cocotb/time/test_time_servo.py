"""time_servo: after every pulse it is as its model, and a clock that it drives keeps to the pulses."""

from fractions import Fraction
from random import Random
from typing import Any

import cocotb

from bench import Bench, run
from framelane.driver.simulated.time.time_ports import time_of
from framelane.models.time.time_counter import END, SECOND_NS
from framelane.models.time.time_servo import FRACTION, SECOND, Phase, TimeServo
from signals import now

CLOCK_HZ = 250_000_000
CYCLES = 260
"""Within so many a pulse is taken in."""


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


class ServoBench(Bench):
    """The controller, told of pulses; the model beside it."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.model = TimeServo(CLOCK_HZ)
        self.count = 0
        self.steps: list[int] = []
        self.watch(self._look)

    def _look(self) -> None:
        if now(self.dut.step_o):
            value = time_of(now(self.dut.value_o))
            self.steps.append((value - END if value >= END // 2 else value) >> 16)

    async def start(self) -> None:
        dut = self.dut
        dut.run_i.value, dut.event_i.value, dut.ns_i.value = 0, 0, 0
        await self.reset()
        dut.run_i.value = 1
        await self.step()

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def middle(self) -> None:
        """The middle of a second passes."""
        self.dut.ns_i.value = SECOND_NS // 2
        await self.wait(4)
        self.dut.ns_i.value = self.random.randrange(SECOND_NS // 2)
        await self.wait(4)
        self.model.tick()
        self.compare()

    async def pulse(self, tai: int) -> int | None:
        """A pulse at that time, 2^-16 ns; the step that it brings."""
        self.count += 1
        self.dut.event_i.value = (self.count % (1 << 16)) << 80 | tai
        self.steps.clear()
        await self.wait(CYCLES)
        step = self.model.pulse(tai)
        assert self.steps == ([] if step is None else [step])
        self.compare()
        return step

    def compare(self) -> None:
        dut, model = self.dut, self.model
        found = signed(now(dut.adjust_o), 32), signed(now(dut.offset_o), 32), now(dut.locked_o), now(dut.holdover_o)
        assert found == (model.adjust, model.offset, model.locked, model.holdover), model


def offset_like(random: Random) -> int:
    """An offset near one of the limits, or anything."""
    edge = random.choice([0, 1 << 7, 1 << 10, 1 << 14, 1 << 18, SECOND_NS // 2 - 1]) * FRACTION
    near = edge + random.randrange(-2, 3)
    return random.choice([near, -near, random.randrange(-100 * FRACTION, 100 * FRACTION)])


@cocotb.test()
async def every_pulse_does_what_the_model_says(dut: Any) -> None:
    bench = ServoBench(dut)
    await bench.start()
    seen = set()
    for _ in range(900):
        if bench.random.random() < 0.8:
            await bench.middle()
        if bench.random.random() < 0.85:
            small = bench.random.random() < 0.7
            offset = bench.random.randrange(-90 * FRACTION, 90 * FRACTION) if small else offset_like(bench.random)
            await bench.pulse(max(0, bench.random.randrange(1 << 33) * SECOND + offset))
        seen.add((bench.model.phase, bench.model.locked, bench.model.holdover))
    assert {(Phase.RATE, False, False), (Phase.TRACK, True, False), (Phase.TRACK, False, True)} <= seen


@cocotb.test()
async def pulses_far_off_are_not_believed_and_the_eighth_in_a_row_makes_it_begin_again(dut: Any) -> None:
    bench = ServoBench(dut)
    await bench.start()

    async def second(offset_ns: int) -> int | None:
        step = await bench.pulse(5 * SECOND + offset_ns * FRACTION)
        await bench.middle()
        return step

    for offset in (400_000_000, 30_000, 5, 3, -5):
        await second(offset)
    assert bench.model.locked
    kept = bench.model.adjust
    for bad in range(7):
        assert await second(1024 if bad == 0 else -400_000_000) is None
        assert bench.model.phase is Phase.TRACK
    assert bench.model.holdover
    assert abs(bench.model.adjust - kept) < 100
    await second(900)  # a good one between, late as it was missing: it is followed, and eight are needed again
    assert (bench.model.holdover, bench.model.adjust < kept) == (False, True)
    for _ in range(8):
        assert await second(20_000) is None
    assert bench.model.phase is Phase.FREE
    assert await second(20_000) == -20_000 * FRACTION
    assert await bench.pulse(5 * SECOND + 300_000 * FRACTION) is None  # no rate that an oscillator has
    assert bench.model.phase is Phase.FREE
    assert await second(300_000) == -300_000 * FRACTION  # it has begun again


@cocotb.test()
async def a_clock_that_is_87_ppm_off_is_kept_within_its_stamps_and_then_at_its_rate(dut: Any) -> None:
    bench = ServoBench(dut)
    await bench.start()
    random, period = Random(3), Fraction(10**9, CLOCK_HZ)
    # The clock's own offset in ns, and by how much a cycle of its oscillator is longer than it is thought
    ahead, drift = Fraction(123_456_789), Fraction(87, 10**6)
    errors = []
    for second in range(1, 161):
        stamp = second * SECOND_NS + ahead + Fraction(random.randrange(-2000, 2000), 1000)
        step = await bench.pulse(int(stamp * FRACTION))
        ahead += Fraction(step or 0, FRACTION)
        await bench.middle()
        ahead += (drift + Fraction(bench.model.adjust, 1 << 32) / period) * SECOND_NS
        errors.append(float(ahead))
    assert bench.model.locked
    late = errors[20:]
    assert max(map(abs, late)) < 4
    assert abs(sum(late) / len(late)) < 1
    # Its rate is right to some ppb when the pulses stop.
    await bench.middle()
    assert bench.model.holdover
    assert abs(drift + Fraction(bench.model.adjust, 1 << 32) / period) < Fraction(3, 10**9)


@cocotb.test()
async def when_it_does_not_run_it_forgets(dut: Any) -> None:
    bench = ServoBench(dut)
    await bench.start()
    for offset in (5_000_000, 40_000, 10, 10, 10, 10):
        await bench.pulse(7 * SECOND + offset * FRACTION)
    assert bench.model.locked
    dut.run_i.value = 0
    await bench.step()
    await bench.step()
    bench.model = TimeServo(CLOCK_HZ)
    bench.compare()
    bench.count += 1
    dut.event_i.value = bench.count << 80 | 9 * SECOND
    await bench.wait(CYCLES)
    bench.compare()
    dut.run_i.value = 1
    await bench.wait(CYCLES)
    bench.compare()
    assert await bench.pulse(10 * SECOND + 77) == -77


def test_time_servo() -> None:
    run("time_servo", ClockHz=CLOCK_HZ)
