"""cdc_reset: at once in, also while the clock stands; out behind its edges."""

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, Timer

from bench import run
from clocks_bench import Side
from signals import now


@cocotb.test()
async def it_is_asserted_at_once_and_released_after_its_stages(dut: Any) -> None:
    side = Side(dut, "", 2000)
    for _ in range(50):
        dut.rst_i.value = 1
        await Timer(1, "ps")
        assert now(dut.rst_o) == 1
        await Timer(side.random.randrange(1, 7000), "ps")
        dut.rst_i.value = 0
        for _ in range(int(dut.Stages.value)):
            await Timer(1, "ps")
            assert now(dut.rst_o) == 1
            await RisingEdge(dut.clk)
        await Timer(1, "ps")
        assert now(dut.rst_o) == 0
        await side.wait(side.random.randrange(1, 9))


@cocotb.test()
async def it_holds_while_the_clock_stands(dut: Any) -> None:
    side = Side(dut, "", 2000)
    dut.rst_i.value = 0
    await side.wait(8)
    assert now(dut.rst_o) == 0
    side.stop_clock()
    dut.rst_i.value = 1
    await Timer(1, "ps")
    dut.rst_i.value = 0
    await Timer(100, "ns")
    assert now(dut.rst_o) == 1
    side.start_clock()
    await side.wait(8)
    assert now(dut.rst_o) == 0


def test_cdc_reset() -> None:
    run("cdc_reset")
