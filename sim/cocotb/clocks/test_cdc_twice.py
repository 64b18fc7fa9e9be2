"""cdc_twice: both samples of a cycle come side by side, two edges later, and never as anything that the bit was not."""

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, Timer

from bench import run
from clocks_bench import JITTER, SteadySide
from signals import now

PERIOD = 4000
HALVES = 1600
SETTLED = 12


@cocotb.test()
async def both_samples_of_a_cycle_come_together_or_one_is_a_cycle_old(dut: Any) -> None:
    side = SteadySide(dut, "", PERIOD)
    dut.bit_i.value = 0
    await Timer(side.phase + PERIOD // 4, "ps")
    samples = [0] * 6
    late = {"rise": 0, "fall": 0}
    for half in range(HALVES):  # from a quarter of a cycle behind an edge to a quarter behind the next one
        if half % 2 == 0 and half > SETTLED:
            await ReadOnly()
            for name, out, back in (("rise", now(dut.rise_o), 3), ("fall", now(dut.fall_o), 4)):
                assert out in (samples[-back], samples[-back - 2]), f"{name} in half {half}"
                late[name] += out != samples[-back]
        before_edge = side.random.randrange(1, PERIOD // 4)
        await Timer(PERIOD // 4 - before_edge, "ps")
        samples.append(samples[-1] ^ (side.random.random() < 0.5))
        dut.bit_i.value = samples[-1]
        await Timer(PERIOD // 4 + before_edge, "ps")
    assert all(HALVES // 20 < count < HALVES // 5 for count in late.values()), late


def test_cdc_twice() -> None:
    run("cdc_twice", build_args=JITTER)
