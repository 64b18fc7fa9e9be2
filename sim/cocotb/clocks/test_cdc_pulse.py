"""cdc_pulse: as many pulses come as went in."""

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from bench import run
from clocks_bench import JITTER, RATIOS, Side
from signals import now


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def none_is_lost_and_none_is_doubled(dut: Any, periods: tuple[int, int]) -> None:
    source, sink = (Side(dut, name, period) for name, period in zip("sm", periods, strict=True))
    dut.pulse_i.value = 0
    given = 0
    most = (1 << int(dut.Width.value)) - 1

    async def take() -> None:
        nonlocal given
        while True:
            await RisingEdge(dut.m_clk)
            await ReadOnly()
            given += now(dut.pulse_o)

    cocotb.start_soon(take())
    await sink.wait(8)
    sent = 0
    for burst in (1, most, *[source.random.randrange(1, most) for _ in range(20)]):
        for _ in range(burst):
            dut.pulse_i.value = 1
            await source.wait(1)
            sent += 1
            if source.random.random() < 0.2:
                dut.pulse_i.value = 0
                await source.wait(source.random.randrange(1, 5))
        dut.pulse_i.value = 0
        await sink.wait(burst + 10)
        assert given == sent


def test_cdc_pulse() -> None:
    run("cdc_pulse", build_args=JITTER, Width=4)
