"""serial_divide: every quotient and remainder; small numbers take less time."""

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from bench import Bench, run
from framelane.models.cells import serial
from signals import now

EDGES = (0, 1, 2, 3, 255, 256, 65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


async def quotient(dut: Any, dividend: int, divisor: int) -> tuple[int, int, int]:
    """Quotient, remainder, and the cycles that they took."""
    dut.dividend_i.value, dut.divisor_i.value, dut.start_i.value = dividend, divisor, 1
    await RisingEdge(dut.clk)
    dut.start_i.value = 0
    for cycles in range(1, 100):
        await ReadOnly()
        if now(dut.done_o):
            found = now(dut.quotient_o), now(dut.remainder_o), cycles
            await RisingEdge(dut.clk)
            return found
        await RisingEdge(dut.clk)
    raise AssertionError(f"{dividend} / {divisor} does not end")


@cocotb.test()
async def quotients_and_remainders_are_those_of_the_model(dut: Any) -> None:
    bench = Bench(dut)
    dut.start_i.value = 0
    await bench.reset()
    cases = [(a, b) for a in EDGES for b in EDGES if 0 < b < 1 << 32]
    cases += [
        (bench.random.getrandbits(bench.random.randrange(65)), bench.random.getrandbits(32) | 1) for _ in range(500)
    ]
    cases += [
        (bench.random.getrandbits(64), 1 + bench.random.getrandbits(bench.random.randrange(32))) for _ in range(500)
    ]
    for dividend, divisor in cases:
        *found, cycles = await quotient(dut, dividend, divisor)
        assert tuple(found) == serial.divide(dividend, divisor), (dividend, divisor)
        assert cycles <= 66


@cocotb.test()
async def small_numbers_take_less_time_and_no_divisor_hangs(dut: Any) -> None:
    bench = Bench(dut)
    dut.start_i.value = 0
    await bench.reset()
    assert (await quotient(dut, (1 << 64) - 1, 1))[2] == 1
    assert (await quotient(dut, 1000, 7))[2] <= 16 + 4
    await quotient(dut, 5, 0)
    assert (await quotient(dut, 100, 8))[:2] == (12, 4)


@cocotb.test()
async def a_new_start_forgets_what_was_under_way(dut: Any) -> None:
    bench = Bench(dut)
    await bench.reset()
    dut.dividend_i.value, dut.divisor_i.value, dut.start_i.value = (1 << 64) - 1, 3, 1
    for _ in range(5):
        await RisingEdge(dut.clk)
    assert (await quotient(dut, 77, 10))[:2] == (7, 7)


@cocotb.test()
async def a_reset_ends_what_was_under_way(dut: Any) -> None:
    bench = Bench(dut)
    await bench.reset()
    for dividend in ((1 << 64) - 1, 1):  # one with steps of a bit each, one with leading zeros
        dut.dividend_i.value, dut.divisor_i.value, dut.start_i.value = dividend, 3, 1
        await RisingEdge(dut.clk)
        dut.start_i.value = 0
        for _ in range(2):
            await RisingEdge(dut.clk)
        await ReadOnly()
        assert not now(dut.done_o)
        await RisingEdge(dut.clk)
        await bench.reset(cycles=1)
        await ReadOnly()
        assert now(dut.done_o)
        await RisingEdge(dut.clk)
        assert (await quotient(dut, 77, 10))[:2] == (7, 7)


def test_serial_divide() -> None:
    run("serial_divide")
