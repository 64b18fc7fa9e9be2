"""cdc_axil: accesses in another clock; each is answered, whatever is reset meanwhile. Both ends are cocotbext-axi's."""

import itertools
import logging
import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiLiteRam, AxiResp

from bench import run
from clocks_bench import JITTER, RATIOS, Side

SIZE = 1 << 10


class Axil:
    """A master on one side, a memory on the other."""

    def __init__(self, dut: Any, periods: tuple[int, int], pauses: bool = False) -> None:
        self.dut = dut
        for prefix in ("s_axil", "m_axil"):
            logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.ERROR)
        self.s, self.m = Side(dut, "s", periods[0]), Side(dut, "m", periods[1])
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.s_clk, dut.s_rst)
        self.ram = AxiLiteRam(AxiLiteBus.from_prefix(dut, "m_axil"), dut.m_clk, dut.m_rst, size=SIZE)
        self.random = random.Random(self.s.random.random())
        if pauses:
            reads, writes = self.ram.read_if, self.ram.write_if
            for channel in (reads.ar_channel, reads.r_channel, writes.aw_channel, writes.w_channel, writes.b_channel):
                channel.set_pause_generator(self._pauses())

    def _pauses(self) -> Any:
        chance = random.Random(self.random.random())
        return (chance.random() < 0.4 for _ in itertools.count())

    async def start(self) -> None:
        self.s.start()
        self.m.start()
        self.dut.s_rst.value, self.dut.m_rst.value = 1, 1
        await self.s.wait(3)
        await self.m.wait(3)
        self.dut.s_rst.value, self.dut.m_rst.value = 0, 0
        for _ in range(60):
            await self.s.wait(1)
            await self.m.wait(1)

    async def write(self, address: int, data: bytes) -> AxiResp:
        """The answer; DECERR, which nobody gives here, where a reset of the master has taken it back."""
        answer = await with_timeout(self.master.write(address, data), 20, "us")
        return AxiResp(answer.resp) if answer else AxiResp.DECERR

    async def read(self, address: int, length: int = 4) -> tuple[AxiResp, bytes]:
        answer = await with_timeout(self.master.read(address, length), 20, "us")
        return (AxiResp(answer.resp), bytes(answer.data)) if answer else (AxiResp.DECERR, b"")


@cocotb.test()
@cocotb.parametrize(periods=RATIOS, pauses=[False, True])
async def what_is_written_is_read(dut: Any, periods: tuple[int, int], pauses: bool) -> None:
    axil = Axil(dut, periods, pauses)
    await axil.start()
    expected = bytearray(SIZE)
    axil.ram.write(0, bytes(SIZE))
    for _ in range(60):
        address = axil.random.randrange(SIZE - 4)
        if axil.random.random() < 0.6:
            data = axil.random.randbytes(axil.random.randint(1, 4 - address % 4))  # some lanes of one word
            expected[address : address + len(data)] = data
            assert await axil.write(address, data) is AxiResp.OKAY
        else:
            assert await axil.read(address & ~3) == (AxiResp.OKAY, bytes(expected[address & ~3 :][:4]))
    assert axil.ram.read(0, SIZE) == expected


@cocotb.test()
async def reads_and_writes_that_wait_take_turns(dut: Any) -> None:
    axil = Axil(dut, (2000, 3100))
    await axil.start()
    axil.ram.write(0, bytes(SIZE))
    writes = [cocotb.start_soon(axil.write(4 * k, bytes([k] * 4))) for k in range(20)]
    reads = [cocotb.start_soon(axil.read(512 + 4 * k)) for k in range(20)]
    kinds = ""
    before = (0, 0)
    while not all(task.done() for task in (*writes, *reads)):
        await RisingEdge(dut.s_clk)
        done = (sum(task.done() for task in writes), sum(task.done() for task in reads))
        kinds += "w" * (done[0] - before[0]) + "r" * (done[1] - before[1])
        before = done
    assert "www" not in kinds
    assert "rrr" not in kinds
    assert axil.ram.read(0, 80) == bytes(k for n in range(20) for k in [n] * 4)


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def a_reset_of_the_slaves_side_answers_what_it_breaks_off(dut: Any, periods: tuple[int, int]) -> None:
    axil = Axil(dut, periods, pauses=True)
    await axil.start()
    axil.ram.write(0, bytes(SIZE))
    refused = 0
    for k in range(30):
        task = cocotb.start_soon(axil.write(4 * k, bytes([k] * 4)) if k % 2 else axil.read(4 * k))
        await axil.s.wait(axil.random.randrange(14))
        dut.m_rst.value = 1
        await axil.m.wait(axil.random.randrange(1, 30))
        answer = await task if task.done() else None
        dut.m_rst.value = 0
        answer = answer or await task
        resp = answer if isinstance(answer, AxiResp) else answer[0]
        assert resp in (AxiResp.OKAY, AxiResp.SLVERR)
        refused += resp is AxiResp.SLVERR
        for _ in range(60):
            await axil.s.wait(1)
            await axil.m.wait(1)
        assert await axil.write(4 * k, bytes([k ^ 0x80] * 4)) is AxiResp.OKAY
        assert await axil.read(4 * k) == (AxiResp.OKAY, bytes([k ^ 0x80] * 4))
    assert refused > 5


@cocotb.test()
async def while_the_slaves_side_is_in_reset_every_access_is_refused_at_once(dut: Any) -> None:
    axil = Axil(dut, (2000, 2700))
    await axil.start()
    dut.m_rst.value = 1
    await axil.m.wait(40)
    for _ in range(3):
        assert (await axil.read(8))[0] is AxiResp.SLVERR
        assert await axil.write(8, b"abcd") is AxiResp.SLVERR
    dut.m_rst.value = 0
    await axil.m.wait(80)
    assert await axil.write(8, b"efgh") is AxiResp.OKAY
    assert await axil.read(8) == (AxiResp.OKAY, b"efgh")


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def a_reset_of_the_masters_side_drops_the_answer_and_the_next_access_is_right(
    dut: Any, periods: tuple[int, int]
) -> None:
    axil = Axil(dut, periods, pauses=True)
    await axil.start()
    axil.ram.write(0, bytes(SIZE))
    for k in range(20):
        cocotb.start_soon(axil.read(512 + 4 * k))
        await axil.s.wait(axil.random.randrange(1, 16))
        dut.s_rst.value = 1
        await axil.s.wait(axil.random.randrange(1, 10))
        dut.s_rst.value = 0
        await axil.s.wait(2)
        assert await axil.write(4 * k, bytes([k] * 4)) in (AxiResp.OKAY, AxiResp.SLVERR)
        for _ in range(80):
            await axil.s.wait(1)
            await axil.m.wait(1)
        assert await axil.write(4 * k, bytes([k + 1] * 4)) is AxiResp.OKAY
        assert await axil.read(4 * k) == (AxiResp.OKAY, bytes([k + 1] * 4))


def test_cdc_axil() -> None:
    run("cdc_axil", flat=True, build_args=JITTER)
