"""sdram_port with its pins and a chip that watches its data sheet: words and AXI bursts read what was written."""

import itertools
import logging
import time
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
import pytest
from board_runner import build_and_test_block
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiMasterRead, AxiReadBus
from numpy.typing import NDArray

from bench import Bench

CYCLE_NS = 16
ROW_BYTES = 1024
BURST_BYTES = 128
LEAST_SHARE = 0.95
"""What bursts one after the other have of the chip's 250 MB/s."""
LIMIT_S = 300.0


class SdramBench(Bench):
    """The block behind an outside AXI master, and what its memory must hold: words by their address."""

    clock_ns = CYCLE_NS

    def __init__(self, dut: Any, late_ns: int = 4) -> None:
        super().__init__(dut)
        self.words: dict[int, int] = {}
        self.deadline = time.monotonic() + LIMIT_S
        dut.word_valid_i.value = dut.word_write_i.value = dut.word_address_i.value = dut.word_data_i.value = 0
        dut.late_ns_i.value, dut.delay_i.value = late_ns, late_ns // CYCLE_NS
        self.size = 1 << (int(dut.BankW.value) + 19)
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)  # a line for each burst
        self.axi = AxiMasterRead(AxiReadBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst, max_burst_len=16)
        self.look_when_busy()

    async def begin(self) -> None:
        for _ in range(4):
            await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        await self._until(self.dut.ready_for_use_o)

    async def _until(self, signal: Any) -> None:
        await RisingEdge(self.dut.clk)
        while not int(signal.value):
            assert time.monotonic() < self.deadline, f"{signal} does not come"
            await RisingEdge(self.dut.clk)

    async def _access(self, address: int, data: int | None) -> None:
        self.dut.word_address_i.value, self.dut.word_write_i.value = address, int(data is not None)
        self.dut.word_data_i.value, self.dut.word_valid_i.value = data or 0, 1
        await self._until(self.dut.word_ready_o)
        self.dut.word_valid_i.value = 0

    async def write(self, address: int, data: int) -> None:
        self.words[address] = data
        await self._access(address, data)

    async def read(self, address: int) -> int:
        await self._access(address, None)
        await self._until(self.dut.word_read_o)
        return int(self.dut.word_data_o.value)

    async def burst(self, address: int, length: int) -> bytes:
        """Bytes by the AXI master, in bursts of 16 beats at most."""
        data: bytes = (await self.axi.read(address, length, arid=0)).data
        return data

    def expected(self, address: int, length: int) -> bytes:
        return b"".join(self.words[at].to_bytes(4, "little") for at in range(address // 4, (address + length) // 4))

    def fill(self, address: int, length: int) -> NDArray[np.uint32]:
        """Random words, as `write` would have left them: the tests of the way there have written thousands before."""
        data = np.frombuffer(self.random.randbytes(length), "<u4")
        for at, word in enumerate(data.tolist(), address // 4):
            self.words[at] = word
        return data

    async def write_all(self, address: int, length: int) -> None:
        for at, word in enumerate(self.fill(address, length).tolist(), address // 4):
            await self.write(at, word)

    def pauses(self, share: float) -> Iterator[bool]:
        return (self.random.random() < share for _ in itertools.count())


@cocotb.test()
@cocotb.parametrize(late_ns=[4, 1, 9, CYCLE_NS + 4])
async def words_are_read_as_they_were_written(dut: Any, late_ns: int) -> None:
    """At both ends of the memory, and at random: rows, banks and columns are not mixed up.

    The chip is as near and as far as the page says, and one cycle more away.
    """
    bench = SdramBench(dut, late_ns)
    await bench.begin()
    places = [0, 1, 255, 256, 511, 512, 1 << 18, bench.size - 1]
    places += [1 << bit for bit in range(bench.size.bit_length() - 1)]
    places += [bench.random.randrange(bench.size) for _ in range(200)]
    for address in places:
        await bench.write(address, bench.random.getrandbits(32))
    bench.random.shuffle(places)
    for address in places:
        assert await bench.read(address) == bench.words[address], hex(address)


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.4])
async def bursts_have_what_was_written(dut: Any, share: float) -> None:
    """Any length and begin, over the ends of rows, while words are written elsewhere, and between refreshes."""
    bench = SdramBench(dut)
    await bench.begin()
    size = 4 * ROW_BYTES
    start = bench.size * 4 - size
    await bench.write_all(start, size)
    if share:
        bench.axi.r_channel.set_pause_generator(bench.pauses(share))
        bench.axi.ar_channel.set_pause_generator(bench.pauses(share))
    more = cocotb.start_soon(bench.write_all(0, ROW_BYTES))
    for _ in range(150):
        length = 8 * bench.random.randint(1, 64)
        at = start + 8 * bench.random.randrange((size - length) // 8 + 1)
        assert await bench.burst(at, length) == bench.expected(at, length), (hex(at), length)
        if bench.random.random() < 0.3:  # a word and a burst at once
            bursts = cocotb.start_soon(bench.burst(start, 512))
            address = start // 4 + bench.random.randrange(size // 4)
            if more.done():
                assert await bench.read(address) == bench.words[address]
            assert await bursts == bench.expected(start, 512)
    await more
    assert await bench.burst(0, ROW_BYTES) == bench.expected(0, ROW_BYTES)


@cocotb.test()
async def bursts_in_order_take_the_chips_rate(dut: Any) -> None:
    """An image is read as mm2s does it: bursts of 128 bytes that are asked for ahead."""
    bench = SdramBench(dut)
    await bench.begin()
    await bench.write_all(0, 2 * ROW_BYTES)
    length = 32 * ROW_BYTES
    start = get_sim_time("ns")
    data = await bench.burst(0, length)
    share = length / 4 * CYCLE_NS / (get_sim_time("ns") - start)
    cocotb.log.info("%.1f MB/s, %.3f of what the chip can", length / (length / 4 * CYCLE_NS / share) * 1e3, share)
    assert data[: 2 * ROW_BYTES] == bench.expected(0, 2 * ROW_BYTES)
    assert share >= LEAST_SHARE


@cocotb.test()
async def a_reset_in_the_middle_leaves_nothing_behind(dut: Any) -> None:
    """Bursts and words are under way; afterwards the chip is initialised anew, and serves as before."""
    bench = SdramBench(dut)
    await bench.begin()
    await bench.write_all(0, BURST_BYTES)
    for cycles in (3, 11, 28):
        under_way = cocotb.start_soon(bench.burst(0, 16 * BURST_BYTES))
        for _ in range(cycles):
            await RisingEdge(dut.clk)
        under_way.cancel()
        dut.rst.value = 1
        for _ in range(10):
            await RisingEdge(dut.clk)
        await bench.begin()
        await bench.write_all(0, BURST_BYTES)
        assert await bench.burst(0, BURST_BYTES) == bench.expected(0, BURST_BYTES)


@pytest.mark.parametrize("bank_bits", [1, 2])
def test_sdram_port(bank_bits: int) -> None:
    """Two M12L16161A side by side, and an M12L64322A."""
    build_and_test_block("sdram_bench", "test_sdram_port", BankW=bank_bits)
