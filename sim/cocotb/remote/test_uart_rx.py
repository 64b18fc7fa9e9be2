"""uart_rx: bytes of a line with a clock of its own; what has no stop bit, or is too short, is left out."""

from collections import deque
from typing import Any

import cocotb

from bench import Bench, run
from framelane.models.remote import uart

BIT_CYCLES = 20


class Line:
    """Drives the line, idle where nothing is to be sent."""

    def __init__(self, bench: Bench) -> None:
        self.levels: deque[int] = deque()
        self._late = 0.0
        bench.answer(lambda: setattr(bench.dut.line_i, "value", self.levels.popleft() if self.levels else 1))

    def bits(self, levels: list[int], period: float = BIT_CYCLES) -> None:
        """Levels, each for so many cycles on average."""
        for level in levels:
            self._late += period
            cycles = round(self._late)
            self._late -= cycles
            self.levels.extend([level] * cycles)

    def send(self, data: bytes, period: float = BIT_CYCLES, gap: int = 0) -> None:
        for byte in data:
            self.bits(uart.levels(byte), period)
            self.levels.extend([1] * gap)


class UartBench(Bench):
    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.line, self.bytes = Line(self), self.sink("m_axis")
        self.line.bits([1])

    async def heard(self) -> bytes:
        """What has come of all that was sent."""
        await self.until(lambda: not self.line.levels, limit=1_000_000)
        for _ in range(BIT_CYCLES):
            await self.step()
        data = bytes(item["tdata"] for item in self.bytes.items)
        self.bytes.clear()
        return data


@cocotb.test()
async def bytes_come_by_a_clock_that_is_off(dut: Any) -> None:
    bench = UartBench(dut)
    await bench.reset()
    for share in (0.96, 0.99, 1.0, 1.01, 1.04):
        for gap in (0, 1, 7, 3 * BIT_CYCLES):
            sent = bytes((0x00, 0xFF, 0x55, 0xAA)) + bench.random.randbytes(20)
            bench.line.send(sent, BIT_CYCLES * share, gap)
            assert await bench.heard() == sent, (share, gap)


@cocotb.test()
async def what_has_no_stop_bit_is_left_out(dut: Any) -> None:
    bench = UartBench(dut)
    await bench.reset()
    for byte in bench.random.randbytes(10):
        bench.line.bits([*uart.levels(byte)[:-1], 0])
        bench.line.bits([1])
        bench.line.send(b"!")
        assert await bench.heard() == b"!"
    bench.line.bits([0] * 100)  # a break
    bench.line.bits([1])
    bench.line.send(b"on")
    assert await bench.heard() == b"on"


@cocotb.test()
async def noise_that_is_shorter_than_half_a_bit_is_left_out(dut: Any) -> None:
    bench = UartBench(dut)
    await bench.reset()
    for cycles in range(1, BIT_CYCLES // 2):
        bench.line.levels.extend([0] * cycles + [1] * BIT_CYCLES)
        bench.line.send(b"x")
        assert await bench.heard() == b"x", cycles


@cocotb.test()
async def a_line_that_is_low_from_the_reset_on_begins_nothing(dut: Any) -> None:
    bench = UartBench(dut)
    bench.line.levels.extend([0] * 2000)
    await bench.reset()
    bench.line.bits([1])
    bench.line.send(b"y")
    assert await bench.heard() == b"y"


def test_uart_rx() -> None:
    run("uart_rx", BitCycles=BIT_CYCLES)
