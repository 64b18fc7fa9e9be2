"""What the benches of several clocks share: clocks of any ratio that drift, and one `Bench` for each side."""

import random
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.task import Task
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time

from bench import SEED, Bench, Sink, Source, Stalls

RATIOS = ((2000, 2000), (2000, 5400), (5400, 2000), (3000, 3004))
"""Periods of two clocks, in ps: nearly equal, each the faster one, and so near that one creeps past the other."""

JITTER = ("-DCDC_JITTER",)
"""Build argument: synchronizers catch a bit that changes one cycle late by chance."""


async def drifting(clock: Any, period: int, chance: random.Random) -> None:
    """Drive a clock whose period wanders by small random steps, at most 5 % from `period` (ps), from any phase on."""
    now = period
    await Timer(chance.randrange(1, period), "ps")
    while True:
        clock.value = 1
        await Timer(now // 2, "ps")
        clock.value = 0
        await Timer(now - now // 2, "ps")
        now += chance.randint(-period // 100 - 1, period // 100 + 1)
        now = min(max(now, period - period // 20), period + period // 20)


class Side(Bench):
    """The side of a design that runs with the clock `<side>clk`; `period` in ps."""

    def __init__(self, dut: Any, side: str, period: int, stalls: Stalls = Stalls.NONE, seed: int = SEED) -> None:
        self.period = period
        self.name = side
        self._clock: Task[None] | None = None
        self._resetting = self._started = False
        super().__init__(dut, stalls, seed, side=f"{side}_" if side else "")

    def start_clock(self) -> None:
        chance = random.Random(f"{self.name} {self.period} {self.random.random()}")
        self._clock = cocotb.start_soon(drifting(self.clk, self.period, chance))

    def stop_clock(self) -> None:
        """Let it stand, low."""
        assert self._clock is not None
        self._clock.cancel()
        self.clk.value = 0

    def _streams(self) -> list[Source | Sink]:
        """None in a reset: there are no handshakes."""
        return [] if self._resetting else super()._streams()

    def start(self) -> None:
        """Step without end, beside the other sides."""
        self._started = True
        self.keep_stepping()

    async def reset(self, cycles: int = 2) -> None:
        """Some cycles of reset, at any time: sources forget what they offer and hold, sinks what is offered."""
        await RisingEdge(self.clk)
        for stream in self._streams():
            stream.clear()
        self._resetting = True
        self.rst.value = 1
        for _ in range(cycles):
            await (RisingEdge(self.clk) if self._started else self.reset_cycle())  # started, it looks by itself
        self.rst.value = 0
        self._resetting = False

    async def wait(self, cycles: int) -> None:
        """Let some cycles go by; of a side that was started."""
        assert self._started or not self.rules, f"nobody looks at the AXI ports of {self.name}_clk: start it"
        for _ in range(cycles):
            await RisingEdge(self.clk)

    async def wait_until(self, done: Callable[[], bool], limit: int = 100_000) -> None:
        """Wait until `done`; fail after `limit` cycles. Of a side that was started."""
        start = self.cycle
        while not done():
            assert self.cycle - start < limit, f"not done after {limit} cycles of {self.name}_clk"
            await RisingEdge(self.clk)


class SteadySide(Side):
    """A side whose clock is exact, so that the moment of each of its edges is known."""

    def start_clock(self) -> None:
        self.phase = random.Random(f"{self.name} {self.random.random()}").randrange(1, self.period)
        """When its first edge is, in ps from now."""
        self._clock = cocotb.start_soon(self._steadily())

    def edge(self) -> int:
        """The moment of its last edge, in ps."""
        return self._first + (moment() - self._first) // self.period * self.period

    async def _steadily(self) -> None:
        self._first = moment() + self.phase
        await Timer(self.phase, "ps")
        while True:
            self.clk.value = 1
            await Timer(self.period // 2, "ps")
            self.clk.value = 0
            await Timer(self.period - self.period // 2, "ps")


def moment() -> int:
    """Now, in ps."""
    return round(get_sim_time("ps"))


async def start_all(*sides: Side) -> None:
    """Reset the sides together, each for some cycles of its own, and let all run."""
    tasks = [cocotb.start_soon(side.reset(side.random.randint(2, 9))) for side in sides]
    for task in tasks:
        await task
    for side in sides:
        side.start()
