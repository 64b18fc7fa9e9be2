"""time_cross: another clock's edges are when it says, to half a cycle, whatever the two clocks' rates."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

from bench import run
from framelane.models.time.time_cross import bound_ns
from signals import now

OWN = 4000
"""Period of the time's clock, ps."""
START_NS = 1_800_000_000 * 10**9 + 999_999_000
LATENCY_NS = 37.25


def in_units(ns: float, bits: int) -> int:
    return round(ns * (1 << bits))


async def keep_time(dut: Any) -> None:
    """The time at the edge with which each cycle began, exact."""
    while True:
        await RisingEdge(dut.clk)
        ps = round(get_sim_time("ps"))
        dut.tai_i.value = (START_NS << 16) + (ps << 16) // 1000


async def started(dut: Any, period: int, nominal: int) -> None:
    dut.rst.value, dut.tai_i.value = 1, START_NS << 16
    dut.own_period_i.value, dut.period_i.value = in_units(OWN / 1000, 24), in_units(nominal / 1000, 24)
    dut.latency_i.value = in_units(LATENCY_NS, 16)
    Clock(dut.clk, OWN, "ps").start()
    if period:
        await Timer(317, "ps")
        Clock(dut.m_clk, period, "ps").start()
    cocotb.start_soon(keep_time(dut))
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


async def errors(dut: Any, clock: Any, settle: int, cycles: int) -> list[float]:
    """What tai_o is wrong by in each cycle, ns."""
    found = []
    for cycle in range(settle + cycles):
        await RisingEdge(clock)
        ps = round(get_sim_time("ps"))
        await ReadOnly()
        if cycle >= settle:
            said = now(dut.tai_o) - (START_NS << 16)
            found.append(said / (1 << 16) - (ps / 1000 - LATENCY_NS))
    return found


@cocotb.test()
@cocotb.parametrize(clock=[(4000, 4000), (4002, 4000), (3106, 3106), (6402, 6401), (8000, 8000), (2500, 2500)])
async def the_time_of_an_edge_is_right_to_half_a_cycle(dut: Any, clock: tuple[int, int]) -> None:
    period, nominal = clock
    if not dut.Cross.value:
        return
    await started(dut, period, nominal)
    found = await errors(dut, dut.m_clk, 200, 4000)
    bound = bound_ns(period / 1000, OWN / 1000, abs(period / nominal - 1))
    assert max(map(abs, found)) <= bound, f"{min(found)} to {max(found)} ns, {bound} are allowed"
    if period % 100:  # where one clock creeps past the other all phases come, and none is preferred
        assert abs(sum(found) / len(found)) < period / 1000 / 8


@cocotb.test()
async def in_its_own_clock_it_is_exact(dut: Any) -> None:
    if dut.Cross.value:
        return
    await started(dut, 0, OWN)
    assert max(map(abs, await errors(dut, dut.clk, 20, 500))) < 1e-3


def test_time_cross() -> None:
    run("time_cross")
    run("time_cross", Cross=0)
