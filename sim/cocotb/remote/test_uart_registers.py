"""uart_registers: every line is answered as by the model, whatever it says, and the driver drives it through a pty."""

import itertools
import os
import select
import threading
import tty
from collections.abc import Callable
from typing import Any

import cocotb
import pytest

from axil_words import HOLE, AxilWords
from bench import ALL_STALLS, Bench, Stalls, run
from framelane.base.errors import BoardError
from framelane.driver.registers.uart_registers import UartRegisters
from framelane.models.remote import uart
from signals import now

TOKEN = 0x0123_4567_89AB_CDEF


class UartBench(Bench):
    """The design, words behind it, and the model with words of its own."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.bytes, self.answers = self.source("s_axis"), self.sink("m_axis")
        self.shown = 0
        dut.token_i.value = 0
        self.watch(self._count)
        self.answer(lambda: setattr(dut.token_i, "value", TOKEN if self.shown else 0))
        self.words = AxilWords(self, stalls=stalls.sink)
        self.model = uart.UartRegisters(self.words.access_of_model, lambda: TOKEN)

    def _count(self) -> None:
        self.shown += now(self.dut.show_o)

    async def say(self, data: bytes, cycles: int = 5000) -> bytes:
        """What is answered to bytes, of which only the last may be a newline."""
        self.answers.clear()
        self.bytes.items.extend({"tdata": byte} for byte in data)
        await self.until(lambda: not self.bytes.items)
        quiet = 0
        start = self.cycle
        while quiet < 60:  # an access is over before
            before = len(self.answers.items)
            await self.step()
            quiet = 0 if len(self.answers.items) > before or now(self.dut.m_axis_tvalid) else quiet + 1
            assert self.cycle - start < cycles
        return bytes(item["tdata"] for item in self.answers.items)

    async def same(self, data: bytes) -> bytes:
        """The answer, which must be the model's."""
        expected = self.model.answers(data)
        got = await self.say(data)
        assert got == expected, (data, got, expected)
        assert self.words.words == self.words.of_model
        return got


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def words_are_read_and_written(dut: Any, stalls: Stalls) -> None:
    bench = UartBench(dut, stalls)
    await bench.reset()
    assert await bench.same(b"r0018\n") == b"=00000000\n"
    assert await bench.same(b"w0018 89abcdef\n") == b"=89abcdef\n"
    assert await bench.same(b"r 0018\r\n") == b"=89abcdef\n"
    assert await bench.same(b"rf000\n") == b"!2\n"
    assert await bench.same(b"wF000 00000001\n") == b"!2\n"
    for _ in range(40):
        address = 4 * bench.random.randrange(16) | bench.random.choice((0, HOLE))
        if bench.random.random() < 0.5:
            await bench.same(b"r%04x\n" % address)
        else:
            await bench.same(b"w%04X%08x\n" % (address, bench.random.getrandbits(32)))


@cocotb.test()
async def the_token_is_shown(dut: Any) -> None:
    bench = UartBench(dut)
    await bench.reset()
    assert await bench.same(b"t\n") == b"=%016x\n" % TOKEN
    assert bench.shown == 1
    assert await bench.same(b"r0000\n") == b"=00000000\n"
    assert await bench.same(b"t1\n") == b"?\n"
    assert bench.shown == 1


@cocotb.test()
async def what_is_no_request_is_said_and_does_nothing(dut: Any) -> None:
    bench = UartBench(dut)
    await bench.reset()
    for line in (b"", b"\r", b"  "):
        assert await bench.same(line + b"\n") == b""
    for line in (b"r", b"r001", b"r00180", b"w0018", b"w00180000000", b"w0018000000000", b"x0018", b"R0018", b"r00g8"):
        assert await bench.same(line + b"\n") == b"?\n", line
    for line in (b"r0018-", b"-r0018", b"0018", b"rr018", b"r:018", b"r`018", b"r@018", b"rG018", b"r/018"):
        assert await bench.same(line + b"\n") == b"?\n", line
    for count in (16, 17, 20, 32, 36, 44):
        assert await bench.same(b"r" + b"0" * count + b"\n") == b"?\n", count
        assert await bench.same(b"w" + b"0" * count + b"\n") == b"?\n", count
    assert bench.words.writes == []
    text = b"rwt 0189afAF\r?\n"
    for _ in range(300):
        line = bytes(bench.random.choices(text[:-1], k=bench.random.randrange(16)))
        await bench.same(line + b"\n")
    for _ in range(100):
        line = bench.random.randbytes(bench.random.randrange(9)).replace(b"\n", b"")
        await bench.same(line + b"\n")
    assert await bench.same(b"r0018\n") in (b"=%08x\n" % bench.words.of_model.get(0x18, 0),)


async def driven(bench: UartBench, program: Callable[[str], None], spoil: Callable[[bytes], bytes]) -> None:
    """Run a program of the driver: what it writes to a terminal reaches the design, and the answers go back."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    failed: list[BaseException] = []

    def body() -> None:
        try:
            program(os.ttyname(theirs))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    for _ in range(400_000):
        if not thread.is_alive():
            break
        if select.select([ours], [], [], 0)[0]:
            for byte in spoil(os.read(ours, 100)):
                os.write(ours, await bench.say(bytes([byte])))
        else:
            await bench.step()
    thread.join(5)
    os.close(ours)
    os.close(theirs)
    assert not thread.is_alive(), "the driver has not ended"
    if failed:
        raise failed[0]


@cocotb.test()
async def the_driver_reads_and_writes_through_noise(dut: Any) -> None:
    bench = UartBench(dut)
    await bench.reset()
    turn = itertools.cycle([False, False, True])

    def spoil(data: bytes) -> bytes:
        return b"#" + data if next(turn) else data

    def program(device: str) -> None:
        registers = UartRegisters(device)
        assert registers.token == TOKEN
        for k in range(4):
            registers.write(4 * k, 0x1234_0000 + k)
        assert [registers.read(4 * k) for k in range(4)] == [0x1234_0000 + k for k in range(4)]
        with pytest.raises(BoardError, match="cannot read offset 0xf000"):
            registers.read(HOLE)
        registers.close()

    await driven(bench, program, spoil)
    assert bench.words.writes == [(4 * k, 0x1234_0000 + k) for k in range(4)]  # each once


def test_uart_registers() -> None:
    run("uart_registers", flat=True)
