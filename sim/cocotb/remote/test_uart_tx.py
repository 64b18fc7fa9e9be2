"""uart_tx: each byte has its ten bits on the line, as a listener with a clock of its own hears them."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.remote import uart
from signals import now

BIT_CYCLES = 20


class Line:
    """The line's level in each cycle."""

    def __init__(self, bench: Bench) -> None:
        self.levels: list[int] = []
        bench.watch(lambda: self.levels.append(now(bench.dut.line_o)))

    def heard(self, period: float) -> list[int | None]:
        """Bytes by a listener whose bits are so many cycles long, from each start bit on."""
        found, at = list[int | None](), 0
        while 0 in self.levels[at:]:
            start = self.levels.index(0, at)
            middles = [int(start + (k + 0.5) * period) for k in range(uart.BITS)]
            if middles[-1] >= len(self.levels):
                break
            found.append(uart.byte_of([self.levels[middle] for middle in middles]))
            at = middles[-1]
        return found


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def bytes_are_heard(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, line = bench.source("s_axis"), Line(bench)
    await bench.reset()
    line.levels.clear()
    sent = [0x00, 0xFF, 0x55, 0xAA, 0x01, 0x80, *bench.random.randbytes(30)]
    source.items.extend({"tdata": byte} for byte in sent)
    await bench.until(lambda: not source.items, limit=100_000)
    for _ in range(uart.BITS * BIT_CYCLES + 5):
        await bench.step()
    assert line.levels[-1] == 1
    for share in (0.96, 1.0, 1.04):  # how much a listener's clock may differ
        assert line.heard(BIT_CYCLES * share) == sent, share


@cocotb.test()
async def bytes_follow_each_other_without_a_pause(dut: Any) -> None:
    bench = Bench(dut)
    source, line = bench.source("s_axis"), Line(bench)
    await bench.reset()
    line.levels.clear()
    source.items.extend({"tdata": byte} for byte in b"UUU")
    await bench.until(lambda: not source.items, limit=10_000)
    for _ in range(uart.BITS * BIT_CYCLES + 5):
        await bench.step()
    start = line.levels.index(0)
    flat = [level for level in uart.levels(0x55) for _ in range(BIT_CYCLES)]
    period = len(flat) + 1  # a cycle to take the next
    for k in range(3):
        assert line.levels[start + k * period :][: len(flat)] == flat


def test_uart_tx() -> None:
    run("uart_tx", BitCycles=BIT_CYCLES)
