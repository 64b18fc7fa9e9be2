"""cdc_axi_read: bursts in another clock, as they were asked for and in their order. Both ends are cocotbext-axi's."""

import itertools
import logging
import random
from functools import partial
from typing import Any

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiMasterRead, AxiProt, AxiReadBus, AxiResp, AxiSlaveRead

from axi_rules import CACHES
from bench import run
from clocks_bench import JITTER, RATIOS, Side
from signals import now

SIZE = 1 << 14
ADDRESS = ("araddr", "arlen", "arsize", "arburst", "arcache", "arprot")


class Memory:
    """What the slave reads; it answers SLVERR where this raises."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.broken = range(0)

    async def read(self, address: int, length: int) -> bytes:
        if address in self.broken:
            raise IndexError
        return self.data[address : address + length]


class Reads:
    """A master on one side, a memory on the other; what is asked for on each."""

    def __init__(self, dut: Any, periods: tuple[int, int], pauses: bool) -> None:
        self.dut = dut
        for prefix in ("s_axi", "m_axi"):
            logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.ERROR)
        self.s, self.m = Side(dut, "s", periods[0]), Side(dut, "m", periods[1])
        self.random = random.Random(self.s.random.random())
        self.master = AxiMasterRead(AxiReadBus.from_prefix(dut, "s_axi"), dut.s_clk, dut.s_rst, max_burst_len=16)
        self.memory = Memory(self.random.randbytes(SIZE))
        slave = AxiSlaveRead(AxiReadBus.from_prefix(dut, "m_axi"), dut.m_clk, dut.m_rst, self.memory)
        if pauses:
            for channel in (slave.ar_channel, slave.r_channel, self.master.ar_channel, self.master.r_channel):
                channel.set_pause_generator(self._pauses())
        self.asked: dict[str, list[tuple[int, ...]]] = {"s": [], "m": []}
        for side in (self.s, self.m):
            side.watch(partial(self._note, side.name))

    def _pauses(self) -> Any:
        chance = random.Random(self.random.random())
        return (chance.random() < 0.4 for _ in itertools.count())

    def _note(self, side: str) -> None:
        port = {name: getattr(self.dut, f"{side}_axi_{name}") for name in (*ADDRESS, "arvalid", "arready")}
        if now(port["arvalid"]) and now(port["arready"]) and not now(getattr(self.dut, f"{side}_rst")):
            self.asked[side].append(tuple(now(port[name]) for name in ADDRESS))

    async def start(self) -> None:
        await self.s.reset(4)
        await self.m.reset(4)
        self.s.start()
        self.m.start()

    async def read(self, address: int, length: int) -> None:
        """Any of it, and what it must be."""
        prot, cache = AxiProt(self.random.randrange(8)), self.random.choice(CACHES)
        answer = await with_timeout(self.master.read(address, length, arid=0, cache=cache, prot=prot), 200, "us")
        broken = any(at in self.memory.broken for at in range(address, address + length))
        assert AxiResp(answer.resp) is (AxiResp.SLVERR if broken else AxiResp.OKAY)
        if not broken:
            assert bytes(answer.data) == self.memory.data[address : address + length]


@cocotb.test()
@cocotb.parametrize(periods=RATIOS, pauses=[False, True])
async def what_is_read_is_what_lies_there(dut: Any, periods: tuple[int, int], pauses: bool) -> None:
    reads = Reads(dut, periods, pauses)
    reads.memory.broken = range(5000, 5300)
    await reads.start()
    tasks = []
    for _ in range(14):
        address = reads.random.randrange(SIZE - 1500)
        tasks.append(cocotb.start_soon(reads.read(address, reads.random.randint(1, 1500))))
    for task in tasks:
        await task
    assert reads.asked["s"] == reads.asked["m"]
    assert len({address[4:] for address in reads.asked["m"]}) > 10


@cocotb.test()
async def data_come_each_cycle_of_the_slower_clock(dut: Any) -> None:
    reads, beats = Reads(dut, (2000, 2010), pauses=False), 120
    reads.master.max_burst_len = 256
    await reads.start()
    taken: list[int] = []
    valid, ready = dut.m_axi_rvalid, dut.m_axi_rready
    reads.m.watch(lambda: taken.append(reads.m.cycle) if now(valid) and now(ready) else None)
    await reads.read(0, beats * len(dut.m_axi_rdata) // 8)
    assert len(taken) == beats
    assert taken[-1] - taken[0] < 1.05 * beats


@cocotb.test()
async def a_reset_of_both_sides_leaves_nothing(dut: Any) -> None:
    reads = Reads(dut, (2000, 3100), pauses=False)
    await reads.start()
    for _ in range(5):
        reads.master.init_read(0, 1000, arid=0)
        await reads.s.wait(reads.random.randrange(60))
        other = cocotb.start_soon(reads.m.reset(5))
        await reads.s.reset(5)
        await other
        await reads.read(reads.random.randrange(4000), 900)


@cocotb.test()
async def a_reset_of_one_side_while_nothing_is_under_way_makes_no_read_and_loses_none(dut: Any) -> None:
    reads = Reads(dut, (2000, 3100), pauses=False)
    await reads.start()
    for side in (reads.s, reads.m, reads.s, reads.m):
        await reads.read(reads.random.randrange(4000), 300)
        await reads.s.wait(40)
        await side.reset(5)
        await reads.s.wait(reads.random.choice((3, 150)))
        await reads.read(reads.random.randrange(4000), 300)
    assert reads.asked["s"] == reads.asked["m"]


def test_cdc_axi_read() -> None:
    run("cdc_axi_read", flat=True, build_args=JITTER, DataW=64)
