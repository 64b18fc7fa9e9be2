"""roce_pacer: each bucket fills at its own rate up to its burst, and opens exactly when the model's does."""

from typing import Any

import cocotb
import pytest

from bench import Bench, run
from framelane.models.roce_tx import roce_pacer
from framelane.models.roce_tx.roce_pacer import RATE_BITS, TokenBucket
from signals import now

ANSWER = 5
"""Cycles from a packet's leaving to the answer that knows of it."""


class PacerBench(Bench):
    """The pacer asked for one QP like the segmenter asks: a packet leaves as soon as its bucket is open."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.interval = roce_pacer.interval(int(dut.NumQp.value))
        self.dut.write_i.value = self.dut.spend_i.value = self.dut.index_i.value = 0
        self.dut.write_burst_i.value = 1
        self.dut.default_burst_i.value = 0
        self.waited = False
        """Whether the bucket was closed when the last packet asked."""

    async def configure(self, index: int, rate: int, burst: int) -> TokenBucket:
        self.dut.write_index_i.value, self.dut.rate_i.value, self.dut.burst_i.value = index, rate, burst
        self.dut.write_i.value = 1
        await self.step()
        self.dut.write_i.value = 0
        self.dut.rate_i.value = self.dut.burst_i.value = (1 << 24) - 1
        return TokenBucket(rate, burst, self.interval)

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def settle(self, index: int) -> None:
        """Fill a bucket up to zero, whatever was taken from it before."""
        await self.configure(index, fraction(200.0), 0)
        await self.wait(200 * self.interval)

    async def leave(self, index: int, size: int, limit: int = 200_000) -> int:
        """Wait until the bucket is open, let a packet leave; the cycle in which it left."""
        self.dut.index_i.value = index
        await self.wait(ANSWER)
        self.waited = not now(self.dut.open_o)
        for _ in range(limit):
            if now(self.dut.open_o):
                break
            await self.step()
        assert now(self.dut.open_o), f"closed for {limit} cycles"
        self.dut.spend_i.value, self.dut.spend_bytes_i.value = 1, size
        left = self.cycle
        await self.step()
        self.dut.spend_i.value = 0
        return left


def fraction(rate: float) -> int:
    return round(rate * (1 << RATE_BITS))


@cocotb.test()
@cocotb.parametrize(rate=[0.01, 0.5, 7.3, 40.0])
async def packets_leave_at_the_rate_that_is_set(dut: Any, rate: float) -> None:
    bench = PacerBench(dut)
    await bench.reset()
    burst = 8192
    await bench.settle(1)
    await bench.configure(1, fraction(rate), burst)
    await bench.wait(2000 if rate > 1 else 0)
    left, total = [], 0
    for n in range(60 if rate > 1 else 8):
        size = (4194, 98, 1500)[n % 3] if rate > 1 else 30 + n
        left.append((await bench.leave(1, size), size))
    for k in range(len(left)):
        total = 0
        for cycle, size in left[k:-1]:
            assert total <= burst + rate * (cycle - left[k][0] + bench.interval + ANSWER), "over the rate"
            total += size
    total = sum(size for _, size in left[:-1])
    cycles = left[-1][0] - left[0][0]
    start = burst if rate > 1 else 0
    assert (total - start) / cycles <= rate * 1.001 + bench.interval * rate / cycles
    assert (total - start) / cycles >= rate * 0.9


@cocotb.test()
async def the_level_is_the_models(dut: Any) -> None:
    """Packets that take a bucket below zero: the time until it opens again tells its level to one filling."""
    bench = PacerBench(dut)
    await bench.reset()
    index = 2 % int(dut.NumQp.value)
    rate, burst = fraction(3.25), 5000
    bucket = await bench.configure(index, rate, burst)
    await bench.wait(4000)  # full
    bucket.level = burst << RATE_BITS
    at = bench.cycle
    for size in (7000, 15, 8191, 4999, 6000):
        left = await bench.leave(index, size)
        fills = (left - at) // bench.interval
        lag = 1 + -(-2 * ANSWER // bench.interval)  # fillings that are under way, or not yet in the answer
        for _ in range(max(0, fills - lag)):
            bucket.fill()
        near = [bucket.level]
        for _ in range(2 * lag):
            bucket.fill()
            near.append(bucket.level)
        assert near[-1] >= 0, "opened too early"
        assert not bench.waited or near[0] < 0, "opened too late"
        bucket.level = max(0, near[0])
        bucket.take(size)
        at = left


@cocotb.test()
async def a_rate_alone_leaves_the_burst_and_a_burst_of_none_is_the_default(dut: Any) -> None:
    bench = PacerBench(dut)
    await bench.reset()
    dut.default_burst_i.value = 5000
    for index, own, burst in ((1, 3000, 3000), (0, 0, 5000)):
        await bench.configure(index, fraction(200.0), own)
        dut.write_burst_i.value = 0
        await bench.configure(index, fraction(0.5), 7777)
        dut.write_burst_i.value = 1
        await bench.configure(index ^ 1, 0, 1)
        await bench.wait(20_000)
        first = await bench.leave(index, burst + 500)
        wait = await bench.leave(index, 1) - first
        assert abs(wait - 1000) <= 2 * (bench.interval + ANSWER), wait


@cocotb.test()
async def a_full_bucket_holds_its_burst_and_no_more(dut: Any) -> None:
    bench = PacerBench(dut)
    await bench.reset()
    rate, burst = fraction(1.0), 3000
    await bench.configure(1, rate, burst)
    for idle in (4000, 30_000):
        await bench.wait(idle)
        first = await bench.leave(1, 3000 + 500)
        second = await bench.leave(1, 1)
        assert 490 <= second - first <= 510 + 2 * bench.interval, "500 bytes too many are 500 cycles at 1 byte a cycle"


@cocotb.test()
async def a_bucket_does_not_feel_the_others(dut: Any) -> None:
    bench = PacerBench(dut)
    await bench.reset()
    await bench.configure(0, fraction(2.0), 2000)
    await bench.settle(1)
    await bench.configure(1, fraction(0.01), 0)
    await bench.wait(2000)
    await bench.leave(1, 8000)  # closed for 800,000 cycles
    first = await bench.leave(0, 4000)
    second = await bench.leave(0, 1)
    assert abs(second - first - 1000) < 20 + 2 * bench.interval
    dut.index_i.value = 1
    await bench.wait(3)
    assert not now(dut.open_o)


@cocotb.test()
async def a_limit_that_is_written_anew_counts_from_then_on(dut: Any) -> None:
    bench = PacerBench(dut)
    await bench.reset()
    await bench.settle(1)
    await bench.configure(1, fraction(0.001), 0)
    await bench.leave(1, 500)  # 500,000 cycles at this rate
    await bench.configure(1, fraction(5.0), 100)
    start = bench.cycle
    assert await bench.leave(1, 1) - start < 150
    await bench.configure(200, fraction(0.001), 0)  # no such QP
    start = bench.cycle
    assert await bench.leave(1, 1) - start < 150


@cocotb.test()
async def a_limit_that_is_lifted_lets_go_at_once(dut: Any) -> None:
    bench = PacerBench(dut)
    await bench.reset()
    await bench.settle(1)
    await bench.configure(1, fraction(0.001), 0)
    await bench.leave(1, 8000)  # 8,000,000 cycles at this rate
    await bench.wait(100)
    assert not now(dut.open_o)
    await bench.configure(1, 0, 0)
    await bench.wait(2 * bench.interval + ANSWER)
    assert now(dut.open_o)


@cocotb.test()
@cocotb.parametrize((("rate", "size"), [(16, 200), (30, 500), (16, 1000), (60, 4000)]))
async def the_smallest_burst_that_is_promised_keeps_the_rate(dut: Any, rate: int, size: int) -> None:
    bench = PacerBench(dut)
    await bench.reset()
    burst = roce_pacer.smallest_burst(rate << RATE_BITS, int(dut.NumQp.value))
    await bench.settle(1)
    await bench.configure(1, rate << RATE_BITS, burst)
    start = await bench.leave(1, size)
    packets = 300
    for _ in range(packets):
        last = await bench.leave(1, size)
    assert packets * size / (last - start) >= 0.99 * rate


@cocotb.test()
async def a_wrapped_count_changes_nothing(dut: Any) -> None:
    """More bytes than the counters hold: 2^26, at the highest rate."""
    bench = PacerBench(dut)
    await bench.reset()
    rate, size = (1 << 24) - 1, 8191
    await bench.configure(1, rate, 20_000)
    start = bench.cycle
    packets = (1 << 26) // size + 200
    for _ in range(packets):
        await bench.leave(1, size, limit=100)
    assert abs((bench.cycle - start) * 256 / (packets * size) - 1) < 0.1


@pytest.mark.parametrize("num_qp", [2, 4, 16])
def test_roce_pacer(num_qp: int) -> None:
    run("roce_pacer", NumQp=num_qp)
