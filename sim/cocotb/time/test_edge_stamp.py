"""edge_stamp: the time of an edge that any clock made, to half a cycle."""

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
LATENCY_NS = -12.5


@cocotb.test()
async def an_edge_is_right_to_half_a_cycle_and_all_are_counted(dut: Any) -> None:
    chance = random.Random(SEED)
    dut.rst.value, dut.signal_i.value, dut.tai_i.value = 1, 0, START_NS << 16
    dut.own_period_i.value = 4 << 24
    dut.latency_i.value = round(LATENCY_NS * (1 << 16)) % (1 << 32)
    Clock(dut.clk, PERIOD, "ps").start()

    async def keep_time() -> None:
        while True:
            await RisingEdge(dut.clk)
            dut.tai_i.value = (START_NS << 16) + (round(get_sim_time("ps")) << 16) // 1000

    cocotb.start_soon(keep_time())
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    errors = []
    for count in range(400):
        dut.signal_i.value = 0
        await Timer(10_000 + chance.randrange(20_000), "ps")
        edge = round(get_sim_time("ps")) / 1000
        dut.signal_i.value = 1
        await Timer(18_001, "ps")
        event = now(dut.event_o)
        assert event >> 80 == count + 1
        said = event % (1 << 80) - (START_NS << 16)
        errors.append(said / (1 << 16) - (edge - LATENCY_NS))
    assert max(map(abs, errors)) <= PERIOD / 2000 + 2 * FRACTION
    assert abs(sum(errors) / len(errors)) < 0.3


def test_edge_stamp() -> None:
    run("edge_stamp")
