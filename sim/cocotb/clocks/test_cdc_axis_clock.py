"""cdc_axis: its sink's clock stands while its source is reset; both sides begin anew when the clock is back."""

from typing import Any

import cocotb
from cocotb.triggers import Timer

from bench import Bench, run
from signals import now
from waves import Waves, check

SETTLES = 100
"""Cycles in which a restart has ended."""


class SlowClock:
    """The sink's clock, at half the rate of the source's."""

    def __init__(self, clk: Any) -> None:
        self.runs = True
        self._clk = clk
        clk.value = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        level = 0
        while True:
            await Timer(2, "ns")
            level = int(self.runs and not level)
            self._clk.value = level


@cocotb.test()
async def a_reset_while_the_sinks_clock_stands_waits_for_it(dut: Any) -> None:
    """What is accepted behind the restart arrives, all of it; of what was inside, what left before both had stopped."""
    dut.m_rst.value, dut.m_axis_tready.value = 1, 1
    clock = SlowClock(dut.m_clk)
    bench = Bench(dut, side="s_")
    source = bench.source("s_axis")
    taken: list[int] = []

    def take() -> None:
        if now(dut.m_clk) and now(dut.m_axis_tvalid):
            taken.append(now(dut.m_axis_tdata))

    await bench.reset(8)
    dut.m_rst.value = 0
    for _ in range(SETTLES):
        await bench.step()
    bench.watch(take)
    source.items.extend({"tdata": number, "tlast": 1} for number in range(200))
    for _ in range(30):
        await bench.step()
    waves = Waves(bench, "m_clk", "s_rst", "s_axis_tvalid", "s_axis_tready", "m_axis_tvalid")
    for _ in range(6):
        await bench.step()
    clock.runs = False
    await bench.until(lambda: not source.is_ready())
    for _ in range(SETTLES):
        await bench.step()
    assert not source.is_ready()
    assert taken == list(range(len(taken)))
    before = len(source.accepted)
    for level in (1, 0):
        bench.rst.value = level
        await bench.step()
        await bench.step()
    for _ in range(SETTLES):
        await bench.step()
    assert len(source.accepted) == before, "it went on without the other side"
    clock.runs = True
    await bench.until(lambda: len(source.accepted) > before)
    for _ in range(12):
        await bench.step()
    check("clock_restart", ("source", waves))
    await bench.until(lambda: taken[-1] == 199)
    fresh = [number for number in taken if number >= before]
    assert fresh == list(range(before, 200))
    assert taken == [*range(len(taken) - len(fresh)), *fresh]
    assert len(taken) < 200, "nothing was inside"


def test_cdc_axis_clock() -> None:
    run("cdc_axis_clock", top="cdc_axis", DataW=32)
