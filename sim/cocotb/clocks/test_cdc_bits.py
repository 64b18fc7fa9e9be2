"""cdc_bits: every bit comes after its stages, once, and never as anything that it was not."""

from typing import Any

import cocotb
import pytest
from cocotb.triggers import ReadOnly, RisingEdge

from bench import run
from clocks_bench import JITTER, Side
from signals import now


@cocotb.test()
async def each_bit_comes_behind_its_stages_or_one_cycle_later(dut: Any) -> None:
    side = Side(dut, "", 2000)
    width, stages = len(dut.bits_i), int(dut.Stages.value)
    dut.bits_i.value = 0
    await side.wait(stages + 2)
    driven: list[int] = [0] * (stages + 2)
    late = 0
    for _ in range(500):
        await RisingEdge(dut.clk)
        value = driven[-1] ^ (1 << side.random.randrange(width) if side.random.random() < 0.5 else 0)
        dut.bits_i.value = value
        driven.append(value)
        await ReadOnly()
        out = now(dut.bits_o)
        for bit in range(width):
            new, before = (driven[-1 - stages - back] >> bit & 1 for back in (0, 1))
            assert out >> bit & 1 in (new, before)
            late += out >> bit & 1 != new
    assert 40 < late < 160


@pytest.mark.parametrize("stages", [2, 4])
def test_cdc_bits(stages: int) -> None:
    run("cdc_bits", build_args=JITTER, Width=3, Stages=stages)
