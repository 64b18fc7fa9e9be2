"""cdc_axi_write: bursts and their data in another clock, and each one's answer back. Both ends are cocotbext-axi's."""

import itertools
import logging
import random
from functools import partial
from typing import Any

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiMasterWrite, AxiProt, AxiResp, AxiSlaveWrite, AxiWriteBus

from axi_rules import CACHES
from bench import run
from clocks_bench import JITTER, RATIOS, Side
from signals import now

SIZE = 1 << 14
ADDRESS = ("awaddr", "awlen", "awsize", "awburst", "awcache", "awprot")


class Memory:
    """What the slave writes; it answers SLVERR where this raises."""

    def __init__(self) -> None:
        self.data = bytearray(SIZE)
        self.broken = range(0)

    async def write(self, address: int, data: bytes) -> None:
        if address in self.broken:
            raise IndexError
        self.data[address : address + len(data)] = data


class Writes:
    """A master on one side, a memory on the other; what is asked for on each."""

    def __init__(self, dut: Any, periods: tuple[int, int], pauses: bool) -> None:
        self.dut = dut
        for prefix in ("s_axi", "m_axi"):
            logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.ERROR)
        self.s, self.m = Side(dut, "s", periods[0]), Side(dut, "m", periods[1])
        self.random = random.Random(self.s.random.random())
        self.master = AxiMasterWrite(AxiWriteBus.from_prefix(dut, "s_axi"), dut.s_clk, dut.s_rst, max_burst_len=16)
        self.memory = Memory()
        self.expected = bytearray(SIZE)
        slave = AxiSlaveWrite(AxiWriteBus.from_prefix(dut, "m_axi"), dut.m_clk, dut.m_rst, self.memory)
        if pauses:
            channels = (slave.aw_channel, slave.w_channel, slave.b_channel)
            for channel in (*channels, self.master.aw_channel, self.master.w_channel, self.master.b_channel):
                channel.set_pause_generator(self._pauses())
        self.asked: dict[str, list[tuple[int, ...]]] = {"s": [], "m": []}
        for side in (self.s, self.m):
            side.watch(partial(self._note, side.name))

    def _pauses(self) -> Any:
        chance = random.Random(self.random.random())
        return (chance.random() < 0.4 for _ in itertools.count())

    def _note(self, side: str) -> None:
        port = {name: getattr(self.dut, f"{side}_axi_{name}") for name in (*ADDRESS, "awvalid", "awready")}
        if now(port["awvalid"]) and now(port["awready"]) and not now(getattr(self.dut, f"{side}_rst")):
            self.asked[side].append(tuple(now(port[name]) for name in ADDRESS))

    async def start(self) -> None:
        await self.s.reset(4)
        await self.m.reset(4)
        self.s.start()
        self.m.start()

    async def write(self, address: int, data: bytes) -> None:
        """It is answered as it ends."""
        prot, cache = AxiProt(self.random.randrange(8)), self.random.choice(CACHES)
        answer = await with_timeout(self.master.write(address, data, awid=0, cache=cache, prot=prot), 200, "us")
        broken = any(at in self.memory.broken for at in range(address, address + len(data)))
        assert AxiResp(answer.resp) is (AxiResp.SLVERR if broken else AxiResp.OKAY)


@cocotb.test()
@cocotb.parametrize(periods=RATIOS, pauses=[False, True])
async def what_is_written_lies_there(dut: Any, periods: tuple[int, int], pauses: bool) -> None:
    """Each at its own place, from any byte on; the last one where nothing can be written."""
    writes = Writes(dut, periods, pauses)
    await writes.start()
    writes.memory.broken = range(14 * 1024, SIZE)
    tasks = []
    for k in range(14):
        data = writes.random.randbytes(writes.random.randint(1, 900))
        at = 1024 * k + writes.random.randrange(100)
        writes.expected[at : at + len(data)] = data
        tasks.append(cocotb.start_soon(writes.write(at, data)))
    tasks.append(cocotb.start_soon(writes.write(14 * 1024 + 5, bytes(100))))
    for task in tasks:
        await task
    assert writes.memory.data == writes.expected
    assert writes.asked["s"] == writes.asked["m"]
    assert len({address[4:] for address in writes.asked["m"]}) > 5


@cocotb.test()
async def data_leave_each_cycle_of_the_slower_clock(dut: Any) -> None:
    writes, beats = Writes(dut, (2000, 2010), pauses=False), 120
    writes.master.max_burst_len = 256
    await writes.start()
    taken: list[int] = []
    valid, ready = dut.m_axi_wvalid, dut.m_axi_wready
    writes.m.watch(lambda: taken.append(writes.m.cycle) if now(valid) and now(ready) else None)
    await writes.write(0, writes.random.randbytes(beats * len(dut.m_axi_wdata) // 8))
    assert len(taken) == beats
    assert taken[-1] - taken[0] < 1.05 * beats


@cocotb.test()
async def a_reset_of_both_sides_leaves_nothing(dut: Any) -> None:
    writes = Writes(dut, (2000, 3100), pauses=False)
    await writes.start()
    for _ in range(5):
        writes.master.init_write(0, bytes(1000), awid=0)
        await writes.s.wait(writes.random.randrange(60))
        other = cocotb.start_soon(writes.m.reset(5))
        await writes.s.reset(5)
        await other
        data = writes.random.randbytes(900)
        await writes.write(2048, data)
        assert writes.memory.data[2048:2948] == data


@cocotb.test()
async def a_reset_of_one_side_while_nothing_is_under_way_makes_no_write_and_loses_none(dut: Any) -> None:
    writes = Writes(dut, (2000, 3100), pauses=False)
    await writes.start()
    for k, side in enumerate((writes.s, writes.m, writes.s, writes.m)):
        for at in (2048 * k, 2048 * k + 1024):
            data = writes.random.randbytes(300)
            writes.expected[at : at + 300] = data
            await writes.write(at, data)
            if at % 2048 == 0:
                await writes.s.wait(40)
                await side.reset(5)
                await writes.s.wait(writes.random.choice((3, 150)))
    assert writes.asked["s"] == writes.asked["m"]
    assert writes.memory.data == writes.expected


def test_cdc_axi_write() -> None:
    run("cdc_axi_write", flat=True, build_args=JITTER, DataW=64)
