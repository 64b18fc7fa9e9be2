"""axil_port: accesses of an independent AXI4-Lite master become requests, one at a time, and all are answered."""

import logging
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from bench import STALL_SHARE, Bench, Stalls, run
from signals import now

SIZE = 256
"""Bytes of the memory behind the port."""


class PortBench(Bench):
    """The port between a master and a memory that answers after some cycles."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, delays: tuple[int, ...] = (0, 1, 1, 5)) -> None:
        super().__init__(dut, stalls)
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        write, read = self.axil.write_if, self.axil.read_if
        paused = [write.aw_channel, write.w_channel, read.ar_channel] if stalls.source else []
        paused += [write.b_channel, read.r_channel] if stalls.sink else []
        for channel in paused:
            channel.set_pause_generator(iter(lambda: self.random.random() < STALL_SHARE, None))
        self.memory = bytearray(SIZE)
        self.requests: list[bool] = []
        """Whether each request was a write."""
        self._delays = delays
        self._left: int | None = None
        self.answer(self._respond)

    def _respond(self) -> None:
        dut = self.dut
        if now(dut.req_o):
            assert self._left is None, "a request before the last one was answered"
            self._left = self.random.choice(self._delays)
            self.requests.append(bool(now(dut.write_o)))
        dut.ack_i.value = int(self._left == 0)
        dut.data_i.value = self.random.getrandbits(32)
        if self._left == 0:
            self._carry_out()
        self._left = self._left - 1 if self._left else None

    def _carry_out(self) -> None:
        """The request has stayed as it was."""
        address = now(self.dut.addr_o)
        assert address % 4 == 0
        if now(self.dut.write_o):
            data, mask = now(self.dut.data_o), now(self.dut.mask_o)
            old = int.from_bytes(self.memory[address : address + 4], "little")
            self.memory[address : address + 4] = (old & ~mask | data & mask).to_bytes(4, "little")
        else:
            self.dut.data_i.value = int.from_bytes(self.memory[address : address + 4], "little")

    async def start(self) -> None:
        self.dut.ack_i.value = 0
        await self.reset()
        self.keep_stepping()
        await self.wait(1)

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)


@cocotb.test()
@cocotb.parametrize(stalls=list(Stalls))
async def reads_give_what_was_written_also_in_part(dut: Any, stalls: Stalls) -> None:
    bench = PortBench(dut, stalls)
    await bench.start()
    expected = bytearray(SIZE)
    for _ in range(150):
        address = bench.random.randrange(SIZE)
        length = bench.random.randint(1, min(9, SIZE - address))
        if bench.random.random() < 0.5:
            data = bench.random.randbytes(length)
            await bench.axil.write(address, data)
            expected[address : address + length] = data
        else:
            assert (await bench.axil.read(address, length)).data == expected[address : address + length]
    assert bench.memory == expected


@cocotb.test()
@cocotb.parametrize(stalls=list(Stalls))
async def many_accesses_at_once_are_all_answered(dut: Any, stalls: Stalls) -> None:
    bench = PortBench(dut, stalls)
    await bench.start()
    bench.memory[:] = range(SIZE)
    half = SIZE // 2
    data = bench.random.randbytes(half)
    writes = [bench.axil.init_write(k, data[k : k + 4]) for k in range(0, half, 4)]
    reads = [bench.axil.init_read(half + k, 4) for k in range(0, half, 4)]
    for event in (*writes, *reads):
        await event.wait()
    assert bytes(bench.memory[:half]) == data
    assert b"".join(event.data.data for event in reads) == bytes(range(half, SIZE))


@cocotb.test()
async def reads_and_writes_that_wait_have_their_turns(dut: Any) -> None:
    bench = PortBench(dut, delays=(0,))
    await bench.start()
    events = [bench.axil.init_write(4 * k, bytes(4)) for k in range(30)]
    events += [bench.axil.init_read(4 * k, 4) for k in range(30)]
    for event in events:
        await event.wait()
    both = bench.requests[2:50]
    assert both == [both[0], not both[0]] * 24


@cocotb.test()
@cocotb.parametrize(late=["w_channel", "aw_channel"])
async def a_write_waits_for_its_other_half_and_reads_pass_it(dut: Any, late: str) -> None:
    """Address without data, data without address."""
    bench = PortBench(dut)
    channel = getattr(bench.axil.write_if, late)
    await bench.start()
    channel.pause = True
    event = bench.axil.init_write(8, b"abcd")
    await bench.wait(30)
    assert bench.requests == []
    assert (await bench.axil.read(8, 4)).data == bytes(4)
    assert bench.requests == [False]
    channel.pause = False
    await event.wait()
    assert bytes(bench.memory[8:12]) == b"abcd"
    assert bench.requests == [False, True]


@cocotb.test()
async def an_access_in_a_reset_is_forgotten(dut: Any) -> None:
    bench = PortBench(dut, delays=(20,))
    await bench.start()
    bench.axil.init_write(0, b"abcd")
    bench.axil.init_read(0, 4)
    while not bench.requests:
        await bench.wait(1)
    dut.rst.value = 1
    bench._left = None
    await bench.wait(3)
    dut.rst.value = 0
    bench.requests.clear()
    await bench.wait(50)
    assert bench.requests == []
    assert not now(dut.s_axil_bvalid)
    assert not now(dut.s_axil_rvalid)


def test_axil_port() -> None:
    run("axil_port", flat=True)
