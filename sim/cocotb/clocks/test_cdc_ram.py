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
    groups, address_w = len(dut.read_i), len(dut.write_addr_i)

    def drive(address: int, read: int) -> None:
        """Give each group of bits its enable and its address."""
        dut.read_i.value = ((1 << groups) - 1) * read
        dut.read_addr_i.value = sum(address << address_w * g for g in range(groups))

    dut.write_i.value = 0
    drive(0, 0)
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
                drive(address, 1)
                await RisingEdge(dut.m_clk)
                drive((address + 1) % depth, 0)
                await sink.wait(sink.random.randrange(1, 4))
                await ReadOnly()
                assert now(dut.read_data_o) == words[address]
                await RisingEdge(dut.m_clk)


@pytest.mark.parametrize(("block", "group"), [(0, 8), (0, 3), (1, 3)])
def test_cdc_ram(block: int, group: int) -> None:
    run("cdc_ram", DataW=8, Depth=16, Block=block, GroupW=group)
