"""cdc_gray: a count that was, some cycles ago; never one that was not."""

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from bench import run
from clocks_bench import JITTER, RATIOS, Side
from framelane.models.clocks import cdc
from signals import now


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def what_comes_was_the_count_at_a_moment_and_never_goes_back(dut: Any, periods: tuple[int, int]) -> None:
    source, sink = (Side(dut, name, period) for name, period in zip("sm", periods, strict=True))
    counts = [0]
    dut.next_i.value = 0
    modulus = 1 << len(dut.next_i)

    async def count() -> None:
        while True:
            await RisingEdge(dut.s_clk)
            if source.random.random() < 0.6:
                counts.append(counts[-1] + 1)
                dut.next_i.value = counts[-1] % modulus

    await source.wait(2)
    await sink.wait(8)
    cocotb.start_soon(count())
    seen = 0
    for _ in range(1500):
        await RisingEdge(dut.m_clk)
        await ReadOnly()
        step = (now(dut.count_o) - seen) % modulus
        seen += step
        lag = counts[-1] - seen
        assert 0 <= lag <= (int(dut.Stages.value) + 2) * periods[1] / periods[0] * 1.2 + 2
    assert seen > 200


@cocotb.test()
async def the_code_is_the_models(dut: Any) -> None:
    source = Side(dut, "s", 2000)
    dut.m_clk.value = 0
    for count in range(1 << len(dut.next_i)):
        dut.next_i.value = count
        await source.wait(1)
        await ReadOnly()
        code = now(dut.gray_q)
        assert code == cdc.gray(count)
        assert cdc.count_of(code) == count
        await RisingEdge(dut.s_clk)


def test_cdc_gray() -> None:
    run("cdc_gray", build_args=JITTER, Width=5, Stages=3)
