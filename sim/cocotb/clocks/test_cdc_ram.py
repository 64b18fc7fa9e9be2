"""cdc_ram: what one clock writes the other reads, from the next cycle on, until it reads again."""

from typing import Any

import cocotb
import pytest
from cocotb.triggers import ReadOnly, RisingEdge

from bench import run
from clocks_bench import RATIOS, Side
from signals import now


@cocotb.test()
@cocotb.parametrize(periods=RATIOS[1:3])
async def what_was_written_is_read(dut: Any, periods: tuple[int, int]) -> None:
    source, sink = (Side(dut, name, period) for name, period in zip("sm", periods, strict=True))
    depth = int(dut.Depth.value)
    dut.write_i.value = 0
    dut.read_i.value = 0
    words = [0] * depth
    await sink.wait(2)
    for _ in range(20):
        for _ in range(depth):
            address, word = source.random.randrange(depth), source.random.getrandbits(8)
            writes = source.random.random() < 0.7
            dut.write_addr_i.value, dut.write_data_i.value, dut.write_i.value = address, word, int(writes)
            await source.wait(1)
            if writes:
                words[address] = word
        dut.write_i.value = 0
        for address in range(depth) if _ == 0 else sink.random.sample(range(depth), depth // 2):
            if words[address]:
                dut.read_addr_i.value, dut.read_i.value = address, 1
                await RisingEdge(dut.m_clk)
                dut.read_addr_i.value, dut.read_i.value = (address + 1) % depth, 0
                await sink.wait(sink.random.randrange(1, 4))
                await ReadOnly()
                assert now(dut.read_data_o) == words[address]
                await RisingEdge(dut.m_clk)


@pytest.mark.parametrize("block", [0, 1])
def test_cdc_ram(block: int) -> None:
    run("cdc_ram", DataW=8, Depth=16, Block=block)
