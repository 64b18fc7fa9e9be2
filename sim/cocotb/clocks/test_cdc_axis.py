"""cdc_axis: a stream in another clock, in order, none lost, none twice; resets leave no piece of a packet."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Stalls, run
from clocks_bench import JITTER, RATIOS
from crossing_bench import Crossing


@cocotb.test()
@cocotb.parametrize(periods=RATIOS, stalls=ALL_STALLS)
async def every_packet_passes_as_it_is(dut: Any, periods: tuple[int, int], stalls: Stalls) -> None:
    crossing = Crossing(dut, periods, stalls)
    await crossing.start()
    for _ in range(60):
        crossing.send(crossing.random.choice((1, 1, 2, 5, 40)))
    assert await crossing.finish() == list(range(60))
    assert not any(packet.cut for packet in crossing.received)


@cocotb.test()
@cocotb.parametrize(periods=RATIOS, stalls=[Stalls.NONE, Stalls.BOTH])
async def resets_of_either_side_at_any_time_leave_whole_packets_in_order_or_say_that_they_are_cut(
    dut: Any, periods: tuple[int, int], stalls: Stalls
) -> None:
    crossing = Crossing(dut, periods, stalls)
    await crossing.start()
    chance = crossing.random
    for _ in range(25):
        for _ in range(8):
            crossing.send(chance.choice((1, 2, 3, 60)))
        await crossing.s.wait(chance.randrange(120))
        for side in chance.choice(((crossing.s,), (crossing.m,), (crossing.s, crossing.m))):
            await crossing.reset(side)
            await crossing.s.wait(chance.choice((0, 0, 3, 40)))
    await crossing.finish()
    cut = sum(packet.cut for packet in crossing.received)
    first = len(crossing.sent)
    for _ in range(10):
        crossing.send(3)
    numbers = await crossing.finish()
    assert numbers[-10:] == list(range(first, first + 10))
    assert cut > 0
    assert len(numbers) > 20


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def it_passes_a_beat_in_each_cycle_of_the_slower_clock(dut: Any, periods: tuple[int, int]) -> None:
    crossing = Crossing(dut, periods)
    await crossing.start()
    for _ in range(40):
        crossing.send(10)
    start = len(crossing.sink.taken)
    assert await crossing.finish() == list(range(40))
    times = crossing.source.accepted if periods[0] > periods[1] else crossing.sink.taken[start:]
    expected = 399 if periods[0] != periods[1] and abs(periods[0] - periods[1]) > 1000 else 420
    assert times[-1] - times[0] <= expected


@cocotb.test()
async def while_the_sinks_clock_stands_the_source_waits_and_nothing_is_lost(dut: Any) -> None:
    crossing = Crossing(dut, (2000, 2000))
    await crossing.start()
    for _ in range(10):
        crossing.send(10)
    await crossing.s.wait_until(lambda: len(crossing.source.accepted) > 20)
    crossing.m.stop_clock()
    await crossing.s.wait(30)
    left = len(crossing.source.items)
    await crossing.s.wait(200)
    assert len(crossing.source.items) == left
    assert 40 < left < 80
    crossing.m.start_clock()
    assert await crossing.finish() == list(range(10))


@pytest.mark.parametrize("block", [0, 1])
def test_cdc_axis(block: int) -> None:
    run("cdc_axis", build_args=JITTER, DataW=16, Depth=16, Block=block)
