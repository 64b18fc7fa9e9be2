"""serial_scale: offset + value * factor modulo 2^64, in as many cycles as the factor has bits."""

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from bench import Bench, run
from framelane.models.cells import serial
from signals import now

EDGES = (0, 1, 2, 3, 255, 65536, (1 << 32) - 1)


async def result(dut: Any, value: int, factor: int, offset: int) -> tuple[int, int]:
    """The result, and the cycles that it took."""
    dut.value_i.value, dut.factor_i.value, dut.offset_i.value, dut.start_i.value = value, factor, offset, 1
    await RisingEdge(dut.clk)
    dut.start_i.value = 0
    for cycles in range(1, 100):
        await ReadOnly()
        if now(dut.done_o):
            found = now(dut.result_o), cycles
            await RisingEdge(dut.clk)
            return found
        await RisingEdge(dut.clk)
    raise AssertionError("does not end")


@cocotb.test()
async def results_are_those_of_the_model(dut: Any) -> None:
    bench = Bench(dut)
    dut.start_i.value = 0
    await bench.reset()
    draw = bench.random.getrandbits
    cases = [(a, b, c) for a in (*EDGES, (1 << 64) - 1) for b in EDGES for c in (0, 1, (1 << 64) - 1)]
    cases += [(draw(64), draw(bench.random.randrange(33)), draw(64)) for _ in range(500)]
    for value, factor, offset in cases:
        found, cycles = await result(dut, value, factor, offset)
        assert found == serial.scale(value, factor, offset), (value, factor, offset)
        assert cycles == factor.bit_length() + 1


@cocotb.test()
async def a_new_start_forgets_what_was_under_way(dut: Any) -> None:
    bench = Bench(dut)
    await bench.reset()
    dut.value_i.value, dut.factor_i.value, dut.offset_i.value, dut.start_i.value = 9, (1 << 32) - 1, 9, 1
    for _ in range(5):
        await RisingEdge(dut.clk)
    assert (await result(dut, 3, 5, 7))[0] == 22


def test_serial_scale() -> None:
    run("serial_scale")
