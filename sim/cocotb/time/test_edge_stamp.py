"""edge_stamp: the time of an edge that any clock made, to a quarter of a cycle."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time

from bench import SEED, run
from framelane.models.time.time_cross import FRACTION
from signals import now

PERIOD = 4000
START_NS = 77 * 10**9
SEEN = 4 * PERIOD
"""So many ps from the edge before it to its stamp."""


async def begin(dut: Any, latency_ns: float, signal: int = 0) -> None:
    """Reset, with a clock of TAI that is exact."""
    dut.rst.value, dut.signal_i.value, dut.tai_i.value = 1, signal, START_NS << 16
    dut.own_period_i.value = 4 << 24
    dut.latency_i.value = round(latency_ns * (1 << 16)) % (1 << 32)
    Clock(dut.clk, PERIOD, "ps").start()

    async def keep_time() -> None:
        while True:
            await RisingEdge(dut.clk)
            dut.tai_i.value = (START_NS << 16) + (round(get_sim_time("ps")) << 16) // 1000

    cocotb.start_soon(keep_time())
    for _ in range(6):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


def stamp_ns(dut: Any) -> float:
    """The last stamp, in ns of the simulation."""
    return float((now(dut.event_o) % (1 << 80) - (START_NS << 16)) / (1 << 16))


@cocotb.test()
@cocotb.parametrize(latency_ns=[-12.5, 32767.75, -32768.0])
async def an_edge_is_right_to_a_quarter_of_a_cycle_and_all_are_counted(dut: Any, latency_ns: float) -> None:
    chance = random.Random(SEED)
    await begin(dut, latency_ns)
    errors = []
    for count in range(400):
        dut.signal_i.value = 0
        await Timer(2 * PERIOD + 1 + chance.randrange(5 * PERIOD), "ps")
        edge = round(get_sim_time("ps")) / 1000
        dut.signal_i.value = 1
        await Timer(SEEN + 3 * PERIOD // 2, "ps")
        assert now(dut.event_o) >> 80 == count + 1
        errors.append(stamp_ns(dut) - (edge - latency_ns))
    assert max(map(abs, errors)) <= PERIOD / 4000 + 2 * FRACTION
    assert abs(sum(errors) / len(errors)) < 0.15


@cocotb.test()
async def pulses_of_two_cycles_are_all_seen(dut: Any) -> None:
    chance = random.Random(SEED)
    await begin(dut, 0.0)
    await Timer(chance.randrange(1, PERIOD), "ps")
    for _ in range(200):
        dut.signal_i.value = 1
        await Timer(2 * PERIOD + 1 + chance.randrange(PERIOD), "ps")
        dut.signal_i.value = 0
        edge = round(get_sim_time("ps")) / 1000
        await Timer(2 * PERIOD + 1 + chance.randrange(PERIOD), "ps")
    await Timer(SEEN, "ps")
    assert now(dut.event_o) >> 80 == 200
    assert edge - 3 * PERIOD / 1000 - 1 <= stamp_ns(dut) <= edge - 2 * PERIOD / 1000 + 1


@cocotb.test()
async def a_signal_that_was_high_in_the_reset_has_not_risen(dut: Any) -> None:
    await begin(dut, 0.0, signal=1)
    await Timer(10 * PERIOD, "ps")
    assert now(dut.event_o) == 0
    dut.signal_i.value = 0
    await Timer(3 * PERIOD, "ps")
    assert now(dut.event_o) == 0
    dut.signal_i.value = 1
    await Timer(SEEN + PERIOD, "ps")
    assert now(dut.event_o) >> 80 == 1


def test_edge_stamp() -> None:
    run("edge_stamp")
