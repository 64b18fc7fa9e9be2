"""cdc_word: values come whole, in order, and the last one always."""

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from bench import run
from clocks_bench import JITTER, RATIOS, Side
from signals import now


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def what_comes_was_given_and_the_last_one_comes(dut: Any, periods: tuple[int, int]) -> None:
    source, sink = (Side(dut, name, period) for name, period in zip("sm", periods, strict=True))
    dut.word_i.value = 0
    seen = [0]

    async def take() -> None:
        while True:
            await RisingEdge(dut.m_clk)
            await ReadOnly()
            if now(dut.word_o) != seen[-1]:
                seen.append(now(dut.word_o))

    for _ in range(3):
        await source.wait(4)
        await sink.wait(4)
    cocotb.start_soon(take())
    given = [0]
    for round_ in range(60):
        for _ in range(source.random.randrange(1, 6)):
            given.append(source.random.getrandbits(len(dut.word_i)))
            dut.word_i.value = given[-1]
            await source.wait(source.random.choice((1, 1, 2, 30)))
        if round_ % 3 == 0:
            await sink.wait(12)
            await source.wait(12)
            await sink.wait(12)
            assert seen[-1] == given[-1]
    places = iter(given)
    assert all(word in places for word in seen)  # in order
    assert len(seen) > 60


def test_cdc_word() -> None:
    run("cdc_word", build_args=JITTER, Width=24)
